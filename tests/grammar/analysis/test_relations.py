"""Products of boolean matrices, by words of bits."""

from __future__ import annotations

import numpy as np
import pytest

import structgen as sg
from structgen.grammar.analysis.neighbours import product
from structgen.grammar.analysis.relations import Relations, is_shut_out


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 64), (70, 2, 65), (4, 130, 129), (2, 0, 3)])
def test_products_say_what_is_joined_by_something(shape: tuple[int, int, int]) -> None:
    """As counting the ways does."""
    rng = np.random.default_rng(1)
    n, m, k = shape
    one, other = rng.random((n, m)) < 0.2, rng.random((m, k)) < 0.2
    assert (product(one, other) == (one.astype(int) @ other.astype(int) > 0)).all()


@pytest.mark.parametrize("seed", range(40))
def test_what_is_shut_out_early_does_not_lead_on(seed: int) -> None:
    """Whatever can follow what; what is ignored alone says so where it is the reason."""
    grammar = sg.Lark(
        'start: item+ [C]\nitem: A B | item C A\nA: "a"\nB: "b"\nC: "c"\nW: " "\nN: "#"\n'
        "%ignore W\n%ignore N"
    ).rules()
    numbers, ignored = {name: i for i, name in enumerate("ABCWN")}, [3, 4]
    rng = np.random.default_rng(seed)
    can_follow = rng.random((6, 6)) < 0.8
    early = is_shut_out(grammar, numbers, ignored, can_follow)
    if early:
        assert not Relations(grammar, numbers, ignored, can_follow).every_place_leads_on()
    can_follow[:] = True
    assert not is_shut_out(grammar, numbers, ignored, can_follow)
    can_follow[4] = [False, True, True, False, True, True]  # no A behind N, which the rules want
    assert is_shut_out(grammar, numbers, ignored, can_follow)
    assert not Relations(grammar, numbers, ignored, can_follow).every_place_leads_on()
