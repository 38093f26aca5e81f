"""`OptimalTransport`: the lossless rule with the highest acceptance, for small vocabularies."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from structgen.generation.speculation.interfaces import AcceptRule, Fork, Plan
from structgen.generation.speculation.rules.flow import largest_flow
from structgen.generation.speculation.rules.recursive import RecursiveRejection
from structgen.generation.speculation.rules.residual import residual
from structgen.generation.speculation.tree import Doubles, Scheme

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
