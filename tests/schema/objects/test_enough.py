"""The smallest sets of conditions that are enough: what trying all sets finds, in few questions."""

from __future__ import annotations

from itertools import combinations
from math import prod
from random import Random
from typing import Any

import pytest

from structgen.schema.objects import enough as module
from structgen.schema.objects.enough import enough


def smallest(count: int, is_enough: Any) -> set[tuple[int, ...]]:
    """The smallest sets, found by trying all, those of few conditions first."""
    found: set[tuple[int, ...]] = set()
    for size in range(count + 1):
        for some in combinations(range(count), size):
            if not any(set(way) <= set(some) for way in found) and is_enough(some):
                found.add(some)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_the_smallest_sets_are_those_that_trying_all_finds(seed: int) -> None:
    """And one condition of each demand is enough as well, as exactly these are."""
    rng = Random(seed)
    count = rng.randrange(7)
    ways = [
        frozenset(rng.sample(range(count), rng.randrange(count + 1)))
        for _ in range(rng.randrange(6))
    ]
    asked: list[Any] = []

    def is_enough(some: Any) -> bool:
        asked.append(some)
        return any(way <= set(some) for way in ways)

    expected = smallest(count, is_enough)
    asked.clear()
    conditions: Any = range(count)
    needed: Any = [x for x in range(count) if all(x in way for way in expected)]
    found = enough(conditions, rng.sample(needed, rng.randrange(len(needed) + 1)), is_enough)
    ways_found: list[Any] = found.ways
    assert set(ways_found) == expected
    assert len(ways_found) == len(expected)
    assert found.is_whole
    demands: list[Any] = found.demands
    met = smallest(count, lambda some: all(set(some) & set(demand) for demand in demands))
    assert met == expected
    assert len(asked) <= len(expected) + (len(demands) + 1) * (count + 1)


def test_one_of_each_of_many_pairs_is_said_by_the_pairs() -> None:
    """There are more ways than are looked at; those offered are ways."""
    pairs: Any = [(2 * i, 2 * i + 1) for i in range(6)]

    def is_enough(some: Any) -> bool:
        return all(set(pair) & set(some) for pair in pairs)

    conditions: Any = range(12)
    whole = enough(conditions, (), is_enough)
    assert len(whole.ways) == prod(map(len, pairs))
    assert sorted(whole.shorter_demands() or ()) == pairs


def test_some_ways_are_offered_where_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """But then nothing is said by the demands, of which some may be lacking."""
    monkeypatch.setattr(module, "MAX_WAYS", 20)
    conditions: Any = range(24)

    def is_enough(some: Any) -> bool:
        return all({2 * i, 2 * i + 1} & set(some) for i in range(12))

    found = enough(conditions, (), is_enough)
    assert 0 < len(found.ways) <= 20
    assert all(len(way) == 12 and is_enough(way) for way in found.ways)
    assert not found.is_whole
    assert found.shorter_demands() is None
