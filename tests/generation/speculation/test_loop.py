"""Tests that the loop with random drafts writes what it would without them."""

from __future__ import annotations

from typing import Any

import pytest

from structgen.generation.generator import Generator
from structgen.generation.loop import decode as decode_plainly
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.loop import decode
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.table_target import TableTarget
from structgen.generation.speculation.tree import Scheme
from tests.generation.speculation.toys import (
    SPEC,
    RandomDrafter,
    make_row,
    toy_constraint,
    toy_model,
)

SIZES = Fixed(Budget(nodes=9, depth=4, width=2))


def texts(rows: list[Any]) -> list[tuple[Any, ...]]:
    """What became of each row."""
    return [(row.text, tuple(row.tokens), row.finish) for row in rows]


@pytest.mark.parametrize("scheme", [None, Scheme.IID, Scheme.WOR])
@pytest.mark.parametrize("settings", [{}, {"temperature": 0.0}, {"temperature": 0.7, "top_k": 3}])
def test_comparing_with_a_sample_writes_the_same_tokens(
    scheme: Scheme | None, settings: dict[str, Any]
) -> None:
    """With the same random numbers, whatever is drafted, in fewer forward passes."""
    constraint, target = toy_constraint(), TableTarget(toy_model())
    plain = [make_row(constraint, 3, i, **settings) for i in range(40)]
    list(decode_plainly(target, plain))
    before = target.forwards
    fast = [make_row(constraint, 3, i, **settings) for i in range(40)]
    pieces = list(decode(target, fast, Speculation(RandomDrafter(scheme), policy=SIZES)))
    assert texts(fast) == texts(plain)
    assert target.forwards - before < before or before == 1
    for i, row in enumerate(fast):
        assert "".join(piece for r, piece in pieces if r == i) == row.text
        assert row.stats is not None
        assert row.stats.tokens == len(row.tokens)


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"seed": 5}, {"seed": 1, "top_p": 0.8}])
def test_a_transformers_model_writes_the_same(double: Generator, options: dict[str, Any]) -> None:
    """Token for token in float64, in a batch with prompts of several lengths, closed in time."""
    prompts = ["true", "ab ab ab", "k"]
    speculate = Speculation(RandomDrafter(None), policy=SIZES)
    for max_tokens in (24, 40):
        plain = double.batch(prompts, SPEC, max_tokens=max_tokens, **options)
        fast = double.batch(prompts, SPEC, max_tokens=max_tokens, speculate=speculate, **options)
        for a, b in zip(plain, fast, strict=True):
            assert (a.tokens, a.text, a.finish_reason) == (b.tokens, b.text, b.finish_reason)
            assert abs(a.logprob_masked - b.logprob_masked) < 1e-9
            assert b.stats is not None
            assert b.stats.drafted > 0
