"""How much a lossless rule can accept, and `OptimalTransport`, the rule that accepts so much.

A rule moves the distribution of the children onto that of the target; what it moves without paying
is accepted. By duality of this transport no rule accepts more than 1 + min over sets T of tokens of
p(T) - Q(T), where Q(T) is the probability that all children lie in T, and some rule reaches it (Sun
et al. 2023, SpecTr; Hu et al. 2025, "Towards optimal multi-draft speculative decoding", section 4).
For draws with and without replacement the best T is a beginning of the tokens in the order of p/q.
For small vocabularies the transport itself is found, as a largest flow in a bipartite network, by
blocking flows along shortest paths (Dinic 1970): sources have amounts, targets have room. An
augmenting path goes from a source with something left to a target of its own with room; or to one
where another source gives way, and on from that source.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from structgen.generation.speculation.interfaces import AcceptRule, Fork, Plan
from structgen.generation.speculation.rules.lossless import RecursiveRejection, residual
from structgen.generation.speculation.tree import Doubles, Scheme

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


Kids = frozenset[int]


@dataclass(frozen=True, slots=True)
class OptimalTransport:
    """Keeps a child as often as any lossless rule can.

    (Unless a child that was chosen without chance could also have been drawn.)

    All sets of children that could have been drawn, with their probabilities, send what they can to
    their own tokens, none getting more than p: a largest flow (Sun et al. 2023, SpecTr, section 3).
    The plan is what the set that was drawn sends; all others' leftovers are the residual. How many
    draws there are must be settled before they are made. Sets grow as k^children / children!, so
    forks with more than `most` of them are left to RecursiveRejection, which is lossless as well.
    """

    most: int = 256
    schemes = frozenset([Scheme.IID, Scheme.WOR])
    lossless = True

    def plan(self, fork: Fork) -> Plan:
        """The probabilities of each child, and of what no set could send."""
        sets = None if fork.q is None else sets_of_children(fork, self.most)
        if sets is None:
            other: AcceptRule = RecursiveRejection()
            return other.plan(fork)
        drawn = frozenset(fork.drawn)
        flow = largest_flow(sets, {some: some for some in sets}, fork.p)
        sent = np.zeros(len(fork.p))
        for amounts in flow.values():
            sent[list(amounts)] += list(amounts.values())
        accept = _accept(fork, flow[drawn], sets[drawn])
        return Plan(accept, max(1.0 - accept.sum(), 0.0) * residual(fork.p, sent))


def sets_of_children(fork: Fork, most: int) -> dict[Kids, float] | None:
    """Every set that as many draws could give, with its probability; None if there are too many."""
    if fork.q is None:
        return None
    count = int(np.count_nonzero(fork.q))
    if math.comb(count, min(len(fork.drawn), count)) > most:
        return None
    possible = np.flatnonzero(fork.q).tolist()
    again = fork.scheme is Scheme.IID
    sets: dict[Kids, float] = {frozenset(): 1.0}
    for _ in fork.drawn:
        grown: dict[Kids, float] = {}
        for some, mass in sets.items():
            rest = 1.0 if again else _mass(fork.q, (t for t in possible if t not in some))
            for token in possible:
                if again or token not in some:
                    more = some | {token}
                    grown[more] = grown.get(more, 0.0) + mass * float(fork.q[token]) / rest
        if len(grown) > most:
            return None
        sets = grown
    return sets


def _mass(q: Doubles, tokens: Iterable[int]) -> float:
    return float(sum(q[token] for token in tokens))


def _accept(fork: Fork, amounts: dict[int, float], mass: float) -> Doubles:
    """What a set sends to its tokens, given that it was drawn; equal children share one entry."""
    accept = np.zeros(len(fork.children))
    for token, amount in amounts.items():
        accept[fork.children.index(token)] = amount / mass
    accept /= max(accept.sum(), 1.0)
    return accept


_STEP = 0.25  # of the logarithm of time; the integrals are exact to 1e-13 from 0.3 on
_TAIL = 40.0  # exp(-40) is nothing


def optimal_acceptance(
    p: Doubles, q: Doubles, scheme: Scheme, count: int, points: tuple[int, ...] = ()
) -> float:
    """The largest probability with which the token written can be one of the children.

    p, q: float64[k]. count: draws from q, fewer when there are fewer tokens. points: positions of
    children that are there for certain. O(k log k) for a given number of draws.
    """
    # The best T has all sure children and then the tokens with the smallest p / q, so only the
    # beginnings of one order have to be compared.
    sure = np.zeros(len(p), np.bool_)
    sure[list(points)] = True
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(q > 0.0, p / q, np.inf)
    order = np.lexsort((ratios, ~sure))
    first = max(len(points), 1)  # no set without all points has all children in it
    masses = np.cumsum(p[order])[first - 1 :]
    escapes = escape(q[order], scheme, count)[first - 1 :]
    return min(1.0, float(np.min(masses + escapes)))


def escape(q: Doubles, scheme: Scheme, count: int) -> Doubles:
    """float64[k]: the probability that not all draws are among the first i + 1 tokens.

    Draws without replacement are the order in which clocks ring, each after an exponential time of
    rate q. With r the mass of the later tokens, the draws escape if one of their clocks rings
    at a time t when fewer than `count` of theirs have rung: the integral of r exp(-r t) times the
    probability of that, a sum over independent clocks. On a logarithmic scale of t the trapezoidal
    rule converges exponentially (Trefethen & Weideman 2014, section 5).
    """
    if scheme is Scheme.IID:
        return 1.0 - np.minimum(np.cumsum(q), 1.0) ** count
    count = min(count, int((q > 0.0).sum()))
    behind = np.append(np.cumsum(q[::-1])[::-1][1:], 0.0)
    latest = np.log(_TAIL / behind[behind > 0.0].min(initial=1.0))
    times = np.exp(np.arange(-_TAIL, latest + _STEP, _STEP))
    rung = np.zeros((count, len(times)))  # the probability that c of the first clocks have
    rung[0] = 1.0
    found = np.zeros(len(q))
    for i, rate in enumerate(q):
        silent = np.exp(-rate * times)
        carried = rung[:-1] * (1.0 - silent)
        rung *= silent
        rung[1:] += carried
        waits = behind[i] * times
        found[i] = float((waits * np.exp(-waits)) @ rung.sum(0)) * _STEP
    return found
