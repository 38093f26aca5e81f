"""structgen as an engine, with keys in any order and white space of any kind."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from jsonschemabench.engines.engine import (
    GBNF,
    JSON_SCHEMA,
    LARK,
    SHIPPED,
    Engine,
    Refused,
    Row,
    Spec,
)
from structgen import DEAD


class StructgenEngine(Engine):
    """structgen, compiled lazily as `structgen.compile` does."""

    name = "structgen"
    distribution = "structgen"
    module = "structgen"
    settings: ClassVar[Mapping[str, str]] = {"property_order": "any", "whitespace": "any"}
    kinds = (JSON_SCHEMA, SHIPPED, LARK, GBNF)

    @classmethod
    def version(cls) -> str:
        """The installed version, and which code that is: a checkout changes without its version."""
        import structgen

        code = hashlib.sha256()
        for path in sorted(Path(structgen.__file__).parent.rglob("*.py")):
            code.update(path.read_bytes())
        return f"{super().version()}+{code.hexdigest()[:8]}"

    def prepare(self, vocabulary: Any) -> None:
        """Load the kernels."""
        from structgen.kernels.build import loader

        loader.warmup()
        self._vocabulary = vocabulary

    def settle(self) -> None:
        """See `Engine.settle`: formats and numbers that many schemas have."""
        from structgen.schema.machine.lexicon import prepare_common

        prepare_common()

    def compile(self, spec: Spec) -> StructgenCompiled:
        """See `Engine.compile`."""
        import structgen

        try:
            with warnings.catch_warnings():  # the schemas are as their authors wrote them
                warnings.simplefilter("ignore", structgen.errors.StructgenWarning)
                return StructgenCompiled(structgen.compile(self._as_spec(spec), self._vocabulary))
        except structgen.errors.StructgenError as error:
            raise Refused(error.kind, str(error)) from error

    def _as_spec(self, spec: Spec) -> Any:
        """The spec as one of structgen's own types."""
        import structgen

        if spec.kind == JSON_SCHEMA:
            settings: dict[str, Any] = dict(self.settings)
            return structgen.JsonSchema(
                spec.text,
                **settings,
                formats=spec.formats,
                registry=_registry(spec.documents) if spec.documents else None,
            )
        if spec.kind == SHIPPED:
            return structgen.shipped(spec.text)
        if spec.kind == LARK:
            return structgen.Lark(spec.text, lexing=spec.lexing)
        return structgen.Gbnf(spec.text)


class StructgenCompiled:
    """A constraint of structgen."""

    def __init__(self, constraint: Any) -> None:
        self.constraint = constraint

    def start(self, row: Row) -> StructgenMatcher:
        """See `Compiled.start`."""
        return StructgenMatcher(self.constraint, row)

    @property
    def memory_bytes(self) -> int:
        """What the tables built so far take."""
        size: int = self.constraint.size["bytes"]
        return size


class StructgenMatcher:
    """A constraint and the state that the text has reached."""

    def __init__(self, constraint: Any, row: Row) -> None:
        self._constraint = constraint
        self._fill = constraint.fill_mask
        self._advance = constraint.advance
        self._state = constraint.start
        self._row = row

    def mask(self) -> None:
        """See `Matcher.mask`."""
        self._fill(self._state, self._row)

    def accept(self, token: int) -> bool:
        """See `Matcher.accept`."""
        self._state = after = self._advance(self._state, token)
        return bool(after != DEAD)

    def done(self) -> bool:
        """See `Matcher.done`."""
        return bool(self._constraint.is_accepting(self._state))

    def forced(self) -> bytes:
        """See `Matcher.forced`."""
        return bytes(self._constraint.forced_bytes(self._state))


def _registry(documents: Mapping[str, Any]) -> Any:
    """The documents as structgen takes them; `$schema` in each says its draft."""
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    return Registry().with_resources(
        (uri, Resource.from_contents(contents, default_specification=DRAFT202012))
        for uri, contents in documents.items()
    )
