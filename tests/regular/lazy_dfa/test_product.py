"""Product automata decide intersections and complements, and none of their states is dead."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.errors import BudgetError
from structgen.regular.expressions.search import is_nonempty
from structgen.regular.lazy_dfa import product
from structgen.regular.lazy_dfa.automaton import (
    _built,
    automaton_of,
    product_has_member,
    table_of,
)
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.product import ProductAutomaton, is_boolean_combination
from structgen.regular.numbers.language import (
    JSON_NUMBER,
    number_alternatives,
    number_language,
    spellings,
)
from structgen.regular.numbers.set_operations import number_complement, number_intersection
from structgen.regular.regex import (
    ANY_CHAR,
    INFINITE,
    Regex,
    alt,
    complement,
    intersect,
    matches,
    repeat,
)
from structgen.regular.syntax.ecma import parse
from structgen.util.cancellation import limited
from tests.regular.lazy_dfa.test_automaton import PATTERNS, TEXTS, accepts, as_re
from tests.regular.lazy_dfa.test_sub_automata import NUMBERS

Rule = Callable[[Fraction], bool]
TEXTS_OF_NUMBERS = [
    sign + whole + rest
    for sign in ("", "-")
    for whole in ("0", "3", "10", "12", "30", "35", "41", "77", "120", "840")
    for rest in ("", ".0", ".5", "e0", "e1", "E-1", ".5e1", ".25e2")
]
LEAVES = st.one_of(
    st.sampled_from([Fraction(x) for x in (2, 3, 5, 7, 0.5, 0.25)]).map(
        lambda m: (number_language(multiple_of=[m]), lambda v: (v / m).denominator == 1)
    ),
    st.sampled_from([0, 3, 11, 100]).map(
        lambda low: (number_language(minimum=low), lambda v: v >= low)
    ),
    st.sampled_from([10, 35]).map(
        lambda high: (number_language(exclusive_maximum=high), lambda v: v < high)
    ),
)


def joined(pairs: list[tuple[Regex, Rule]], which: int) -> tuple[Regex, Rule]:
    """All of some sets of numbers, any, or those in the first and in no other."""
    languages, rules = zip(*pairs, strict=True)
    if which == 0:
        return number_intersection(*languages), lambda v: all(rule(v) for rule in rules)
    if which == 1:
        return alt(*languages), lambda v: any(rule(v) for rule in rules)
    barred = number_complement(alt(*languages[1:]))
    return (
        number_intersection(languages[0], barred),
        lambda v: rules[0](v) and not any(rule(v) for rule in rules[1:]),
    )


SETS = st.recursive(
    LEAVES,
    lambda inner: st.builds(joined, st.lists(inner, min_size=2, max_size=3), st.integers(0, 2)),
    max_leaves=8,
)


def leads_on_everywhere(automaton: ProductAutomaton) -> bool:
    """Whether a text can end from each state that was looked at, going on as long as it takes.

    Nor may a state have been looked at twice.
    """
    order = automaton.order[: automaton.known].tolist()
    assert len({*order}) == len(order) == automaton.search.queue.tolist().count(1)
    for state in range(min(automaton.made, 60)):
        met, waiting = {state}, [state]
        while waiting and not automaton.ends[waiting[0]]:
            at = waiting.pop(0)
            automaton.explore(at)
            new = {int(t) for t in automaton.search.moves[at] if t >= 0} - met
            met |= new
            waiting += sorted(new)
        if not waiting:
            return False
    return True


def check_digits_that_may_follow(automaton: ProductAutomaton) -> None:
    """Check that digits may follow where it is said, as many as it is said."""
    choose = random.Random(0)
    for state in automaton.order[: automaton.known].tolist():
        for _ in range(8 if automaton.loops[state] else 0):
            at = state
            for _ in range(min(int(automaton.often[state]), 24)):
                digit = choose.choice("0123456789")
                assert automaton.reads(at, digit)
                at = automaton.after(at, digit)


ENDS = st.sampled_from([-40, 0, 7, 100, 4321, 9007199254740991])
RANGES = st.builds(
    lambda low, high, of: number_language(
        minimum=low, maximum=high, multiple_of=[Fraction(x) for x in of]
    ),
    st.none() | ENDS,
    st.none() | ENDS,
    st.lists(st.sampled_from(("2", "3", "5", "12", "49", "1000", "0.5", "0.02")), max_size=1),
)
FORMULAS = st.recursive(
    RANGES,
    lambda inner: st.builds(
        lambda parts, how: (
            number_complement(parts[0]) if not how else (number_intersection, alt)[how - 1](*parts)
        ),
        st.lists(inner, min_size=2, max_size=3),
        st.integers(0, 2),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(FORMULAS)
def test_digits_may_follow_numbers_read_side_by_side(language: Regex) -> None:
    """What is known of digits without looking at what they lead to holds."""
    if language.plain or language.is_empty():
        return
    automaton = _built(language)
    if isinstance(automaton, ProductAutomaton) and automaton.reads_numbers:
        automaton.explore_near(40)
        check_digits_that_may_follow(automaton)


def test_how_many_digits_make_a_number_fit() -> None:
    """As many as the upper end has, but for those that a remainder takes."""
    odd = number_complement(number_language(multiple_of=[49]))
    language = number_intersection(number_language(minimum=0, maximum=10**9, multiple_of=[7]), odd)
    automaton = _built(language)
    assert isinstance(automaton, ProductAutomaton)
    automaton.explore_near(40)
    behind = automaton.after(0, "2")  # of at most eight digits more, two for the remainder
    assert automaton.often[behind] == 6
    endless = _built(number_intersection(number_language(multiple_of=[7]), odd))
    endless.explore_near(40)
    assert endless.often[endless.after(0, "2")] == 255
    assert endless.often[endless.after(0, "0")] == 0


@pytest.mark.thorough
@given(SETS)
def test_sets_of_numbers(found: tuple[Regex, Rule]) -> None:
    """What is a multiple of some and not of others is told by its value; no state is a dead end."""
    language, rule = found
    if not is_boolean_combination(language):
        return
    exact = intersect(spellings(multiple_of=[1]), language)  # what all constraints are exact on
    if not any(rule(Fraction(text)) for text in TEXTS_OF_NUMBERS):
        return
    automaton = _built(exact)
    assert isinstance(automaton, ProductAutomaton)
    for text in TEXTS_OF_NUMBERS:
        assert accepts(automaton, text) == rule(Fraction(text)), text
    assert leads_on_everywhere(automaton)
    if automaton.reads_numbers:
        check_digits_that_may_follow(automaton)


def test_a_bound_and_a_multiple_that_must_not_be() -> None:
    """As derivatives have it, for all that numbers look like; two bounds are one language."""
    regex = intersect(number_language(minimum=3), complement(number_language(multiple_of=[2])))
    automaton = _built(regex)
    assert isinstance(automaton, ProductAutomaton)
    for text in NUMBERS:
        assert accepts(automaton, text) == matches(regex, text), text
    both: Regex = number_intersection(number_language(minimum=3), number_language(maximum=5))
    assert [n for n in map(str, range(9)) if accepts(_built(both), n)] == ["3", "4", "5"]


@settings(max_examples=60, deadline=None)
@given(
    patterns=st.lists(PATTERNS, min_size=3, max_size=5),
    signs=st.integers(0, 31),
    kinds=st.integers(0, 7),
)
def test_formulas_of_patterns(patterns: list[str], signs: int, kinds: int) -> None:
    """Unions, intersections and complements in each other are what `re` says of their parts."""
    language = parse(patterns[0], anchored=True)
    oracles = [as_re(p) for p in patterns]
    for i, pattern in enumerate(patterns[1:], 1):
        other = parse(pattern, anchored=True)
        other = complement(other) if signs >> i & 1 else other
        language = alt(language, other) if kinds >> i & 1 else intersect(language, other)
        language = complement(language) if signs & 1 else language

    def has(text: str) -> bool:
        found = bool(oracles[0].fullmatch(text))
        for i, oracle in enumerate(oracles[1:], 1):
            other = bool(oracle.fullmatch(text)) != bool(signs >> i & 1)
            found = (found or other) if kinds >> i & 1 else (found and other)
            found = found != bool(signs & 1)
        return found

    if not is_boolean_combination(language) or language.is_empty():
        return
    automaton = ProductAutomaton(language, table_of)
    for text in TEXTS[:80]:
        assert accepts(automaton, text) == has(text), text
    assert leads_on_everywhere(automaton)


def test_a_union_of_what_are_parts_anyway_is_no_part() -> None:
    """Where exactly one of some patterns must hold, each is compiled once."""
    names = ["NEW", "REJECTED", "ON_SIGNING", "(?:NOT_)?DONE"]
    found = [parse(name) for name in names]
    language = alt(
        *(
            intersect(one, complement(alt(*(other for other in found if other is not one))))
            for one in found
        )
    )
    automaton = ProductAutomaton(language, table_of)
    assert len(automaton._side.row) == len(names)
    for text in ("NEW", "xDONE", "NOT_DONE", "NEW DONE", "DONDONE", "ON_SIGNING_NEW", "OLD", ""):
        wanted = sum(bool(re.search(name, text)) for name in names) == 1
        assert accepts(automaton, text) == wanted, text
    assert leads_on_everywhere(automaton)


@pytest.mark.parametrize("room", [16, 40, 128])
def test_no_state_is_found_twice_where_there_was_too_little_room(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is made room for on the way, each state is known once, and none is left out."""
    monkeypatch.setattr(product, "ROOM", room)
    one, other = parse("[ab]*a[ab]{5}c?", anchored=True), parse("[ab]*b[ab]{3}c", anchored=True)
    for language in (intersect(one, complement(other)), intersect(other, complement(one))):
        automaton = ProductAutomaton(language, table_of)
        automaton.explore_all(1000)
        assert sorted(automaton.order[: automaton.known].tolist()) == list(range(automaton.made))
        assert automaton.made > 40
        assert leads_on_everywhere(automaton)


@pytest.mark.nojit
def test_with_plain_python_kernels() -> None:
    """The same texts as `re` takes, with a part that is in the formula twice."""
    one, other = parse("a+b*", anchored=True), parse("(a|b){2,4}", anchored=True)
    language = alt(intersect(one, complement(other)), intersect(other, complement(one)))
    automaton = ProductAutomaton(language, table_of)
    for count in range(6):
        for letters in itertools.product("ab", repeat=count):
            text = "".join(letters)
            wanted = bool(re.fullmatch("a+b*", text)) != bool(re.fullmatch("[ab]{2,4}", text))
            assert accepts(automaton, text) == wanted, text
    assert leads_on_everywhere(automaton)


@pytest.mark.thorough
def test_what_was_found_is_forgotten_where_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """States that have a number stay; a search that needs more room than there is gives up."""
    multiples = [number_language(multiple_of=[m]) for m in (3, 7, 11)]
    language = number_intersection(
        number_language(integer=True, minimum=1), *map(number_complement, multiples)
    )
    whole = ProductAutomaton(language, table_of)
    monkeypatch.setattr(product, "MAX_SIDE", 2000)
    small = ProductAutomaton(language, table_of)
    forgotten = []
    forget = ProductAutomaton._forget

    def forget_and_tell(self: ProductAutomaton) -> None:
        forgotten.append(self)
        forget(self)

    monkeypatch.setattr(ProductAutomaton, "_forget", forget_and_tell)
    for number in range(1, 1200):
        text = str(number)
        wanted = all(number % m for m in (3, 7, 11))
        assert accepts(whole, text) == accepts(small, text) == wanted, text
    assert forgotten
    assert leads_on_everywhere(small)
    monkeypatch.setattr(product, "MAX_SIDE", 20)
    tiny = ProductAutomaton(language, table_of)
    with pytest.raises(BudgetError, match="more than 20"):
        tiny.explore_near(1000)


def test_a_search_that_gave_up_leaves_the_automaton_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With more room the same automaton goes on, and is right."""
    language = number_intersection(
        number_language(integer=True),
        *(number_complement(number_language(multiple_of=[m])) for m in (3, 7)),
    )
    automaton = ProductAutomaton(language, table_of)
    monkeypatch.setattr(product, "MAX_SIDE", 20)
    with pytest.raises(BudgetError):
        automaton.explore_all(10**6)
    monkeypatch.undo()
    for number in range(200):
        assert accepts(automaton, str(number)) == bool(number % 3 and number % 7)


def test_formulas_that_are_too_large_are_derived() -> None:
    """Nested deeply, with more parts than there are bits, or each part twice in the next."""
    several = [parse(f"a.{{{n}}}[b-{chr(100 + n % 20)}]", anchored=True) for n in range(1, 70)]
    deep = doubled = several[0]
    for one, other in itertools.pairwise(several * 4):
        deep = complement(intersect(complement(intersect(deep, one)), other))
    for one, other in itertools.pairwise(several[:40]):
        doubled = alt(intersect(doubled, complement(one)), intersect(other, complement(doubled)))
    for language in (deep, doubled, intersect(*map(complement, several))):
        with pytest.raises(TooLargeError):
            ProductAutomaton(language, table_of)
    automaton = ProductAutomaton(intersect(*map(complement, several[:59])), table_of)
    assert accepts(automaton, "ab")
    assert not accepts(automaton, "axb")


def test_unions_of_numbers_are_taken_apart() -> None:
    """Each range or multiple is found again in a union, though they share what zero looks like.

    Also where others that were made before have some of their alternatives.
    """
    before = [number_language(multiple_of=[n], minimum=low, maximum=high) for n in (3, 5, 15)
              for low, high in ((0, None), (None, -1), (None, 0), (1, None))]  # fmt: skip
    assert len({*before}) == len(before)
    made = [number_language(multiple_of=[3]), number_language(multiple_of=[5]),
            number_language(minimum=2, maximum=9)]  # fmt: skip
    union = alt(*made)
    assert set(number_alternatives(union)) == set(made)
    other = parse("[xyz]+", anchored=True)
    assert set(number_alternatives(alt(union, other))) == {*made, other}
    assert number_alternatives(JSON_NUMBER) == [JSON_NUMBER]
    assert number_alternatives(other) == [other]


@pytest.mark.parametrize("texts", [["12", "-9.5", "1e300"], ["0.25e1"]])
def test_a_complement_reads_what_any_number_looks_like(texts: list[str]) -> None:
    """What no language of the parts reads at all is a complement's."""
    language = complement(number_language(multiple_of=[9]))
    automaton = ProductAutomaton(language, table_of)
    for text in (*texts, "x", "é", ""):
        assert accepts(automaton, text)
    assert not accepts(automaton, "18")
    assert np.array_equal(automaton.ends[:1], [1])


@pytest.mark.parametrize("other", ["[a-z]", "[A-Za-z][A-Za-z0-9_]*[A-Za-z0-9]", "a.*b.*c"])
def test_a_text_is_found_among_exponentially_many_states(other: str) -> None:
    """Some text is found by going straight to where the fewest characters are missing."""
    vast = "^[A-Za-z0-9-]+--[A-Za-z0-9-]{36}$"
    both = intersect(parse(other), parse(vast))
    with limited(500):
        automaton = automaton_of(both)
        assert automaton is not None
        automaton.explore(0)
    assert automaton.size < 5000


@settings(max_examples=60, deadline=None)
@given(
    st.lists(PATTERNS, min_size=1, max_size=3),
    PATTERNS,
    st.integers(0, 12),
    st.one_of(st.none(), st.integers(0, 6)),
)
def test_whether_some_text_fits_patterns_and_a_length(
    patterns: list[str], barred: str, least: int, more: int | None
) -> None:
    """As the derivatives say, which know nothing of automata."""
    length = repeat(ANY_CHAR, least, INFINITE if more is None else least + more)
    needed = (parse(pattern, anchored=True) for pattern in patterns)
    language = intersect(*needed, complement(parse(barred, anchored=True)), length)
    known = product_has_member(language)
    assert known is None or known == is_nonempty(language)


def test_whether_two_patterns_with_a_far_length_fit_is_known_soon() -> None:
    """Derivatives of all three together are thousands."""
    one = r"^plaintext|static|longterm|ephemeral|timewindowed$"
    other = r"^(CVE-\d{4}-(0\d{3}|[1-9]\d{3,}))|(CAPEC-\d+)$"
    with limited(600):
        assert not intersect(parse(one), parse(other), repeat(ANY_CHAR, 0, 1000)).is_empty()
