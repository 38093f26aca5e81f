"""The smallest sets of conditions that are enough, where all that contain such a set are, too.

"Dualize and advance" (Gunopulos, Khardon, Mannila, Saluja, Toivonen and Sharma 2003, "Discovering
all most specific sentences"). A set is enough if it has something of each *demand*: of what a
largest set lacks that is not enough. The smallest sets that meet the demands found so far are asked
about; one that is not enough is made as large as it can be while it is not, which gives one more
demand. So each smallest set takes one question, and each demand one for every condition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from structgen.schema.normal_form.expressions import Expr

MAX_WAYS = 200  # sets of conditions on the value of one member

Conditions = tuple[Expr, ...]
IsEnough = Callable[[Conditions], bool]


class Enough(NamedTuple):
    """What is enough: all conditions of one of some sets, or one condition of each demand.

    is_whole: whether these say the same; else some sets took too long to find.
    """

    ways: list[Conditions]
    demands: list[Conditions]
    is_whole: bool = True

    def shorter_demands(self) -> list[Conditions] | None:
        """The demands, if it takes fewer words to say what is enough by them."""
        shorter = sum(map(len, self.demands)) < sum(map(len, self.ways))
        return self.demands if self.is_whole and shorter else None


def enough(conditions: Sequence[Expr], needed: Collection[Expr], is_enough: IsEnough) -> Enough:
    """The smallest sets that are enough, at most MAX_WAYS. needed: conditions that are in all."""
    demands = [frozenset((x,)) for x in needed]
    ways = [frozenset(needed)]  # the smallest that meet all demands so far
    asked: dict[frozenset[Expr], bool] = {}
    is_whole = True

    def in_order(some: Collection[Expr]) -> Conditions:
        return tuple([x for x in conditions if x in some])

    def is_known_enough(some: frozenset[Expr]) -> bool:
        return any(ok and way <= some for way, ok in asked.items())

    while (way := next((w for w in ways if w not in asked), None)) is not None:
        if len(asked) >= MAX_WAYS:
            is_whole = False
            break
        asked[way] = is_enough(in_order(way))
        if asked[way]:
            continue
        lacking = way
        for x in conditions:
            more = lacking | {x}
            if x not in lacking and not is_known_enough(more) and not is_enough(in_order(more)):
                lacking = more
        demands.append(frozenset(conditions) - lacking)
        ways = _meeting(ways, demands[-1])
        if len(ways) > MAX_WAYS:
            is_whole = False
            ways = sorted(ways, key=lambda w: not asked.get(w))[:MAX_WAYS]
    found = [in_order(way) for way in ways if asked.get(way)]
    return Enough(found, [in_order(x) for x in demands], is_whole)


def _meeting(ways: list[frozenset[Expr]], demand: frozenset[Expr]) -> list[frozenset[Expr]]:
    """The smallest sets that contain one of `ways` and meet a demand (Berge's algorithm)."""
    met = [way for way in ways if way & demand]
    more = (way | {x} for way in ways if not way & demand for x in demand)
    return met + [way for way in more if not any(other <= way for other in met)]
