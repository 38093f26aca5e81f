"""Backreferences to groups with few texts, wherever these stand and if they may be unset."""

from __future__ import annotations

import re
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import StructgenError, UnsupportedSchemaError
from structgen.regular.regex import matches
from structgen.regular.syntax.ecma import parse

TEXTS = ["".join(text) for size in range(6) for text in product("ab", repeat=size)]


class Drawn:
    """A pattern with groups, alternatives, `?` and references to groups that have begun before."""

    def __init__(self, seed: int) -> None:
        self._random, self._groups = Random(seed), 0
        self.text = f"^{self._part(4)}{self._reference()}{self._reference()}$"

    def _reference(self) -> str:
        return f"\\{self._random.randint(1, self._groups)}" if self._groups else "b"

    def _part(self, depth: int) -> str:
        kind = self._random.randrange(6) if depth else 0
        optional = self._random.choice(["", "", "?", "??"])
        if kind == 0:
            return self._random.choice(["a", "b", "ab", "[ab]", "a?", ""])
        if kind == 1:
            return self._part(depth - 1) + self._part(depth - 1)
        if kind == 2:
            return f"(?:{self._part(depth - 1)}|{self._part(depth - 1)}){optional}"
        if kind == 3:
            return self._reference()
        self._groups += 1
        return f"({self._part(depth - 1)}|{self._part(depth - 1)}){optional}"


@given(seed=st.integers(0, 2**32))
def test_pythons_patterns_match_what_re_says(seed: int) -> None:
    """There a reference to an unset group fails."""
    pattern = Drawn(seed).text
    try:
        language = parse(pattern, dialect="python")
    except StructgenError:  # some groups are not told apart, and some patterns are none
        return
    own = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
    for text in TEXTS:
        assert matches(language, text) == bool(own.search(text)), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"^(?:(a)|b)\1$", ["aa", "b"], ["a", "ba", "bb"]),
        (r"^(a)?b\1$", ["aba", "b"], ["ab", "ba"]),
        (r"^(?:(a)|(b))c\1\2$", ["aca", "bcb"], ["acb", "ac", "c"]),
        (r"^((a|b)c)\1\2$", ["acaca", "bcbcb"], ["acbca", "acacb"]),
        (r"^(?:x(-?)(?:\d\1)?)?/\1\d$", ["x-1-/-2", "x1/2", "/2"], ["x-1-/2", "x1/-2", "/-2"]),
        (r"^(?:(a)|b)?(?:(?=\1)a|c)$", ["aa", "ba", "bc", "c", "ac"], ["b", "ab"]),
    ],
)
def test_an_unset_group_is_empty_in_ecma_262(pattern: str, yes: list[str], no: list[str]) -> None:
    """And a group in another alternative or behind a `?` has its text where it is set."""
    language = parse(pattern)
    for text in yes:
        assert matches(language, text), text
    for text in no:
        assert not matches(language, text), text


@pytest.mark.parametrize(
    "pattern",
    [r"^((a|b)\2)\1$", r"(?=(a|ab))\1c", r"(?:(a|b)c)*\1", r"(?!(a))\1", r"(?<=(a))\1"],
)
def test_what_is_not_known_to_be_one_text_is_refused(pattern: str) -> None:
    """References in what is referred to, to repeated groups, and to those of lookarounds."""
    with pytest.raises(UnsupportedSchemaError, match="backreference"):
        parse(pattern)
