"""Lexeme ends of several masks are those that all have, or any, with what each captures."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from structgen.kernels.build.loader import kernels
from structgen.masks.lexeme_masks import _joined


def ends_at(nodes: Sequence[int]) -> Any:
    """Ends at some nodes, each of which captures its number twice."""
    count = len(nodes)
    return kernels("masks.lexeme_walk").LexemeEnds(
        node=np.array(nodes, np.int32),
        label=np.full(count, 7, np.int32),
        before=np.zeros(count, np.uint8),
        start=np.arange(count + 1, dtype=np.int32) * 2,
        text=np.array(nodes, np.uint8).repeat(2),
    )


def test_ends_are_joined_as_sets_are() -> None:
    """Of one to four masks, some of them without ends."""
    rnd = random.Random(1)
    for _ in range(500):
        sets = [set(rnd.sample(range(9), rnd.randrange(7))) for _ in range(rnd.randrange(1, 5))]
        for joint, join in ((True, set.intersection), (False, set.union)):
            found = _joined([ends_at(sorted(nodes)) for nodes in sets], joint=joint)
            wanted = ends_at(sorted(join(*sets)))
            assert all(map(np.array_equal, found, wanted))
