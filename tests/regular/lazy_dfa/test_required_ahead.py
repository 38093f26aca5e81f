"""What texts may and must have from a state on (`ahead`) is true of all its texts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from structgen.regular.expressions import search
from structgen.regular.expressions.logic import complement
from structgen.regular.expressions.search import is_nonempty
from structgen.regular.lazy_dfa.automaton import _built, table_of
from structgen.regular.lazy_dfa.glushkov import PositionAutomaton
from structgen.regular.lazy_dfa.product import ProductAutomaton
from structgen.regular.lazy_dfa.states import TableAutomaton
from structgen.regular.lazy_dfa.sub_automata import ComposedAutomaton
from structgen.regular.regex import ANY_CHAR, Regex, concat, intersect, matches, repeat
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.regular.lazy_dfa.test_automaton import PATTERNS, TEXTS, accepts, after, as_re
from tests.regular.lazy_dfa.test_sub_automata import is_never_stuck


def read_from(automaton: TableAutomaton, state: int) -> tuple[set[str], set[str], int, int]:
    """What `ahead` says of a state: letters by class, and how many characters."""
    found = automaton.ahead(0, automaton.made)
    letters = [chr(letter) for letter in automaton.classes.letters]
    may, must = (
        {letter for place, letter in enumerate(letters) if int(bits[state]) >> place & 1}
        for bits in found[:2]
    )
    return may, must, int(found.least[state]), int(found.most[state])


def classes_in(automaton: TableAutomaton, text: str) -> set[str]:
    """A letter of each class of characters in a text."""
    classes = automaton.classes
    found = set()
    for letter in text:
        for low, high, group in zip(classes.low, classes.high, classes.group, strict=True):
            if low <= ord(letter) <= high:
                found.add(chr(classes.letters[group]))
    return found


def agrees(automaton: TableAutomaton, texts: list[str]) -> None:
    """No text reads, from any state that it comes to, what `ahead` rules out."""
    for text in texts:
        for size in range(len(text) + 1):
            state = after(automaton, 0, text[:size])
            assert state is not None
            may, must, least, most = read_from(automaton, state)
            assert must <= classes_in(automaton, text[size:]) <= may, (text, size)
            assert least <= len(text) - size <= most, (text, size)


@settings(max_examples=60, deadline=None)
@given(pattern=PATTERNS, other=PATTERNS, high=st.integers(1, 4))
def test_no_text_reads_what_is_ruled_out(pattern: str, other: str, high: int) -> None:
    """For positions, with bounds of length, and for blocks one behind the other."""
    one = parse(pattern, anchored=True)
    bounded = intersect(one, repeat(ANY_CHAR, 1, high))
    rest = intersect(parse("[ab1]*", anchored=True), complement(parse(other, anchored=True)))
    for language in (one, bounded, concat(bounded, rest)):
        if language.longest == 0 or not is_nonempty(language):
            continue
        automaton = _built(language)
        if isinstance(automaton, TableAutomaton):
            agrees(automaton, [text for text in TEXTS if matches(language, text)][:30])


def test_positions_say_exactly_what_follows() -> None:
    """A character that each way has, and those of some; how many at least and at most."""
    automaton = PositionAutomaton(parse("a(bx|cx?x)d*|e{2,9}", anchored=True))
    endless = kernels("regular.required_ahead").ENDLESS
    assert read_from(automaton, 0) == ({*"abcdxe"}, set(), 2, endless)
    assert read_from(automaton, after(automaton, 0, "a") or 0) == ({*"bcdx"}, {"x"}, 2, endless)
    assert read_from(automaton, after(automaton, 0, "abx") or 0) == ({"d"}, set(), 0, endless)
    assert read_from(automaton, after(automaton, 0, "eee") or 0) == ({"e"}, set(), 0, 6)


def test_blocks_say_what_follows_behind_them() -> None:
    """Of an address: what is left of its first part, and all of its second."""
    automaton = _built(format_built("email"))
    assert isinstance(automaton, ComposedAutomaton)
    may, must, least, most = read_from(automaton, after(automaton, 0, "ab") or 0)
    assert {"@", "!"} <= may
    assert must == {"@"}
    assert (least, most) == (2, 62 + 1 + 255)
    may, must, least, most = read_from(automaton, after(automaton, 0, "ab@c") or 0)
    assert "@" not in may
    assert (must, least, most) == (set(), 0, 254)


@pytest.mark.parametrize("pattern", [
    r"@example\.com$", r"^.{100}$", r"^.{300}$", r"^[a-z]{70}@", r"^[^@]*$", r"@.*@", r"^.{65}@",
    r"^.{1,10}@.{200,}$", r"^(?!.*@test)[a-z@.]+$", r"^\S+@\S+\.\S+$", r"^[A-Z]{3}@[A-Z]{3}$",
])  # fmt: skip
def test_addresses_that_fit_a_pattern(pattern: str) -> None:
    """As the pattern and the format say of each text, and no beginning is a dead end."""
    language = intersect(format_built("email"), parse(pattern))
    assert language.is_empty() == (not is_nonempty(language))
    if language.is_empty():
        return
    automaton = ProductAutomaton(language, table_of)
    local, domain = "x" * 64, ".".join(["y" * 58] * 4)
    for text in (
        "a@example.com", "a@example.org", "ABC@DEF", "a@b@c", '"@a"@b', "a.b@c.de", "ab", "a@b", "",
        "a@test.org", f"{local}@{domain}", f"{local}@{domain[:35]}", f"abc@{domain}", f"{local}x@b",
    ):  # fmt: skip
        in_pattern = bool(as_re(f"(?s:.*?)(?:{pattern})").match(text))
        wanted = in_pattern and matches(format_built("email"), text)
        assert accepts(automaton, text) == wanted, text
        assert is_never_stuck(automaton, text)


def test_what_follows_a_text_may_be_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a language has a text is found out for all of it, not for how it begins."""
    monkeypatch.setattr(search, "FEW_NODES", 1)
    twos, threes, sixes = (parse(f"(.{{{n}}})*", anchored=True) for n in (2, 3, 6))
    letter = parse("[a-c]", anchored=True)
    nothing = intersect(twos, threes, complement(sixes))
    assert concat(letter, concat(intersect(twos, complement(sixes)), letter)).is_empty() is False
    assert concat(letter, nothing).is_empty()
    assert nothing.is_empty()


@pytest.mark.nojit
def test_with_plain_python_kernels() -> None:
    """Of a name and an end, each with a bound of its own, beside a pattern."""
    name = intersect(parse("[ab]+", anchored=True), repeat(ANY_CHAR, 1, 2))
    end: Regex = intersect(parse("(a|@)*b", anchored=True), repeat(ANY_CHAR, 0, 3))
    language = concat(name, concat(parse("@", anchored=True), end))
    automaton = _built(language)
    assert isinstance(automaton, ComposedAutomaton)
    assert read_from(automaton, 0) == ({*"ab@"}, {*"@b"}, 3, 6)
    both = ProductAutomaton(intersect(language, parse("^(..)*$")), table_of)
    for text in ("a@bb", "ab@b", "a@b", "a@ab", "ab@ab", "ab@@@b", "ab@aab"):
        assert accepts(both, text) == (matches(language, text) and len(text) % 2 == 0), text
