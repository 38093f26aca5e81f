"""Tests the errors for parts of a Speculation that do not belong together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

import structgen.generation.speculation as sp
from structgen.errors import GenerationError
from structgen.generation.speculation.drafters.mixture import MixtureDrafter

#: What is no drafter, no rule, no policy; the checkers of types would tell, too.
NONE = cast(Any, "suffix")


@pytest.mark.parametrize(
    ("make", "part", "helps"),
    [
        (lambda: sp.Speculation(NONE), "drafter", "SuffixDrafter()"),
        (lambda: sp.Speculation(cast(Any, sp.SuffixDrafter)), "drafter", "SuffixDrafter(...)"),
        (lambda: sp.Speculation(sp.CopyDrafter(), rule=NONE), "rule", "SampleCompare()"),
        (lambda: sp.Speculation(sp.CopyDrafter(), policy=cast(Any, sp.Fixed)), "policy", "Fixed("),
        (
            lambda: sp.Speculation(sp.CopyDrafter(), policy=cast(Any, sp.Budget(4))),
            "policy",
            "Fixed(Budget(",
        ),
        (lambda: sp.AutoDrafter(NONE), "drafter", "SuffixDrafter()"),
        (lambda: sp.HybridDrafter([sp.CopyDrafter(), NONE]), "drafter", "SuffixDrafter()"),
        (lambda: sp.RetrievalDrafter(sp.CopyDrafter(), NONE), "drafter", "SuffixDrafter()"),
        (lambda: MixtureDrafter([sp.StandDrafter()]), "drafters", "HybridDrafter"),
        (lambda: sp.Fixed(cast(Any, 8)), "size", "Budget(nodes=8)"),
    ],
)
def test_parts_that_are_none_are_refused_at_once(
    make: Callable[[], Any], part: str, helps: str
) -> None:
    """The error names the part, and what to write in its place."""
    with pytest.raises(GenerationError) as caught:
        make()
    assert caught.value.location == part
    assert helps in f"{caught.value.expected} {caught.value.hint}"
