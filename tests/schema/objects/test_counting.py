"""Branches of `oneOf` that are counted: the masks are those of alternatives, for any number."""

from __future__ import annotations

import json
from itertools import combinations, permutations, product
from random import Random
from typing import Any

import jsonschema
import pytest

import structgen as sg
from structgen.errors import UnsatisfiableSchemaError
from structgen.schema.keywords import keywords
from tests.helpers import laws
from tests.helpers.oracle import json_decider
from tests.schema.objects.test_obligations import BYTES

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
CHILDREN: list[Any] = [
    TEXT, WHOLE, {"type": "boolean"}, {"enum": ["a", "b"]}, {"const": 1}, True, False,
    {"type": "array", "items": WHOLE}, {"type": "object", "required": ["x"]}, {"minimum": 3},
]  # fmt: skip
DECIDING: list[Any] = [
    {"type": "number", "minimum": 0}, {"type": "number", "minimum": 2}, TEXT, {"enum": ["b", 1]},
    {"type": "number", "maximum": 5}, {"type": "integer"}, {"type": "string", "minLength": 2},
    {"type": ["string", "null"]}, {"type": "integer", "multipleOf": 2}, {"type": "number"},
]  # fmt: skip
EXPONENT = frozenset(b"eE")  # as tokens: how large numbers may be spelled differs
VALUES: list[Any] = ["a", "ab", 0, 1, 2, 4, 6.5, -1, True, None, [], [1], {}, {"x": 1}]


def compiled(schema: Any, vocabulary: sg.Vocabulary = BYTES) -> sg.Constraint:
    """The constraint of exactly the texts that fit."""
    return sg.compile(sg.JsonSchema(schema, property_order="any", whitespace="any"), vocabulary)


def random_schema(rng: Random) -> Any:
    """Some branches with keys of their own, in common, and perhaps one that decides."""
    count = rng.choice((2, 3, 4))
    common = {"id": rng.choice(CHILDREN[:5])} if rng.random() < 0.4 else {}
    shared = {key: rng.choice(CHILDREN) for key in "st" if rng.random() < 0.5}
    decides = rng.random() < 0.5
    branches = []
    for i in range(count):
        members, required = dict(common), []
        for key in (f"o{i}", f"p{i}"):
            if rng.random() < 0.55:
                members[key] = rng.choice(CHILDREN)
            if rng.random() < 0.35:
                required.append(key)
        for key in [key for key in shared if rng.random() < 0.5]:
            members[key] = shared[key]
            required += [key] * (rng.random() < 0.3)
        if decides:
            members["v"] = rng.choice(DECIDING)
            required.append("v")
        branches.append({"type": "object", "properties": members, "required": required})
    found: Any = {"oneOf": branches}
    if rng.random() < 0.4:
        names = [f"{letter}{i}" for letter in "op" for i in range(count)] + ["id", "v", "s"]
        closed = {"additionalProperties": False} if rng.random() < 0.5 else {}
        members = {name: rng.choice(CHILDREN) for name in names if rng.random() < 0.6}
        found = {**found, "properties": members, **closed}
    wrapped = rng.random()
    if wrapped < 0.15:
        return {"anyOf": [{"type": "null"}, found]}
    return {"not": found} if wrapped < 0.2 else found


def random_object(rng: Random) -> Any:
    """An object with some of the keys that branches are about."""
    names = [f"{letter}{i}" for letter in "op" for i in range(4)] + ["id", "v", "s", "t", "zz"]
    return {name: rng.choice(VALUES) for name in rng.sample(names, rng.randint(0, 6))}


def variants(schema: Any, monkeypatch: pytest.MonkeyPatch) -> list[sg.Constraint]:
    """The constraint with branches counted, and with alternatives; none if nothing fits."""
    found = []
    for many in (2, 10**6):
        monkeypatch.setattr(keywords, "MANY_BRANCHES", many)
        try:
            found.append(compiled(schema))
        except UnsatisfiableSchemaError:
            continue
    return found


@pytest.mark.parametrize("seed", range(60))
def test_branches_that_are_counted_have_the_masks_of_alternatives(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Along objects with keys of some branches, until these are refused."""
    rng = Random(seed)
    schema = random_schema(rng)
    both = variants(schema, monkeypatch)
    assert len(both) in (0, 2)
    if not both:
        return
    counted, listed = both
    decide = json_decider(schema)
    for _ in range(6):
        text = json.dumps(random_object(rng)).encode()
        states = counted.start, listed.start
        for byte in text:
            masks = laws.mask_of(counted, states[0]), laws.mask_of(listed, states[1])
            assert masks[0] - EXPONENT == masks[1] - EXPONENT
            next_ = bytes([byte])
            states = counted.advance_bytes(states[0], next_), listed.advance_bytes(states[1], next_)
            if sg.DEAD in states:
                break
        assert (states[0] == sg.DEAD) == (states[1] == sg.DEAD)
        fits = states[0] != sg.DEAD and counted.is_accepting(states[0])
        assert fits == decide(text)
    assert decide(counted.shortest_completion(counted.start))


def in_order(schema: Any) -> sg.Constraint:
    """The constraint of the texts whose keys come in declared order."""
    return sg.compile(sg.JsonSchema(schema, whitespace="compact"), BYTES)


def is_accepted(c: sg.Constraint, members: Any) -> bool:
    """Whether an object is, with its keys in this order."""
    state = c.advance_bytes(c.start, json.dumps(members, separators=(",", ":")).encode())
    return state != sg.DEAD and c.is_accepting(state)


@pytest.mark.parametrize("seed", range(40))
def test_in_declared_order_an_object_fits_with_its_keys_in_some_order(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly the objects that the library accepts; no key that may come leads into a dead end."""
    monkeypatch.setattr(keywords, "MANY_BRANCHES", 2)
    rng = Random(seed)
    schema = random_schema(rng)
    decide = json_decider(schema)
    try:
        c = in_order(schema)
    except UnsatisfiableSchemaError:
        return
    for _ in range(12):
        members = {key: value for key, value in random_object(rng).items() if value != {"x": 1}}
        orders = permutations([*members.items()][:4])
        some = [is_accepted(c, dict(order)) for order in orders]
        assert any(some) == decide(json.dumps(dict([*members.items()][:4])).encode())
    for text, state in laws.walk(c, rng, 30)[::6]:
        assert decide(text + c.shortest_completion(state))
        laws.mask_is_advance(c, state)


def test_names_keep_the_order_that_each_branch_gives_them() -> None:
    """Hundreds are counted; branches that contradict each other in order are alternatives."""
    c = in_order({"oneOf": own_keys(400), "properties": {"first": WHOLE}})
    assert is_accepted(c, {"do7": {"a": 1}, "note": "x", "first": 1, "more": 1})
    assert not is_accepted(c, {"note": "x", "do7": {"a": 1}})
    assert not is_accepted(c, {"do7": {"a": 1}, "first": 1, "note": "x"})
    assert is_accepted(c, {"do7": {"a": 1}, "do9": 1})
    assert not is_accepted(c, {"do9": 1, "do7": {"a": 1}})
    assert not is_accepted(c, {"do7": {"a": 1}, "do9": {}})
    free = in_order({"type": "object", "oneOf": [{"required": [f"k{i}"]} for i in range(400)]})
    assert is_accepted(free, {"x": 0, "k399": 1})
    assert is_accepted(free, {"k399": 1, "x": 0})
    assert not is_accepted(free, {"k3": 1, "x": 0, "k9": 1})
    other_way = {"properties": {"note": TEXT, "do": WHOLE}, "required": ["do"], "type": "object"}
    either = in_order({"oneOf": [*own_keys(12), other_way]})
    assert is_accepted(either, {"note": "x", "do": 1})
    assert is_accepted(either, {"do3": {"a": 1}, "note": "x"})
    twisted = in_order({"oneOf": [*own_keys(12), {**other_way, "required": ["do", "do3"]}]})
    assert is_accepted(twisted, {"note": "x", "do": 1, "do3": 1})


def own_keys(count: int) -> Any:
    """Branches with a required key each, and one in common."""
    return [
        {
            "type": "object",
            "properties": {f"do{i}": {"type": "object", "properties": {"a": WHOLE}}, "note": TEXT},
            "required": [f"do{i}"],
        }
        for i in range(count)
    ]


@pytest.mark.parametrize("beside", [{}, {"properties": {"do3": {"required": ["a"]}}}])
def test_hundreds_of_branches_are_told_apart_by_their_own_keys(beside: Any) -> None:
    """What one asks of its key must not hold for another one."""
    c = compiled({"oneOf": own_keys(400), **beside})
    decide = json_decider({"oneOf": own_keys(400), **beside})
    values: list[Any] = [
        {"do3": {"a": 1}, "note": "x"},
        {"do3": {}},
        {"zz": 1},
        {"do3": {"a": 1}, "do7": {}},
        {"do7": [], "do3": {"a": 2}},
        {"do9": {"a": "x"}, "do8": {}},
        {"do8": {}, "note": 1},
    ]
    for value in values:
        text = json.dumps(value).encode()
        state = c.advance_bytes(c.start, text)
        assert (state != sg.DEAD and c.is_accepting(state)) == decide(text)
    begun = b'{"do5": 1, "note'
    assert decide(begun + c.shortest_completion(c.advance_bytes(c.start, begun)))
    laws.mask_is_advance(c, c.advance_bytes(c.start, b'{"do3": {"a": 1}, "do7": '))


@pytest.mark.parametrize(
    "value",
    [
        {"do1": 1},
        {"do1": 1, "do2": 1},
        {"do1": 1, "do2": 1, "note": 1},
        {"do1": 1, "do3": 1, "note": 1},
        {"do1": 1, "do2": 1, "size": "x"},
        {"size": "x", "note": 1, "do4": 1},
        {"do4": 1, "do6": 1},
    ],
)
def test_branches_fail_by_keys_that_some_of_them_share(value: Any) -> None:
    """Of those with the key, all fail."""
    shared: list[Any] = [{"note": TEXT}, {}, {"note": TEXT, "size": WHOLE}]
    branches = [
        {"type": "object", "properties": shared[i % 3], "required": [f"do{i}"]} for i in range(9)
    ]
    c = compiled({"oneOf": branches})
    text = json.dumps(value).encode()
    state = c.advance_bytes(c.start, text)
    fits = json_decider({"oneOf": branches})(text)
    assert (state != sg.DEAD and c.is_accepting(state)) == fits


def deciding(count: int) -> Any:
    """Branches with numbers from ever higher bounds on, and an optional key each."""
    bounds: list[Any] = [{"type": "number", "minimum": i} for i in range(count)]
    return [
        {"properties": {"value": bound, f"own{i}": TEXT}, "required": ["value"], "type": "object"}
        for i, bound in enumerate(bounds)
    ]


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ('{"value": 0}', True),
        ('{"value": 1}', False),
        ('{"value": 1, "own0": 5}', True),
        ('{"own0": "x", "own1": "y", "value": 5e-1}', True),
        ('{"own0": "x", "own1": "y", "value": 1.0}', False),
        ('{"own1": [], "own2": {}, "own0": 1, "value": 3}', True),
        ('{"own1": [], "own2": {}, "value": 2.5}', True),
        ('{"own1": [], "own2": {}, "value": 3.5}', False),
        ('{"value": -1}', False),
    ],
)
def test_a_value_decides_which_branches_may_hold(text: str, fits: bool) -> None:
    """Before or after the keys with which the others fail."""
    c = compiled({"oneOf": deciding(12)})
    state = c.advance_bytes(c.start, text.encode())
    assert (state != sg.DEAD and c.is_accepting(state)) == fits
    assert json_decider({"oneOf": deciding(12)})(text.encode()) == fits


def test_a_text_goes_on_with_what_makes_all_other_branches_fail() -> None:
    """The shortest end has a member for each of them."""
    c = compiled({"oneOf": deciding(10)})
    begun = b'{"value": 4,'
    end = c.shortest_completion(c.advance_bytes(c.start, begun))
    assert json_decider({"oneOf": deciding(10)})(begun + end)
    assert len(json.loads(begun + end)) == 5


@pytest.mark.parametrize("order", ["any", "declared"])
def test_a_value_that_decides_is_completed_though_much_must_follow(order: str) -> None:
    """Many branches take an address as the value, and all but one have to fail by other members."""
    texts = [{"type": "string", "format": name} for name in ("email", "ipv4", "date")]
    asked = [texts[i // 2 % 3] if i % 2 else {"type": "number", "minimum": i} for i in range(60)]
    branches = [
        {"type": "object", "properties": {"v": value, f"own{i}": WHOLE}, "required": ["v"]}
        for i, value in enumerate(asked)
    ]
    c = sg.compile(sg.JsonSchema({"oneOf": branches}, property_order=order), BYTES)
    begun = b'{"v": "ab'
    end = c.shortest_completion(c.advance_bytes(c.start, begun))
    checker = jsonschema.FormatChecker(("email", "ipv4", "date"))
    validator = jsonschema.Draft202012Validator({"oneOf": branches}, format_checker=checker)
    assert validator.is_valid(json.loads(begun + end))


def test_reports_do_not_multiply_branches() -> None:
    """Nor does a union with other types."""
    schema = {"anyOf": [{"type": "null"}, {"oneOf": own_keys(400)}]}
    root, *_ = sg.support(schema, property_order="any").nodes
    assert root.cost is not None
    assert root.cost.alternatives == 400
    c = compiled(schema)
    assert c.is_accepting(c.advance_bytes(c.start, b"null"))


def test_verdicts_do_not_depend_on_what_was_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """All objects of some members, in all orders, with the key that decides early and late."""
    monkeypatch.setattr(keywords, "MANY_BRANCHES", 2)
    asked: dict[str, Any] = {"b": {"const": 0}, "c": True, "d": {"not": {"const": 0}}}
    branches = [
        {"type": "object", "properties": {"a": tag, **{k: asked[k] for k in own}}, "required": must}
        for tag, own, must in [
            ({"const": 0}, "bc", ["b", "c", "a"]), ({"const": 0}, "bc", ["b", "a"]),
            ({"const": 0}, "c", ["c", "a"]), ({"type": ["integer", "null"]}, "", ["a"]),
            (TEXT, "cd", ["c", "d", "a"]),
        ]
    ]  # fmt: skip
    c, decide = compiled({"oneOf": branches}), json_decider({"oneOf": branches})
    for count in range(5):
        for keys in combinations("abcd", count):
            for values in product((0, "x", None), repeat=count):
                members = [*zip(keys, values, strict=True)]
                fits = decide(json.dumps(dict(members)).encode())
                assert is_accepted(c, dict(members)) == fits, members
                assert is_accepted(c, dict(members[::-1])) == fits, members
