"""Find where in a text of a composed spec the marks of its layout are.

Reads the text with all threads and keeps for each the marks on its way. Where a text can be read in
several ways the first one found counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from structgen.automata.interface import DEAD
from structgen.compose.composite.layout import Composed, Hub, Layout
from structgen.compose.composite.scan import Scan
from structgen.errors import ValidationError

Thread = tuple[int, int]


class Note(NamedTuple):
    """A mark, and how many bytes had been read when the text passed it."""

    offset: int
    mark: Any


class _Path(NamedTuple):
    """Notes in reverse order, as a linked list: threads share their past."""

    note: Note
    before: _Path | None


def trace(spec: Composed, data: bytes) -> list[Note]:
    """The marks of `spec` that a text passes, in order. Raises ValidationError."""
    reader = _read(spec, data)
    if not reader.ended:
        raise _unfit(spec, len(data))
    return _notes(reader.end)


def trace_so_far(spec: Composed, data: bytes) -> list[Note]:
    """The marks of `spec` that the beginning of a text has passed, however it is read and goes on.

    Raises ValidationError when no text begins so.
    """
    reader = _read(spec, data)
    ways = [_notes(path) for thread, path in reader.threads.items() if reader.goes_on(thread)]
    if reader.ended:
        ways.append(_notes(reader.end))
    if not ways:
        raise _unfit(spec, len(data))
    certain = []
    for notes in zip(*ways, strict=False):
        if any(note != notes[0] for note in notes):
            break
        certain.append(notes[0])
    return certain


def _read(spec: Composed, data: bytes) -> _Reader:
    layout = Layout(root=spec)
    reader = _Reader(layout)
    reader.enter(layout.spec(spec, Hub(final=True)), None, 0)
    for offset, byte in enumerate(data):
        if not reader.threads:
            raise _unfit(spec, offset)
        reader.step(byte, offset + 1)
    return reader


def _notes(path: _Path | None) -> list[Note]:
    """The notes of a path, in the order of the text."""
    notes: list[Note] = []
    while path is not None:
        notes.append(path.note)
        path = path.before
    return notes[::-1]


class _Reader:
    """All threads at one offset, each with its path."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.threads: dict[Thread, _Path | None] = {}
        self.ended = False
        self.end: _Path | None = None

    def step(self, byte: int, offset: int) -> None:
        """Read one byte; offset: of what follows."""
        old, self.threads = self.threads, {}
        self.ended, self.end = False, None
        data = bytes((byte,))
        for (part, at), path in old.items():
            after, _ = self._layout.parts[part].automaton.run(at, data)
            if after != DEAD:
                self._add((part, after), path, offset)

    def goes_on(self, thread: Thread) -> bool:
        """Whether more of its part may follow."""
        automaton = self._layout.parts[thread[0]].automaton
        return not (isinstance(automaton, Scan) and automaton.is_stuck(thread[1]))

    def enter(self, hub: Hub, path: _Path | None, offset: int) -> None:
        """Begin what follows a hub."""
        following, final = hub.closure()
        if final is not None and not self.ended:
            self.ended, self.end = True, _noted(path, final, offset)
        for part, marks in following:
            start = self._layout.parts[part].automaton.start
            self._add((part, start), _noted(path, marks, offset), offset)

    def _add(self, thread: Thread, path: _Path | None, offset: int) -> None:
        if thread in self.threads:
            return
        self.threads[thread] = path
        part = self._layout.parts[thread[0]]
        for label in part.ends(thread[1]):
            if label in part.exits:
                self.enter(part.exits[label], path, offset)


def _noted(path: _Path | None, marks: tuple[Any, ...], offset: int) -> _Path | None:
    for mark in marks:
        path = _Path(Note(offset, mark), path)
    return path


def _unfit(spec: Composed, offset: int) -> ValidationError:
    return ValidationError(
        f"the text does not fit the spec ({spec.kind})",
        offset=offset,
        location=f"byte {offset}",
        hint="structgen.check says what was expected",
    )
