"""In: specs. Out: what llguidance makes of them, through its LLMatcher."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jsonschemabench.engines.engine import GBNF, JSON_SCHEMA, LARK, Engine, Refused, Row, Spec
from structgen import Vocabulary


class LlguidanceEngine(Engine):
    """llguidance with its default slices, which are those for JSON."""

    name = "llguidance"
    distribution = "llguidance"
    module = "llguidance"
    settings: ClassVar[Mapping[str, str]] = {
        "whitespace_flexible": "true (default)",
        "matcher": "LLMatcher, one for each schema, reset before each text",
        "mask": "unsafe_compute_mask_ptr into a numpy row",
        "slices": "default",
    }
    kinds = (JSON_SCHEMA, LARK, GBNF)

    def prepare(self, vocabulary: Vocabulary) -> None:
        """Build its tokenizer from the table of tokens."""
        from llguidance import LLTokenizer, TokenizerWrapper

        wrapper = TokenizerWrapper(_Tokens(vocabulary))
        ends = list(vocabulary.eos_ids) or None
        self._tokenizer = LLTokenizer(wrapper, n_vocab=vocabulary.size, eos_token=ends)

    def compile(self, spec: Spec) -> LlguidanceCompiled:
        """See `Engine.compile`."""
        from llguidance import LLMatcher

        try:
            grammar = _grammar(spec)
        except ValueError as error:
            raise Refused("broken_spec", str(error)) from error
        matcher = LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            message = matcher.get_error()
            # It has no typed errors, so its own words for this one case must do.
            unsatisfiable = "unsatisfiable schema" in message.lower()
            raise Refused("unsatisfiable" if unsatisfiable else "unsupported", message)
        return LlguidanceCompiled(matcher)


class LlguidanceCompiled:
    """A matcher that is reset for each text, which keeps the lexer states it has built."""

    memory_bytes = None

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher
        self._fresh = True

    def start(self, row: Row) -> LlguidanceMatcher:
        """See `Compiled.start`."""
        if not self._fresh and not self._matcher.reset():
            raise RuntimeError(self._matcher.get_error())
        self._fresh = False
        return LlguidanceMatcher(self._matcher, row)


class LlguidanceMatcher:
    """The matcher and the address of the row."""

    def __init__(self, matcher: Any, row: Row) -> None:
        self._matcher = matcher
        self._compute = matcher.unsafe_compute_mask_ptr
        self._row = row  # keeps the address below alive
        self._address, self._size = row.ctypes.data, row.nbytes
        self.accept = matcher.consume_token

    def mask(self) -> None:
        """See `Matcher.mask`."""
        self._compute(self._address, self._size)

    def done(self) -> bool:
        """See `Matcher.done`."""
        return bool(self._matcher.is_accepting())

    def forced(self) -> bytes:
        """See `Matcher.forced`."""
        return bytes(self._matcher.compute_ff_bytes())


class _Tokens:
    """A vocabulary as `TokenizerWrapper` wants to see it."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.eos_token_id = vocabulary.eos_ids[0] if vocabulary.eos_ids else vocabulary.size - 1
        self.tokens = [token or b"" for token in vocabulary.tokens]
        self.special_token_ids = sorted(vocabulary.special_ids)
        self._encode = vocabulary.encode_continuation

    def __call__(self, text: str) -> list[int]:
        """The ids of a text; it asks for them only to force tokens."""
        return self._encode(text) or []


def _grammar(spec: Spec) -> str:
    from llguidance import LLMatcher

    if spec.kind == JSON_SCHEMA:
        return LLMatcher.grammar_from_json_schema(spec.text)
    if spec.kind == LARK:
        return LLMatcher.grammar_from_lark(spec.text)
    from llguidance.gbnf_to_lark import gbnf_to_lark

    return LLMatcher.grammar_from_lark(gbnf_to_lark(spec.text))
