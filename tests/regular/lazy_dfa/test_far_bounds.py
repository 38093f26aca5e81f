"""A state shares the mask of one without far bounds only where both read the same texts."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import BudgetError
from structgen.regular.expressions.nodes import Repeat
from structgen.regular.lazy_dfa import automaton as lazy_automaton
from structgen.regular.lazy_dfa import counters
from structgen.regular.lazy_dfa.automaton import _built, automaton_of
from structgen.regular.lazy_dfa.counters import FAR, without_counters, without_redundant_bounds
from structgen.regular.lazy_dfa.states import RegexAutomaton
from structgen.regular.regex import INFINITE, Regex, matches, repeat
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.regular.test_regex import LONGEST, PAIRS, TEXTS, Pair

NEARER = st.integers(1, LONGEST)
PATTERNS = [
    r"[a-z]{1,255}",
    r"[a-z][a-z0-9-]{0,300}",
    r"(?:\S+\s+){0,99}\S+",
    r"(?!tag1$)[0-9a-zA-Z_-]{1,255}",
    r"(?:a{2,180}|b{200,400})c",
    r"(?=.{1,253}$)(?:[a-z]{1,63}\.){1,127}[a-z]{2,63}",
    r"(?:[ab]{1,170}-){1,3}[ab]{0,5}",
    r"(?:[\s\S]{1,200}|a{1,300})",
]
WIDE = [  # near bounds of how many of nearly all characters may follow
    r".{1,63}\..{1,63}",
    r"(?!.*@@)(?=.{1,255}$)(?:[^.]{1,63}\.){1,127}(?![0-9]*$)[a-z0-9-]+\.?",
    r"(?:[^-]{0,80}-){0,3}",
    r"[^@]{1,64}@[^@]{1,255}",
    r"(?=.*a)(?=.*-)(?=.*1).{8,64}",
    r"(?!.*ab)[^ ]{5,50}",
    r"(?:\S{1,50} ){0,9}\S{1,50}",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PAIRS, NEARER)
def test_texts_are_the_same_as_far_as_is_said(
    monkeypatch: pytest.MonkeyPatch, pair: Pair, far: int
) -> None:
    """The oracle is set arithmetic, whatever counts as far."""
    for bound in ("FAR", "NEAR"):
        monkeypatch.setattr(counters, bound, far)
    rest, reach = without_counters(pair.regex) or (pair.regex, 0)
    if reach:  # else more is said by the automaton
        short = {text for text in TEXTS if len(text) <= reach}
        assert {text for text in short if matches(rest, text)} == pair.members & short


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PAIRS, NEARER, st.integers(0, 99))
def test_states_go_on_alike_as_far_as_is_said(
    monkeypatch: pytest.MonkeyPatch, pair: Pair, far: int, seed: int
) -> None:
    """They read the same characters, to states that accept alike."""
    for bound in ("FAR", "NEAR"):
        monkeypatch.setattr(counters, bound, far)
    if pair.regex.longest == 0:
        return
    automaton, rnd = _built(pair.regex), random.Random(seed)
    state = 0
    for _ in range(rnd.randrange(LONGEST)):
        spans = automaton.spans_from(state)
        if not len(spans):
            break
        state = int(rnd.choice(spans.tolist())[2])
    found = automaton.unbounded(state)
    if found is None or found.wanted is not None:  # of others more is said
        return
    at = found.state
    for _ in range(min(found.free, 8)):
        left, right = automaton.spans_from(state), found.automaton.spans_from(at)
        assert covered(left) == covered(right)
        assert automaton.ends[state] == found.automaton.ends[at]
        if not len(left):
            break
        letter = int(rnd.choice(left.tolist())[0])
        state, at = (
            a.after(s, chr(letter)) for a, s in ((automaton, state), (found.automaton, at))
        )


def covered(spans: Any) -> list[bool]:
    """Which characters are in some span, near those that expressions here tell apart."""
    points = np.arange(0x60, 0x70)
    inside = (spans[:, :1] <= points) & (spans[:, 1:2] >= points)
    return [bool(x) for x in inside.any(axis=0)]


def test_near_bounds_stay() -> None:
    """And those that many characters are needed to reach do not."""
    assert without_counters(parse(rf"^[a-z]{{1,{FAR - 2}}}$", anchored=True)) is None
    found = without_counters(parse(rf"^[a-z]{{1,{FAR}}}$", anchored=True))
    assert found is not None
    assert isinstance(found[0], Repeat)
    assert (found[0].low, found[0].high, found[1]) == (1, INFINITE, FAR)
    words = without_counters(parse(r"^(?:\S+\s+){0,99}\S+$", anchored=True))
    assert words is not None
    assert words[1] == 199  # each takes two characters
    assert without_counters(repeat(parse("^(?:ab?){2}$", anchored=True), 0, 300)) is not None


def test_bounds_of_nearly_all_characters_are_far_sooner() -> None:
    """Where a text has a bound as a whole, too; of other characters and shorter ones they stay."""
    for label, most in ((".", 63), ("[^.]", 100), (r"\S", 63)):
        name = rf"(?:{label}{{1,{most}}}\.)+a"
        for whole in (name, rf"(?=.{{1,255}}$){name}"):
            found = without_counters(parse(f"^{whole}$", anchored=True))
            assert found is not None
            assert found[1] == most
            assert matches(found[0], "a" * 200 + ".a")
    for name in ("(?:[a-z]{1,63}-)+1", ".{1,40}@.{1,40}", "(?=.{1,64}$)[a-z]+[0-9]+"):
        found = without_counters(parse(f"^{name}$", anchored=True))
        assert found is None or not found[1]


def test_long_patterns_are_looked_at_without_recursion() -> None:
    """As many characters in a row as there are, and what counts behind them."""
    chain = "[ab][ac]" * 1500
    assert without_counters(parse(f"^{chain}$", anchored=True)) is None
    assert without_counters(parse("^[ab]{3000}$", anchored=True)) is None  # counted anyway
    assert without_counters(parse(f"^{chain}c{{0,900}}$", anchored=True)) is None  # all are longer
    found = without_counters(parse(f"^{chain}c{{0,9000}}$", anchored=True))
    assert found is not None
    assert found[1] == 9000
    short = parse(f"^(?=.{{0,3100}}$){chain}c{{0,101}}$", anchored=True)
    assert matches(without_redundant_bounds(short), "a" * 3000 + "c" * 100)
    assert not matches(without_redundant_bounds(short), "a" * 3000 + "c" * 101)


def test_bounds_stay_where_the_automaton_without_them_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its masks are made as if it had no bound that is far."""

    def never(_: Regex) -> RegexAutomaton:
        raise BudgetError("too long")

    regex = parse("^[a-z]{1,255}$", anchored=True)
    automaton = _built(regex)
    assert lazy_automaton.before_far_bounds(regex)[1] < INFINITE
    monkeypatch.setattr(lazy_automaton, "automaton_of", never)
    assert lazy_automaton.before_far_bounds(regex) == (regex, INFINITE)
    assert automaton.unbounded(0) is None


def test_an_address_shares_what_follows_its_domain() -> None:
    """However long the name before it is, as long as 255 characters are far."""
    automaton = automaton_of(format_built("email"))
    assert automaton is not None
    found = set()
    for size in range(1, 40):
        state = 0
        for letter in "a" * size + "@mail.example":
            state = automaton.after(state, letter)
        same = automaton.unbounded(state)
        assert same is not None
        assert same.free >= 128
        found.add((same.automaton, same.state))
    assert len(found) == 1


DENIED = [
    r"[a-z]{1,255}",
    r"(?:[\s\S]{1,200}|a{1,300})",
    r"(?:[^a]{1,200}|a[\s\S]{0,200}|[^a][\s\S]{0,250})",
    r"(?!a{0,220}$)[a-b]{0,240}",
]
WANTED: list[dict[str, Any]] = [{"pattern": f"^{p}$"} for p in (*PATTERNS, *WIDE)]
WANTED += [{"format": name} for name in ("email", "hostname")]
WANTED += [{"not": {"pattern": f"^{pattern}$"}} for pattern in DENIED]
WANTED += [{**wanted, "pattern": "^[ab]*$"} for wanted in WANTED[-3:]]


@pytest.mark.thorough
@pytest.mark.parametrize("wanted", WANTED)
def test_masks_are_those_of_reading_each_token(wanted: dict[str, Any]) -> None:
    """From the start to where no more may follow, with tokens as long as bounds are near."""
    tokens = [bytes((byte,)) for byte in range(256)]  # all: else masks are looked at token by token
    tokens += [(c * n).encode() for c in "ab" for n in (2, 7, 30, 60, 100)]
    tokens += [b"a" * 52 + b'"', b"a-" * 29 + b'"\n', b". " * 26 + b"a", b"1" * 51 + b"@a"]
    tokens += [b'ab"', b" a", b"a b ", b"a.a.", b"@a.", b"a@ab", b"tag1", b'"\n', b'a"\n']
    vocabulary = sg.Vocabulary([*tokens, b"<end>"], eos_ids=[len(tokens)])
    constraint = sg.compile(sg.JsonSchema({"type": "string", **wanted}), vocabulary)
    known = {*"ab-.@c1 T"} | {token.decode() for token in tokens[256:] if b'"' not in token}
    rnd = random.Random(5)
    row = np.zeros(vocabulary.words, np.int32)
    for _ in range(6):
        state, text = constraint.advance(constraint.start, tokens.index(b'"')), ""
        for _ in range(60):
            constraint.fill_mask(state, row)
            allowed = [t for t in range(len(tokens)) if row[t >> 5] >> (t & 31) & 1]
            read = [t for t in range(len(tokens)) if constraint.advance(state, t) != sg.DEAD]
            assert allowed == read, text
            assert (tokens.index(b'"') in allowed) == _fits(wanted, text), text
            inner = [t for t in allowed if tokens[t].decode("latin-1") in known]
            if not inner:
                break
            longer = [t for t in inner if len(tokens[t]) > 5]
            token = rnd.choice(longer if longer and rnd.random() < 0.3 else inner)
            state, text = constraint.advance(state, token), text + tokens[token].decode()


def _fits(wanted: dict[str, Any], text: str) -> bool:
    """As `re` has it, of patterns; of formats, as derivatives."""
    if "format" in wanted:
        return matches(format_built(wanted["format"]), text)
    denied = wanted.get("not", {"pattern": "(?!)"})["pattern"]
    return bool(re.search(wanted.get("pattern", ""), text)) and not re.search(denied, text)
