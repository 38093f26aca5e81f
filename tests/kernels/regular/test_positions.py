"""What can be read along the positions of an expression are its texts, by Python's `re`."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.positions import MAX_POSITIONS, Program
from structgen.regular.regex import alt, words
from structgen.regular.syntax.ecma import parse

pytestmark = pytest.mark.nojit
TEXTS = ["".join(text) for size in range(6) for text in product("abc", repeat=size)]
COUNTS = ["*", "+", "?", "{2}", "{0,3}", "{1,2}", "{2,}", "{3,4}"]
PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "abc", "[^a]", "(?:)", "cb"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: f"(?:{'|'.join(some)})"),
        st.tuples(inner, st.sampled_from(COUNTS)).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


def members(row: np.ndarray) -> set[int]:
    """The positions in a row of bits."""
    return {*np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()}


def read(program: Program, text: str) -> set[int]:
    """The positions that may come behind a text."""
    found = program.positions()
    now = members(found.start)
    for letter in text:
        reads = [
            place
            for place in now
            if found.sets[place] and ord(letter) in program.read[found.sets[place]]
        ]
        now = {after for place in reads for after in members(found.follow[place])}
    return now


@given(PATTERNS, st.lists(st.sampled_from(TEXTS), max_size=12))
def test_positions_read_what_the_pattern_matches(pattern: str, texts: list[str]) -> None:
    """The end is reached by the texts of the pattern alone."""
    program = Program()
    end = program.add(parse(f"^(?:{pattern})$"))
    for text in texts:
        assert (end in read(program, text)) == bool(re.fullmatch(pattern, text))


@given(st.lists(PATTERNS, min_size=2, max_size=3), st.lists(st.sampled_from(TEXTS), max_size=6))
def test_expressions_one_after_the_other_are_read_side_by_side(
    patterns: list[str], texts: list[str]
) -> None:
    """Each has an end of its own, and position 0 may be left free."""
    program = Program(first=1)
    ends = [program.add(parse(f"^(?:{pattern})$")) for pattern in patterns]
    assert 0 not in ends
    for text in texts:
        now = read(program, text)
        assert [end in now for end in ends] == [bool(re.fullmatch(p, text)) for p in patterns]


def test_counts_longer_than_a_word_of_bits() -> None:
    """Copies are moved across words, and repeats of one class are runs."""
    program = Program()
    end = program.add(parse("^(?:ab){70}[ab]{0,90}(?:cb){2,}$"))
    assert end in read(program, "ab" * 70 + "b" * 90 + "cb" * 3)
    assert end not in read(program, "ab" * 70 + "b" * 91 + "cb" * 3)
    assert end not in read(program, "ab" * 69 + "b" * 90 + "cb" * 3)
    assert program.positions().runs.tolist() == [[141, 230, 0]]


def test_words_share_their_prefixes() -> None:
    """A position for each prefix; the empty word is one, too."""
    listed = ["", "ab", "abc", "b"] + ["c" * size for size in range(3, 30)]
    program = Program()
    end = program.add(alt(words(listed), parse("^aa$")))
    assert program.size < 4 + 30 + 3
    for text in [*listed, "aa", "a", "cc", "abcc"]:
        assert (end in read(program, text)) == (text in {*listed, "aa"})


@pytest.mark.parametrize(
    "pattern", ["(?:ab){1001}", f"a{{{MAX_POSITIONS + 1}}}", "(?:" * 60 + "a" + ")*b?" * 60]
)
def test_too_many_positions_are_refused(pattern: str) -> None:
    """Also those that are nested too deeply."""
    with pytest.raises(TooLargeError):
        Program().add(parse(f"^{pattern}$"))


def test_long_lists_of_words_are_refused_at_once() -> None:
    """Without looking at all of them, and long texts as well."""
    program = Program()
    with pytest.raises(TooLargeError):
        program.add(words([f"{number:05d}" for number in range(20_000)]))
    assert len(program.read) < 20
    with pytest.raises(TooLargeError):
        Program().add(parse("^" + "abc" * MAX_POSITIONS + "$"))


def test_too_many_links_are_refused() -> None:
    """Of optional parts each follows all before it."""
    program = Program()
    program.add(parse("^" + "".join(f"(?:{a}{b})?" for a in "abc" for b in "abc") * 40 + "$"))
    with pytest.raises(TooLargeError):
        program.positions()
