"""Texts that are read in several expressions, one part of which is a format."""

from __future__ import annotations

import random
from typing import Any

import pytest

import structgen as sg
from structgen.masks import bitmask
from structgen.regular.lazy_dfa.automaton import vector_automaton
from structgen.regular.lazy_dfa.pairs.format_vectors import FormatVector
from structgen.regular.regex import (
    ANY,
    ANY_CHAR,
    EMPTY,
    Regex,
    alt,
    complement,
    intersect,
    matches,
    repeat,
)
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.regular.lazy_dfa.test_automaton import after

HOST, PATTERN, MAIL = format_built("hostname"), format_built("regex"), format_built("idn-email")
SHORT = repeat(ANY_CHAR, 0, 4)
BEGUN = parse("^a")
VECTORS: dict[str, tuple[Regex, ...]] = {
    "either": (HOST, complement(HOST)),
    "a pattern or any text": (ANY, PATTERN),
    "short": (intersect(HOST, SHORT), complement(intersect(HOST, SHORT)), EMPTY),
    "with a pattern": (ANY, intersect(PATTERN, BEGUN), alt(PATTERN, BEGUN), complement(BEGUN)),
    "mail": (complement(MAIL), MAIL, SHORT),
}


@pytest.mark.parametrize("name", VECTORS)
def test_ends_say_in_which_languages_a_text_is(name: str) -> None:
    """Whatever text it is; any may be begun."""
    vector = VECTORS[name]
    automaton: Any = vector_automaton(vector)
    assert isinstance(automaton, FormatVector)
    rnd, found = random.Random(4), set()
    for _ in range(300):
        text = "".join(rnd.choices("ab.-@(|)x ", k=rnd.randrange(7)))
        state = after(automaton, 0, text)
        assert state is not None
        outcome = automaton.outcomes.listed[int(automaton.ends[state]) - 1]
        assert outcome == tuple(matches(language, text) for language in vector), text
        found.add(outcome)
    assert len(found) > 1


def test_other_vectors_are_read_otherwise() -> None:
    """Where no language is sure to hold, where there are two formats, and without any."""
    for vector in ((HOST, PATTERN), (ANY, HOST, PATTERN), (ANY, BEGUN, complement(BEGUN))):
        assert not isinstance(vector_automaton(vector), FormatVector)


@pytest.mark.parametrize(
    "demand",
    [{"format": "hostname"}, {"format": "regex", "maxLength": 4}, {"format": "idn-email"}],
)
def test_masks_of_conditions_hold_exactly_the_tokens_that_may_come(demand: dict[str, Any]) -> None:
    """The value decides what the next one must be."""
    words = [b"", b'{"a":"', b'","b":', b"a.b", b"(a", b"a@b", b'a","b":1', b"xn--", b"1}", b'"x"}']
    words += [bytes((byte,)) for byte in range(256) if bytes((byte,)) not in words]
    vocabulary = sg.Vocabulary(words, eos_ids=[0])
    schema = {
        "properties": {"a": {"type": "string"}, "b": True},
        "required": ["a", "b"],
        "additionalProperties": False,
        "if": {"properties": {"a": demand}},
        "then": {"properties": {"b": {"const": 1}}},
        "else": {"properties": {"b": {"const": "x"}}},
    }
    spec = sg.JsonSchema({"type": "object", **schema}, whitespace="compact")
    constraint = sg.compile(spec, vocabulary)
    rnd = random.Random(3)
    for _ in range(6):
        state = constraint.advance_bytes(constraint.start, b'{"a":"')
        for _ in range(12):
            allowed = {*bitmask.ids_of(constraint, state).tolist()} - {0}
            steps = {t: constraint.advance_bytes(state, words[t]) for t in range(1, len(words))}
            assert allowed == {t for t, step in steps.items() if step != sg.DEAD}
            if not allowed:
                break
            state = steps[rnd.choice(sorted(allowed, key=lambda t: -len(words[t]))[:9])]
    fits = {"hostname": "a.b", "regex": "a|b", "idn-email": "a@b"}[demand["format"]]
    for text, end in ((fits, "1"), ("(a.", '"x"')):
        for other in ("1", '"x"'):
            whole = f'{{"a":"{text}","b":{other}}}'.encode()
            state = constraint.advance_bytes(constraint.start, whole)
            assert (state != sg.DEAD) == (other == end)
