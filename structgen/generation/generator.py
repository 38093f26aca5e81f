"""`Generator`: a loaded model that writes texts which fit a spec. START HERE.

Generator ─┬─ loading.py   model and tokenizer -> target, vocabulary
           ├─ prompts.py   prompt -> token ids
           ├─ compiled.py  spec -> compiled constraint, cached
           └─ loop.py      rows of tokens -> pieces of text, until all are finished
                └─ row.py  one text: mask, sample, stop, close within the budget

`speculation/` has the loop with drafts, `sampling/` the samplers that aim at the distribution of
whole texts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack, overload

from structgen.constraint.constraint import MAX_BYTES
from structgen.errors import GenerationError, ModelError
from structgen.generation.checks import check_chat, check_count
from structgen.generation.closing import Speller
from structgen.generation.compiled import CompiledSpecs
from structgen.generation.distribution import row_rng
from structgen.generation.loop import decode
from structgen.generation.models.loading import load_target, vocabulary_of
from structgen.generation.prompts import Chat, Prompt, encode_prompt, is_conversation
from structgen.generation.result import GenerationResult
from structgen.generation.row import Request, Row
from structgen.generation.sampling.api import sample
from structgen.generation.sampling.registry import SequenceSampler
from structgen.generation.sampling.results import Samples
from structgen.generation.settings import Options, Settings
from structgen.generation.speculation.loop import decode as decode_with_drafts
from structgen.generation.speculation.speculation import Speculations
from structgen.spec.partial_json import PartialValue
from structgen.vocabulary.vocabulary import Vocabulary


class Generator:
    """A model ready to generate; it keeps the vocabulary and the specs compiled for it.

    Attributes: `vocabulary`, sized by the model's logits; `tokenizer`; `target`, the model as the
    loop sees it; `chat`; `specs`, those compiled; `speculations`, those asked for by name, with
    what they learned.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        device: Any = None,
        dtype: Any = None,
        chat: Chat = "auto",
        specs_kept: int = 64,
        spec_bytes: int = MAX_BYTES,
    ) -> None:
        """Load a model: a name, a directory, (model, tokenizer), or an object and its tokenizer.

        device: where to put it, else a model object stays where it is and a loaded one goes to the
        GPU if there is one. dtype: a torch dtype or its name; else as the model was saved.
        specs_kept: compiled specs to keep (least recently used are dropped). spec_bytes: memory of
        each, at most about so much; a bound for servers that run for long. ModelError when the
        model cannot be loaded, VocabularyError when the bytes of its tokens cannot be read from the
        tokenizer.
        """
        check_chat(chat)
        check_count("specs_kept", specs_kept)
        check_count("spec_bytes", spec_bytes)
        self.target, self.tokenizer = load_target(model, tokenizer, device, dtype)
        self.vocabulary: Vocabulary = vocabulary_of(self.target, self.tokenizer)
        self.chat: Chat = chat
        self.speculations = Speculations()
        self.specs = CompiledSpecs(
            self.vocabulary, Speller(self.vocabulary), specs_kept, spec_bytes
        )

    @overload
    def generate(
        self, prompt: Prompt, spec: Any, *, n: None = None, **options: Unpack[Options]
    ) -> GenerationResult: ...

    @overload
    def generate(
        self, prompt: Prompt, spec: Any, *, n: int, **options: Unpack[Options]
    ) -> list[GenerationResult]: ...

    def generate(
        self, prompt: Prompt, spec: Any, *, n: int | None = None, **options: Unpack[Options]
    ) -> GenerationResult | list[GenerationResult]:
        """Generate one text that fits `spec`, or with `n` a list of that many.

        `prompt` is a text or a list of messages ({"role": ..., "content": ...}); `spec` is
        whatever `structgen.compile` takes, or a constraint compiled for `vocabulary`. The options
        are those of `Settings`. ModelError, TruncatedError, NoTokenError, or what compiling raises.
        """
        found = self.batch([prompt], [spec], n=1 if n is None else n, **options)[0]
        return found[0] if n is None else found

    def sample(
        self,
        prompt: Prompt,
        spec: Any,
        *,
        sampler: str | SequenceSampler = "cars",
        n: int = 1,
        potentials: Sequence[Any] = (),
        **options: Unpack[Options],
    ) -> Samples:
        """`n` samples of the model's own distribution, given that the text fits; see `sg.sample`.

        `sampler` is a name of `sg.sample.FAMILIES` or an object with options of its own.
        GenerationError for an option that makes no sense, TruncatedError when too few texts fit.
        """
        return sample(self, prompt, spec, sampler=sampler, n=n, potentials=potentials, **options)

    @overload
    def batch(
        self, prompts: Sequence[Prompt], specs: Any, *, n: None = None, **options: Unpack[Options]
    ) -> list[GenerationResult]: ...

    @overload
    def batch(
        self, prompts: Sequence[Prompt], specs: Any, *, n: int, **options: Unpack[Options]
    ) -> list[list[GenerationResult]]: ...

    def batch(
        self,
        prompts: Sequence[Prompt],
        specs: Any,
        *,
        n: int | None = None,
        **options: Unpack[Options],
    ) -> list[GenerationResult] | list[list[GenerationResult]]:
        """Generate for several prompts at once, one forward pass per token for all of them.

        `specs` is a list with a spec per prompt, or one spec for all. With `n` each prompt gets a
        list of that many results. A row's result is the same as by itself.
        """
        if n is not None:
            check_count("n", n)
        settings = Settings.of(options)
        rows = self._rows(prompts, specs, n or 1, settings)
        for _ in self.decode(rows, settings):
            pass
        results = [row.result() for row in rows]
        if n is None:
            return results
        return [results[i : i + n] for i in range(0, len(results), n)]

    def stream(self, prompt: Prompt, spec: Any, **options: Unpack[Options]) -> Stream:
        """Generate one text piece by piece; the Stream's `result` is there after the last piece."""
        settings = Settings.of(options)
        [row] = self._rows([prompt], [spec], 1, settings)
        return Stream(row, self.decode([row], settings))

    def decode(self, rows: Sequence[Row], settings: Settings) -> Iterator[tuple[int, str]]:
        """Write the rows to their ends, for loops of your own: (index of the row, new text)."""
        if settings.speculate is None:
            return decode(self.target, rows)
        speculation = self.speculations.of(settings.speculate, self.target)
        return decode_with_drafts(self.target, rows, speculation)

    def _rows(self, prompts: Sequence[Prompt], specs: Any, n: int, settings: Settings) -> list[Row]:
        if isinstance(prompts, str) or not isinstance(prompts, Sequence) or not prompts:
            raise GenerationError(f"prompts is {prompts!r:.80}", expected="a list of prompts")
        if not isinstance(specs, list | tuple):
            specs = [specs] * len(prompts)
        if len(specs) != len(prompts):
            raise GenerationError(
                f"there are {len(prompts)} prompts and {len(specs)} specs",
                expected="a spec per prompt, or one spec that is not in a list",
            )
        rows = []
        for i, (prompt, spec) in enumerate(zip(prompts, specs, strict=True)):
            label = f"prompt {i}" if len(prompts) > 1 else ""
            request = self.request(prompt, spec, settings, label)
            rows += [Row(request, row_rng(settings.seed, sample)) for sample in range(n)]
        return rows

    def request(
        self,
        prompt: Prompt,
        spec: Any,
        settings: Settings,
        label: str = "",
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Request:
        """What a row is made of, for loops of your own. `tools` go to the chat template.

        `label` says in errors which prompt it was. Raises what `generate` raises.
        """
        chat = self.chat if settings.chat is None else settings.chat
        ids = encode_prompt(self.tokenizer, prompt, chat, settings.system, tools)
        return self.request_of(ids, spec, settings, label)

    def request_of(
        self, ids: tuple[int, ...], spec: Any, settings: Settings, label: str = ""
    ) -> Request:
        """The same for the tokens of a prompt."""
        context = self.target.context
        if context is not None and len(ids) >= context:
            raise ModelError(
                f"the prompt has {len(ids)} tokens and the model's context is {context}",
                location=label,
                expected=f"at most {context - 1}, to leave room for the text",
                hint="shorten the prompt",
            )
        room = settings.max_tokens if context is None else context - len(ids)
        if settings.stop == "eos" and not self.vocabulary.eos_ids:
            raise GenerationError(
                'stop is "eos", and neither tokenizer nor model names an end token',
                hint='give stop="complete"',
            )
        constraint, closer = self.specs.get(spec, strict=settings.strict)
        return Request(
            prompt=ids,
            constraint=constraint,
            closer=closer,
            sampler=settings.sampler,
            budget=min(settings.max_tokens, room),
            stop=settings.stop,
            on_truncation=settings.on_truncation,
            label=label,
            weight=settings.weight,
            transforms=tuple(settings.transforms),
            stop_sequences=tuple(settings.stop_sequences),
        )


class Stream(Iterator[str]):
    """Pieces of one text, as they are written. Each is whole characters; together they are it."""

    def __init__(self, row: Row, pieces: Iterator[tuple[int, str]]) -> None:
        self._row = row
        self._pieces = pieces
        self._result: GenerationResult | None = None

    def __next__(self) -> str:
        return next(self._pieces)[1]

    @property
    def text(self) -> str:
        """What has been written so far: the pieces together."""
        return self._row.streamed

    @property
    def partial(self) -> PartialValue:
        """What the text so far says: `partial.value`, and what of it is final.

        JSON is JSON at any time, also for a Pydantic model: objects with the members that have
        begun, strings with their characters so far. Whatever is there stays: members and items are
        added, strings grow, numbers gain digits until something follows. In a `sequence`, `Tags`
        or `any_of` it is a list, or value, of what is certain to have begun; of `tools`, the calls
        that are whole; other text is the text so far. Takes time that grows with the text.
        """
        partial: PartialValue = self._row.request.constraint.spec.partial(self.text)
        return partial

    @property
    def result(self) -> GenerationResult:
        """The finished result. GenerationError while there are pieces to come."""
        if self._result is None:
            self._result = self._row.result()
        return self._result


_recent: tuple[tuple[Any, ...], Generator] | None = None
_recent_lock = threading.Lock()


def generate(
    model: Any,
    prompt: Prompt | Sequence[Prompt],
    spec: Any,
    *,
    n: int | None = None,
    device: Any = None,
    dtype: Any = None,
    sampler: str | SequenceSampler | None = None,
    **options: Unpack[Options],
) -> Any:
    """Generate text that fits `spec` with `model`; see `Generator` for what these may be.

    One prompt gives a GenerationResult (with `n` a list of them), a list of prompts a list; `spec`
    may then be a list too. With a `sampler` one prompt gives a Sample (with `n` Samples): see
    `Generator.sample`. The last model used is kept loaded.
    """
    generator = _generator(model, device, dtype)
    if sampler is not None:
        found = generator.sample(prompt, spec, sampler=sampler, n=n or 1, **options)  # type: ignore[arg-type]
        return found[0] if n is None else found
    if isinstance(prompt, str) or is_conversation(prompt):
        return generator.generate(prompt, spec, n=n, **options)  # type: ignore[arg-type]
    return generator.batch(prompt, spec, n=n, **options)  # type: ignore[arg-type]


def _generator(model: Any, device: Any, dtype: Any) -> Generator:
    global _recent  # noqa: PLW0603  # one model, so that calls in a row do not load it again
    parts = tuple(model) if isinstance(model, list | tuple) else (model,)
    key = (*((p if isinstance(p, str) else id(p)) for p in parts), str(device), str(dtype))
    with _recent_lock:
        if _recent is None or _recent[0] != key:
            _recent = None
            _recent = (key, Generator(model, device=device, dtype=dtype))
        return _recent[1]
