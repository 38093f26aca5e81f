"""Lay out the parts of a composed text, from the last to the first: what may follow each.

A layout is a nondeterministic automaton whose letters are whole automata (Thompson 1968): a part
reads a piece of the text, hubs say which parts may come next. Specs lay themselves out from back to
front, each in front of the hub that comes `after` it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from structgen.automata.interface import Automaton, Stored
from structgen.compose.composite.scan import Scan
from structgen.compose.composite.scan_table import ScanTable, choice_table
from structgen.errors import BudgetError, StructgenError
from structgen.spec.base import ANY_BYTE, Spec

# How a part ends, beside the labels of a scan.
WHOLE = 0  #: at the end of one of its texts
QUIET = -1  #: a search that has found nothing
MAX_PARTS = 1 << 16
MAX_LARGE = 2_500  # automata but for scans: each reserves 4 MiB for its tables

Thread = tuple[int, int]  # part, position in its automaton
Threads = tuple[Thread, ...]


class Hub:
    """A place between parts, a state with empty transitions of the nondeterministic automaton.

    parts, hubs: what may follow; final: whether the text may end here; mark: what parsing notes
    when the text passes here.
    """

    __slots__ = ("_closure", "final", "hubs", "mark", "parts")

    def __init__(self, hubs: Sequence[Hub] = (), *, final: bool = False, mark: Any = None) -> None:
        self.parts: list[int] = []
        self.hubs = list(hubs)
        self.final = final
        self.mark = mark
        self._closure: tuple[list[tuple[int, tuple[Any, ...]]], tuple[Any, ...] | None] | None
        self._closure = None

    def closure(self) -> tuple[list[tuple[int, tuple[Any, ...]]], tuple[Any, ...] | None]:
        """The parts that may come next, each with the marks on the way to it; the same for the end.

        The end is None where the text may not end. Of several ways the first counts.
        """
        if self._closure is None:
            parts: dict[int, tuple[Any, ...]] = {}
            final: tuple[Any, ...] | None = None
            seen: set[int] = set()
            todo: list[tuple[Hub, tuple[Any, ...]]] = [(self, ())]
            while todo:
                hub, marks = todo.pop()
                if id(hub) in seen:
                    continue
                seen.add(id(hub))
                marks = marks if hub.mark is None else (*marks, hub.mark)
                for part in hub.parts:
                    parts.setdefault(part, marks)
                if hub.final and final is None:
                    final = marks
                todo += [(after, marks) for after in reversed(hub.hubs)]
            self._closure = (list(parts.items()), final)
        return self._closure


class Part:
    """One automaton at one place of the layout.

    exits: the hub behind each way in which it ends. lasts: among which bytes its last byte is.
    """

    __slots__ = ("automaton", "exits", "lasts", "source")

    def __init__(self, automaton: Automaton, source: int, exits: Mapping[int, Hub]) -> None:
        self.automaton = automaton
        self.source = source
        self.lasts = ANY_BYTE
        self.exits = dict(exits)

    def ends(self, at: int) -> tuple[int, ...]:
        """The ways in which the part may end at a position."""
        if isinstance(self.automaton, Scan):
            table = self.automaton.table
            return table.labels[at] or ((QUIET,) if table.quiet[at] else ())
        return (WHOLE,) if self.automaton.is_accepting(at) else ()


class Layout:
    """The parts of one spec, and the automata that they share.

    root: the spec that is parsed; only its marks are kept, and parts are read as others may have
    written them. saved: what `stored` returned.
    """

    def __init__(self, root: object = None, saved: Mapping[int, Stored] | None = None) -> None:
        self.parts: list[Part] = []
        self.automata: list[Automaton] = []
        self._large = 0  # of these, those that are no scans
        self._root = root
        self._saved = saved or {}
        self._of_spec: dict[int, tuple[int, Spec]] = {}
        self._of_text: dict[bytes, int] = {}

    def spec(self, spec: Spec, after: Hub, place: str = "") -> Hub:
        """A text of `spec`; a spec that can lay itself out does so. Errors say the `place`."""
        try:
            if isinstance(spec, Composed):
                return spec.lay(self, after)
            known = self._of_spec.get(id(spec))
            if known is None:
                read = spec if self._root is None else spec.as_read()
                source = self._add(read.automaton(self._saved.get(len(self.automata))))
                known = self._of_spec[id(spec)] = (source, spec)
        except StructgenError as error:
            if place:
                error.location = f"{place}: {error.location}" if error.location else place
            raise
        hub = self._part(known[0], {WHOLE: after})
        self.parts[-1].lasts = spec.portable().last_bytes()
        return hub

    def text(self, text: str, after: Hub) -> Hub:
        """Exactly `text`."""
        data = text.encode()
        if not data:
            return after
        source = self._of_text.get(data)
        if source is None:
            source = self._of_text[data] = self.table(choice_table([data]), repr(text))
        return self._part(source, {0: after})

    def table(self, table: ScanTable, words: str) -> int:
        """A scan for several parts to share; `words` say what it reads."""
        return self._add(Scan(table, words))

    def scan(self, source: int, exits: Mapping[int, Hub]) -> Hub:
        """A scan, with the hub behind each label (and QUIET)."""
        return self._part(source, exits)

    def mark(self, owner: object, what: Any, after: Hub) -> Hub:
        """Have parsing note `what` in front of `after`, if `owner` is the spec that is parsed."""
        return Hub([after], mark=what) if owner is self._root else after

    def _add(self, automaton: Automaton) -> int:
        self._large += not isinstance(automaton, Scan)
        if self._large > MAX_LARGE:
            raise BudgetError(
                f"the spec has more than {MAX_LARGE} different parts", hint="use fewer of them"
            )
        self.automata.append(automaton)
        return len(self.automata) - 1

    def _part(self, source: int, exits: Mapping[int, Hub]) -> Hub:
        if len(self.parts) >= MAX_PARTS:
            raise BudgetError(
                f"the text has more than {MAX_PARTS} parts", hint="repeat fewer times"
            )
        hub = Hub()
        hub.parts.append(len(self.parts))
        self.parts.append(Part(self.automata[source], source, exits))
        return hub


class Composed(Spec):
    """A spec that says of what parts its texts consist."""

    @abstractmethod
    def lay(self, layout: Layout, after: Hub) -> Hub:
        """Lay the spec out in front of `after`; returns the hub in front of it."""
