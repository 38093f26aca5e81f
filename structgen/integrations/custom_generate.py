"""Writes the texts of a call of transformers' `model.generate` by structgen's own loop.

    model.generate(**inputs, custom_generate=CustomGenerate(spec, tokenizer), max_new_tokens=200)

transformers prepares the call: config, processors, copies for `num_return_sequences`. What is
different inside: bytes that must come and drafts are read several tokens in one pass, and a text is
closed within its limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from structgen.errors import GenerationError
from structgen.generation.distribution import row_rng
from structgen.generation.generator import Generator
from structgen.generation.interfaces import Constraint, Path
from structgen.generation.result import GenerationResult
from structgen.generation.row import Row
from structgen.generation.settings import Settings

if TYPE_CHECKING:
    import torch

Doubles = npt.NDArray[np.float64]
#: What transformers prepares for its own loop, and this one makes itself.
_PREPARED = {
    "attention_mask",
    "cache",
    "cache_params",
    "cache_position",
    "logits_to_keep",
    "past_key_values",
    "position_ids",
    "use_cache",
}
_LIMITS = {"EosTokenCriteria", "MaxLengthCriteria"}  # which masks and budget keep
#: Processors that settings stand for, if they come in their order, and the names of their values.
_WARPERS = {
    "TemperatureLogitsWarper": "temperature",
    "TopKLogitsWarper": "top_k",
    "TopPLogitsWarper": "top_p",
    "MinPLogitsWarper": "min_p",
}
_OUTPUTS = ("output_scores", "output_logits", "output_attentions", "output_hidden_states")


class CustomGenerate:
    """What `model.generate(..., custom_generate=this)` calls instead of transformers' own loop.

    spec: what `structgen.generate` takes, one for all prompts, or a list with one per prompt.
    tokenizer: that of the model. speculate, stop, stop_sequences, on_truncation, strict: as for
    `structgen.generate`. streamer: one of transformers', for a single row; `generate` does not hand
    its own on. Attribute `results`: what `structgen.generate` would return for each row of the last
    call, with values and probabilities.

    The texts are drawn as `generate` would draw them with `LogitsProcessor(spec, tokenizer)` first
    in its list: the other processors see masked scores. Sequences end with an end token. As the
    prompt is read anew, a cache that was given is not used. A new call draws by torch's generator.

    GenerationError for what this loop has not: beams, an assistant's scores and other outputs than
    sequences, inputs other than text, further stopping criteria.
    """

    def __init__(
        self,
        spec: Any,
        tokenizer: Any,
        *,
        speculate: Any = "auto",
        stop: Literal["complete", "eos"] = "complete",
        stop_sequences: Sequence[str] = (),
        on_truncation: Literal["close", "raise"] = "close",
        strict: bool = False,
        streamer: Any = None,
    ) -> None:
        self._specs = list(spec) if isinstance(spec, list | tuple) else [spec]
        self._tokenizer = tokenizer
        self._settings = Settings(
            stop=stop,
            stop_sequences=stop_sequences,
            on_truncation=on_truncation,
            strict=strict,
            speculate=speculate,
        )
        self._streamer = streamer
        self._generator: Generator | None = None
        self.results: list[GenerationResult] = []

    def __call__(
        self,
        model: Any,
        input_ids: torch.Tensor,
        logits_processor: Any,
        stopping_criteria: Any,
        generation_config: Any,
        **model_kwargs: Any,
    ) -> Any:
        """int64[rows, longest]: prompts and texts, or transformers' output with these."""
        _check(generation_config, stopping_criteria, model_kwargs)
        generator = self._generator
        if generator is None or generator.target.model is not model:
            generator = self._generator = Generator(model, self._tokenizer)
        _check_ends(generation_config, generator.vocabulary.eos_ids)
        rows = self._rows(generator, input_ids, logits_processor, generation_config, model_kwargs)
        self._write(generator, rows, input_ids)
        self.results = [row.result() for row in rows]
        sequences = _sequences(input_ids, [self._ended(row) for row in rows], generation_config)
        if not generation_config.return_dict_in_generate:
            return sequences
        from transformers.generation.utils import GenerateDecoderOnlyOutput

        return GenerateDecoderOnlyOutput(sequences=sequences)  # type: ignore[arg-type]

    def _rows(
        self,
        generator: Generator,
        input_ids: torch.Tensor,
        processors: Any,
        config: Any,
        kwargs: dict[str, Any],
    ) -> list[Row]:
        import torch

        if len(input_ids) % len(self._specs):
            raise GenerationError(
                f"there are {len(input_ids)} rows for {len(self._specs)} specs",
                expected="the same number of rows for each spec",
            )
        share = len(input_ids) // len(self._specs)
        mask = kwargs.get("attention_mask")
        width = input_ids.shape[1]
        sampler, rest = _split(list(processors), sampled=config.do_sample)
        settings = replace(self._settings, max_tokens=config.max_length - width, **sampler)
        seed = int(torch.randint(2**31, ()))
        rows = []
        for i, ids in enumerate(input_ids.tolist()):
            kept = [True] * width if mask is None else mask[i].bool().tolist()
            prompt = tuple(token for token, keep in zip(ids, kept, strict=True) if keep)
            transforms = [_Processors(rest, input_ids, i)] if rest else []
            request = generator.request_of(
                prompt,
                self._specs[i // share],
                replace(settings, transforms=transforms),
                f"row {i}" if len(input_ids) > 1 else "",
            )
            rows.append(Row(request, row_rng(seed, i)))
        return rows

    def _write(self, generator: Generator, rows: Sequence[Row], input_ids: torch.Tensor) -> None:
        import torch

        pieces, streamer = generator.decode(rows, self._settings), self._streamer
        if streamer is None:
            for _ in pieces:
                pass
            return
        [row] = rows
        streamer.put(input_ids.cpu())
        shown = 0
        for _ in pieces:
            for token in row.tokens[shown:]:
                streamer.put(torch.tensor([token]))
            shown = len(row.tokens)
        for token in self._ended(row)[shown:]:
            streamer.put(torch.tensor([token]))
        streamer.end()

    def _ended(self, row: Row) -> list[int]:
        """The tokens of a text, with an end token where nothing else could follow."""
        ends = row.request.constraint.vocabulary.eos_ids
        whole = row.finish == "eos" or not row.remaining or not ends
        return row.tokens if whole else [*row.tokens, min(ends)]


class _Processors:
    """transformers' processors as a change of the distribution of one row's tokens.

    prompts: those of the call, padding included. Processors may hold a value for each of its rows,
    so they are called with as many, all of them this row's.
    """

    def __init__(self, processors: Sequence[Any], prompts: torch.Tensor, row: int) -> None:
        self.processors, self.prompts, self.row = processors, prompts, row

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> Path:
        """See `Transform`."""
        del prompt
        return _ProcessedPath(self, constraint.vocabulary.size)


class _ProcessedPath:
    def __init__(self, of: _Processors, size: int) -> None:
        self._of, self._size = of, size
        self._tokens: list[int] = of.prompts[of.row].tolist()

    def log_weights(self, state: int, ids: npt.NDArray[np.int64], logits: Doubles) -> Doubles:
        """What the processors add to the scores of the tokens that are allowed."""
        import torch

        del state
        count, device = len(self._of.prompts), self._of.prompts.device
        tokens = torch.tensor([self._tokens] * count, device=device)
        where = torch.from_numpy(ids).to(device)
        before = torch.from_numpy(logits).float().to(device)
        scores = torch.full((count, self._size), -torch.inf, device=device)
        scores[:, where] = before
        for processor in self._of.processors:
            scores = processor(tokens, scores)
        found: Doubles = (scores[self._of.row, where] - before).double().cpu().numpy()
        return found

    def wrote(self, state: int, token: int) -> None:
        """See `Path`."""
        del state
        self._tokens.append(token)


def _split(processors: list[Any], *, sampled: bool) -> tuple[dict[str, Any], list[Any]]:
    """The last processors as settings of a sampler, and those before them as they are."""
    if not sampled:
        return {"temperature": 0.0}, processors
    order, values = list(_WARPERS), dict[str, Any]()
    while processors and type(processors[-1]).__name__ in order:
        name = type(processors[-1]).__name__
        values[_WARPERS[name]] = getattr(processors.pop(), _WARPERS[name])
        order = order[: order.index(name)]
    return values, processors


def _check(config: Any, criteria: Any, kwargs: dict[str, Any]) -> None:
    """GenerationError for what the call asks for and this loop has not."""
    if (config.num_beams or 1) > 1:
        raise GenerationError(
            "custom_generate has no beams", hint="use logits_processor=[LogitsProcessor(...)]"
        )
    asked = [name for name in _OUTPUTS if getattr(config, name, False)]
    if asked:
        raise GenerationError(
            f"custom_generate has no {asked[0]}", hint="see `results` for probabilities of tokens"
        )
    for one in criteria:
        if type(one).__name__ not in _LIMITS:
            raise GenerationError(
                f"custom_generate takes no {type(one).__name__}",
                hint="give CustomGenerate stop_sequences=, or use a logits processor",
            )
    for name, value in kwargs.items():
        if name not in _PREPARED and value is not None:
            raise GenerationError(
                f"the model is to read {name}, and custom_generate reads text alone",
                hint="use logits_processor=[LogitsProcessor(...)]",
            )


def _check_ends(config: Any, known: Sequence[int]) -> None:
    """GenerationError where the call ends texts at tokens that the vocabulary does not end at."""
    ends = config.eos_token_id
    asked = set([ends] if isinstance(ends, int) else ends or ())
    if not asked.issubset(known):
        raise GenerationError(
            f"the call ends at tokens {sorted(asked)}, and the vocabulary at {sorted(known)}",
            hint="name all end tokens in model.generation_config.eos_token_id",
        )


def _sequences(prompts: torch.Tensor, texts: Sequence[list[int]], config: Any) -> torch.Tensor:
    """Prompts and texts side by side, with the padding token behind those that are shorter."""
    import torch

    pad = config.pad_token_id
    if pad is None:
        ends = config.eos_token_id
        pad = (ends if isinstance(ends, int) or ends is None else ends[0]) or 0
    longest = max(map(len, texts))
    padded = [text + [pad] * (longest - len(text)) for text in texts]
    written = torch.tensor(padded, dtype=prompts.dtype, device=prompts.device)
    return torch.cat([prompts, written.reshape(len(texts), longest)], dim=1)
