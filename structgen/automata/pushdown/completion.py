"""Shortest completions: a shortest text from a position to where the text may end.

The search goes lexeme by lexeme: of all ways in which the current lexeme can end, it takes the one
whose bytes, plus the machine's lower bound on what must follow, are fewest. Where that bound is too
low it falls back to A* over positions (Hart, Nilsson and Raphael 1968).
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable, Iterator
from contextlib import suppress
from typing import NamedTuple

from structgen.automata.interface import ASK_LESS, DEAD, Bytes, completing
from structgen.automata.lexer.lexer import LexState
from structgen.automata.lexer.shortest_paths import ORDER, Ending, ends
from structgen.automata.pushdown.machine import END_OF_TEXT, SKIP, TEXT_COMPARED, Frame
from structgen.automata.pushdown.positions import Positions
from structgen.errors import BudgetError
from structgen.util.cancellation import checkpoint

MAX_FOUND = 1 << 16  # completions cached
MAX_TRIED = 10_000  # texts that were read before, tried before a new one is found
TIMES, SPARE = 4, 10_000  # the greedy search gives up after TIMES * bytes + SPARE lexemes
ASTRAY = 60  # in place of SPARE at first: with more lexemes the bound was too low
MAX_SEEN, MAX_STEPS = 5_000, 50_000  # positions and steps of the A* search
MAX_IN_VAIN = 500  # states of a lexeme that are looked at after the best way to end it
FEW_WAYS = 2  # to end a lexeme that are followed where all would be too many
MAX_WORK = 40_000  # units of one search
MAX_BYTES = 1 << 24  # of a completion
BYTES_PER_UNIT = 32  # that are read in a unit of work
NO_WAY = "no way to end the text was found"
ENDED = -2  # the position after the end of the text


class Way(NamedTuple):
    """A way to end a lexeme: its bytes, the position after it, and the fewest bytes in all."""

    size: int
    path: bytes
    after: int


def _size(way: Way) -> int:
    return way.size


class Completions:
    """Finds shortest completions, and caches what it learns of lexer states and stack nodes.

    With an `alphabet` smaller than all bytes, completions are short rather than shortest, and
    BudgetError says that none was found.
    """

    def __init__(self, engine: Positions, alphabet: Bytes = range(256)) -> None:
        self._engine = engine
        self._alphabet = alphabet
        self._found_ends: dict[int, tuple[list[Ending], Iterator[Ending]]] = {}
        self._found: dict[int, bytes] = {}
        self._costs: dict[int, int] = {}
        self._floors: dict[int, int] = {}
        self._entries: dict[LexState, int] = {}

    def shortest(self, position: int) -> bytes:
        """A shortest text from `position` to where the text may end."""
        if position not in self._found:
            if len(self._found) >= MAX_FOUND:
                self._found.clear()
            with completing(MAX_WORK):
                self._found[position] = self._search(position)
        return self._found[position]

    def _search(self, position: int) -> bytes:
        """A shortest text from `position` to where the text may end.

        The machine's lower bound may be too low; where the greedy search then takes too many
        lexemes, A* takes over, and if that takes too long, A* with few ways for each lexeme, which
        finds a short text. Tables from a forged file may lead in circles, or ever deeper:
        BudgetError.
        """
        found = self._greedy(position, ASTRAY)
        if found is None:
            with suppress(BudgetError), completing(MAX_WORK):
                found = self._best_first(position)
        if found is None:
            found = self._best_first(position, FEW_WAYS)
        if found is None:
            found = self._greedy(position, SPARE)
        if found is None:
            raise BudgetError(NO_WAY)
        return found

    def _greedy(self, position: int, spare: int) -> bytes | None:
        """The greedy search; None past TIMES * expected bytes + `spare` lexemes."""
        out: list[bytes] = []
        lexemes, most = 0, spare
        while lexemes <= most:
            best = min(self._ways(position), key=_size, default=None)
            if best is None:
                raise BudgetError(NO_WAY)
            if best.size > MAX_BYTES:
                raise BudgetError(
                    f"the shortest way to end the text has {best.size} bytes "
                    f"(expected at most {MAX_BYTES})",
                    hint=ASK_LESS,
                )
            out.append(best.path)
            position = best.after
            if position == ENDED:
                return b"".join(out)
            most = most if lexemes else spare + TIMES * best.size
            lexemes += 1
        return None

    def _best_first(self, position: int, few: int | None = None) -> bytes | None:
        """The search as A*; None if it exceeds its limits. few: of how many ways at most.

        The ways from a position are a generator that is resumed when its turn comes, as there may
        be infinitely many of them.
        """
        ties = itertools.count()
        heap: list[tuple[int, int, int, bytes, Way | Iterator[Way | int]]] = []

        def push(size: int, begun: bytes, ways: Way | Iterator[Way | int]) -> None:
            heapq.heappush(heap, (len(begun) + size, -len(begun), next(ties), begun, ways))

        push(0, b"", Way(0, b"", position))
        seen: set[int] = set()
        for _ in range(MAX_STEPS):
            if not heap or len(seen) >= MAX_SEEN:
                break
            _, _, _, begun, ways = heapq.heappop(heap)
            if isinstance(ways, Way):
                begun += ways.path
                if ways.after == ENDED:
                    return begun
                if ways.after in seen:
                    continue
                seen.add(ways.after)
                ways = (
                    self._ways_and_bounds(ways.after)
                    if few is None
                    else iter(sorted(self._ways(ways.after), key=_size)[:few])
                )
            for way in ways:
                if isinstance(way, int):
                    push(way, begun, ways)
                    break
                push(way.size, begun, way)
        return None

    def _ways(self, position: int) -> list[Way]:
        """The ways in which the current lexeme can end, as far as one of them may be best.

        After the best of them it looks no further than MAX_IN_VAIN states: the machine's bound may
        say too little of what must follow.
        """
        found: list[Way] = []
        best: int | None = None
        in_vain = 0
        for way in self._ways_and_bounds(position):
            in_vain += 1
            if not isinstance(way, int):
                found.append(way)
                if best is None or way.size < best:
                    best, in_vain = way.size, 0
            elif best is not None and (best <= way or in_vain > MAX_IN_VAIN):
                break
        return found

    def _ways_and_bounds(self, position: int) -> Iterator[Way | int]:
        """The ways in which the current lexeme can end, with lower bounds in between.

        An int is a lower bound on the size of all ways that come after it.
        """
        floor, exact = self._floor(position & 0xFFFFFFFF), self._exact(position)
        words, are_all = self._words(position)
        shortest = 1  # of the words from here on, and of other lexemes
        rest = list(itertools.accumulate((len(word.path) for word in reversed(words)), min))
        for word in words:
            checkpoint()
            shortest = rest.pop() if are_all else shortest
            yield max(exact, shortest + floor)
            yield from self._way(position, word)
        for ending in () if are_all else self._endings(position >> 32):
            checkpoint()
            yield max(exact, len(ending.path) + floor)
            yield from self._way(position, ending)

    def _way(self, position: int, ending: Ending) -> Iterator[Way]:
        """The way to end the current lexeme so, if it is one."""
        if ending.terminal is None:
            return
        after = self._after(position, ending)
        if after == DEAD:
            ending, after = self._unread_ending(position, ending)
        if after == DEAD:
            return
        cost = 0 if after == ENDED else self._cost(after & 0xFFFFFFFF)
        yield Way(len(ending.path) + cost, ending.path, after)

    def _begins(self, position: int) -> bool:
        """Whether nothing of a frame's lexeme has been read."""
        frame = self._engine.frame_at(position & 0xFFFFFFFF)
        return self._engine.state(position >> 32) == frame.lexeme

    def _exact(self, position: int) -> int:
        """Fewest bytes to the end, exact at the start of a frame's lexeme; 0 elsewhere."""
        if not self._begins(position):
            return 0
        frame = self._engine.frame_at(position & 0xFFFFFFFF)
        return self._cost(position & 0xFFFFFFFF) - self._before(frame)

    def _before(self, frame: Frame) -> int:
        """Fewest bytes of a frame's entry."""
        if frame.entry is None:
            return 0
        if frame.entry not in self._entries:
            found = ends(frame.entry, self._engine.row_of)
            self._entries[frame.entry] = next(len(e.path) for e in found if e.terminal == SKIP)
        return self._entries[frame.entry]

    def _words(self, position: int) -> tuple[list[Ending], bool]:
        """Endings that the machine lists, at the start of a lexeme; whether these are all.

        That is where a name must come: one of many, of which few may be allowed in this frame, or a
        long one where any shorter key may come as well.
        """
        if not self._begins(position):
            return [], False
        engine = self._engine
        words, are_all = engine.machine.words(engine.frame_at(position & 0xFFFFFFFF))
        found = [Ending(terminal, text) for terminal, text in words if self._writes(text)]
        return found, are_all and bool(found)

    def _writes(self, text: bytes) -> bool:
        return all(byte in self._alphabet for byte in text)

    def _endings(self, q: int) -> Iterator[Ending]:
        """`ends` of a lexer state, cached and computed as far as it is asked for."""
        if q not in self._found_ends:
            self._found_ends[q] = (
                [],
                ends(self._engine.state(q), self._engine.row_of, self._alphabet),
            )
        known, more = self._found_ends[q]
        for at in itertools.count():  # several consumers share one generator
            if at == len(known):
                known += itertools.islice(more, 1)
                if at == len(known):
                    return
            yield known[at]

    def _cost(self, node: int) -> int:
        if node not in self._costs:
            self._costs[node] = self._engine.machine.cost(self._engine.stack(node))
        return self._costs[node]

    def _floor(self, node: int) -> int:
        if node not in self._floors:
            self._floors[node] = self._engine.machine.floor(self._engine.stack(node))
        return self._floors[node]

    def _after(self, position: int, ending: Ending) -> int:
        """The position after a lexeme that ends so, DEAD, or ENDED after the whole text."""
        if ending.terminal == END_OF_TEXT:
            return ENDED
        checkpoint(len(ending.path) // BYTES_PER_UNIT)
        position, _ = self._engine.run(position, ending.path)
        if ending.early and position >= 0:
            self._engine.targets(position >> 32)  # numbers the terminal
            position = self._engine.fire(
                position & 0xFFFFFFFF, self._engine.number_of(ending.terminal)
            )
        return position

    def _unread_ending(self, position: int, refused: Ending) -> tuple[Ending, int]:
        """A short way to end with the same terminal where the shortest text was read before."""
        if self._engine.machine.needs_text(refused.terminal) != TEXT_COMPARED:
            return refused, DEAD
        ties = itertools.count()
        # beginnings by the shortest text that they have, which is one of these if it is unread
        queue = [(len(refused.path), next(ties), b"", position, (refused, DEAD))]
        # before a string, nothing but its quote leads there
        first = b'"' if refused.path[:1] == b'"' and self._begins(position) else ORDER
        for _ in range(MAX_TRIED):
            if not queue:
                break
            size, _, path, at, shortest = heapq.heappop(queue)
            if shortest[1] != DEAD:
                return shortest
            for byte in ORDER if path else first:
                after = self._engine.run(at, bytes((byte,)))[0] if byte in self._alphabet else DEAD
                more = None if after < 0 else self._ending(after >> 32, refused.terminal)
                if more is None:
                    continue
                checkpoint()
                begun = path + bytes((byte,))
                ending = more._replace(path=begun + more.path)
                found = self._after(position, ending)
                if found != DEAD and len(ending.path) == size:
                    return ending, found
                heapq.heappush(queue, (len(ending.path), next(ties), begun, after, (ending, found)))
        return refused, DEAD

    def _ending(self, q: int, terminal: Hashable) -> Ending | None:
        """The shortest way to end a lexeme with a terminal."""
        return next((e for e in self._endings(q) if e.terminal == terminal), None)
