"""The DFA of an expression: its language is that of `re`, its loops are real, and it is cached."""

from __future__ import annotations

import itertools
import random
import re
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.pushdown.engine import Engine
from structgen.kernels.build.loader import kernels
from structgen.masks.shared import shared_masks
from structgen.regular import byte_groups
from structgen.regular.charset import CharSet
from structgen.regular.expressions.base import INFINITE
from structgen.regular.expressions.nodes import ANY_CHAR, Chars
from structgen.regular.lazy_dfa import automaton as lazy_automaton
from structgen.regular.lazy_dfa.automaton import automaton_of
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.counters import CounterAutomaton, NearestEnds
from structgen.regular.lazy_dfa.glushkov import PositionAutomaton
from structgen.regular.lazy_dfa.states import RegexAutomaton
from structgen.regular.regex import (
    ANY,
    Regex,
    alt,
    complement,
    concat,
    intersect,
    literal,
    matches,
    repeat,
    words,
)
from structgen.regular.syntax.ecma import parse
from tests.helpers.laws import mask_is_advance, walk

PIECES = [
    *("a", "ab", "abc", "b1", "1a", " a", " ab", "  ", "é", "éa", "aé", "\u2028", "x\u3042b", "@"),
    *("\U0001f600", "20", "-0", "T1", ":", '"', '",', 'a"', "\\", "\\n", "\n", "\ta", "aaaa", ".c"),
    "a" * 60,
]
VOCABULARY = sg.Vocabulary(
    [*(bytes([b]) for b in range(256)), *(p.encode() for p in PIECES if len(p.encode()) > 1),
     "é".encode()[1:] + b"a", b"a\xe2\x80", b"\xed\xa0\x80", b"\xc3a", b"<end>"],
    eos_ids=[256 + sum(len(p.encode()) > 1 for p in PIECES) + 4],
)  # fmt: skip
LETTERS = "ab1 \u00e9\U0001f600"
TEXTS = ["".join(t) for n in range(5) for t in itertools.product("ab1\u00e9", repeat=n)]
ATOMS = st.sampled_from(["a", "b", "ab", "[ab]", "[^a]", r"\w", ".", "(?:)", "é"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda p: f"(?:{p[0]}|{p[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
    ),
    max_leaves=6,
)


def after(automaton: RegexAutomaton, state: int, text: str) -> int | None:
    """The state after a text, None when a character leads nowhere."""
    for letter in text:
        automaton.explore(state)
        place = automaton.order[: automaton.known].tolist().index(state)
        begin, end = automaton.first[place : place + 2]
        spans = automaton.spans[begin:end].tolist()
        found = [target for low, high, target in spans if low <= ord(letter) <= high]
        if not found:
            return None
        (state,) = found
    return state


def accepts(automaton: RegexAutomaton, text: str) -> bool:
    """Whether the text is in the language."""
    state = after(automaton, 0, text)
    return state is not None and bool(automaton.ends[state])


def fresh(regex: Regex) -> RegexAutomaton:
    """A new automaton, shared with nobody."""
    found = lazy_automaton._built(regex)
    assert isinstance(found, RegexAutomaton)
    return found


def as_re(pattern: str) -> re.Pattern[str]:
    """The pattern for `re`, which has wider word characters."""
    return re.compile(pattern.replace(r"\w", "[A-Za-z0-9_]"))


@settings(max_examples=60, deadline=None)
@given(pattern=PATTERNS)
def test_positions_read_what_re_reads(pattern: str) -> None:
    """All short texts are decided as `re.fullmatch` does."""
    regex, oracle = parse(pattern, anchored=True), as_re(pattern)
    if regex.longest == 0:
        return
    automaton = fresh(regex)
    for text in TEXTS:
        assert accepts(automaton, text) == bool(oracle.fullmatch(text)), (pattern, text)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "pattern",
    [
        "[ab.]*a.{0,70}b",
        "[ab.]*a.{66,}b",
        "[ab.]*a.{2,68}b",
        "(?:.{1,63}[.])+b+",
        "(?:.{1,9}[.]){1,2}b+",
        "(?:[ab]{3,}[.])*b",
        "(?:(?:[ab]{2,4}b){1,3}[.a])*",
        "(?:a{0,3}(?:[ab]{1,5}|.{2,}[.]){2,3}b)*",
        "(?:[ab.]{2,9}a[ab]{4,})+",
    ],
)
def test_what_is_counted_from_many_places_has_few_states(pattern: str) -> None:
    """Where a repeat can start anywhere, only the count that subsumes the others is kept."""
    rng, regex = random.Random(pattern), parse(pattern, anchored=True)
    automaton = fresh(regex)
    assert isinstance(automaton, PositionAutomaton)
    automaton.explore_all(600)
    verdicts = set()
    for _ in range(400):
        letters = rng.choice(["ab", "ab.", "aaab", "ab........", "bbbbbb."])
        text = "".join(rng.choices(letters, k=rng.choice([rng.randrange(12), rng.randrange(150)])))
        fits = matches(regex, text)
        verdicts.add(fits)
        assert accepts(automaton, text) == fits, text
        if len(text) < 12:  # longer ones may keep it forever
            assert bool(re.fullmatch(pattern, text)) == fits, text
    assert verdicts == {True, False}


@settings(max_examples=60, deadline=None)
@given(pattern=PATTERNS, low=st.integers(0, 4), more=st.one_of(st.none(), st.integers(0, 3)))
def test_lengths_are_counted_and_dead_ends_are_none(
    pattern: str, low: int, more: int | None
) -> None:
    """Bounds on the length are exact, and no move leads to a dead end."""
    span = repeat(ANY_CHAR, low, None if more is None else low + more)
    regex, oracle = intersect(parse(pattern, anchored=True), span), as_re(pattern)
    if regex.longest == 0 or regex.is_empty():
        return
    automaton = fresh(regex)
    high = 99 if more is None else low + more
    alive: set[str] = set()
    for text in TEXTS:
        wanted = bool(oracle.fullmatch(text)) and low <= len(text) <= high
        assert accepts(automaton, text) == wanted, (pattern, text)
        if wanted:
            alive |= {text[:i] for i in range(len(text) + 1)}
    for text in alive:
        assert after(automaton, 0, text) is not None
    for text in TEXTS:  # where something leads on, something leads on to an end
        state = after(automaton, 0, text)
        if state is not None and not automaton.ends[state]:
            automaton.explore(state)
            place = automaton.order[: automaton.known].tolist().index(state)
            assert automaton.first[place + 1] > automaton.first[place], (pattern, text)


@given(
    low=st.integers(0, 40), more=st.one_of(st.none(), st.integers(0, 400)), size=st.integers(0, 450)
)
def test_texts_of_any_characters_are_as_long_as_they_may_be(
    low: int, more: int | None, size: int
) -> None:
    """A text is read as far as one may be that long, and ends well iff it is long enough."""
    high = 10**6 if more is None else max(low + more, 1)
    regex = repeat(ANY_CHAR, low, None if more is None else high)
    if regex is ANY or isinstance(regex, Chars):
        return
    automaton = fresh(regex)
    text = ("aé\U0001f600" * size)[:size]
    assert (after(automaton, 0, text) is not None) == (size <= high)
    if size <= high:
        assert accepts(automaton, text) == (size >= low)
    for state in range(automaton.made):
        often = int(automaton.often[state])
        if automaton.loops[state]:
            assert often == 255 if more is None else often <= high - state


@settings(max_examples=60, deadline=None)
@given(pattern=PATTERNS, bound=st.one_of(st.none(), st.integers(1, 6)), seed=st.integers(0, 999))
def test_what_loops_is_never_fatal(pattern: str, bound: int | None, seed: int) -> None:
    """Characters of the `loops` groups may follow `often` times in any order."""
    regex = parse(pattern)
    if bound is not None:
        regex = intersect(regex, repeat(ANY_CHAR, 0, bound))
    if regex.longest == 0 or regex is ANY or regex.is_empty():
        return
    loops_are_safe(fresh(regex), random.Random(seed))


@pytest.mark.parametrize("bound", [None, 50])
def test_a_text_goes_on_for_long_without_what_may_not_come_twice(bound: int | None) -> None:
    """Where `//` or `::` is ruled out, all other letters loop as often as there is room."""
    parts = [complement(parse("//|::")), parse("[a-z]+[.]$")]
    automaton = fresh(intersect(*parts, repeat(ANY_CHAR, 0, bound)))
    state = after(automaton, 0, "ab")
    assert state is not None
    for one in range(min(automaton.made, 200)):
        automaton.explore(one)
    groups, bits = byte_groups.groups(), int(automaton.loops[state])
    assert all(bits >> int(groups[ord(letter)]) & 1 for letter in "acz09 -_.")
    assert not (bits >> int(groups[ord("/")]) & 1 and bits >> int(groups[ord(":")]) & 1)
    assert int(automaton.often[state]) >= 5
    loops_are_safe(automaton, random.Random(3))


def loops_are_safe(automaton: RegexAutomaton, draw: random.Random) -> None:
    """Any characters of the groups may follow as often as is said."""
    for state in range(draw.randint(1, 12)):  # of the first, more is known the more is explored
        automaton.explore(min(state, automaton.made - 1))
    groups = byte_groups.groups()
    for state in range(min(automaton.made, 20)):
        bits, often = int(automaton.loops[state]), int(automaton.often[state])
        safe = [c for c in LETTERS if bits >> int(groups[c.encode()[0]]) & 1]
        for size in range(1, min(often, 5) + 1) if safe else ():
            text = "".join(draw.choices(safe, k=size))
            assert after(automaton, state, text) is not None, (text, often)


@settings(max_examples=60, deadline=None)
@given(patterns=st.lists(PATTERNS, min_size=2, max_size=2), most=st.integers(0, 5))
def test_a_limit_holds_for_what_is_only_explored_as_far_as_texts_go(
    patterns: list[str], most: int
) -> None:
    """Texts are those of `re` that are short enough, and from each state some text still ends."""
    parts = [parse(pattern, anchored=True) for pattern in patterns]
    base = intersect(*parts)
    if base.longest == 0 or intersect(base, repeat(ANY_CHAR, 0, most)).is_empty():
        return
    oracles = [as_re(pattern) for pattern in patterns]
    fits = [t for t in TEXTS if all(o.fullmatch(t) for o in oracles) and len(t) <= most]
    try:
        whole = lazy_automaton.table_of(base)
        with whole.lock:
            known = NearestEnds(whole, most, INFINITE)
        capped = CounterAutomaton(whole, known, ends=base.nullable)
    except TooLargeError:
        return
    for text in TEXTS:
        assert accepts(capped, text) == (text in fits), (patterns, most, text)
    for text in TEXTS:
        if after(capped, 0, text) is not None:
            found = text + alive(capped, text)
            assert len(found) <= most
            assert all(oracle.fullmatch(found) for oracle in oracles)
    loops_are_safe(capped, random.Random(most))


def alive(automaton: RegexAutomaton, text: str) -> str:
    """A continuation of a text to an end."""
    start = after(automaton, 0, text)
    assert start is not None
    ways, seen = [(start, "")], {start}
    for state, way in ways:
        if automaton.ends[state]:
            return way
        automaton.explore(state)
        place = automaton.order[: automaton.known].tolist().index(state)
        begin, end = automaton.first[place : place + 2]
        for low, _, target in automaton.spans[begin:end].tolist():
            if target not in seen:
                seen.add(target)
                ways.append((target, way + chr(low)))
    raise AssertionError(f"{text!r} leads to a dead end")


@pytest.mark.parametrize("text", ["", "a", "ab.c"])
def test_letters_may_follow_beside_what_leads_elsewhere(text: str) -> None:
    """In an address any letters come in any order, though behind a dot or an @ not all may."""
    few, address = repeat(ANY_CHAR, 1, 64), parse("^[a-z]+(?:\\.[a-z]+)*$", anchored=True)
    automaton = fresh(concat(intersect(few, address), literal("@"), few))
    state = after(automaton, 0, text)
    assert state is not None
    while automaton.known < automaton.made:
        known = automaton.order[: automaton.known].tolist()
        automaton.explore(next(s for s in range(automaton.made) if s not in known))
    groups = byte_groups.groups()
    letters = sum({1 << int(groups[ord(c)]) for c in "abcdefghijklmnopqrstuvwxyz"})
    assert int(automaton.loops[state]) & letters == letters
    assert 60 - len(text) <= automaton.often[state] <= 64 - len(text)


def test_derivatives_find_what_has_no_positions() -> None:
    """Intersections and complements are decided by derivatives."""
    regex = intersect(parse("a*b?", anchored=True), complement(literal("aab")), parse("^a"))
    automaton = fresh(regex)
    for text in TEXTS:
        wanted = bool(re.fullmatch("a+b?", text)) and text != "aab"
        assert accepts(automaton, text) == wanted
    assert after(automaton, 0, "ba") is None


def test_long_expressions_are_explored_a_part_at_a_time() -> None:
    """The nearest states come first, and the rest when asked for."""
    automaton = fresh(parse("(?:[a-y]{3}z|[b-z]{2}){0,200}", anchored=True))
    automaton.explore(0)
    assert automaton.known < 100
    assert accepts(automaton, "aazz" * 0 + "bb" * 200)
    assert not accepts(automaton, "bb" * 201)
    assert accepts(automaton, "abcz" * 150)


def test_expressions_share_their_states_and_forget_the_oldest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One automaton serves all specs until the cache has too many bytes."""
    regex = parse("shared-[0-9]{4}", anchored=True)
    assert automaton_of(regex) is automaton_of(regex)
    assert automaton_of(ANY) is None
    monkeypatch.setattr(lazy_automaton, "MAX_CACHED", 0)
    kept = lazy_automaton.AutomatonCache()
    first = kept.of(regex)
    kept.of(literal("other"))
    assert kept.of(regex) is not first


def test_automata_are_let_go_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few are evicted at a time, also where they have grown since they were added."""
    most = 1 << 20
    monkeypatch.setattr(lazy_automaton, "MAX_CACHED", most)
    monkeypatch.setattr(lazy_automaton, "MAX_STATES", 200)
    kept, count = lazy_automaton.AutomatonCache(), 0
    for number in range(60):
        begun = kept.of(parse(f"^{number}[a-c]{{{300 if number % 9 == 8 else 5}}}$"))
        assert count - len(kept._found) < lazy_automaton.DROPPED + lazy_automaton.COUNTED
        count = len(kept._found)
        with begun.lock:
            begun.explore_near(number * number)
    for number in range(60):
        kept.of(literal(f"{number}"))
    sizes = [automaton.nbytes + lazy_automaton.OBJECT_BYTES for automaton in kept._found.values()]
    assert sum(sizes) == kept.nbytes <= most
    assert len(kept._found) == len(kept._sizes) >= 60


def _bytes_of(automaton: Any) -> int:
    """What an automaton counts for: each array that it leads to, but not by way of another one."""
    seen: set[int] = set()
    waiting, total = [automaton], lazy_automaton.OBJECT_BYTES
    while waiting:
        at = waiting.pop()
        if id(at) in seen or (isinstance(at, RegexAutomaton) and at is not automaton):
            continue
        seen.add(id(at))
        if isinstance(at, np.ndarray):
            total += at.nbytes
        elif isinstance(at, tuple | list):
            waiting += at
        elif type(at).__module__.startswith("structgen.regular.lazy_dfa"):
            waiting += vars(at).values()
    return total


def test_new_patterns_without_end_stay_within_the_bytes_of_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Automata of all constructions count for all their arrays, and the oldest make room."""
    monkeypatch.setattr(lazy_automaton, "MAX_CACHED", 1 << 18)
    kept = lazy_automaton.AutomatonCache()
    monkeypatch.setattr(lazy_automaton, "_cache", kept)
    kinds, dropped = set(), 0
    for number in range(12):
        word = literal(f"{number}")
        for regex in (
            parse(f"^[a-c]{number}$"),
            concat(word, parse(f"^[ab]{{{number}}}(?:c|de)*$")),
            intersect(parse(f"^a*b{number}$"), repeat(ANY_CHAR, 2, 60 + number)),
            complement(concat(word, parse("^[xy]+$"))),
            concat(word, complement(parse("^[0-9]+$"))),
        ):
            found, count = kept.of(regex), len(kept._found)
            with found.lock:
                found.explore_near(20)
            kept.of(literal(f"end of {regex}"))
            kinds.add(type(found).__name__)
            dropped += len(kept._found) <= count
            assert kept.nbytes <= 1 << 18
    assert len(kinds) >= 4, kinds
    assert dropped > 20
    for automaton in kept._found.values():
        counted = lazy_automaton.OBJECT_BYTES + automaton.nbytes
        assert 0.8 < counted / _bytes_of(automaton) < 1.1, automaton


def test_what_is_prepared_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prepared automaton stays with all it has found; nothing else does."""
    monkeypatch.setattr(lazy_automaton, "MAX_CACHED", 10)
    monkeypatch.setattr(lazy_automaton, "_cache", lazy_automaton.AutomatonCache())
    regex, text = parse("^[a-c]{300}(?:x|y)*$"), "abc" * 100 + "xy"
    lazy_automaton.prepare(regex, 5, text)
    automaton = automaton_of(regex)
    assert automaton is not None
    known = automaton.known
    assert known >= 300
    state = 0
    for letter in text:
        state = automaton.after(state, letter)
    assert automaton.ends[state]
    assert automaton.known == known
    other = parse("^other$")
    first = automaton_of(other)
    for number in range(30):
        automaton_of(parse(f"^{number}aaaa$"))
    assert automaton_of(regex) is automaton
    assert automaton_of(other) is not first


@pytest.mark.parametrize(
    ("pattern", "begun"), [("^[a-z]+", "a"), ("x", "ax"), ("^(?:a.)+b?[c-e]*", "a1")]
)
def test_behind_what_no_text_can_undo_any_text_follows(pattern: str, begun: str) -> None:
    """All states that any text may follow are one, the same as that of ANY."""
    automaton = automaton_of(parse(pattern))
    assert automaton is not None
    state = 0
    for letter in begun:
        state = automaton.after(state, letter)
    assert automaton.endless[state]
    for letter in "abz1 ":
        assert automaton.after(state, letter) == state
    constraint = sg.compile(sg.JsonSchema({"pattern": pattern, "type": "string"}), VOCABULARY)
    engine = constraint.automaton
    assert isinstance(engine, Engine)
    free = sg.compile(sg.JsonSchema({"type": "string"}), VOCABULARY).automaton
    here, there = (e.run(e.start, b'"' + begun.encode())[0] >> 32 for e in (engine, free))
    assert here == there  # a state of the lexicon


@pytest.mark.thorough
def test_groups_hold_whole_characters() -> None:
    """A group is named only when all its characters are in the ranges."""
    groups = byte_groups.groups()
    draw = random.Random(3)
    edges = [0, 0x20, 0x30, 0x31, 0x38, 0x41, 0x7F, 0x80, 0x800, 0xC000, 0xD7FF, 0xE000, 0x10000]
    points = [p for p in range(0, 0x110000, 7) if not 0xD800 <= p <= 0xDFFF]
    of = np.array([groups[chr(p).encode()[0]] for p in points])
    for _ in range(40):
        first, last = sorted(draw.choices([*edges, 0x10FFFF], k=2))
        chars = CharSet.of([(first, last), (0x61, 0x7A)])
        inside = np.array([p in chars for p in points])
        for group in range(1, 61):
            if byte_groups.whole(chars.ranges) >> group & 1:
                assert inside[of == group].all(), (hex(first), hex(last), group)
    assert byte_groups.whole(((0, 0xD7FF), (0xE000, 0x10FFFF))) == (1 << 61) - 2


def test_subtrees_say_what_is_below_a_node() -> None:
    """Heights, groups and tokens are those of the tokens one by one."""
    vocabulary = VOCABULARY
    nodes, below, k = vocabulary.trie, shared_masks(vocabulary).subtrees, kernels("trie.nodes")
    groups = byte_groups.groups()
    paths: list[bytes] = [b""]
    for i in range(len(nodes.byte)):
        del paths[nodes.depth[i] :]
        paths.append(paths[-1] + bytes([nodes.byte[i]]))
        try:
            paths[-1].decode()
        except UnicodeDecodeError:
            continue
        rests = [
            vocabulary.tokens[t][nodes.depth[i] :]
            for t in below.order[below.first[i] : below.first[nodes.end[i]]]
        ]
        for rest in rests:
            text = rest.decode(errors="replace")
            assert len(text) <= below.at[i, k.HEIGHT] or "\ufffd" in text
            wanted = {0 if c == "\ufffd" else int(groups[c.encode()[0]]) for c in text}
            if rest.decode(errors="ignore") != text.rstrip("\ufffd"):
                assert below.at[i, k.BELOW] & 1
            wanted.discard(0)
            assert all(below.at[i, k.BELOW] >> group & 1 for group in wanted)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "[0-9a-f]{6}"},
        {"pattern": r"^(?:\S+\s+){0,3}\S+$", "maxLength": 20},
        {"pattern": "^[a-z]+$", "minLength": 3},
        {"minLength": 2, "maxLength": 20},
        {"minLength": 3},
        {"format": "date-time"},
        {"format": "email", "maxLength": 30},
        {"type": "object", "patternProperties": {"^x": {"type": "null"}}},
    ],
)
def test_masks_are_those_of_reading_token_by_token(schema: dict[str, object]) -> None:
    """A bit is set iff the token can be read."""
    kind = {"type": schema.get("type", "string")}
    constraint = sg.compile(sg.JsonSchema(kind | schema), VOCABULARY)
    draw = random.Random(5)
    for _ in range(4):
        for _, state in walk(constraint, draw, 13):
            mask_is_advance(constraint, state)


def test_a_saved_text_goes_on_where_nobody_was() -> None:
    """States numbered but never entered are found again after loading."""
    schema = {"type": "string", "pattern": "^[a-c]{200}$"}
    constraint = sg.compile(sg.JsonSchema(schema), VOCABULARY)
    engine = constraint.automaton
    assert isinstance(engine, Engine)
    constraint.is_accepting(constraint.advance_bytes(constraint.start, b'"abc'))
    loaded = Engine.restored(lambda: engine.machine, engine.stored())
    text = b'"' + b"abcab" * 40 + b'"'
    assert loaded.run(loaded.start, text)[1] == len(text)
    assert loaded.run(loaded.start, b'"' + b"a" * 201)[1] == 201
    again = Engine.restored(lambda: engine.machine, loaded.stored())
    assert again.run(again.start, text)[1] == len(text)


@pytest.mark.parametrize(
    ("schema", "begin"),
    [
        ({"type": "number", "minimum": 3, "maximum": 77}, ""),
        (
            {
                "type": "object",
                "patternProperties": {"^a+[bc]*$": {"type": "null"}},
                "additionalProperties": False,
            },
            '{"',
        ),
        ({"anyOf": [{"type": "string", "pattern": "^[ab]+c?$"}, {"type": "null"}]}, '"'),
    ],
)
def test_what_one_expression_says_is_found_together(schema: object, begin: str) -> None:
    """Behind each first digit of a number; and where of several alternatives one is left."""
    spec = sg.JsonSchema(schema, property_order="any", whitespace="any")
    constraint = sg.compile(spec, VOCABULARY)
    for text in ("", "a", "7", "-", "7.5", "ab", 'ac"', "aaaa"):
        state = constraint.advance_bytes(constraint.start, (begin + text).encode())
        if state >= 0:
            mask_is_advance(constraint, state)
    assert isinstance(constraint.automaton, Engine)
    assert len(constraint.automaton.embedded) == 1


@given(
    listed=st.sets(st.sampled_from(TEXTS), min_size=1, max_size=9),
    pattern=PATTERNS,
    negated=st.tuples(st.booleans(), st.booleans()),
    begin=st.sampled_from(["", "a", "ab"]),
)
def test_members_are_those_that_derivatives_lead_to(
    listed: set[str], pattern: str, negated: tuple[bool, bool], begin: str
) -> None:
    """Of word lists, their beginnings, complements and intersections."""
    parts: list[Regex] = [words(listed), parse(pattern)]
    for letter in begin:
        parts[0] = parts[0].after(ord(letter))
    parts = [complement(p) if n else p for p, n in zip(parts, negated, strict=True)]
    for regex in (*parts, intersect(*parts), alt(*parts)):
        for text in TEXTS:
            node = regex
            for letter in text:
                node = node.after(ord(letter))
            assert matches(regex, text) == node.nullable


@pytest.mark.parametrize("alone", [True, False])
def test_a_forked_process_keeps_automata_where_no_other_thread_can_hold_their_locks(
    alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a server that compiled before it forked need not do so again."""
    kept = lazy_automaton.AutomatonCache()
    regex = parse("(ab)*")
    found = kept.of(regex)
    monkeypatch.setattr(threading, "active_count", lambda: 1 if alone else 2)
    kept.hand_down()
    kept.inherit()
    assert (kept.of(regex) is found) == alone
