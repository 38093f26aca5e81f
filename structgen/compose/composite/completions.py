"""Find a shortest text with which a composed text may end.

Best first over threads: how a part ends costs the bytes until then, and behind it others begin.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence

from structgen.automata.interface import Bytes, Completes
from structgen.compose.composite.layout import WHOLE, Hub, Part, Thread, Threads
from structgen.compose.composite.scan import Scan
from structgen.errors import BudgetError

MAX_FOUND = 1 << 14  # completions remembered
MAX_THREADS = 1 << 16  # threads looked at for one completion


class CompositeEnds:
    """Finds shortest completions of a composite.

    position, behind: whether the text may end at a position, or at a hub, and the threads there.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        position: Callable[[int], tuple[bool, Threads]],
        behind: Callable[[Hub], tuple[bool, Threads]],
        alphabet: Bytes,
    ) -> None:
        self._parts, self._position, self._behind = parts, position, behind
        self._alphabet = alphabet
        self._of_source: dict[int, Completes] = {}
        self._found: dict[int, bytes] = {}

    def shortest(self, at: int) -> bytes:
        """See `Completes.shortest`."""
        final, threads = self._position(at)
        if final:
            return b""
        if at not in self._found:
            if len(self._found) >= MAX_FOUND:
                self._found.clear()
            self._found[at] = self._search(threads)
        return self._found[at]

    def _search(self, threads: Threads) -> bytes:
        ties = itertools.count()
        queue: list[tuple[int, int, Thread | None, bytes]] = []
        seen: set[Thread] = set()
        for thread in threads:
            heapq.heappush(queue, (0, next(ties), thread, b""))
        while queue:
            _, _, found, text = heapq.heappop(queue)
            if found is None:
                return text
            if found in seen:
                continue
            seen.add(found)
            part = self._parts[found[0]]
            for label, path in self._paths(part, found[1]).items():
                hub = part.exits.get(label)
                if hub is None:
                    continue
                final, begun = self._behind(hub)
                longer = text + path
                for after in (None,) if final else begun:
                    heapq.heappush(queue, (len(longer), next(ties), after, longer))
            if len(seen) > MAX_THREADS:
                break
        raise BudgetError("no way to end the text was found")

    def _paths(self, part: Part, at: int) -> dict[int, bytes]:
        """A shortest text for each way in which a part can end."""
        if isinstance(part.automaton, Scan):
            return part.automaton.paths(at, self._alphabet)
        finder = self._of_source.get(part.source)
        if finder is None:
            finder = part.automaton.completions(self._alphabet)
            self._of_source[part.source] = finder
        try:
            return {WHOLE: finder.shortest(at)}
        except BudgetError:
            return {}
