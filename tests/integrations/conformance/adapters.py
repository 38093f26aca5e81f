"""Every adapter as one kind of thing: a text that is masked, goes on, and takes tokens back."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from structgen.integrations.huggingface import LogitsProcessor, vocabulary_for
from structgen.integrations.matcher import Follower, Matcher
from structgen.integrations.requests import spec_of
from structgen.masks import bitmask
from tests.generation.models import build_tokenizer
from tests.integrations.conformance import stand_ins

stand_ins.prepare()
TOKENIZER = build_tokenizer()
EXTRA = 21  # logits beyond the tokenizer's tokens
SIZE = len(TOKENIZER) + EXTRA
VOCABULARY = vocabulary_for(TOKENIZER, SIZE)
PROMPT = [5, 9, 7]
Row = npt.NDArray[np.int32]


class Text(Protocol):
    """A text in a host."""

    def mask(self) -> Row:
        """int32[words]: the tokens that the host lets come next."""

    def accept(self, token: int) -> bool:
        """Go on by a token; False where the host says that it is not allowed."""

    def rollback(self, count: int) -> None:
        """Take tokens back."""


class OfMatcher:
    """`Matcher` itself."""

    def __init__(self, kind: str, content: str) -> None:
        self.matcher = Matcher(_constraint(kind, content))
        self.accept, self.rollback = self.matcher.accept, self.matcher.rollback

    def mask(self) -> Row:
        """See `Text.mask`."""
        row = np.full(VOCABULARY.words, -1, np.int32)
        self.matcher.fill(row)
        return row


class OfVllm:
    """A grammar of the backend for vLLM."""

    def __init__(self, kind: str, content: str) -> None:
        from vllm.v1.structured_output.backend_types import StructuredOutputOptions

        backend = vllm_backend()
        self.grammar = backend.compile_grammar(StructuredOutputOptions[kind.upper()], content)
        self.masks = backend.allocate_token_bitmask(3)
        self.rollback = self.grammar.rollback

    def mask(self) -> Row:
        """One row among others, which are left alone."""
        self.masks.fill_(-1)
        self.grammar.fill_bitmask(self.masks, 1)
        assert bool((self.masks[[0, 2]] == -1).all())
        return np.array(self.masks[1].numpy())

    def accept(self, token: int) -> bool:
        """See `Text.accept`."""
        fits = self.grammar.validate_tokens([token, -1]) == [token]
        terminated = self.grammar.is_terminated()
        found = bool(self.grammar.accept_tokens("request", [token]))
        assert found == fits or terminated
        return found


class OfSglang:
    """A grammar of the backend for SGLang."""

    def __init__(self, kind: str, content: str) -> None:
        from structgen.integrations.sglang.backend import StructgenBackend

        backend = StructgenBackend(TOKENIZER, SIZE, {TOKENIZER.eos_token_id})
        content = "$$ANY$$" if kind == "json_object" else content
        if kind == "choice":  # which clients write as a pattern
            kind, content = "regex", "|".join(json.loads(content))
        name = {"grammar": "ebnf", "json_object": "json"}.get(kind, kind)
        self.grammar = getattr(backend, f"dispatch_{name}")(content).copy()
        self.masks = self.grammar.allocate_vocab_mask(SIZE, 2, "cpu")
        self.rollback = self.grammar.rollback

    def mask(self) -> Row:
        """Filled alone and in a batch, which must be the same."""
        from sglang.srt.constrained.base_grammar_backend import GrammarRow

        self.grammar.reset_vocab_mask(self.masks)
        self.grammar.fill_vocab_mask(self.masks, 0)
        self.grammar.fill_vocab_mask_batched([GrammarRow(1, self.grammar)], self.masks)
        assert bool((self.masks[0] == self.masks[1]).all())
        logits = torch.zeros(1, SIZE)
        self.grammar.apply_vocab_mask(logits, self.masks[:1])
        return bitmask.pack(torch.isfinite(logits[0]).numpy())

    def accept(self, token: int) -> bool:
        """See `Text.accept`."""
        try:
            self.grammar.accept_token(token)
        except ValueError:
            return False
        return True


class Shown:
    """A host that shows all tokens each time: which are allowed is read off a mask."""

    def __init__(self) -> None:
        self.tokens: list[int] = []

    def allowed(self, tokens: list[int]) -> Row:
        """The tokens that may follow."""
        raise NotImplementedError

    def mask(self) -> Row:
        """See `Text.mask`."""
        return self.allowed([*PROMPT, *self.tokens])

    def accept(self, token: int) -> bool:
        """See `Text.accept`; behind the end everything is accepted, as padding is."""
        ended = any(one in VOCABULARY.eos_ids for one in self.tokens)
        accepted = ended or bool(self.mask()[token >> 5] >> (token & 31) & 1)
        self.tokens += [token] if accepted else []
        return accepted

    def rollback(self, count: int) -> None:
        """See `Text.rollback`."""
        del self.tokens[len(self.tokens) - count :]


class OfTransformers(Shown):
    """The logits processor for transformers."""

    def __init__(self, kind: str, content: str) -> None:
        super().__init__()
        self.processor = LogitsProcessor(_constraint(kind, content), prompt_length=len(PROMPT))

    def allowed(self, tokens: list[int]) -> Row:
        """See `Shown.allowed`."""
        ids: Any = torch.tensor([tokens])
        scores: Any = torch.zeros(1, SIZE)
        return bitmask.pack(torch.isfinite(self.processor(ids, scores)[0]).numpy())


class OfContinuousBatching(Shown):
    """The processor for transformers' continuous batching, beside a request without constraint."""

    def __init__(self, kind: str, content: str) -> None:
        from structgen.integrations.continuous_batching import ContinuousBatchingProcessor

        super().__init__()
        self.processor = ContinuousBatchingProcessor(VOCABULARY, 2, torch.device("cpu"))
        self.constraint = {"constraint": _constraint(kind, content)}

    def allowed(self, tokens: list[int]) -> Row:
        """See `Shown.allowed`."""
        text = tokens[len(PROMPT) :]
        requests = [_request(text, {}), _request(text, self.constraint)]
        scores = self.processor(torch.zeros(2, SIZE), self.processor.prepare_tensor_args(requests))
        assert requests[1].state.error is None
        assert bool(torch.isfinite(scores[0]).all())
        return bitmask.pack(torch.isfinite(scores[1]).numpy())


def _request(text: list[int], constraint: dict[str, Any]) -> Any:
    """A request as transformers' continuous batching has it."""
    from transformers.generation.continuous_batching import requests

    state = requests.RequestState("a", [*PROMPT], logit_processor_kwargs=constraint)
    state.generated_tokens = text
    return SimpleNamespace(state=state, has_new_token=True)


class OfFollower(Shown):
    """`Follower`, given the length of the prompt."""

    def __init__(self, kind: str, content: str) -> None:
        super().__init__()
        self.follower = Follower(_constraint(kind, content), prompt=len(PROMPT))

    def allowed(self, tokens: list[int]) -> Row:
        """See `Shown.allowed`."""
        return self.follower.row(tokens).copy()


class OfMlx(Shown):
    """The logits processor for MLX."""

    def __init__(self, kind: str, content: str) -> None:
        from structgen.integrations.mlx import LogitsProcessor as MlxProcessor

        super().__init__()
        self.processor = MlxProcessor(spec_of(kind, content), TOKENIZER)
        self.allowed(PROMPT)

    def allowed(self, tokens: list[int]) -> Row:
        """See `Shown.allowed`."""
        import mlx.core as mx

        logits = self.processor(mx.array(tokens), mx.array(np.zeros((1, SIZE), np.float32)))
        return bitmask.pack(np.isfinite(np.array(logits)[0]))


class OfLlama(Shown):
    """The logits processor for llama-cpp-python, whose scores do not lie in one piece."""

    def __init__(self, kind: str, content: str) -> None:
        from structgen.integrations.llama_cpp import LogitsProcessor as LlamaProcessor

        super().__init__()
        llama = SimpleNamespace(draft_model=None)
        self.processor = LlamaProcessor(llama, _constraint(kind, content))
        self.allowed(PROMPT)

    def allowed(self, tokens: list[int]) -> Row:
        """See `Shown.allowed`."""
        scores = np.zeros(2 * SIZE, np.float32)[::2]
        return bitmask.pack(np.isfinite(self.processor(np.array(tokens, np.intc), scores)))


ADAPTERS: dict[str, Callable[[str, str], Text]] = {
    "matcher": OfMatcher,
    "follower": OfFollower,
    "transformers": OfTransformers,
    "vllm": OfVllm,
    "sglang": OfSglang,
    "mlx": OfMlx,
    "llama.cpp": OfLlama,
}
if find_spec("transformers.generation.continuous_batching.cb_logits_processors"):
    ADAPTERS["continuous batching"] = OfContinuousBatching


def vllm_backend(**options: Any) -> Any:
    """The backend for vLLM, as its engine makes it."""
    from structgen.integrations.vllm.backend import StructgenBackend

    known = {"disable_any_whitespace": False, "disable_additional_properties": False} | options
    config: Any = SimpleNamespace(structured_outputs_config=SimpleNamespace(**known))
    return StructgenBackend(config, tokenizer=TOKENIZER, vocab_size=SIZE)


def _constraint(kind: str, content: str) -> Any:
    import structgen as sg

    return sg.compile(spec_of(kind, content), VOCABULARY)
