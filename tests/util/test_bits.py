"""Sets of numbers as bits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from structgen.util.bits import ones


@given(st.sets(st.integers(0, 300)))
def test_the_numbers_of_a_set_come_in_order(numbers: set[int]) -> None:
    """Each once, however many there are."""
    assert list(ones(sum(1 << number for number in numbers))) == sorted(numbers)
