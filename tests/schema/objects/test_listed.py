"""Long lists of objects and arrays (`enum`): the value of a scalar says which of them are left."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

import structgen as sg
from structgen.errors import BudgetError
from structgen.schema.keywords.constants import MAX_NESTED
from structgen.schema.machine import machine as machine_module
from structgen.schema.machine.frames import JsonFrame
from structgen.schema.machine.machine import FEW_LISTED, JsonMachine
from tests.helpers import laws
from tests.helpers.oracle import json_decider
from tests.schema.objects.test_obligations import BYTES

PARTS: list[Any] = [0, 1, 2.5, "x", 'a"é', None, True, "", {"k": 0}, {}, [1], [1, "x"], []]


def listed(rng: Random, count: int) -> list[Any]:
    """Objects and arrays of some keys and values, with a few other values among them."""
    keys = ["a", "b", "c"]
    found: list[Any] = [rng.choice(PARTS) for _ in range(rng.randrange(3))]
    for _ in range(count):
        if rng.random() < 0.8:
            names = rng.sample(keys, rng.choice([3, 3, 2, 1]))
            found.append({name: rng.choice([*PARTS, rng.randrange(40)]) for name in names})
        else:
            found.append([rng.choice([*PARTS, rng.randrange(9)]) for _ in range(rng.randrange(4))])
    return [*{json.dumps(x, sort_keys=True): x for x in found}.values()]


def varied(rng: Random, value: Any) -> Any:
    """The value, perhaps with another order of keys, or a change."""
    value = json.loads(json.dumps(value))
    if isinstance(value, dict):
        members = [*value.items()]
        rng.shuffle(members)
        value = dict(members)
        if members and rng.random() < 0.4:
            value[members[0][0]] = rng.choice(PARTS)
    elif isinstance(value, list) and rng.random() < 0.4:
        value.append(rng.choice(PARTS))
    return value


@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize("few", [0, 2, FEW_LISTED])
@pytest.mark.parametrize("seed", range(4))
def test_the_library_agrees(
    order: str, few: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone, beside other objects, and in arrays, and shortest texts fit."""
    monkeypatch.setattr(machine_module, "FEW_LISTED", few)
    rng = Random(seed)
    values = listed(rng, 24)
    schemas: list[Any] = [
        {"enum": values},
        {
            "anyOf": [
                {"enum": values},
                {"properties": {"a": {"type": "string"}}, "maxProperties": 1},
            ]
        },
        {"type": "array", "items": {"enum": values}, "minItems": 1},
        {"type": "array", "items": {"enum": values}, "uniqueItems": True},
        {"oneOf": [{"enum": values}, {"required": ["a", "b"], "properties": {"a": {"enum": [0]}}}]},
    ]
    for schema in schemas:
        spec = sg.JsonSchema(schema, property_order=order, whitespace="compact")
        constraint, decide = sg.compile(spec, BYTES), json_decider(schema)
        assert decide(constraint.shortest_completion(constraint.start))
        for _ in range(60):
            value = varied(rng, rng.choice(values))
            value = [value, rng.choice(values)][: rng.randrange(3)] if "items" in schema else value
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
            state = constraint.advance_bytes(constraint.start, text)
            found = state != sg.DEAD and constraint.is_accepting(state)
            assert found <= decide(text), text
            assert found == decide(text) or order == "declared", text
    constraint = sg.compile(sg.JsonSchema(schemas[0], whitespace="compact"), BYTES)
    for visit in laws.walk(constraint, rng, 12):
        laws.one_state_keeps_the_laws(constraint, visit, json_decider(schemas[0]))


def test_a_value_is_read_as_one_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand objects: after a key one language is read, after its value one object is left."""
    made: list[JsonFrame] = []
    begin = JsonMachine._begin

    def noted(machine: JsonMachine, frame: JsonFrame) -> None:
        begin(machine, frame)
        made.append(frame)

    monkeypatch.setattr(JsonMachine, "_begin", noted)
    values = [{"id": 7 * i, "name": f"n{i % 300}", "on": i % 2 == 0} for i in range(1000)]
    constraint = sg.compile(sg.JsonSchema({"enum": values}, whitespace="compact"), BYTES)
    state = constraint.advance_bytes(constraint.start, b'{"id":70,')
    assert state != sg.DEAD
    assert max(len(frame.vector) for frame in made) <= FEW_LISTED
    assert min(len(frame.threads) for frame in made if frame.stage == "key") == 1
    assert constraint.shortest_completion(state) == b'"name":"n10","on":true}'
    assert constraint.advance_bytes(constraint.start, b'{"id":71,') == sg.DEAD


def test_lists_that_are_too_long_are_refused() -> None:
    """The error says where the list is."""
    values = [[i] for i in range(MAX_NESTED + 1)]
    with pytest.raises(BudgetError) as error:
        sg.JsonSchema({"properties": {"a": {"enum": values}}}).machine()
    assert error.value.location == "#/properties/a/enum"
