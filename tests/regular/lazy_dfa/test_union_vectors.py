"""Texts that are read in several expressions, each by an automaton of its own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import structgen as sg
from structgen.masks import bitmask
from structgen.regular.lazy_dfa.automaton import vector_automaton
from structgen.regular.lazy_dfa.pairs.union_vectors import UnionVector
from structgen.regular.regex import (
    ANY,
    ANY_CHAR,
    EMPTY,
    Regex,
    complement,
    intersect,
    literal,
    matches,
    readable_together,
    repeat,
    shortest,
)
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.regular.lazy_dfa.test_automaton import after

HOST, PATTERN, MAIL = map(format_built, ("hostname", "regex", "email"))
SHORT = repeat(ANY_CHAR, 0, 4)
VECTORS: dict[str, tuple[Regex, ...]] = {
    "two formats": (HOST, PATTERN),
    "three, one of them twice": (PATTERN, EMPTY, HOST, MAIL, PATTERN),
    "with a length": (intersect(PATTERN, SHORT), HOST, literal("a.b")),
    "endings": (intersect(MAIL, parse("a$")), intersect(MAIL, parse("b$"))),
    "or any text": (ANY, HOST, PATTERN),
}


@pytest.mark.parametrize("name", VECTORS)
def test_ends_say_in_which_languages_a_text_is(name: str) -> None:
    """A text goes on as long as it is begun in one of them."""
    vector = VECTORS[name]
    automaton: Any = vector_automaton(vector)
    assert isinstance(automaton, UnionVector)
    rnd, found = random.Random(4), set()
    for _ in range(600):
        text = rnd.choice(["", "a@", "a."]) + "".join(rnd.choices("ab.-(|)", k=rnd.randrange(6)))
        state = after(automaton, 0, text)
        told = (False,) * len(vector)
        if state is not None and automaton.ends[state]:
            told = automaton.outcomes.listed[int(automaton.ends[state]) - 1]
        assert told == tuple(matches(language, text) for language in vector), text
        found.add(told)
    assert len(found) > 2


def test_a_format_that_all_ask_for_is_read_without_the_same_texts() -> None:
    """Host names beside patterns have no A-labels, in each language; else languages stay exact."""
    one, other = (intersect(HOST, parse(pattern)) for pattern in ("a$", "^a"))
    found = readable_together((one, EMPTY, other))
    assert found[1] is EMPTY
    for text in ("a.a", "ab", "ba", "b", "xn--mnchen-3ya", "a.xn--mnchen-3ya"):
        told = tuple(matches(language, text) for language in (one, EMPTY, other))
        read = tuple(matches(language, text) for language in found)
        assert read == (told if "xn--" not in text else (False,) * 3)
    for kept in ((one, MAIL), (HOST, EMPTY), (one, intersect(HOST, parse("^xn--")))):
        assert readable_together(kept) == kept


def test_patterns_that_exclude_each_other_leave_nothing_of_a_format() -> None:
    """Found without a look at the format; nor is that needed where some text is left."""
    endings = [parse(rf"\.{name}$") for name in ("com", "org", "net")]
    assert intersect(HOST, *endings[:2]).is_empty()
    assert not intersect(HOST, endings[0], *map(complement, endings[1:])).is_empty()
    assert shortest(intersect(HOST, MAIL, endings[0])) is None


SCHEMAS: dict[str, list[dict[str, Any]]] = {
    "formats": [{"format": "hostname"}, {"format": "email"}, {"format": "regex"}],
    "unicode": [{"format": "idn-email"}, {"format": "regex"}, {"format": "ipv6"}],
    "endings": [{"format": "email", "pattern": "a$"}, {"format": "email", "pattern": "b$"}],
    "lengths": [{"format": "hostname", "maxLength": 9}, {"format": "email", "maxLength": 5}],
    "names": [{"format": "hostname", "pattern": "a$"}, {"format": "hostname", "pattern": "b$"}],
    "or any": [{"format": "hostname"}, {"format": "regex"}, {"minLength": 0}],
}
TEXTS = ["a.b", "a@b", "a@a", "(a)", "a@[::1]", "::1", "a-", "xn--mnchen-3ya", "a.ab", "ü", ""]
WORDS = [b"", *(word.encode() for word in TEXTS if len(word.encode()) > 1)]
WORDS += [b'{"a":"', b'","b1', b'a","b', b'b","b2":', b'.b","b0":1', b"1}", b'":1}', b"a@b.a@"]
WORDS += [byte for byte in (bytes((point,)) for point in range(256)) if byte not in WORDS]


def objects(demands: list[dict[str, Any]]) -> sg.JsonSchema:
    """Objects whose first member says which other one comes, as far as one is barred."""
    kinds = [
        {
            "properties": {"a": {"type": "string", **demand}, f"b{at}": {"const": 1}},
            "required": ["a", f"b{at}"],
            "additionalProperties": False,
        }
        for at, demand in enumerate(demands)
    ]
    return sg.JsonSchema({"type": "object", "anyOf": kinds}, whitespace="compact")


@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_hold_exactly_the_tokens_that_may_come(name: str, tmp_path: Path) -> None:
    """Tokens that stay in the string, end it, and go on behind it; the same from a saved file."""
    spec = objects(SCHEMAS[name])
    vocabulary = sg.Vocabulary(WORDS, eos_ids=[0])
    constraint = sg.compile(spec, vocabulary)
    rnd, seen = random.Random(3), []
    for _ in range(8):
        begun = b'{"a":"' + rnd.choice(TEXTS)[: rnd.randrange(5)].encode()
        state, path = constraint.advance_bytes(constraint.start, begun), begun
        for _ in range(8):
            if state == sg.DEAD:
                break
            allowed = {*bitmask.ids_of(constraint, state).tolist()} - {0}
            steps = {t: constraint.advance_bytes(state, WORDS[t]) for t in range(1, len(WORDS))}
            assert allowed == {t for t, step in steps.items() if step != sg.DEAD}, path
            seen.append((path, allowed))
            if not allowed:
                break
            token = rnd.choice(sorted(allowed, key=lambda t: -len(WORDS[t]))[:12])
            state, path = steps[token], path + WORDS[token]
    constraint.save(tmp_path / "f")
    loaded = sg.load(tmp_path / "f", vocabulary)
    for path, allowed in seen[::-1] + seen:
        state = loaded.advance_bytes(loaded.start, path)
        assert {*bitmask.ids_of(loaded, state).tolist()} - {0} == allowed, path


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_text_says_which_member_may_come(name: str) -> None:
    """As the demands on the first member say; host names beside patterns have no A-labels."""
    demands = SCHEMAS[name]
    constraint = sg.compile(objects(demands), sg.Vocabulary(WORDS, eos_ids=[0]))
    for text in TEXTS:
        for at, demand in enumerate(demands):
            language = format_built(demand["format"]) if "format" in demand else ANY
            fits = matches(language, text) and len(text) <= demand.get("maxLength", 99)
            fits = fits and matches(parse(demand.get("pattern", "")), text)
            whole = f'{{"a":"{text}","b{at}":1}}'.encode()
            reached = constraint.advance_bytes(constraint.start, whole)
            assert (reached != sg.DEAD) == fits or "xn--" in text, whole
