"""llguidance as an engine, through its LLMatcher."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jsonschemabench.data import vocab
from jsonschemabench.engines.engine import GBNF, JSON_SCHEMA, LARK, Engine, Refused, Row, Spec
from structgen import Vocabulary
from structgen.vocabulary.sources import TiktokenEncoder, TokenizersEncoder


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
        "tokenizer": "its own for tiktoken and Hugging Face files, else a Python function",
    }
    kinds = (JSON_SCHEMA, LARK, GBNF)

    def prepare(self, vocabulary: Vocabulary) -> None:
        """Build its tokenizer, which it also needs to find the tokens of forced text."""
        self._tokenizer = _tokenizer(vocabulary)

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
        self.matcher = matcher
        self._fresh = True

    def start(self, row: Row) -> LlguidanceMatcher:
        """See `Compiled.start`."""
        if not self._fresh and not self.matcher.reset():
            raise RuntimeError(self.matcher.get_error())
        self._fresh = False
        return LlguidanceMatcher(self.matcher, row)


class LlguidanceMatcher:
    """llguidance's matcher, and the address of the row that it writes masks to."""

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


def _tokenizer(vocabulary: Vocabulary) -> Any:
    """llguidance's tokenizer; it calls no Python where it can read the tokenizer's file itself."""
    from llguidance import LLTokenizer, TokenizerWrapper

    options: dict[str, Any] = {"n_vocab": vocabulary.size}
    if vocabulary.eos_ids:
        options["eos_token"] = list(vocabulary.eos_ids)
    encode = vocabulary.encode
    if isinstance(encode, TiktokenEncoder) and vocabulary.eos_ids:
        special = {vocabulary.token_bytes(t).decode(): t for t in sorted(vocabulary.special_ids)}
        own: Any = LLTokenizer  # its type stubs leave out what its module for tiktoken calls
        return own.from_tiktoken(
            encoder=encode.ranks, special_tokens=special, pattern=encode.pattern, **options
        )
    if isinstance(encode, TokenizersEncoder):
        return LLTokenizer(encode.backend.to_str(), **options)
    return LLTokenizer(TokenizerWrapper(_Tokens(vocabulary)), **options)


class _Tokens:
    """A vocabulary as `TokenizerWrapper` wants to see it."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.eos_token_id = vocabulary.eos_ids[0] if vocabulary.eos_ids else vocabulary.size - 1
        self.tokens = [token or b"" for token in vocabulary.tokens]
        self.special_token_ids = sorted(vocabulary.special_ids)
        self._vocabulary = vocabulary

    def __call__(self, text: str) -> list[int]:
        """The ids of a text."""
        return vocab.encode(self._vocabulary, text)


def _grammar(spec: Spec) -> Any:
    from llguidance import LLMatcher
    from llguidance.gbnf_to_lark import gbnf_to_lark

    if spec.kind == JSON_SCHEMA:
        return LLMatcher.grammar_from_json_schema(spec.text)
    text = spec.text if spec.kind == LARK else gbnf_to_lark(spec.text)
    return LLMatcher.grammar_from_lark(text)
