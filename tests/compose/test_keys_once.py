"""No key of an object comes twice, in objects alone and inside other specs."""

from __future__ import annotations

import json
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.constraint.constraint import Constraint

BYTES = sg.Vocabulary([*(bytes((i,)) for i in range(256)), b"<end>"], eos_ids=[256])
KEYS = ("", "a", "aa", "b")
SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "additionalProperties": {"const": 1}},
    {
        "type": "object",
        "patternProperties": {"^[ab]*$": {"const": 1}},
        "additionalProperties": False,
    },
    {"type": "object", "properties": {"aa": {"const": 1}}, "minProperties": 1},
]
SHORT = sg.filters.length(at_most=60)
HOLDERS: dict[str, Any] = {
    "alone": sg.JsonSchema,
    "grammar": lambda schema: sg.Lark(f"start: %json {json.dumps(schema)}"),
    "sequence": lambda schema: sg.sequence(sg.Regex(""), sg.JsonSchema(schema)),
    "all_of": lambda schema: sg.all_of(sg.JsonSchema(schema), SHORT),
    "all_of grammar": lambda schema: sg.all_of(HOLDERS["grammar"](schema), SHORT),
    "all_of sequence": lambda schema: sg.all_of(HOLDERS["sequence"](schema), SHORT),
    "any_of": lambda schema: sg.any_of(sg.JsonSchema(schema), sg.Regex("never")),
}


@pytest.fixture(scope="module", params=[(h, i) for h in HOLDERS for i in range(len(SCHEMAS))])
def constraint(request: pytest.FixtureRequest) -> Constraint:
    """Each of the schemas in each of the specs."""
    holder, index = request.param
    return sg.compile(HOLDERS[holder](SCHEMAS[index]), BYTES)


def _text(keys: tuple[str, ...]) -> str:
    return "{" + ",".join(f'"{key}":1' for key in keys) + "}"


def test_keys_come_once_whatever_was_read_before(constraint: Constraint) -> None:
    """One constraint reads all texts, so that what it remembers of one may not serve another."""
    for count in (1, 2, 3):
        for keys in product(KEYS, repeat=count):
            if keys != tuple(sorted(keys, key=lambda key: key != "aa")):
                continue  # "aa" is declared where it has a name: it comes first
            state = constraint.advance_bytes(constraint.start, _text(keys).encode())
            fits = state >= 0 and constraint.is_accepting(state)
            assert fits == (len(set(keys)) == count), keys


def test_what_is_begun_can_be_finished(constraint: Constraint) -> None:
    """The completion of each beginning is read, also where a key has to differ from one before."""
    for keys in (("aa", "b", "a"), ("aa", "a", ""), ("b", "a", "bb")):
        text = _text(keys).encode()
        for end in range(len(text) + 1):
            state = constraint.advance_bytes(constraint.start, text[:end])
            rest = constraint.shortest_completion(state)
            state = constraint.advance_bytes(state, rest)
            assert constraint.is_accepting(state), (text[:end], rest)


TOKENS = (
    b'a"',
    b'a":1',
    b'":1,"',
    b'a":1,"a',
    b'a":1,"a"',
    b'":1,"aa":1}',
    b'"a":1,"b"',
    b'aa":1,"aa"',
)
ESCAPED = (rb"\u0061", rb"\u00", rb"61", rb'\u0061":1,"a', rb'\u0061":1,"a"')


@pytest.mark.thorough
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("index", range(len(SCHEMAS)))
def test_tokens_that_hold_keys_are_allowed_as_their_bytes_are(holder: str, index: int) -> None:
    """Also those that end one key and begin another, and those that spell a key another way."""
    texts = [*(bytes((i,)) for i in range(256)), *TOKENS, *ESCAPED]
    vocabulary = sg.Vocabulary([*texts, b"<end>"], eos_ids=[len(texts)])
    constraint = sg.compile(HOLDERS[holder](SCHEMAS[index]), vocabulary)
    row = np.zeros(vocabulary.words, np.int32)
    for text in (b"{", b'{"', b'{"a', b'{"aa":1,"', b'{"aa":1,"a', b'{"b":1,"a', rb'{"b":1,"\u00'):
        state = constraint.advance_bytes(constraint.start, text)
        if state < 0:
            continue
        constraint.fill_mask(state, row)
        allowed = np.unpackbits(row.view(np.uint8), bitorder="little")[: len(texts)]
        read = [constraint.advance_bytes(state, token) >= 0 for token in texts]
        assert allowed.tolist() == read, [
            (t, a, r) for t, a, r in zip(texts, allowed, read, strict=True) if a != r
        ]


@pytest.mark.parametrize("names", [("a", "b"), ("a", "ab", "b"), ("", "a")])
def test_a_rule_that_leaves_few_keys(names: tuple[str, ...]) -> None:
    """All texts there are, found byte by byte: no way is missing, and none leads to nowhere."""
    pair = f'"({"|".join(names)})":1'
    rule = sg.Regex(rf"\{{({pair}(,{pair})*)?\}}")
    constraint = sg.compile(sg.all_of(sg.JsonSchema({"type": "object"}), rule), BYTES)
    found, queue = set(), [(constraint.start, b"")]
    while queue:
        state, text = queue.pop()
        allowed = constraint.allowed_bytes(state)
        assert allowed or constraint.is_accepting(state), text
        found |= {text.decode()} if constraint.is_accepting(state) else set()
        queue += [(constraint.advance(state, b), text + bytes((b,))) for b in allowed]
    counts = range(len(names) + 1)
    assert found == {_text(keys) for n in counts for keys in permutations(names, n)}
