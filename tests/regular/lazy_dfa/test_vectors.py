"""One automaton for several expressions reads them as each would be read alone."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.lexer.json_lexemes import Key, Layout, Scalar
from structgen.automata.lexer.lexer import Text, vector_moves
from structgen.automata.pushdown.engine import Engine
from structgen.automata.spelling import embedded_dfa
from structgen.regular.expressions.logic import alt, intersect
from structgen.regular.lazy_dfa.automaton import block_of, vector_automaton
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.vectors import VectorAutomaton, VectorProduct
from structgen.regular.regex import ANY, EMPTY, Regex, complement, matches, words
from structgen.regular.syntax.ecma import parse
from tests.automata.test_spelling import compare
from tests.regular.test_regex import PAIRS

TEXTS = ["".join(t) for n in range(6) for t in itertools.product("ab", repeat=n)]
LISTED = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4).map(words)
PATTERNS = PAIRS.map(lambda pair: pair.regex).filter(lambda regex: regex.plain)
PLAIN = st.one_of(LISTED, LISTED.map(complement), st.just(ANY), st.just(EMPTY), PATTERNS)
BARRED = st.builds(intersect, PATTERNS, st.one_of(LISTED, PATTERNS).map(complement))
FOUND = st.sampled_from(["a", "^a", "b$", "^(a|b.)", "ab", "^b+"]).map(parse)
FEW = st.sampled_from([("b",), ("ab", "bb")]).map(words)
CELLS = st.tuples(FOUND, FOUND, FEW).map(
    lambda x: (
        intersect(*x[:2]),
        intersect(x[0], complement(x[1])),
        intersect(x[1], complement(alt(x[0], x[2]))),
        complement(alt(*x[:2])),
    )
)
STARTS = ("aaa", "aab", "aba", "abb", "baa", "bab", "bba", "bbb")
STAYING = st.sampled_from(["a", "^a", "^(a|b.)", "ab", "bb", "a.b"]).map(parse)
APART = st.tuples(
    STAYING, STAYING, st.one_of(FEW, st.just(EMPTY))
).map(
    lambda x: (  # no text may fit both, but for listed ones
        x[2],
        intersect(x[0], complement(alt(*x[1:]))),
        intersect(x[1], complement(alt(x[0], x[2]))),
        complement(alt(*x)),
    )
)
ENDLESS = st.lists(st.builds(intersect, FOUND, LISTED.map(complement)), min_size=2, max_size=4).map(
    tuple
)
ANCHORED = st.permutations(["^a+b$", "^(a|b)b+$", "^aa", "^ab?a$", "^b+a$", "^(ab)+$"]).map(
    lambda patterns: (ANY, *map(parse, patterns))
)
BEGUN = st.tuples(FOUND, FOUND).map(  # parts that begin differently, beside any text
    lambda x: (ANY, *(intersect(parse("^" + begun), x[i % 2]) for i, begun in enumerate(STARTS)))
)
VECTORS: Any = st.one_of(
    ANCHORED,
    BEGUN,
    st.lists(PLAIN, min_size=1, max_size=5).map(tuple),
    st.lists(st.one_of(PLAIN, BARRED, FOUND), min_size=1, max_size=4).map(tuple),
    CELLS,
    APART,
    ENDLESS,
).filter(lambda x: {*x} != {EMPTY})


def made_of(vector: tuple[Regex, ...]) -> VectorAutomaton | None:
    """The automaton of expressions, if there is one."""
    try:
        return VectorAutomaton(vector)
    except TooLargeError:
        return None


@given(CELLS)
def test_cells_of_keys_that_patterns_tell_apart_have_one_automaton(cells: Any) -> None:
    """Since every text fits one of them, whatever has been read."""
    assert made_of(cells) is not None


@given(ANCHORED)
def test_many_anchored_languages_beside_any_text_have_one_automaton(vector: Any) -> None:
    """Few patterns are read by derivatives."""
    assert made_of(vector) is not None
    assert made_of(vector[:3]) is None


@given(APART.filter(lambda cells: cells[0] is EMPTY))
def test_cells_of_keys_that_must_not_fit_two_patterns_have_one_automaton(cells: Any) -> None:
    """What fits both is lost, and so is all that follows."""
    assert made_of(cells) is not None


@pytest.mark.parametrize(
    ("vector", "fits"),
    [
        (("^x_", "^y_.+$"), True),  # any text may follow what was read
        (("^x_[0-9]$", "^y_.+$"), False),  # after `x_1` none may
        (("^b", "^z+$"), False),  # words it lacks are among those ruled out
        (("^b", "^y_.+$"), True),
    ],
)
def test_texts_ruled_out_leave_longer_ones(vector: tuple[str, ...], fits: bool) -> None:
    """Where that is plain; the words need not be read if they do not begin like the others."""
    barred = complement(words(("x_1", "y_1", "b", "bab", "zz")))
    made = made_of(tuple(intersect(parse(pattern), barred) for pattern in vector))
    assert (made is not None) is fits


@given(VECTORS)
def test_a_text_fits_what_it_fits_alone(vector: tuple[Regex, ...]) -> None:
    """And it goes on as long as one of the expressions does."""
    automaton = made_of(vector)
    if automaton is not None:
        _compare_with_derivatives(automaton, vector)


@given(VECTORS)
def test_a_product_says_the_same(vector: tuple[Regex, ...]) -> None:
    """As it does of formats and numbers, which have no other automaton side by side."""
    _compare_with_derivatives(VectorProduct(vector, block_of), vector)


def _compare_with_derivatives(
    automaton: VectorAutomaton | VectorProduct, vector: tuple[Regex, ...]
) -> None:
    states = {"": 0}
    for text in TEXTS:  # shorter ones first
        if text:
            before = states.get(text[:-1], -1)
            spans = [] if before < 0 else automaton.spans_from(before).tolist()
            behind = [to for low, high, to in spans if low <= ord(text[-1]) <= high]
            states[text] = behind[0] if behind else -1
        derived = vector
        for letter in text:
            derived = tuple(language.after(ord(letter)) for language in derived)
        assert (states[text] >= 0) == any(not language.is_empty() for language in derived)
        fits = tuple(matches(language, text) for language in vector)
        ends = 0 if states[text] < 0 else int(automaton.ends[states[text]])
        assert fits == (automaton.outcomes.listed[ends - 1] if ends else (False,) * len(vector))
        if states[text] >= 0 and automaton.endless[states[text]]:
            assert fits == tuple(n == automaton.outcomes.place for n in range(len(vector)))


@given(VECTORS, st.sampled_from(["value", "item", "key"]))
def test_rows_of_texts_in_several_expressions_do_what_descriptions_say(
    vector: tuple[Regex, ...], kind: str
) -> None:
    """Before the states are numbered together, and behind a state that was."""
    engine = sg.JsonSchema(True, whitespace="any").automaton()
    assert isinstance(engine, Engine)
    role: Any = Key(True, True, Layout()) if kind == "key" else Scalar(True, kind)
    state = Text((EMPTY, *vector), role)
    if not vector_moves(state.vector):
        return
    q = engine.state_id(state, 0)
    engine.targets(q)
    embedded_dfa.embed_vector(engine, q)
    compare(engine, (q, state))


def test_what_any_text_may_follow_is_the_free_text_of_one_place() -> None:
    """Where only one expression can end so; else each such state is one of its own."""
    some = intersect(parse("^a+$", anchored=True), complement(words(("aa",))))
    one = made_of((some, words(("ab", "b")), ANY))
    assert one is not None
    assert one.outcomes.place == 2
    spans = one.spans_from(0).tolist()
    other = next(to for low, _, to in spans if low > ord("b"))
    one.explore(other)
    assert one.endless[other]
    two = made_of((ANY, words(("ab", "b")), complement(words(("a",)))))
    assert two is not None
    assert two.outcomes.place is None
    other = next(to for low, _, to in two.spans_from(0).tolist() if low > ord("b"))
    two.explore(other)
    assert not two.endless[other]


@pytest.mark.parametrize(
    "vector",
    [
        tuple(words((f"{n}", f"{n}x")) for n in range(200)),  # fitted in too many ways
        tuple(parse(f"^[ab]{{{n},}}c$", anchored=True) for n in range(1, 10)),
        (words(tuple(f"{n:04}" for n in range(3000))), ANY),
        (words(("ab", "b")), parse("^b+")),  # plain: derivatives take less
    ],
)
def test_what_has_no_automaton_is_left_to_descriptions(vector: tuple[Regex, ...]) -> None:
    """Also when it is asked for again."""
    assert vector_automaton(vector) is None
    assert vector_automaton(vector) is None


ALTERNATIVES: list[list[dict[str, Any]]] = [
    [{"maxLength": 32767}, {"minLength": 1, "maxLength": 255}],
    [{"maxLength": 300}, {"pattern": "^[a-z]{1,200}$"}],
    [{"pattern": "^a[ab]{0,254}$"}, {"not": {"pattern": "^a[ab]{0,254}$"}}],
    [{"enum": ["a", "ab", "bb", "é"]}, {"not": {"enum": ["ab", "bbb"]}}],
    [{"maxLength": 2}, {"not": {"pattern": "^(?:[^a]{1,200}|a[\\s\\S]{0,200})$"}}],
    [{"const": "ab"}, {}, {"enum": ["abab", "a"]}, {"maxLength": 170}],
]


@pytest.mark.parametrize("strings", ALTERNATIVES)
def test_masks_are_those_of_reading_each_token(strings: list[dict[str, Any]]) -> None:
    """Where several objects may have the string, each with a member of its own behind it."""
    tokens = [bytes((byte,)) for byte in range(256)]  # all: else masks are looked at token by token
    tokens += [(c * n).encode() for c in ("a", "b", "é") for n in (2, 30, 60, 100)]
    tokens += [b'ab"', b'bb","', b'"ab', b'":"a', b'a","1', b'b"}', b'":"']
    vocabulary = sg.Vocabulary([*tokens, b"<end>"], eos_ids=[len(tokens)])
    options = [
        {
            "properties": {"s": {"type": "string", **string}, f"{n}": True},
            "required": ["s", f"{n}"],
            "additionalProperties": False,
        }
        for n, string in enumerate(strings)
    ]
    spec = sg.JsonSchema({"type": "object", "anyOf": options}, whitespace="compact")
    constraint = sg.compile(spec, vocabulary)
    row = np.zeros(vocabulary.words, np.int32)
    inner = [n for n, token in enumerate(tokens) if token.strip(b"ab\xc3\xa9") == b""]
    for seed in range(6):
        draw = np.random.default_rng(seed)
        state = constraint.start
        for byte in b'{"s":"':
            state = constraint.advance(state, byte)
        for _ in range(25):
            constraint.fill_mask(state, row)
            allowed = [t for t in range(len(tokens)) if row[t >> 5] >> (t & 31) & 1]
            assert allowed == [t for t in range(len(tokens)) if constraint.advance(state, t) >= 0]
            among = [t for t in inner if t in allowed]
            if not among:
                break
            state = constraint.advance(state, int(draw.choice(among)))
        closed = constraint.advance(state, ord('"'))
        if closed >= 0:
            constraint.fill_mask(closed, row)
            allowed = [t for t in range(len(tokens)) if row[t >> 5] >> (t & 31) & 1]
            assert allowed == [t for t in range(len(tokens)) if constraint.advance(closed, t) >= 0]
