"""SGLang's interface for grammars, over a structgen constraint for each request.

SGLang walks draft trees by accepting a node, filling its row, and taking it back. It keeps compiled
grammars by their text and copies one for each request, which here copies a list of one state.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    GrammarRow,
    GrammarStats,
    InvalidGrammarObject,
    register_vocab_mask_buffer,
)

from structgen.errors import HostError, StructgenError
from structgen.integrations.compiled import KEPT, Constraints
from structgen.integrations.matcher import Matcher, allocate_masks, fill_matchers
from structgen.masks import bitmask

_LOG = logging.getLogger(__name__)


class StructgenGrammar(BaseGrammarObject):  # type: ignore[misc]  # untyped
    """The states of one request's text."""

    def __init__(self, matcher: Matcher, kind: str) -> None:
        super().__init__()
        self.matcher = matcher
        self.grammar_stats = GrammarStats(dispatch_type=kind)
        self._kind = kind

    def accept_token(self, token: int) -> None:
        """Go on by a token. ValueError where it is not allowed: SGLang gives the request up."""
        if not self.matcher.accept(token):
            raise ValueError(f"token {token} is not allowed by the request's constraint")

    def rollback(self, k: int) -> None:
        """Take k tokens back, also the end token."""
        self.matcher.rollback(k)

    def is_terminated(self) -> bool:
        """Whether an end token has been accepted."""
        return self.matcher.is_terminated

    def copy(self) -> StructgenGrammar:
        """Another text that begins as this one."""
        return StructgenGrammar(self.matcher.fork(), self._kind)

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        """int32[batch_size, words] on the host: all tokens allowed."""
        del device
        size = max(vocab_size, self.matcher.constraint.vocabulary.size)
        return allocate_masks(batch_size, size)

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Write the allowed tokens into one row of the masks."""
        self.matcher.fill(vocab_mask.numpy()[idx])

    @staticmethod
    def fill_vocab_mask_batched(entries: list[GrammarRow], vocab_mask: torch.Tensor) -> None:
        """Write the rows of many requests in one call; other rows are left alone."""
        if all(isinstance(entry.grammar, StructgenGrammar) for entry in entries):
            matchers = [entry.grammar.matcher for entry in entries]
            fill_matchers(matchers, vocab_mask.numpy(), [entry.row for entry in entries])
        else:  # in a wrapper, such as that of reasoning
            BaseGrammarObject.fill_vocab_mask_batched(entries, vocab_mask)

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        """Allow all tokens again."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        """The masks where the logits are."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Set the logits of tokens that are not allowed to -inf, in place, on any device."""
        size = logits.shape[-1]
        masks = vocab_mask[:, : bitmask.words(size)]
        logits.masked_fill_(~bitmask.unpack_tensor(masks, size), -torch.inf)


class StructgenBackend(BaseGrammarBackend):  # type: ignore[misc]  # untyped
    """One for each scheduler: compiles the constraints of requests, each once."""

    def __init__(
        self, tokenizer: Any, vocab_size: int, eos_token_ids: Any, whitespace: str | None = None
    ) -> None:
        """Read the tokenizer. whitespace: of JSON, as `JsonSchema` takes it."""
        super().__init__()
        ids = [eos_token_ids] if isinstance(eos_token_ids, int) else eos_token_ids or None
        self._constraints = Constraints(tokenizer, vocab_size, ids, whitespace=whitespace)

    def initialize_vocab_mask_buffer(
        self, name: str, vocab_size: int, max_rows: int, device: Any
    ) -> torch.Tensor:
        """Masks that SGLang uses again and again."""
        del device
        size = max(vocab_size, self._constraints.vocabulary.size)
        masks = allocate_masks(max_rows, size)
        found: torch.Tensor = register_vocab_mask_buffer(name, masks, max_rows)
        return found

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        """A JSON Schema; `$$ANY$$` is any object."""
        if key_string == "$$ANY$$":
            return self._compile("json_object", "")
        return self._compile("json", key_string)

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        """A pattern."""
        return self._compile("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        """A grammar."""
        return self._compile("grammar", key_string)

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        """Free text with tags."""
        return self._compile("structural_tag", key_string)

    def set_cache(self, key: tuple[str, str], value: BaseGrammarObject) -> None:
        """Keep a compiled grammar; SGLang itself would keep all of them for ever."""
        while len(self.cache) >= KEPT and key not in self.cache:
            del self.cache[next(iter(self.cache))]
        super().set_cache(key, value)

    def _compile(self, kind: str, content: str) -> BaseGrammarObject:
        try:
            constraint = self._constraints.get(kind, content)
        except StructgenError as error:
            _LOG.info("a constraint was refused: %s", error)
            return InvalidGrammarObject(str(error))
        return StructgenGrammar(Matcher(constraint), kind)


def create(
    server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any
) -> BaseGrammarBackend:
    """What SGLang calls for `--grammar-backend structgen`; wrapped for reasoning models."""
    del server_args
    from sglang.srt.runtime_context import get_serving

    serving = get_serving()
    pattern = serving.constrained_json_whitespace_pattern
    compact = "compact" if serving.constrained_json_disable_any_whitespace else None
    if pattern and compact:
        raise HostError("two options say how JSON is spaced", host="sglang", hint="leave one out")
    backend = StructgenBackend(tokenizer, vocab_size, eos_token_ids, pattern or compact)
    if not serving.reasoning_parser:
        return backend
    # SGLang wraps only backends of its own.
    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    parser = ReasoningParser(
        model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer
    )
    return ReasonerGrammarBackend(
        backend, parser, tokenizer, enable_strict_thinking=serving.enable_strict_thinking
    )
