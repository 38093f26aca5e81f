"""In: ranges of numbers. Out: proof that kernels find the automata that `regex_leaves` finds.

That one is made of the automata whose texts `test_numbers` compares with exact values.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.automaton.numbers import number_language
from structgen.automaton.regex import EMPTY, Regex
from structgen.automaton.regex_leaves import LeavesAutomaton
from structgen.automaton.regex_numbers import NumberAutomaton
from structgen.automaton.regex_positions import TooLargeError
from structgen.automaton.regex_states import TableAutomaton

MOST = 1500  # states that are looked at

ENDS = st.one_of(
    st.integers(-12, 12).map(Fraction),
    st.integers(-1000, 1000).map(lambda n: Fraction(n, 10)),
    st.builds(lambda n, k: Fraction(n, 10**k), st.integers(-(10**6), 10**6), st.integers(0, 6)),
    st.builds(lambda s, k: Fraction(s * 10**k), st.sampled_from((1, -1)), st.integers(0, 14)),
    st.sampled_from((255, 65535, 2**31 - 1, -(2**31), 2**53)).map(Fraction),
)


def explored(automaton: TableAutomaton) -> bool:
    """Whether all states have been found."""
    try:
        automaton.explore_all(MOST)
    except TooLargeError:
        return False
    return True


def difference(one: TableAutomaton, other: TableAutomaton) -> str | None:
    """A text after which one of two automata may end, or go on, and the other may not."""
    seen = {(0, 0): ""}
    todo = [(0, 0)]
    while todo:
        a, b = todo.pop()
        if one.ends[a] != other.ends[b]:
            return seen[a, b]
        moves = zip(one.search.moves[a].tolist(), other.search.moves[b].tolist(), strict=True)
        for letter, (x, y) in zip(one.classes.letters.tolist(), moves, strict=True):
            text = seen[a, b] + chr(letter)
            if (x < 0) != (y < 0):
                return text
            if x >= 0 and (x, y) not in seen:
                seen[x, y] = text
                todo.append((x, y))
    return None


def compare(regex: Regex) -> bool:
    """Check that both ways lead to the same texts; False where there are too many states."""
    one, other = NumberAutomaton(regex), LeavesAutomaton(regex)
    assert np.array_equal(one.classes.letters, other.classes.letters)
    if not (explored(one) and explored(other)):
        return False
    assert difference(one, other) is None
    return True


@given(
    low=st.none() | ENDS,
    high=st.none() | ENDS,
    closed=st.tuples(st.booleans(), st.booleans()),
    integer=st.booleans(),
    spelling=st.sampled_from(("any", "natural", "decimal", "integer")),
)
def test_kernels_find_what_parts_say(
    low: Fraction | None,
    high: Fraction | None,
    closed: tuple[bool, bool],
    integer: bool,
    spelling: Any,
) -> None:
    """The automata of a range are the same, whoever finds them."""
    ends = {
        ("minimum" if closed[0] else "exclusive_minimum"): low,
        ("maximum" if closed[1] else "exclusive_maximum"): high,
    }
    regex = number_language(**ends, integer=integer, spelling=spelling)  # type: ignore[arg-type]
    if regex is not EMPTY and not regex.plain:
        compare(regex)


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("low", "high", "integer"),
    [(1, 9, True), (0, 100, True), (-5, 23, True), (Fraction(1, 4), 12, False), (-90, 90, False),
     (3, 3, True), (Fraction(-7, 2), Fraction(-1, 8), False)],
)  # fmt: skip
def test_some_ranges(low: Fraction, high: Fraction, integer: bool) -> None:
    """The same of ranges whose automata are small, and as the kernels are written."""
    assert compare(number_language(minimum=low, maximum=high, integer=integer, spelling="natural"))


def test_what_is_left_to_others() -> None:
    """Multiples other than integers, and integers with more digits than exponents go with."""
    for regex in (
        number_language(multiple_of=[Fraction(2)]),
        number_language(multiple_of=[Fraction(1, 100)], minimum=0),
        number_language(integer=True, minimum=10**20 + 1),
    ):
        with pytest.raises(TooLargeError):
            NumberAutomaton(regex)
        LeavesAutomaton(regex).explore(0)
