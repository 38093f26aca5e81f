"""xgrammar as an engine, without its cache of compiled grammars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jsonschemabench.engines.engine import GBNF, JSON_SCHEMA, LARK, Engine, Refused, Row, Spec
from structgen import Vocabulary


class XgrammarEngine(Engine):
    """xgrammar without its cache of compiled grammars, so that each compile is one."""

    name = "xgrammar"
    distribution = "xgrammar"
    module = "xgrammar"
    settings: ClassVar[Mapping[str, str]] = {
        "any_whitespace": "true",
        "strict_mode": "false",
        "cache_enabled": "false",
        "max_threads": "8 (default)",
    }
    kinds = (JSON_SCHEMA, GBNF, LARK)

    def prepare(self, vocabulary: Vocabulary) -> None:
        """Build its tokenizer info; tokens without bytes are its special tokens."""
        import xgrammar

        special = vocabulary.special_ids
        table = [b"" if i in special else t or b"" for i, t in enumerate(vocabulary.tokens)]
        info = xgrammar.TokenizerInfo(
            table,
            xgrammar.VocabType.RAW,
            vocab_size=vocabulary.size,
            stop_token_ids=list(vocabulary.eos_ids),
        )
        self._compiler = xgrammar.GrammarCompiler(info, cache_enabled=False)

    def compile(self, spec: Spec) -> XgrammarCompiled:
        """See `Engine.compile`."""
        import xgrammar

        try:
            if spec.kind == JSON_SCHEMA:
                compiled = self._compiler.compile_json_schema(
                    spec.text, any_whitespace=True, strict_mode=False
                )
            elif spec.kind == LARK:
                compiled = self._compiler.compile_lark(spec.text)
            else:
                compiled = self._compiler.compile_grammar(xgrammar.Grammar.from_ebnf(spec.text))
        except (RuntimeError, ValueError) as error:
            raise Refused("unsupported", str(error)) from error
        return XgrammarCompiled(compiled)


class XgrammarCompiled:
    """A compiled grammar."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def start(self, row: Row) -> XgrammarMatcher:
        """See `Compiled.start`."""
        return XgrammarMatcher(self._compiled, row)

    @property
    def memory_bytes(self) -> int:
        """What xgrammar says that it takes."""
        return int(self._compiled.memory_size_bytes)


class XgrammarMatcher:
    """A grammar matcher and the row as a batch of one."""

    def __init__(self, compiled: Any, row: Row) -> None:
        import xgrammar

        self._matcher = xgrammar.GrammarMatcher(compiled)
        self._fill = self._matcher.fill_next_token_bitmask
        self._batch = row.reshape(1, -1)
        self.accept = self._matcher.accept_token

    def mask(self) -> None:
        """See `Matcher.mask`."""
        self._fill(self._batch)

    def done(self) -> bool:
        """See `Matcher.done`."""
        return bool(self._matcher.is_completed())

    def forced(self) -> bytes:
        """See `Matcher.forced`."""
        if self._matcher.is_terminated():
            return b""
        return str(self._matcher.find_jump_forward_string()).encode()
