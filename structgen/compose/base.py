"""The base of specs that consist of other specs: automaton, values and JSON.

Such a spec only says how its parts follow each other (see `compose.composite.layout`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from structgen.automata.interface import Automaton, Stored
from structgen.compose.composite.automaton import Composite
from structgen.compose.composite.layout import Composed, Hub, Layout
from structgen.compose.composite.trace import Note, trace, trace_so_far
from structgen.regular.regex import Regex, literal
from structgen.schema.coerce import coerce
from structgen.spec.base import Spec
from structgen.spec.registry import spec_of


class CompositeSpec(Composed):
    """A spec whose texts consist of texts of other specs."""

    def automaton(self, saved: Stored | None = None) -> Automaton:
        """See `Spec.automaton`."""
        return Composite(self, saved)

    def notes(self, text: str) -> list[Note]:
        """What the layout marks, in the order of the text. Raises ValidationError."""
        return trace(self, text.encode(errors="surrogatepass"))

    def notes_so_far(self, text: str) -> list[Note]:
        """The marks that the beginning of a text has passed for certain. Raises ValidationError."""
        return trace_so_far(self, text.encode(errors="surrogatepass"))


@dataclass(frozen=True)
class Literal(CompositeSpec):
    """Exactly one text. Special tokens may stand where it writes theirs."""

    text: str
    kind: ClassVar[str] = "literal"

    def lay(self, layout: Layout, after: Hub) -> Hub:
        """See `CompositeSpec.lay`."""
        return layout.text(self.text, after)

    def language(self) -> Regex:
        """The text as a regular language."""
        return literal(self.text)

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {"text": self.text}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Literal:
        """The spec that `to_json` described."""
        return cls(data["text"])


def as_spec(spec: Any) -> Spec:
    """A spec from whatever `compile` takes; a text stands for itself."""
    return Literal(spec) if isinstance(spec, str) else coerce(spec)


def to_json(spec: Spec) -> dict[str, Any]:
    """A spec inside another, as JSON."""
    portable = spec.portable()
    return {"kind": portable.kind, **portable.to_json()}


def from_json(data: dict[str, Any]) -> Spec:
    """The spec that `to_json` described."""
    return spec_of(data)
