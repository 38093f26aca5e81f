"""In: objects of any keys, alone and inside other specs. Out: proof that no key comes twice."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

import structgen as sg
from structgen.constraint import Constraint

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
HOLDERS: dict[str, Any] = {
    "alone": sg.JsonSchema,
    "grammar": lambda schema: sg.Lark(f"start: %json {json.dumps(schema)}"),
    "sequence": lambda schema: sg.sequence(sg.Regex(""), sg.JsonSchema(schema)),
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
