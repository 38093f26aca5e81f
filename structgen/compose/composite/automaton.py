"""The automaton of a composed spec; its positions are sets of threads through the parts.

A thread is a part of the layout and a position in that part's automaton. There is one thread nearly
always; more where the parts alone do not tell yet which of them is being read. All threads can
finish, since every part can and every hub leads to the end; so no position is a dead end.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import (
    DEAD,
    Bytes,
    Completes,
    Stored,
    size_of_parts,
)
from structgen.automata.joined import JoinedAutomaton
from structgen.compose.composite.completions import CompositeEnds
from structgen.compose.composite.layout import Composed, Hub, Layout, Thread, Threads
from structgen.compose.composite.scan import Scan
from structgen.errors import ArtifactError, BudgetError
from structgen.grammar.embedded.tokens import Token, TokenSpecials
from structgen.util.cancellation import checkpoint

MAX_THREADS = 4096  # read side by side at one position


class Composite(JoinedAutomaton[tuple[bool, Threads]]):
    """The automaton of a layout; positions number (may the text end, threads)."""

    MASKS = "structgen.compose.composite.masks:CompositeMasks"

    def __init__(self, spec: Composed, saved: Stored | None = None) -> None:
        self.layout = Layout(saved=_saved_parts(saved))
        first = self.layout.spec(spec, Hub(final=True))
        self.parts = self.layout.parts
        super().__init__()
        inners = self.layout.automata
        self.reads_tokens = any(inner.reads_tokens for inner in inners)
        self.named_tokens = tuple(token for inner in inners for token in inner.named_tokens)
        self._behind: dict[int, tuple[bool, Threads]] = {}
        if saved is None:
            parts, end = first.closure()
            self.start = self._closed([(p, self.parts[p].automaton.start) for p, _ in parts], end)
        else:
            self._restore(saved)
            self.start = int(saved.header["start"])

    # -- threads --------------------------------------------------------------------------------

    def threads(self, at: int) -> Threads:
        """The threads of a position."""
        return self._positions[at][1]

    def behind(self, hub: Hub) -> tuple[bool, Threads]:
        """Whether the text may end at a hub, and the threads that begin there."""
        known = self._behind.get(id(hub))
        if known is None:
            parts, end = hub.closure()
            starts = [(p, self.parts[p].automaton.start) for p, _ in parts]
            known = self._behind[id(hub)] = self._positions[self._closed(starts, end)]
        return known

    def _closed(self, threads: Iterable[Thread], end: object = None) -> int:
        """The position with these threads and those that may start where they end."""
        found: set[Thread] = set()
        kept: list[Thread] = []
        final = end is not None
        todo = list(threads)
        while todo:
            thread = todo.pop()
            if thread in found:
                continue
            found.add(thread)
            part, at = self.parts[thread[0]], thread[1]
            for label in part.ends(at):
                if label in part.exits:
                    following, end = part.exits[label].closure()
                    final = final or end is not None
                    todo += [(p, self.parts[p].automaton.start) for p, _ in following]
            if not (isinstance(part.automaton, Scan) and part.automaton.is_stuck(at)):
                kept.append(thread)
        if len(found) > MAX_THREADS:
            raise BudgetError(
                f"more than {MAX_THREADS} ways to read the text are open at once",
                hint="make the parts of the spec tell themselves apart earlier",
            )
        return self._number((final, tuple(sorted(kept))))

    # -- reading --------------------------------------------------------------------------------

    def _step(self, at: int, byte: int) -> int:
        data = bytes((byte,))
        moved = [(p, self.parts[p].automaton.run(q, data)[0]) for p, q in self._positions[at][1]]
        alive = [thread for thread in moved if thread[1] >= 0]
        return self._closed(alive) if alive else DEAD

    def is_accepting(self, at: int) -> bool:
        """See `Automaton.is_accepting`."""
        return self._positions[at][0]

    def next_bytes(self, at: int) -> list[int]:
        """See `Automaton.next_bytes`."""
        found: set[int] = set()
        for part, inner in self._positions[at][1]:
            checkpoint()
            found.update(self.parts[part].automaton.next_bytes(inner))
        return sorted(found)

    def only_byte(self, at: int) -> int:
        """See `Automaton.only_byte`."""
        threads = self._positions[at][1]
        if len(threads) == 1:
            part, inner = threads[0]
            return self.parts[part].automaton.only_byte(inner)
        return super().only_byte(at)

    def specials(self, at: int) -> Mapping[bytes, int]:
        """Special tokens that parts name, or whose text stands in a literal of the spec.

        See `Automaton.specials`.
        """
        if self.reads_tokens:
            pieces = [(text, to) for text in self.pieces(at) for to in self.spelled(at, text)]
            return TokenSpecials([*self.ways(at), *pieces], self.behind_threads)
        threads = self._positions[at][1]
        if not any(isinstance(self.parts[part].automaton, Scan) for part, _ in threads):
            return {}
        return Spelled(self, at)

    def ways(self, at: int) -> list[tuple[Token | bytes, Thread]]:
        """What tokens stand for themselves at a position, and the thread behind each."""
        found: list[tuple[Token | bytes, Thread]] = []
        for part, inner in self._positions[at][1]:
            automaton = self.parts[part].automaton
            special = {} if isinstance(automaton, Scan) else automaton.specials(inner)
            named = special.pairs() if isinstance(special, TokenSpecials) else special.items()
            found += [(way, (part, after)) for way, after in named]
        return found

    def spelled(self, at: int, text: bytes) -> list[Thread]:
        """The threads behind a special token whose text stands in literals of the spec."""
        found: list[Thread] = []
        for part, inner in self._positions[at][1]:
            automaton = self.parts[part].automaton
            after = automaton.table.spelled(inner, text) if isinstance(automaton, Scan) else DEAD
            if after >= 0:
                found.append((part, after))
        return found

    def pieces(self, at: int) -> Iterator[bytes]:
        """What special tokens may stand for in the literals of the spec."""
        scans = [(self.parts[part].automaton, inner) for part, inner in self.threads(at)]
        found = [a.table.pieces(inner) for a, inner in scans if isinstance(a, Scan)]
        return iter(dict.fromkeys(itertools.chain.from_iterable(found)))

    def behind_threads(self, threads: list[Thread]) -> int:
        """The position of some threads, or DEAD."""
        return self._closed(threads) if threads else DEAD

    def after_special(self, at: int, text: bytes) -> int:
        """The position after a special token with that text, or DEAD."""
        named = [thread for way, thread in self.ways(at) if way == text]
        return self.behind_threads([*named, *self.spelled(at, text)])

    def joined(self, one: int, other: int) -> int:
        """The position of two, either of which may be DEAD."""
        if min(one, other) < 0:
            return max(one, other)
        (final, threads), (ends, others) = self._positions[one], self._positions[other]
        return self._closed([*threads, *others], True if final or ends else None)

    def core(self, at: int) -> Hashable:
        """See `Automaton.core`."""
        final, threads = self._positions[at]
        return final, tuple((p, self.parts[p].automaton.core(q)) for p, q in threads)

    def remembers(self, at: int) -> Hashable:
        """See `Automaton.remembers`: what each thread does, if any does."""
        _, threads = self._positions[at]
        found = tuple(self.parts[p].automaton.remembers(q) for p, q in threads)
        return None if all(f is None for f in found) else found

    def expected(self, at: int) -> str:
        """See `Automaton.expected`."""
        final, threads = self._positions[at]
        words = [self.parts[p].automaton.expected(q) for p, q in threads]
        if final and not any(w.endswith("or the end") for w in words):
            words.append("the end")
        return ", or ".join(dict.fromkeys(words))

    # -- masks, completions, files ----------------------------------------------------------------

    def completions(self, alphabet: Bytes = range(256)) -> Completes:
        """See `Automaton.completions`."""
        return CompositeEnds(self.parts, self._positions.__getitem__, self.behind, alphabet)

    @property
    def size(self) -> dict[str, int]:
        """See `Automaton.size`."""
        return size_of_parts(len(self._positions), len(self._steps), self.layout.automata)

    def stored(self) -> Stored:
        """The positions, and what each automaton of a part stores."""
        headers: list[dict[str, Any]] = []
        arrays: dict[str, npt.NDArray[Any]] = {}
        for source, automaton in enumerate(self.layout.automata):
            inner = automaton.stored()
            headers.append(inner.header)
            arrays |= {f"part{source}.{name}": a for name, a in inner.arrays.items()}
        threads = [(p, q) for _, found in self._positions for p, q in found]
        arrays["threads"] = np.array(threads, np.int64).reshape(-1, 2)
        arrays["thread_counts"] = np.array([len(t) for _, t in self._positions], np.int64)
        arrays["finals"] = np.array([final for final, _ in self._positions], np.uint8)
        return Stored({"start": self.start, "parts": headers}, arrays)

    def _restore(self, saved: Stored) -> None:
        pairs = [(int(p), int(q)) for p, q in saved.arrays["threads"]]
        counts = saved.arrays["thread_counts"].tolist()
        finals = saved.arrays["finals"].tolist()
        if (
            len(counts) != len(finals)
            or min(counts, default=-1) < 0
            or sum(counts) != len(pairs)
            or any(not 0 <= p < len(self.parts) for p, _ in pairs)
            or not all(self.parts[p].automaton.is_position(q) for p, q in set(pairs))
            or not 0 <= int(saved.header["start"]) < len(counts)
        ):
            raise ArtifactError(
                "the saved positions do not belong to the saved spec", hint="compile the spec again"
            )
        first = 0
        for final, count in zip(finals, counts, strict=True):
            self._number((bool(final), tuple(pairs[first : first + count])))
            first += count


class Spelled(Mapping[bytes, int]):
    """The special tokens at a position, found when asked for: any piece of a literal may be one."""

    def __init__(self, composite: Composite, at: int) -> None:
        self._composite = composite
        self._at = at

    def __getitem__(self, text: bytes) -> int:
        after = self._composite.after_special(self._at, text) if text else DEAD
        if after == DEAD:
            raise KeyError(text)
        return after

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[bytes]:
        return self._composite.pieces(self._at)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _saved_parts(saved: Stored | None) -> dict[int, Stored]:
    if saved is None:
        return {}
    parts: dict[int, Stored] = {}
    for source, header in enumerate(saved.header["parts"]):
        prefix = f"part{source}."
        arrays = {k[len(prefix) :]: a for k, a in saved.arrays.items() if k.startswith(prefix)}
        parts[source] = Stored(header, arrays)
    return parts
