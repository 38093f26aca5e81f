"""Items that must be found in an array, in any order: jsonschema's verdicts, and little work."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

import structgen as sg
from structgen.schema.arrays.contains import ContainsMatcher
from tests.helpers import laws
from tests.helpers.oracle import json_decider
from tests.schema.objects.test_obligations import BYTES

Schema = dict[str, Any]
EITHER = [{"multipleOf": 2}, {"multipleOf": 3}, {"minimum": 5}, {"type": "string"}]
ITEMS = [0, 2, 3, 5, "x", None]


def tagged(count: int, **more: Any) -> Schema:
    """An item for each of some tags."""
    tags = [{"contains": {"properties": {"k": {"const": i}}}, **more} for i in range(count)]
    return {"type": "array", "items": {"type": "object", "required": ["k"]}, "allOf": tags}


def compact(value: Any) -> bytes:
    """Its JSON without white space."""
    return json.dumps(value, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"contains": x} for x in EITHER]},
        {"allOf": [{"contains": x} for x in EITHER], "minItems": 4, "prefixItems": [True, {}]},
        {"allOf": [{"contains": x, "minContains": 2} for x in EITHER[:2]], "maxItems": 3},
        {"allOf": [{"contains": x, "maxContains": 1} for x in EITHER[1:]]},
        {"allOf": [{"contains": x} for x in EITHER[1:]], "uniqueItems": True},
    ],
)
def test_one_item_may_be_several_of_those_to_be_found(schema: Schema) -> None:
    """All arrays of few items are judged right, and the shortest text is one of the shortest."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array", **schema}
    constraint = sg.compile(sg.JsonSchema(schema, whitespace="compact"), BYTES)
    decide = json_decider(schema)
    texts = [compact(items) for n in range(4) for items in product(ITEMS, repeat=n)]
    laws.accepts_exactly(constraint, texts, decide)
    shortest = constraint.shortest_completion(constraint.start)
    assert shortest is not None
    assert decide(shortest)
    assert not any(len(text) < len(shortest) for text in texts if decide(text))


def test_tags_come_in_any_order() -> None:
    """Each at least once."""
    schema = tagged(9)
    constraint = sg.compile(sg.JsonSchema(schema, whitespace="compact"), BYTES)
    tags = [*range(9)]
    lists = [tags, tags[::-1], tags[4:] + tags[:4], tags[1:], [*tags, 5, 99], [0] * 9, []]
    texts = [compact([{"k": k} for k in some]) for some in lists]
    laws.accepts_exactly(constraint, texts, json_decider(schema))


def test_many_found_in_one_item() -> None:
    """Or in several; what an item counts for is known when it has been read."""
    count = 12
    found = [{"contains": {"type": "array", "contains": {"const": i}}} for i in range(count)]
    schema = {"type": "array", "allOf": found}
    constraint = sg.compile(sg.JsonSchema(schema, whitespace="compact"), BYTES)
    every = [*range(count)]
    lists = [
        [every],
        [[i] for i in every],
        [every[:5], 3, every[5:]],
        [every[1:]],
        [[1], every],
        [],
    ]
    laws.accepts_exactly(constraint, map(compact, lists), json_decider(schema))


def test_the_work_grows_with_the_number_of_tags_not_of_their_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither the sets that may have been found, nor the orders in which they may come."""
    made = [0]
    choices = ContainsMatcher.choices

    def counted(*of: Any) -> Any:
        made[0] += 1
        return choices(*of)

    monkeypatch.setattr(ContainsMatcher, "choices", counted)

    def work(count: int) -> int:
        made[0] = 0
        constraint = sg.compile(sg.JsonSchema(tagged(count), whitespace="compact"), BYTES)
        text = compact([{"k": k} for k in range(count)])
        assert constraint.is_accepting(constraint.advance_bytes(constraint.start, text))
        return made[0]

    assert work(12) < 10 * work(4)


def test_an_array_is_completed_that_must_hold_what_several_items_may() -> None:
    """Each of six conditions on what is inside of items gets an item; no search goes on and on."""
    tags = [{"properties": {"tags": {"contains": {"const": f"t{i}"}}}} for i in range(6)]
    schema: Any = {
        "type": "array",
        "items": {"type": "object", "properties": {"tags": {"type": "array"}}},
        "allOf": [{"contains": {**each, "required": ["tags"]}} for each in tags],
    }
    decide = json_decider(schema)
    for order in ("declared", "any"):
        c = sg.compile(sg.JsonSchema(schema, property_order=order), BYTES)
        for begun in (b"", b'[{"', b'[{"tags": ["t3", "x'):
            state = c.advance_bytes(c.start, begun)
            assert decide(begun + c.shortest_completion(state))
