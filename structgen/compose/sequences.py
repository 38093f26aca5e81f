"""Specs one after another (`sequence`), alternatives (`any_of`), and free text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from structgen.compose.base import CompositeSpec, as_spec, from_json, to_json
from structgen.compose.composite.layout import QUIET, Hub
from structgen.compose.composite.scan_table import search_table
from structgen.errors import SpecError, UnsatisfiableSchemaError
from structgen.regular.regex import Regex, alt, concat
from structgen.spec.base import Spec
from structgen.spec.partial_json import PartialValue
from structgen.util.arguments import several

if TYPE_CHECKING:
    from structgen.compose.composite.layout import Layout


@dataclass(frozen=True)
class FreeText(CompositeSpec):
    """Any bytes at all, as a model without constraint writes them; but none of `excludes`.

    Special tokens are no text. Within a `Tag` free text ends where the tag's end comes first.
    """

    excludes: tuple[str, ...] = ()
    kind: ClassVar[str] = "free_text"

    def __post_init__(self) -> None:
        object.__setattr__(self, "excludes", texts(self.excludes, "excludes"))

    def lay(self, layout: Layout, after: Hub) -> Hub:
        """See `CompositeSpec.lay`."""
        table = search_table([], [text.encode() for text in self.excludes])
        return layout.scan(layout.table(table, "text"), {QUIET: after})

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {"excludes": list(self.excludes)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FreeText:
        """The spec that `to_json` described."""
        return cls(tuple(data["excludes"]))


@dataclass(frozen=True)
class InOrder(CompositeSpec):
    """A text of each spec, one after the other; parsed, a list of their values."""

    specs: tuple[Spec, ...]
    kind: ClassVar[str] = "sequence"

    def lay(self, layout: Layout, after: Hub) -> Hub:
        """See `CompositeSpec.lay`."""
        for number in range(len(self.specs) - 1, -1, -1):
            after = layout.spec(self.specs[number], after, f"item {number}")
            after = layout.mark(self, number, after)
        return after

    def language(self) -> Regex | None:
        """The texts as a regular language, if each item is one."""
        found = [spec.language() for spec in self.specs]
        known = [language for language in found if language is not None]
        return concat(*known) if len(known) == len(found) else None

    def parse(self, text: str) -> list[Any]:
        """The value of each item. Raises ValidationError."""
        data = text.encode(errors="surrogatepass")
        starts = [note.offset for note in self.notes(text)]
        pieces = zip(self.specs, starts, [*starts, len(data)][1:], strict=True)
        return [spec.parse(data[a:b].decode(errors="replace")) for spec, a, b in pieces]

    def partial(self, text: str) -> PartialValue:
        """The values of the items that have begun for certain; the last may go on."""
        data = text.encode(errors="surrogatepass")
        starts = [note.offset for note in self.notes_so_far(text)]
        found = [
            spec.parse(data[a:b].decode(errors="replace"))
            for spec, a, b in zip(self.specs, starts, starts[1:], strict=False)
        ]
        if not starts:
            return PartialValue(begun=False, value=None, open=())
        number = len(found)
        last = self.specs[number].partial(data[starts[-1] :].decode(errors="replace"))
        found += [last.value] if last.begun else []
        if last.open is not None:
            return PartialValue(begun=True, value=found, open=(number, *last.open))
        whole = number == len(self.specs) - 1
        return PartialValue(begun=True, value=found, open=None if whole else ())

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {"specs": [to_json(spec) for spec in self.specs]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> InOrder:
        """The spec that `to_json` described."""
        return cls(tuple(from_json(spec) for spec in data["specs"]))


@dataclass(frozen=True)
class AnyOf(CompositeSpec):
    """A text of at least one of the specs; parsed, its value in the first that it fits."""

    specs: tuple[Spec, ...]
    kind: ClassVar[str] = "any_of"

    def lay(self, layout: Layout, after: Hub) -> Hub:
        """See `CompositeSpec.lay`."""
        return Hub(
            [
                layout.mark(self, number, layout.spec(spec, after, f"alternative {number}"))
                for number, spec in enumerate(self.specs)
            ]
        )

    def language(self) -> Regex | None:
        """The texts as a regular language, if each alternative is one."""
        found = [spec.language() for spec in self.specs]
        known = [language for language in found if language is not None]
        return alt(*known) if len(known) == len(found) else None

    def parse(self, text: str) -> Any:
        """The value. Raises ValidationError."""
        [(_, number)] = self.notes(text)
        return self.specs[number].parse(text)

    def partial(self, text: str) -> PartialValue:
        """The value so far, once it is certain in which of the specs."""
        notes = self.notes_so_far(text)
        if not notes:
            return PartialValue(begun=False, value=None, open=())
        spec: Spec = self.specs[notes[0].mark]
        return spec.partial(text)

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {"specs": [to_json(spec) for spec in self.specs]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AnyOf:
        """The spec that `to_json` described."""
        return cls(tuple(from_json(spec) for spec in data["specs"]))


def sequence(*specs: Any) -> Spec:
    """One spec after another; a string stands for itself.

    Specs are whatever `compile` takes. `parse` gives the list of the items' values.
    """
    return InOrder(tuple(map(as_spec, specs)))


def any_of(*specs: Any) -> Spec:
    """Texts that fit at least one of the specs; a string stands for itself.

    All are read side by side, so any two specs go together, and what they share costs twice.
    UnsatisfiableSchemaError when there is none.
    """
    if not specs:
        raise UnsatisfiableSchemaError("any_of has nothing to choose from", expected="a spec")
    return AnyOf(tuple(map(as_spec, specs)))


def texts(values: Any, name: str) -> tuple[str, ...]:
    """A tuple of texts that are not empty; SpecError, which calls it `name`, if it is not."""
    expected = "a list of texts that are not empty"
    listed = several(name, values, expected, error=SpecError)
    if not all(isinstance(text, str) and text for text in listed):
        raise SpecError(f"{name} is {values!r:.80}", expected=expected)
    return listed
