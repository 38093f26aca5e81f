"""The algebra of regular expressions is exact, and lazy, on random expressions and on hard ones.

The oracle is brute force: every expression is built together with the set of its members of at
most five letters over the alphabet {a, b}, by plain set operations.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import BudgetError, SpecError
from structgen.regular.charset import ALL, CharSet
from structgen.regular.expressions import base
from structgen.regular.expressions.logic import begin_differently
from structgen.regular.expressions.required_characters import is_ruled_out
from structgen.regular.regex import (
    ANY,
    ANY_CHAR,
    EMPTY,
    EPSILON,
    INFINITE,
    Regex,
    alt,
    chars,
    complement,
    concat,
    intersect,
    literal,
    matches,
    min_length,
    repeat,
    shortest,
    sub_automaton,
    words,
)
from structgen.regular.syntax.ecma import parse

LONGEST = 5
TEXTS = ["".join(t) for n in range(LONGEST + 1) for t in itertools.product("ab", repeat=n)]
EVERYTHING = frozenset(TEXTS)
Members = frozenset[str]
A, B, AB = (chars(CharSet.chars(letters)) for letters in ("a", "b", "ab"))
SHORT_TEXT = repeat(AB, 0, LONGEST)


def joined(left: Members, right: Members) -> Members:
    """All concatenations that are short enough."""
    return frozenset(x + y for x in left for y in right if len(x + y) <= LONGEST)


def repeated(body: Members, low: int, high: int | None) -> Members:
    """`low` to `high` members of `body` in a row; None stands for any number."""
    power: Members = frozenset([""])
    found: set[str] = set()
    for count in range((low + LONGEST + 1 if high is None else high) + 1):
        if count >= low:
            found |= power
        power = joined(power, body)
    return frozenset(found)


@dataclass(frozen=True)
class Pair:
    """An expression and its short members."""

    regex: Regex
    members: Members


COUNTS = st.sampled_from([(0, None), (1, None), (2, None), (0, 1), (0, 2), (1, 2), (2, 2), (2, 4)])
SIMPLE = st.one_of(
    st.sampled_from([Pair(EMPTY, frozenset()), Pair(EPSILON, frozenset([""]))]),
    st.sampled_from(["a", "b", "ab"]).map(
        lambda letters: Pair(chars(CharSet.chars(letters)), frozenset(letters))
    ),
    st.text("ab", max_size=4).map(lambda text: Pair(literal(text), frozenset([text]))),
    st.lists(st.text("ab", max_size=3), max_size=6).map(
        lambda texts: Pair(words(texts), frozenset(texts))
    ),
    st.just(Pair(ANY, EVERYTHING)),
    COUNTS.map(lambda c: Pair(repeat(ANY_CHAR, *c), repeated(frozenset("ab"), *c))),
)


def compound(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    """Expressions made of smaller ones."""
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda p: Pair(concat(p[0].regex, p[1].regex), joined(p[0].members, p[1].members))),
        two.map(lambda p: Pair(alt(p[0].regex, p[1].regex), p[0].members | p[1].members)),
        two.map(lambda p: Pair(intersect(p[0].regex, p[1].regex), p[0].members & p[1].members)),
        inner.map(lambda p: Pair(complement(p.regex), EVERYTHING - p.members)),
        st.tuples(inner, COUNTS).map(
            lambda p: Pair(repeat(p[0].regex, *p[1]), repeated(p[0].members, *p[1]))
        ),
    )


PAIRS = st.recursive(SIMPLE, compound, max_leaves=8)


def same(left: Regex, right: Regex) -> bool:
    """Do two expressions have the same members, of whatever length?"""
    only_left = intersect(left, complement(right))
    only_right = intersect(right, complement(left))
    return only_left.is_empty() and only_right.is_empty()


def walk(regex: Regex, text: str) -> Regex:
    """Follow live moves; `EMPTY` when they end."""
    for letter in text:
        regex = next((target for of, target in regex.moves() if letter in of), EMPTY)
    return regex


@given(PAIRS)
def test_members_are_those_of_the_definition(pair: Pair) -> None:
    """Walking derivatives accepts a text iff set arithmetic says that it belongs."""
    assert {text for text in TEXTS if matches(pair.regex, text)} == pair.members
    assert {text for text in TEXTS if walk(pair.regex, text).nullable} == pair.members


@given(PAIRS)
def test_moves_are_disjoint_live_and_grouped(pair: Pair) -> None:
    """No character has two moves, no target is empty, and none occurs twice."""
    moves = pair.regex.moves()
    targets = [target for _, target in moves]
    assert len(set(targets)) == len(targets)
    for (left, _), (right, _) in itertools.combinations(moves, 2):
        assert not left & right
    assert all(of and shortest(target) is not None for of, target in moves)
    assert [of.first for of, _ in moves] == sorted(of.first for of, _ in moves)


@given(PAIRS)
def test_emptiness_is_exact(pair: Pair) -> None:
    """An expression is empty iff it has no member; cut to short texts, iff it has no short one."""
    assert intersect(pair.regex, SHORT_TEXT).is_empty() == (not pair.members)
    assert pair.regex.is_empty() == (shortest(pair.regex) is None)


@given(PAIRS)
def test_the_shortest_member_is_a_shortest_and_first(pair: Pair) -> None:
    """Among the shortest members the one that comes first by letters is found."""
    best = min(pair.members, key=lambda text: (len(text), text), default=None)
    cut = intersect(pair.regex, SHORT_TEXT)
    assert shortest(cut) == best
    assert min_length(cut) == (None if best is None else len(best))


@given(PAIRS)
def test_length_bounds_hold(pair: Pair) -> None:
    """Bounds on lengths hold, no gap is wider than `length_gap`, a `witness` exists."""
    lengths = {len(text) for text in pair.members}
    assert all(pair.regex.shortest <= n <= pair.regex.longest for n in lengths)
    if pair.regex.witness < INFINITE:
        least = min_length(pair.regex)
        assert least is not None
        assert least <= pair.regex.witness
    regex, length_gap = pair.regex, pair.regex.length_gap
    if length_gap < INFINITE:
        for n in range(regex.shortest, min(regex.longest, 12) - length_gap + 2):
            one_by_one = [
                intersect(regex, repeat(ANY_CHAR, k, k)) for k in range(n, n + length_gap)
            ]
            assert not all(one.is_empty() for one in one_by_one)
            window = intersect(regex, repeat(ANY_CHAR, n, n + length_gap - 1))
            assert window.known_nonempty() or window.plain


@given(PAIRS, PAIRS)
def test_what_begins_apart_has_nothing_in_common(p: Pair, q: Pair) -> None:
    """As `a1.*` and `a2.*`; what says that is right about intersections, too."""
    one, other = concat(literal("a1"), p.regex), concat(literal("a2"), q.regex)
    assert begin_differently(one, other) or EMPTY in {one, other}
    if begin_differently(p.regex, q.regex):
        assert intersect(p.regex, q.regex).is_empty()


@given(PAIRS, PAIRS, PAIRS)
def test_laws_of_the_algebra_hold_for_texts_of_any_length(p: Pair, q: Pair, r: Pair) -> None:
    """De Morgan, distribution, absorption and unrolling, by emptiness of both differences."""
    x, y, z = p.regex, q.regex, r.regex
    assert same(complement(alt(x, y)), intersect(complement(x), complement(y)))
    assert same(complement(intersect(x, y)), alt(complement(x), complement(y)))
    assert same(concat(x, alt(y, z)), alt(concat(x, y), concat(x, z)))
    assert same(intersect(x, alt(y, z)), alt(intersect(x, y), intersect(x, z)))
    assert same(alt(x, intersect(x, y)), x)
    assert same(repeat(x, 1, 3), alt(x, concat(x, x), concat(x, x, x)))
    assert same(repeat(x, 0, None), alt(EPSILON, concat(x, repeat(x, 0, None))))
    assert complement(complement(x)) is x


@given(PAIRS, PAIRS, PAIRS)
def test_equal_forms_are_one_object(p: Pair, q: Pair, r: Pair) -> None:
    """Order and repetition of operands make no new nodes, nor do neutral operands."""
    x, y, z = p.regex, q.regex, r.regex
    assert alt(x, y, z) is alt(z, y, x, z)
    assert intersect(x, y, z) is intersect(z, y, x, z)
    assert alt(x, EMPTY) is x
    assert intersect(x, ANY) is x
    assert intersect(x, EMPTY) is EMPTY
    assert alt(x, ANY) is ANY
    assert concat(x, EMPTY) is EMPTY
    assert concat(x, EPSILON) is concat(EPSILON, x) is x
    assert intersect(x, complement(x)) is EMPTY
    assert alt(x, complement(x)) is ANY


def test_repetitions_of_one_body_join() -> None:
    """x{1,3}x{2} is x{3,5}, (x{1,1000}){1,1000} is x{1,1000000}, x|x{2} is x{1,2}."""
    assert concat(repeat(AB, 1, 3), repeat(AB, 2, 2)) is repeat(AB, 3, 5)
    assert concat(AB, AB, AB) is repeat(AB, 3, 3)
    assert repeat(repeat(AB, 1, 1000), 1, 1000) is repeat(AB, 1, 1_000_000)
    assert repeat(repeat(AB, 0, None), 3, 7) is repeat(AB, 0, None)
    assert repeat(repeat(AB, 2, 2), 0, None) is not repeat(AB, 0, None)
    assert alt(AB, repeat(AB, 2, 2), EPSILON) is repeat(AB, 0, 2)
    assert alt(repeat(AB, 1, 1), repeat(AB, 3, 3)) is not repeat(AB, 1, 3)


def test_lengths_alone_decide_without_any_walk() -> None:
    """Bounds that exclude each other are `EMPTY` at once, and bounds that hold anyway vanish."""
    word = concat(literal("abc"), repeat(A, 0, 4))
    assert intersect(word, repeat(ANY_CHAR, 9, None)) is EMPTY
    assert intersect(word, repeat(ANY_CHAR, 0, 100)) is word
    assert intersect(repeat(ANY_CHAR, 2, 9), repeat(ANY_CHAR, 5, None)) is repeat(ANY_CHAR, 5, 9)
    assert complement(repeat(ANY_CHAR, 2, 4)) is alt(
        repeat(ANY_CHAR, 0, 1), repeat(ANY_CHAR, 5, None)
    )
    assert not intersect(repeat(AB, 0, None), repeat(ANY_CHAR, 10**6, None)).is_empty()


@given(
    listed=st.sets(st.sampled_from(TEXTS), min_size=2),
    others=st.lists(st.tuples(st.sets(st.sampled_from(TEXTS)), st.booleans()), max_size=3),
    begin=st.sampled_from(["", "a", "b"]),
)
def test_lists_of_words_are_what_sets_of_them_are(
    listed: set[str], others: list[tuple[set[str], bool]], begin: str
) -> None:
    """In languages that are lists, long or short, and in none of others; begun or not."""
    language, wanted = words(listed), set(listed)
    for text in begin:
        language, wanted = language.after(ord(text)), {x[1:] for x in wanted if x[:1] == text}
    for other, inside in others:
        language = intersect(language, words(other) if inside else complement(words(other)))
        wanted = wanted & other if inside else wanted - other
    assert {text for text in TEXTS if matches(language, text)} == wanted
    assert language.is_empty() == (not wanted)


def test_what_begins_otherwise_is_not_excluded() -> None:
    """Of what must not match only that is kept which may begin as the rest does."""
    tail = repeat(ANY_CHAR, 2)
    one, apart_from, meets = (concat(literal(text), tail) for text in ("abc_", "abd_", "ab"))
    assert intersect(one, complement(apart_from)) is one
    assert intersect(one, complement(alt(apart_from, meets))) is intersect(one, complement(meets))
    assert intersect(one, complement(concat(literal("abc_x"), tail))) is not one


def test_counts_out_of_order_are_refused() -> None:
    """A repetition from five to two is an error, not the empty language."""
    with pytest.raises(SpecError, match="5 and 2"):
        repeat(A, 5, 2)
    with pytest.raises(SpecError):
        repeat(A, -1, 2)


def test_surrogates_belong_to_no_text() -> None:
    """A literal with a lone surrogate has no member; among words it is left out."""
    assert literal("a\ud800") is EMPTY
    assert words(["a\udfff", "bc"]) is literal("bc")
    assert not matches(ANY, "\ud800")


# -- monsters: harmless when walked, hopeless when unrolled or determinised -----------------------


def width(regex: Regex) -> int:
    """How many alternatives a node keeps open."""
    return len(getattr(regex, "parts", (regex,)))


@pytest.mark.parametrize(
    ("regex", "text"),
    [
        (concat(repeat(AB, 0, None), A, repeat(AB, 20, 20)), "abbab" * 60),
        (repeat(ANY_CHAR, 1, 5000), "x" * 5000),
        (repeat(repeat(AB, 1, 1000), 1, 1000), "ab" * 500),
        (repeat(concat(repeat(AB, 1, 1000), repeat(B, 0, 1)), 1, 1000), "ab" * 300),
        (repeat(repeat(repeat(alt(A, literal("ba")), 0, None), 0, None), 0, None), "aba" * 200),
        (concat(*[repeat(A, 0, 1)] * 300, *[A] * 300), "a" * 450),
        (concat(ANY, repeat(A, 100, 200), ANY), "a" * 300),
    ],
    ids=["a-then-20", "any-5000", "nested-counts", "counts-with-tail", "stars", "a?a", "search"],
)
def test_a_monster_is_walked_without_blowing_up(regex: Regex, text: str) -> None:
    """After every character few alternatives are open, and the whole text belongs."""
    node = regex
    widest = 1
    for letter in text:
        node = next(target for of, target in node.moves() if letter in of)
        widest = max(widest, width(node))
    assert widest <= 22
    assert node.nullable or shortest(node) is not None


def test_long_patterns_need_no_deep_recursion() -> None:
    """Five thousand letters and two thousand optional parts are walked."""
    text = "ab" * 2500
    assert matches(literal(text), text)
    assert min_length(concat(*[chars(CharSet.chars("ab"))] * 5000)) == 5000
    options = concat(*[repeat(literal(chr(0x100 + n)), 0, 1) for n in range(2000)])
    assert len(options.moves()) == 2000
    assert matches(options, "".join(chr(0x100 + n) for n in range(5, 2000, 199)))
    assert not matches(options, chr(0x105) + chr(0x103))


def test_deep_nesting_needs_no_deep_recursion() -> None:
    """(((a|c)b|c)a|c)b... 1500 levels deep is walked, complemented and intersected."""
    nested: Regex = A
    for n in range(1500):
        nested = alt(concat(nested, literal("ba"[n % 2])), literal("c"))
    assert matches(nested, "cba")
    assert not matches(nested, "cab")
    assert matches(complement(nested), "cab")
    assert shortest(intersect(nested, complement(literal("c")))) == "ca"
    assert (nested.shortest, nested.longest) == (1, 1501)


def test_ten_thousand_words_are_one_node() -> None:
    """A word list accepts exactly its words, and one step looks at a stretch of the list only."""
    listed = [f"w{n * 7919 % 100_003}" for n in range(10_000)]
    node = words(listed)
    assert words(reversed(listed)) is node
    assert shortest(node) == min(listed, key=lambda word: (len(word), word))
    assert all(matches(node, word) for word in listed[::97])
    assert not any(matches(node, word + "x") or matches(node, word[:-1] + "y") for word in listed)
    assert [len(of) for of, _ in node.moves()] == [1]
    assert intersect(node, literal(listed[5])) is literal(listed[5])
    few = intersect(node, concat(literal("w1"), repeat(ANY_CHAR, 2, 2)))
    assert {word for word in listed if matches(few, word)} == {
        word for word in listed if word.startswith("w1") and len(word) == 4
    }


# -- sub-automata ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Multiple:
    """Decimal numbers with a remainder; `trap` has moves but accepts nothing."""

    of: int
    rest: int = 0
    read: bool = False
    trap: bool = False

    @property
    def nullable(self) -> bool:
        """Is what was read a multiple?"""
        return self.read and not self.trap and self.rest == 0

    def moves(self) -> list[tuple[CharSet, Multiple]]:
        """One more digit; a minus leads into the trap."""
        digits = [
            (
                CharSet.chars(str(d)),
                Multiple(self.of, (self.rest * 10 + d) % self.of, True, self.trap),
            )
            for d in range(10)
        ]
        return [*digits, (CharSet.chars("-"), Multiple(self.of, trap=True))]


def test_a_sub_automaton_is_a_language_like_any_other() -> None:
    """Multiples of 7 that are multiples of 12 are the multiples of 84; dead ends are left out."""
    both = intersect(sub_automaton(Multiple(7)), sub_automaton(Multiple(12)))
    assert same(both, sub_automaton(Multiple(84)))
    assert shortest(intersect(both, complement(concat(literal("0"), ANY)))) == "84"
    assert not any("-" in of for of, _ in sub_automaton(Multiple(7)).moves())
    assert sub_automaton(Multiple(7, trap=True)).is_empty()
    assert sub_automaton(Multiple(7)) is sub_automaton(Multiple(7))
    even = concat(
        repeat(chars(CharSet.chars("0123456789")), 0, None), chars(CharSet.chars("13579"))
    )
    assert intersect(sub_automaton(Multiple(2)), even).is_empty()


@pytest.mark.parametrize(
    "language", [literal("ab" * 5000), words(["ab" * 5000, "ab" * 4000 + "c"])]
)
def test_what_is_left_of_long_texts_is_no_copy(language: Regex) -> None:
    """It is the text from a place on, until little is left."""
    rest = language
    for place, letter in enumerate("ab" * 5000):
        assert rest.longest == 10_000 - place
        assert not rest.nullable
        ((of, rest),) = [move for move in rest.moves() if ord(letter) in move[0]]
        assert of.ranges == ((ord(letter), ord(letter)),)
    assert rest is EPSILON


class Living:
    """A state that is known to accept some text; nobody need ask what it does."""

    nullable, live = False, True

    def moves(self) -> list[tuple[CharSet, Living]]:
        """Nothing that a search should need."""
        raise AssertionError


def test_sequences_of_what_is_known_not_to_be_empty_are_not_searched() -> None:
    """However the parts are nested."""
    living = sub_automaton(Living())
    either = alt(living, concat(literal("a"), living))
    row = concat(living, literal("x"), either, repeat(concat(either, living), 1, 2))
    assert not row.is_empty()
    assert not concat(row, repeat(row, 2, None)).is_empty()


# -- cost, memory, threads ------------------------------------------------------------------------


def test_a_search_beyond_its_budget_says_so() -> None:
    """Telling two ways to write one monster apart takes 2**18 states; the budget ends it."""
    start = concat(repeat(AB, 0, None), A)
    counted = concat(start, repeat(AB, 18, 18))
    spelled = concat(start, repeat(AB, 9, 9), alt(A, B, literal("ab")), repeat(AB, 8, 8))
    difference = intersect(counted, complement(spelled))
    with pytest.raises(BudgetError, match="emptiness"):
        shortest(difference, budget=500)
    assert matches(counted, "a" * 19)


@pytest.mark.thorough
def test_unused_nodes_are_freed() -> None:
    """The table of nodes holds nothing that nobody else holds."""
    gc.collect()
    before = len(base._table)
    node = concat(repeat(chars(CharSet.chars("uvw")), 3, 900), literal("some tail of its own"))
    walk(node, "uvw" * 100)
    assert len(base._table) > before + 300
    del node
    gc.collect()
    assert len(base._table) <= before + 5


def test_ids_are_never_reused() -> None:
    """A node made anew has a new id, so an id can stand for its node for ever."""
    make: Callable[[], Regex] = lambda: concat(literal("xyz"), repeat(AB, 5, 77))  # noqa: E731
    first = make().id
    gc.collect()
    second = make().id
    assert second >= first
    ids = [concat(literal("q" * n), ANY_CHAR).id for n in range(50)]
    assert len(set(ids)) == 50


def test_threads_agree_on_one_node() -> None:
    """The same expression built and walked in many threads is one object."""

    def build(n: int) -> Regex:
        body = alt(literal("ab"), chars(CharSet.of([(0x61, 0x61 + n % 20)])))
        node = concat(repeat(body, 0, 30), complement(literal("x" * (n % 20 + 2))))
        node.moves()
        return node

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(build, range(1000)))
    assert len({id(node) for node in made}) == 20


def test_all_is_every_string_and_counts_saturate() -> None:
    """`ANY` is any number of any character, and no count overflows."""
    assert repeat(chars(ALL), 0, None) is ANY
    assert repeat(repeat(A, 1, None), 1, None) is repeat(A, 1, None)
    assert repeat(A, 1, None).longest == INFINITE
    assert concat(repeat(A, 1, None), repeat(A, 1, None)) is repeat(A, 2, None)


@given(PAIRS, st.sets(st.sampled_from(TEXTS), max_size=4))
def test_the_shortest_member_is_none_that_is_ruled_out(pair: Pair, barred: set[str]) -> None:
    """It is that of all members, unless that is one of a few."""
    left = [text for text in TEXTS if text not in barred and matches(pair.regex, text)]
    found = shortest(intersect(pair.regex, complement(words(barred))))
    if left:
        best = min(left, key=lambda text: (len(text), text))
        assert found is not None
        assert (len(found), found) <= (len(best), best)
        assert matches(pair.regex, found)
        assert found not in barred
        assert found not in TEXTS or found == best


@pytest.mark.parametrize(
    ("kept", "ruled_out", "shortest_left"),
    [
        ("^[a-z]{1,9}_id$", ["^[a-z_]{0,250}$"], None),
        ("^[a-z]{1,9}_id$", ["^[a-z_]{0,250}$", "^x{3,}$"], None),
        ("^[a-z]{1,9}_id$", ["^[a-z_]{0,12}$"], None),
        ("^[a-z]{1,9}_id$", ["^[a-z_]{5,12}$"], "a_id"),
        ("^[a-z]{1,9}_id$", ["^[a-z_]{0,4}$"], "aa_id"),
        ("^[a-z]{1,9}_id$", ["^[b-z_]{0,250}$"], "a_id"),
        ("^[a-z]{1,9}_id$", ["^[a-z]{0,250}$"], "a_id"),
    ],
)
def test_texts_of_characters_and_lengths_that_are_ruled_out(
    kept: str, ruled_out: list[str], shortest_left: str | None
) -> None:
    """Are none, and those that differ in a character or in their length are left."""
    language = intersect(parse(kept), *(complement(parse(other)) for other in ruled_out))
    assert shortest(language) == shortest_left
    assert is_ruled_out(language) == (shortest_left is None)
