"""Maximum flow in a bipartite network, by blocking flows along shortest paths (Dinic 1970).

Sources have amounts, targets have room. An augmenting path goes from a source with something left
to a target of its own with room; or to one where another source gives way, and on from that source.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)

_NOTHING = 1e-16  # amounts of this size are rounding


def largest_flow(
    amounts: Mapping[S, float], targets: Mapping[S, Iterable[int]], room: Iterable[float]
) -> dict[S, dict[int, float]]:
    """What each source sends to each of its targets, as much as possible in total.

    amounts: what the sources have. targets: the positions in `room` that each may send to.
    """
    network = _Network(amounts, targets, room)
    while network.measure():
        for source in amounts:
            network.left[source] -= network.send(source, network.left[source])
    return network.flow


class _Network(Generic[S]):
    """A flow that can be added to."""

    def __init__(
        self,
        amounts: Mapping[S, float],
        targets: Mapping[S, Iterable[int]],
        room: Iterable[float],
    ) -> None:
        self.left = dict(amounts)
        self.flow = {source: dict.fromkeys(targets[source], 0.0) for source in amounts}
        self._room = [float(space) for space in room]
        self._senders: list[list[S]] = [[] for _ in self._room]
        for source, flow in self.flow.items():
            for target in flow:
                self._senders[target].append(source)
        self._depths: dict[S, int] = {}  # steps from a source with something left
        self._reached: dict[int, int] = {}  # the same for targets

    def measure(self) -> bool:
        """Find the lengths of the shortest paths; returns whether one ends where there is room."""
        # Breadth-first search from all sources with something left: a target leads on to the
        # sources that send to it, since these may give way.
        level = [source for source, left in self.left.items() if left > _NOTHING]
        self._depths, self._reached = dict.fromkeys(level, 0), {}
        depth, found = 0, False
        while level and not found:
            following: list[S] = []
            for target in {t for source in level for t in self.flow[source]}:
                if target not in self._reached:
                    self._reached[target] = depth
                    found |= self._room[target] > _NOTHING
                    following += [s for s in self._senders[target] if self._gives(s, target)]
            depth += 1
            level = [s for s in dict.fromkeys(following) if s not in self._depths]
            self._depths |= dict.fromkeys(level, depth)
        return found

    def send(self, source: S, amount: float) -> float:
        """Send up to `amount` more along shortest paths; returns how much that was."""
        # Depth-first search along edges that go one level deeper; what fails is not tried again.
        flow, depth = self.flow[source], self._depths.get(source, -1)
        rest = amount
        for target in flow:
            if rest <= _NOTHING or depth < 0:
                break
            if self._reached.get(target) == depth:
                sent = self._receive(target, rest, depth + 1)
                flow[target] += sent
                rest -= sent
        if rest > _NOTHING:
            self._depths[source] = -1  # nothing more can be sent from here along such paths
        return amount - rest

    def _receive(self, target: int, amount: float, depth: int) -> float:
        """Make room for up to `amount`; returns for how much."""
        taken = min(amount, self._room[target])
        self._room[target] -= taken
        for other in self._senders[target]:
            if amount - taken <= _NOTHING:
                break
            if self._depths.get(other) == depth and self._gives(other, target):
                moved = self.send(other, min(amount - taken, self.flow[other][target]))
                self.flow[other][target] -= moved
                taken += moved
        return taken

    def _gives(self, source: S, target: int) -> bool:
        return self.flow[source][target] > _NOTHING
