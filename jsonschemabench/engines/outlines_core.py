"""outlines-core as an engine: a schema becomes a regular expression, which becomes an index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from jsonschemabench.engines.engine import JSON_SCHEMA, Engine, Refused, Row, Spec
from structgen import Vocabulary
from structgen.errors import VocabularyError


class OutlinesCoreEngine(Engine):
    """outlines-core with its own pattern for white space."""

    name = "outlines-core"
    distribution = "outlines-core"
    module = "outlines_core"
    settings: ClassVar[Mapping[str, str]] = {
        "whitespace_pattern": "default: [ ]?",
        "max_recursion_depth": "default: 3",
        "mask": "Guide.write_mask_into a numpy row",
    }
    kinds = (JSON_SCHEMA,)

    def prepare(self, vocabulary: Vocabulary) -> None:
        """Build its vocabulary, which knows one end token."""
        import outlines_core

        if not vocabulary.eos_ids:
            raise VocabularyError("outlines-core needs an end token", hint="name one with --eos")
        ids: dict[bytes, list[int]] = {}
        for token in vocabulary.text_ids.tolist():
            ids.setdefault(vocabulary.token_bytes(token), []).append(token)
        self._vocabulary = outlines_core.Vocabulary(vocabulary.eos_ids[0], ids)
        self._end = vocabulary.eos_ids[0]

    def compile(self, spec: Spec) -> OutlinesCoreCompiled:
        """See `Engine.compile`."""
        from outlines_core import Index, json_schema

        try:
            pattern = json_schema.build_regex_from_schema(spec.text)
            index = Index(pattern, self._vocabulary)
        except (TypeError, ValueError) as error:
            raise Refused("unsupported", str(error)) from error
        return OutlinesCoreCompiled(index, self._end)


class OutlinesCoreCompiled:
    """outlines-core's index, from which each text gets a guide."""

    memory_bytes = None

    def __init__(self, index: Any, end: int) -> None:
        self._index = index
        self._end = end

    def start(self, row: Row) -> OutlinesCoreMatcher:
        """See `Compiled.start`."""
        return OutlinesCoreMatcher(self._index, self._end, row)


class OutlinesCoreMatcher:
    """outlines-core's guide, and the address of the row that it writes masks to."""

    def __init__(self, index: Any, end: int, row: Row) -> None:
        from outlines_core import Guide

        self._guide = Guide(index)
        self._end = end
        self._row = row  # keeps the address below alive
        self._address, self._words = row.ctypes.data, row.size

    def mask(self) -> None:
        """See `Matcher.mask`."""
        self._guide.write_mask_into(self._address, self._words, 4)

    def accept(self, token: int) -> bool:
        """See `Matcher.accept`."""
        if token == self._end:
            return self.done()  # the guide's own step for it is left to the caller
        try:
            self._guide.advance(token, return_tokens=False)
        except ValueError:
            return False
        return True

    def done(self) -> bool:
        """See `Matcher.done`."""
        return bool(self._guide.is_finished())

    def forced(self) -> bytes:
        """See `Matcher.forced`; outlines-core does not offer it."""
        return b""
