"""Number automata found by a kernel are equal to those put together from sub-automata.

The parts of the latter are what `test_numbers` compares with exact values.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.regular.lazy_dfa.automaton import _built, block_of
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.numbers import NumberAutomaton, kernel_rows
from structgen.regular.lazy_dfa.states import TableAutomaton
from structgen.regular.lazy_dfa.sub_automata import ComposedAutomaton
from structgen.regular.numbers.language import number_language
from structgen.regular.regex import EMPTY, Regex

MOST = 1500  # states that are looked at

ENDS = st.one_of(
    st.integers(-12, 12).map(Fraction),
    st.integers(-1000, 1000).map(lambda n: Fraction(n, 10)),
    st.builds(lambda n, k: Fraction(n, 10**k), st.integers(-(10**6), 10**6), st.integers(0, 6)),
    st.builds(lambda s, k: Fraction(s * 10**k), st.sampled_from((1, -1)), st.integers(0, 14)),
    st.sampled_from((255, 65535, 2**31 - 1, -(2**31), 2**53)).map(Fraction),
)
MULTIPLES = st.one_of(
    st.sampled_from((2, 3, 5, 7, 8, 10, 12, 16, 25, 40, 100, 1000)).map(Fraction),
    st.sampled_from(("0.1", "0.01", "0.25", "0.5", "1.5", "0.003", "0.07", "2.5")).map(Fraction),
)


def explored(automaton: TableAutomaton) -> bool:
    """Whether all states have been found."""
    try:
        automaton.explore_all(MOST)
    except TooLargeError:
        return False
    return True


def to(automaton: TableAutomaton, state: int, letter: int) -> int:
    """The next state, -1 for none."""
    classes = automaton.classes
    at = np.flatnonzero((classes.low <= letter) & (classes.high >= letter))
    return int(automaton.search.moves[state, classes.group[at[0]]]) if len(at) else -1


def difference(one: TableAutomaton, other: TableAutomaton) -> str | None:
    """A text after which one of two automata may end, or go on, and the other may not."""
    seen = {(0, 0): ""}
    todo = [(0, 0)]
    while todo:
        a, b = todo.pop()
        if one.ends[a] != other.ends[b]:
            return seen[a, b]
        for letter in one.classes.letters.tolist():
            text = seen[a, b] + chr(letter)
            x, y = (to(found, at, letter) for found, at in ((one, a), (other, b)))
            if (x < 0) != (y < 0):
                return text
            if x >= 0 and (x, y) not in seen:
                seen[x, y] = text
                todo.append((x, y))
    return None


def check_free_digits(automaton: TableAutomaton) -> None:
    """Check that so many digits may follow each state as it is said, in any order."""
    digits = [i for i, x in enumerate(automaton.classes.letters.tolist()) if chr(x).isdigit()]
    moves = automaton.search.moves[: automaton.made][:, digits]
    some = np.append(moves.min(axis=1) >= 0, False)
    free = np.zeros(automaton.made + 1, np.int64)  # digits, up to 20; none behind state -1
    for _ in range(20):
        free[:-1] = np.where(some[:-1], free[moves].min(axis=1) + 1, 0)
    said = automaton.often[: automaton.made]
    assert (np.minimum(said, 20) <= free[:-1]).all()
    assert ((automaton.loops[: automaton.made] != 0) == (said > 0)).all()


def compare(regex: Regex) -> bool:
    """Check that both ways lead to the same texts; False where there are too many states."""
    rows = kernel_rows(regex)
    assert rows is not None
    one, other = NumberAutomaton(rows, ends=regex.nullable), ComposedAutomaton(regex, block_of)
    assert {*map(chr, one.classes.letters)} >= {*"0123456789.-"}
    if not (explored(one) and explored(other)):
        return False
    check_free_digits(one)
    assert difference(one, other) is None
    return True


@given(
    low=st.none() | ENDS,
    high=st.none() | ENDS,
    closed=st.tuples(st.booleans(), st.booleans()),
    integer=st.booleans(),
    multiple=st.none() | MULTIPLES,
    spelling=st.sampled_from(("any", "natural", "decimal", "integer")),
)
def test_kernels_find_what_parts_say(
    low: Fraction | None,
    high: Fraction | None,
    closed: tuple[bool, bool],
    integer: bool,
    multiple: Fraction | None,
    spelling: Any,
) -> None:
    """The automata of a range are the same, whoever finds them."""
    ends = {
        ("minimum" if closed[0] else "exclusive_minimum"): low,
        ("maximum" if closed[1] else "exclusive_maximum"): high,
    }
    multiples = [] if multiple is None else [multiple]
    regex = number_language(
        **ends,  # type: ignore[arg-type]
        integer=integer,
        multiple_of=multiples,
        spelling=spelling,
    )
    if regex is not EMPTY and not regex.plain:
        compare(regex)


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("low", "high", "multiple"),
    [(1, 9, 1), (0, 100, 1), (-5, 23, 1), (Fraction(1, 4), 12, None), (-90, 90, None), (3, 3, 1),
     (Fraction(-7, 2), Fraction(-1, 8), None), (-32, 47, 16), (0, 3, Fraction(1, 4)),
     (5, 900, 100), (Fraction(1, 10), Fraction(1, 2), Fraction(3, 100))],
)  # fmt: skip
def test_some_ranges(low: Fraction, high: Fraction, multiple: Fraction | None) -> None:
    """The same of ranges whose automata are small, and as the kernels are written."""
    multiples = [] if multiple is None else [multiple]
    regex = number_language(
        minimum=low, maximum=high, multiple_of=multiples, spelling="natural", integer=multiple == 1
    )
    assert compare(regex)


def test_what_is_left_to_others() -> None:
    """What takes more than 64 bits to compute with."""
    for regex in (
        number_language(multiple_of=[Fraction(10**8 + 1)]),
        number_language(multiple_of=[Fraction(1, 10**9)], minimum=0),
        number_language(multiple_of=[Fraction(1, 100)], minimum=10**17),
        number_language(integer=True, minimum=10**20 + 1),
    ):
        assert kernel_rows(regex) is None
        automaton = _built(regex)
        assert isinstance(automaton, ComposedAutomaton)
        automaton.explore(0)
        after = automaton.after(automaton.after(0, "1"), "7")
        automaton.explore(after)
        assert automaton.often[after] == 255  # no need to look at the digits behind it
        assert automaton.loops[after]
