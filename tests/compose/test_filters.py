"""Rules about words, letters and lengths mean what Python's `re` says."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.compose import filters
from structgen.compose.all_of import all_of
from structgen.errors import SpecError, UnsatisfiableSchemaError
from tests.helpers import laws, oracle

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
LETTERS = "abA _é"


def words(text: str) -> list[str]:
    """Runs of letters, digits and underscores."""
    return re.findall(r"\w+", text)


RULES: list[tuple[sg.Regex | Any, Callable[[str], bool]]] = [
    (filters.banned("ab", "b a"), lambda t: "ab" not in t and "b a" not in t),
    (filters.banned("aa"), lambda t: "aa" not in t),
    (filters.banned("É", ignore_case=True), lambda t: "é" not in t),
    (filters.banned("ba", ignore_case=True), lambda t: "ba" not in t.lower()),
    (filters.required("ab", "b"), lambda t: "ab" in t),
    (filters.required("aab"), lambda t: "aab" in t),
    (filters.required("aba", "bab"), lambda t: "aba" in t and "bab" in t),
    (filters.required("A", ignore_case=True), lambda t: "a" in t.lower()),
    (filters.starts_with("ab", "b"), lambda t: t.startswith(("ab", "b"))),
    (filters.ends_with("ab", "é"), lambda t: t.endswith(("ab", "é"))),
    (filters.letters(allowed="ab"), lambda t: set(t) <= set("ab")),
    (filters.letters(forbidden="é "), lambda t: not set(t) & set("é ")),
    (filters.letters(required="aé"), lambda t: {"a", "é"} <= set(t)),
    (filters.letters(allowed="a", ignore_case=True), lambda t: set(t) <= set("aA")),
    (filters.letter_at(1, "ab"), lambda t: len(t) > 1 and t[1] in "ab"),
    (filters.letter_at(-2, "é"), lambda t: len(t) > 1 and t[-2] == "é"),
    (filters.length(at_least=2, at_most=3), lambda t: 2 <= len(t) <= 3),
    (filters.length(at_least=2), lambda t: len(t) >= 2),
    (filters.length(at_most=1, unit="words"), lambda t: len(words(t)) <= 1),
    (filters.length(at_least=2, unit="words"), lambda t: len(words(t)) >= 2),
    (filters.length(at_most=0, unit="words"), lambda t: not words(t)),
    (filters.case("lower"), lambda t: t == t.lower()),
    (filters.case("upper"), lambda t: t == t.upper()),
    (filters.without(sg.Regex("a*")), lambda t: not re.fullmatch("a*", t)),
    (filters.each_word(sg.Choice(["a", "ab"])), lambda t: set(words(t)) <= {"a", "ab"}),
    (filters.each_word(filters.banned("b")), lambda t: all("b" not in w for w in words(t))),
    (
        filters.each_word(filters.without(sg.Choice(["ab"]))),
        lambda t: "ab" not in words(t),
    ),
]


def texts(length: int) -> list[str]:
    """All texts of some letters up to a length."""
    return ["".join(t) for size in range(length + 1) for t in product(LETTERS, repeat=size)]


def named(value: object) -> str | None:
    """What a rule is called in the names of tests, the same in each process."""
    return None if callable(value) else str(value)[:40]


@pytest.mark.parametrize(("spec", "keeps"), RULES, ids=named)
def test_a_rule_means_what_python_says(spec: Any, keeps: Callable[[str], bool]) -> None:
    """All short texts are accepted iff they keep the rule."""
    automaton = spec.automaton()
    for text in texts(4):
        at, _ = automaton.run(automaton.start, text.encode())
        assert (at >= 0 and automaton.is_accepting(at)) == keeps(text), text


@pytest.mark.parametrize(("spec", "keeps"), RULES[::3], ids=named)
def test_walks_are_never_stuck_and_keep_the_rule(spec: Any, keeps: Callable[[str], bool]) -> None:
    """Masks are exact, and what they lead to keeps the rule."""
    rng = Random(4)
    tokens = oracle.random_tokens([text.encode() for text in texts(3)], rng, 40)
    tokens += [bytes((byte,)) for byte in range(256)]
    c = sg.compile(spec, sg.Vocabulary([*tokens, b"</s>"], eos_ids=[len(tokens)]))
    for visit in laws.walk(c, rng, 8):
        laws.mask_is_advance(c, visit[1])
        laws.goes_on(c, visit[1])
        laws.completion_is_accepted(c, visit, lambda data: keeps(data.decode()))


@given(st.lists(st.sampled_from(RULES), min_size=2, max_size=3), st.integers(0, 2**32))
def test_rules_together_are_all_of_them(drawn: list[Any], seed: int) -> None:
    """The intersection of rules is their conjunction; where it is empty it is refused."""
    spec = all_of(*(spec for spec, _ in drawn))
    sample = Random(seed).sample(texts(4), 150)

    def keeps(text: str) -> bool:
        return all(rule(text) for _, rule in drawn)

    try:
        automaton = spec.automaton()
    except UnsatisfiableSchemaError:
        assert not any(map(keeps, sample))
        return
    for text in sample:
        at, _ = automaton.run(automaton.start, text.encode())
        assert (at >= 0 and automaton.is_accepting(at)) == keeps(text), text


def test_hundreds_of_banned_words_are_no_trouble() -> None:
    """A long list costs no more than the texts that are read."""
    rng = Random(2)
    listed = sorted({"".join(rng.choices("abcde", k=rng.randint(3, 8))) for _ in range(500)})
    automaton = filters.banned(*listed).automaton()
    for _ in range(200):
        text = "".join(rng.choices("abcde ", k=20))
        at, _ = automaton.run(automaton.start, text.encode())
        assert (at >= 0) == (not any(word in text for word in listed))


def test_a_filter_survives_as_json() -> None:
    """`to_json` says everything; nested specs too."""
    for spec, _ in RULES:
        again = type(spec).from_json(spec.to_json())
        assert again == spec
        assert again.language() is spec.language()


@pytest.mark.parametrize(
    "make",
    [
        filters.banned,
        lambda: filters.required(""),
        lambda: filters.length(at_least=3, at_most=1),
        lambda: filters.length(unit="lines"),
        lambda: filters.case("title"),
        lambda: filters.letter_at(0, ""),
        lambda: filters.each_word({"type": "object"}),
        lambda: filters.without(sg.JsonSchema({})),
    ],
)
def test_broken_rules_are_refused(make: Callable[[], Any]) -> None:
    """What a rule cannot mean is a typed error."""
    with pytest.raises(SpecError):
        make()


def test_a_rule_that_nothing_keeps_is_refused() -> None:
    """Every text has a letter that is forbidden."""
    with pytest.raises(UnsatisfiableSchemaError):
        filters.letters(allowed="", required="a").automaton()
