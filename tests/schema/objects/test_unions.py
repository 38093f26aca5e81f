"""Many unions and conditions in one object: the library's verdicts, few alternatives, no dead ends.

Unions that nothing joins stay apart (`normal_form.combination`), tags decide by their values
(`objects.deciding_values`), and clauses that have no key in common are not searched together.
"""

from __future__ import annotations

import json
from itertools import combinations, pairwise, product
from random import Random
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.automata.lexer.json_lexemes import Layout
from structgen.automata.pushdown.completion import Completions
from structgen.automata.pushdown.engine import Engine
from structgen.errors import UnsatisfiableSchemaError
from structgen.regular.regex import EMPTY, EPSILON
from structgen.regular.syntax.ecma import parse
from structgen.schema.json_schema import JsonSchema
from structgen.schema.keywords import keywords, unevaluated
from structgen.schema.keywords.schemas import Schemas
from structgen.schema.machine.frames import JsonFrame
from structgen.schema.machine.lexemes import ScalarLanguages, value_start
from structgen.schema.machine.machine import JsonMachine
from structgen.schema.normal_form import alternatives as alternatives_module
from structgen.schema.normal_form import combination, logic
from structgen.schema.normal_form.costs import Costs
from structgen.schema.normal_form.expressions import Expr, conjoin
from structgen.schema.objects import clause_matcher
from structgen.schema.objects.clause_matcher import ClauseMatcher
from structgen.schema.objects.quick_check import QuickCheck
from structgen.schema.values import value_of
from tests.helpers import laws
from tests.helpers.oracle import DIALECTS, json_decider
from tests.schema.objects.test_obligations import BYTES

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
ONE, TWO = {"const": 1}, {"const": 2}


def conditions(tag: str, values: list[str]) -> list[Any]:
    """For each value of a tag, a member that is required."""
    return [
        {
            "if": {"properties": {tag: {"const": value}}, "required": [tag]},
            "then": {"required": [f"{tag}_{value}"], "properties": {f"{tag}_{value}": WHOLE}},
        }
        for value in values
    ]


def with_tag(tags: list[str], **more: Any) -> Any:
    """Exactly one branch for each tag, beside one for any."""
    own = [{"properties": {"tag": {"enum": [t]}, f"p{t}": WHOLE}} for t in tags]
    return [{**branch, "required": ["tag"]} for branch in own] + [{"required": ["tag"], **more}]


LETTERS = list("abcdefghijklmnopqrstuvwxyz")
EITHER = [{"anyOf": [{"required": [f"name{i}"]}, {"required": [f"id{i}"]}]} for i in range(12)]
SWITCHES = [
    {
        "if": {"properties": {f"use{i}": {"const": True}}, "required": [f"use{i}"]},
        "then": {"required": [f"path{i}"], "properties": {f"path{i}": TEXT}},
        "else": {"properties": {f"path{i}": {"type": "null"}}},
    }
    for i in range(8)
]
MIXED = [
    {"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"], "properties": {f"b{i}": TEXT}}]}
    for i in range(8)
]
OF_A_KIND = [
    {"properties": {"kind": {"enum": [x]}, f"of_{x}": WHOLE}, "required": [f"of_{x}"]}
    for x in LETTERS
]
BY_ENDING = [
    {"properties": {"file": {"pattern": f"\\.{x}$"}, "how": {"properties": {x: WHOLE}}}}
    for x in LETTERS[:8]
]
PARTS = [{"properties": {x: WHOLE, f"{x}2": TEXT}, "required": [x]} for x in LETTERS[:8]]
NAMES = {"kind": {"enum": LETTERS}}
ONE_STEP = {
    "oneOf": [{"properties": {"kind": {"const": x}, f"of_{x}": WHOLE}} for x in LETTERS[:16]]
}


def on(key: str, **asked: Any) -> Any:
    """That a member, if it comes, is an object that fits a schema."""
    return {"properties": {key: {"type": "object", **asked}}}


EACH_OTHER = [
    {
        "if": on("a", properties={"x": {"const": 2}}, required=["x"]),
        "then": on("a", required=["y", "x"]),
    },
    {
        "if": {"oneOf": [on("b", **{"not": {"required": ["x"]}}), on("a", properties={"y": ONE})]},
        "then": on("a", **{"not": {"required": ["y"]}}),
    },
    {
        "if": {"oneOf": [on("a", **{"not": {"required": ["x"]}}), on("a", properties={"x": TWO})]},
        "then": on("b", required=["y"]),
    },
    {
        "if": {"oneOf": [on("a", properties={"z": ONE}), on("a", required=["x", "y"])]},
        "then": on("b", properties={"x": TWO}),
    },
]
WITH_URL = [{"required": ["url", "md"]}, {"required": ["url", "sha"]}, {"required": ["path"]}]
UNDER_TAGS = [
    {
        "if": {"properties": {"tag": {"const": x}}},
        "then": {
            "properties": {"tag": {}, x: WHOLE, "url": TEXT, "path": TEXT, "md": {}, "sha": {}},
            "additionalProperties": False,
            **({"required": [x]} if x > "e" else {"anyOf": WITH_URL}),
        },
    }
    for x in LETTERS[:10]
]
CASES: dict[str, tuple[Any, list[Any]]] = {
    "either of two, twelve times": (
        {"allOf": EITHER},
        [{f"id{i}": 0 for i in range(12)}, {f"id{i}": 0 for i in range(11)}],
    ),
    "switches with a key each": (
        {"allOf": SWITCHES},
        [{"use3": True, "path3": "x"}, {"use3": True}, {"path4": None}, {"path4": "x"}, {}],
    ),
    "conditions on a tag that must come": (
        {"properties": NAMES, "required": ["kind"], "allOf": conditions("kind", LETTERS)},
        [{"kind": "c", "kind_c": 1}, {"kind_c": 1, "kind": "c"}, {"kind": "c", "kind_d": 1}, {}],
    ),
    "conditions on a tag that may come": (
        {"allOf": conditions("kind", LETTERS)},
        [{}, {"kind": "other"}, {"kind": 1}, {"kind": "z"}, {"kind": "z", "kind_z": 2}],
    ),
    "conditions on a tag that may come after what it decides": (
        {
            "properties": {**NAMES, "values": {"type": "object"}},
            "required": ["kind", "values"],
            "allOf": [
                {
                    "if": {"properties": {"kind": {"const": x}}},
                    "then": {"properties": {"values": {"required": [x]}}},
                }
                for x in LETTERS
            ],
        },
        [
            {"kind": "c", "values": {"c": 1}},
            {"kind": "c", "values": {"x": 1, "d": 1}},
            {"kind": "c", "values": {"b": 1, "c": 1, "d": 1}},
            {"kind": "c", "values": {}},
        ],
    ),
    "conditions on a tag that may come, and what else may not": (
        {
            "properties": NAMES,
            "allOf": [
                {
                    "if": {"properties": {"kind": {"const": x}}, "required": ["kind"]},
                    "then": {"properties": {f"of_{x}": WHOLE}, "required": [f"of_{x}"]},
                    "else": {"properties": {f"of_{x}": False}},
                }
                for x in LETTERS
            ],
        },
        [
            {"name": "x", "kind": "c", "of_c": 1},
            {"name": "x", "of_c": 1, "other": 1, "kind": "c"},
            {"kind": "c", "of_c": "x"},
            {"kind": "c", "of_c": 1, "of_d": 1},
            {"kind": "c"},
            {"of_c": 1},
            {"other": 1},
        ],
    ),
    "exactly one of branches without a tag": (
        {"oneOf": [{"properties": {x: WHOLE, f"{x}2": TEXT}, "required": [x]} for x in LETTERS]},
        [
            {"a": 1},
            {"a": 1, "b": 2},
            {"a": 1, "b": "x"},
            {"a": 1, "b": 2, "b2": 3},
            {"a": 1, "a2": 3},
            {"other": 1},
            {},
        ],
    ),
    "exactly one of branches that ask for nothing": (
        {
            "oneOf": [
                {"properties": {x: WHOLE, "more": TEXT}, "additionalProperties": False}
                for x in LETTERS
            ]
        },
        [{"a": 1}, {"a": 1, "more": "x"}, {"a": 1, "b": 2}, {"more": "x"}, {}],
    ),
    "exactly one of lists of exactly one, and no tag need come": (
        {
            "oneOf": [
                {"properties": {"of": {"const": x}, "steps": {"items": ONE_STEP}}}
                for x in LETTERS[:3]
            ]
        },
        [
            {"of": "a"}, {"of": "a", "steps": [{"kind": "b"}, {"kind": "c", "of_c": 1}]},
            {"of": "a", "steps": [{}]}, {"of": "z", "steps": [{"kind": "a"}]}, {},
            {"of": "b", "steps": [{"of_a": "x"}]}, {"of": "b", "steps": [{"of_a": 1}]},
        ],
    ),
    "not exactly one of branches whose tag may be missing": (
        {"not": ONE_STEP, "oneOf": [{"required": ["id"]}, {"required": ["name"]}]},
        [
            {"id": 1}, {"id": 1, "kind": "a"}, {"id": 1, "kind": "a", "of_a": "x"}, {},
            {"name": 1, "of_b": "x", "of_c": "x"}, {"name": 1, "kind": "a", "id": 1},
            {"id": 1, "kind": "zz", "of_a": "x"}, {"name": 1, "kind": "b", "of_a": "x"},
        ],
    ),
    "exactly one of some keys": (
        {"oneOf": [{"required": [x]} for x in LETTERS]},
        [{"a": 1}, {"a": 1, "b": 2}, {"other": 1, "z": 1}, {"other": 1}, {}],
    ),
    "a member that leaves pairs of others": (
        {
            "required": ["x", "y", "z"],
            "allOf": [
                {
                    "anyOf": [
                        {"properties": {"x": {"required": [a]}}},
                        {"properties": {"y": {"required": [b]}}},
                        {"properties": {"z": {"required": [c]}}},
                    ]
                }
                for a, b, c in map(list, ("aaa", "aba", "bcb", "dca", "ddb", "ecd"))
            ],
            "properties": {"y": {"maxProperties": 1}, "z": {"maxProperties": 1}},
        },
        [
            {"x": dict.fromkeys(xs, 1), "y": dict.fromkeys(ys, 1), "z": dict.fromkeys(zs, 1)}
            for xs in ("", "a", "ab", "abd", "de", "bde", "abde")
            for ys in ("", "a", "c", "cd")
            for zs in ("", "a", "b", "d")
        ],
    ),
    "each key requires the next one": (
        {"dependentRequired": {a: [b] for a, b in pairwise(LETTERS)}},
        [{"z": 1}, {"y": 1}, {"y": 1, "z": 1}, dict.fromkeys(LETTERS[3:], 1), {"b": 1}, {}],
    ),
    "conditions on two tags": (
        {"allOf": conditions("kind", LETTERS) + conditions("mode", LETTERS)},
        [
            {"kind": "c", "mode": "d", "kind_c": 1, "mode_d": 1},
            {"kind": "c", "mode": "d", "kind_c": 1},
        ],
    ),
    "unions and conditions that share a key": (
        {"allOf": [*MIXED, *conditions("b0", ["x"]), {"not": {"required": ["a1", "b1"]}}]},
        [
            {**{f"b{i}": "x" for i in range(8)}, "b0_x": 1},
            {f"b{i}": "x" for i in range(8)},
            {**{f"a{i}": 1 for i in range(8)}, "b1": "x"},
            {f"a{i}": 1 for i in range(8)},
        ],
    ),
    "a tag required beside the branches": (
        {
            "required": ["kind"],
            "oneOf": [{"properties": {"kind": {"not": {"enum": LETTERS}}}}, *OF_A_KIND],
        },
        [{"kind": "c", "of_c": 1}, {"kind": "c"}, {"kind": "c", "of_d": 1}, {"kind": "other"}],
    ),
    "any tag beside tags": (
        {"oneOf": with_tag(LETTERS, properties={"more": WHOLE})},
        [{"tag": "own", "more": 1}, {"tag": "a"}, {"tag": "a", "more": "x"}, {"tag": 5}],
    ),
    "any tag beside tags, and nothing else": (
        {"oneOf": with_tag(LETTERS, properties={"more": {}})},
        [{"tag": "own", "more": 1}, {"tag": "a"}, {"tag": "a", "more": "x"}],
    ),
    "told apart by endings": (
        {"properties": {"file": TEXT}, "required": ["file"], "oneOf": BY_ENDING},
        [
            {"file": "x.c", "how": {"c": 1}},
            {"file": "x.c", "how": {"c": "x"}},
            {"file": "x.c", "how": {"d": "x"}},
            {"file": "x.none"},
        ],
    ),
    "told apart by endings that need not come": (
        {"properties": {"file": TEXT}, "oneOf": BY_ENDING},
        [{"file": "x.c", "how": {"c": 1}}, {"how": {"a": "x"}}, {}],
    ),
    "keys that no branch evaluates": (
        {"properties": {"id": TEXT}, "anyOf": PARTS, "unevaluatedProperties": False},
        [{"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b2": "x"}, {"a": 1, "id": "x"}, {"a": 1, "z": 1}],
    ),
    "keys that must be whole numbers if not evaluated": (
        {"allOf": [{"anyOf": PARTS[:4]}, {"anyOf": PARTS[4:]}], "unevaluatedProperties": WHOLE},
        [{"a": 1, "h": 1, "z": 1}, {"a": 1, "h": 1, "z": "x"}, {"a": 1, "h": 1, "b2": "x"}],
    ),
    "keys evaluated by the branches that a constant leaves": (
        {
            "minProperties": 1,
            "properties": {"kind": {"const": 1}, **{f"{x}{i}": {} for x in "ab" for i in range(5)}},
            "required": ["kind"],
            "allOf": [
                *({"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(5)),
                {"anyOf": [
                    {"properties": {"kind": {"const": 2}, "no": {}}, "required": ["kind"]},
                    {"properties": {"yes": {}}},
                ]},
                {"anyOf": [
                    {"properties": {"kind": {"const": 2}, "no": {}}, "required": ["kind"]},
                    {"properties": {"one": {}}},
                    {"properties": {"two": {}}, "required": ["two"]},
                ]},
            ],
            "unevaluatedProperties": False,
        },
        [
            {"kind": 1, **{f"a{i}": 0 for i in range(5)}, key: 1}
            for key in ("b0", "yes", "no", "one", "two")
        ],
    ),
    "constants beside a condition that none of them fits": (
        {
            "properties": {"k": {"type": "string", "enum": LETTERS[:8]}},
            "required": ["k"],
            "allOf": [
                {"if": {"properties": {"k": WHOLE}}, "else": {"anyOf": EITHER[0]["anyOf"]}},
                *(
                    {"if": {"properties": {"k": {"const": x}}}, "then": {"required": [f"r{x}"]}}
                    for x in LETTERS[:8]
                ),
            ],
        },
        [{"k": "b", "rb": 1, "id0": 1}, {"k": "b", "id0": 1}, {"k": "b", "rb": 1}, {"k": 1}],
    ),
    "conditions on two members, each about the other": (
        {**on("a"), "required": ["b"], "allOf": EACH_OTHER},
        [
            {"a": {"z": 2}, "b": {"z": 2}}, {"a": {"z": 1}, "b": {"y": 1}}, {"a": {}, "b": {}},
            {"a": {"x": 2}, "b": {"y": 1}}, {"a": {"x": 2, "y": 1}, "b": {"y": 1}}, {"b": {}},
            {"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1, "y": 1}, "b": {"x": 2, "y": 1}},
        ],
    ),
    "conditions on a tag, under which are unions": (
        {"allOf": UNDER_TAGS, "properties": {"tag": {"enum": LETTERS[:10]}}, "required": ["tag"]},
        [
            {"tag": "a", "url": "x"}, {"tag": "b", "url": "x", "md": 1, "b": 1}, {"tag": "b"},
            {"tag": "b", "url": "x", "md": 1, "a": 1}, {"tag": "c", "path": "x"}, {"tag": "h"},
            {"tag": "f", "f": 1, "sha": 2}, {"tag": "f", "e": 1}, {"tag": "d", "url": "", "md": 1},
            {"tag": "b", "path": "x", "url": "y", "md": 1}, {"tag": "b", "path": "x", "url": ""},
        ],
    ),
    "few members, or many": (
        {"anyOf": [{"maxProperties": 1}, {"minProperties": 4}, {"not": {"maxProperties": 5}}]},
        [dict.fromkeys(LETTERS[:n], 1) for n in range(8)],
    ),
    "each version asks for one key more": (
        {
            "required": ["version"],
            "properties": {"version": {"type": "integer", "minimum": 1, "maximum": 12}},
            "allOf": [
                {
                    "if": {"properties": {"version": {"minimum": n}}},
                    "then": {"required": [f"f{n}"]},
                    "else": {"not": {"required": [f"f{n}"]}},
                }
                for n in range(1, 13)
            ],
        },
        [
            {"version": n, **{f"f{i}": 1 for i in range(1, count + 1)}}
            for n, count in ((1, 1), (3, 3), (12, 12), (3, 2), (3, 4), (13, 13))
        ],
    ),
    "versions of a few numbers ask for keys": (
        {
            "properties": {"version": {"type": "integer", "minimum": 0, "maximum": 9}},
            "allOf": [
                {
                    "if": {"properties": {"version": ask}, "required": ["version"]},
                    "then": {"required": [f"f{n}"]},
                    "else": {"not": {"required": [f"f{n}"]}},
                }
                for n, ask in enumerate([
                    {"minimum": 3}, {"maximum": 5}, {"multipleOf": 2}, {"enum": [1, 4]},
                    {"const": 9},
                ])
            ],
        },
        [
            {"version": 4, "f0": 1, "f1": 1, "f2": 1, "f3": 1}, {"version": 9, "f0": 1, "f4": 1},
            {"version": 4, "f0": 1, "f1": 1, "f2": 1}, {"f0": 1}, {}, {"version": 10, "f0": 1},
            {"version": 7, "f0": 1}, {"version": 7.5, "f0": 1}, {"version": 2, "f2": 1},
        ],
    ),
    "beginnings of a name ask for keys": (
        {
            "required": ["name"],
            "properties": {"name": {"type": "string"}},
            "allOf": [
                {
                    "if": {"properties": {"name": {"pattern": f"^{a}[.]"}}},
                    "then": {"required": [f"of{a}"]},
                    "else": {"not": {"required": [f"of{a}"]}},
                }
                for a in "abcdefgh"
            ],
        },
        [
            {"name": "c.x", "ofc": 1}, {"name": "cx"}, {"name": "c.x"}, {"name": "c.x", "ofd": 1},
            {"name": "x", "ofd": 1},
        ],
    ),
    "keys evaluated under conditions": (
        {"allOf": SWITCHES[:5], "unevaluatedProperties": False},
        [{"use1": True, "path1": "x"}, {"path1": None}, {"use1": 1}, {"use1": True, "other": 1}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_library_agrees(name: str) -> None:
    """In every order of the members, and on the way nothing is stuck."""
    schema, values = CASES[name]
    schema = {"$schema": DIALECTS[2020], "type": "object", **schema}
    spec = sg.JsonSchema(schema, property_order="any", whitespace="compact")
    constraint = sg.compile(spec, BYTES)
    decide = json_decider(schema)
    turned = [dict(reversed(value.items())) for value in values]
    texts = [json.dumps(value, separators=(",", ":")).encode() for value in values + turned]
    assert {decide(text) for text in texts} == {True, False}
    laws.accepts_exactly(constraint, texts, decide)
    visit = laws.walk(constraint, Random(0), 25)[-1]
    laws.goes_on(constraint, visit[1])
    laws.completion_is_accepted(constraint, visit, decide)


RANGES: list[Any] = [{"type": "number", "minimum": n} for n in range(6)]
SOME_VALUES: list[Any] = [*RANGES, {"maximum": 3}, WHOLE, TEXT, {"multipleOf": 2}, {}]


@pytest.mark.parametrize("spelling", ["any", "natural"])
@pytest.mark.parametrize("layout", range(8))
def test_branches_that_a_value_misses_are_told_by_what_it_fits(layout: int, spelling: str) -> None:
    """Numbers included that are spelled as few others are, in objects and in arrays."""
    rng = Random(layout)
    wanted = rng.sample(SOME_VALUES, 4)
    branches: list[Any] = [
        {"type": "object", "properties": {"v": x, f"own{i}": WHOLE}, "required": ["v"]}
        for i, x in enumerate(wanted)
    ]
    branches += [{"items": rng.choice(SOME_VALUES)}, {"minItems": 2}]
    schema = {"$schema": DIALECTS[2020], "oneOf": branches, "type": ["object", "array"]}
    spec = sg.JsonSchema(schema, property_order="any", whitespace="compact", spelling=spelling)
    constraint, decide = sg.compile(spec, BYTES), json_decider(schema)
    ends = [
        ",".join(f'"own{i}":"x"' for i in few)
        for k in range(4)
        for few in combinations(range(4), k)
    ]
    values = ["0", "-1", "1.5", "2", "3.0", "4e0", "0E-76695", "5e-1", '"x"', "null", "[]"]
    for text in [f'{{"v":{v}{"," * bool(end)}{end}}}' for v in values for end in ends] + [
        f"[{v},{w}]" for v in values for w in values
    ]:
        accepted = constraint.is_accepting(
            constraint.advance_bytes(constraint.start, text.encode())
        )
        odd = any(x in text for x in ("E-", "e0", ".0"))  # spellings that may be left out
        assert accepted <= decide(text.encode())
        assert odd or accepted == decide(text.encode())


def calls_of(
    owner: Any, name: str, monkeypatch: pytest.MonkeyPatch, *, is_method: bool = True
) -> list[tuple[Any, ...]]:
    """The arguments of all calls of a method, or function, from now on."""
    calls: list[tuple[Any, ...]] = []
    called = getattr(owner, name)

    def noted(*arguments: Any) -> Any:
        calls.append(arguments[is_method:])
        return called(*arguments)

    monkeypatch.setattr(owner, name, noted)
    return calls


def test_what_is_asked_of_a_value_to_come_is_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And not once more with each clause that asks for something."""
    asked = calls_of(QuickCheck, "_may_fit", monkeypatch)
    beginnings = [
        {"if": {"properties": {"name": {"pattern": f"^{a}{b}"}}}, "then": {"required": [a + b]}}
        for a in "abc"
        for b in "defg"
    ]
    schema = {"type": "object", "required": ["name"], "allOf": beginnings}
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any"), BYTES)
    del asked[:]
    state = constraint.advance_bytes(constraint.start, b'{"x":0,"be":0,')
    assert constraint.advance(state, ord('"')) != sg.DEAD
    assert len(asked) < len(beginnings)


def test_a_value_is_read_against_each_branch_once() -> None:
    """And not against each beside the negation of each other one."""
    branches = [
        {"properties": {"v": x, f"own{i}": TEXT}, "required": ["v"]}
        for i, x in enumerate(RANGES[1:])
    ]
    engine = sg.JsonSchema({"type": "object", "oneOf": branches}, property_order="any").automaton()
    assert isinstance(engine, Engine)
    at, _ = engine.run(engine.start, b'{"v":')
    frame = engine.frame_at(at & 0xFFFFFFFF)
    assert isinstance(frame, JsonFrame)
    assert len(frame.vector) == len(branches)


def alternatives(schema: Any) -> int:
    """How many alternatives objects have in the normal form of a schema."""
    return len(objects_of(schema))


def objects_of(schema: Any) -> Any:
    """These alternatives."""
    schemas = schemas_of(schema)
    return schemas.normal_form(schemas.root).objects


def schemas_of(schema: Any) -> Schemas:
    """The subschemas of a document, of which keys come in any order."""
    options = JsonSchema(schema, property_order="any")
    return Schemas(
        options.schema,
        assert_formats=True,
        declared=False,
        gap=0,
        natural=False,
        registry=None,
    )


def test_alternatives_of_which_few_are_possible_have_no_clauses() -> None:
    """Where some unions multiply anyway, those do, too, that a tag decides about."""
    schema = {**CASES["conditions on a tag, under which are unions"][0], "type": "object"}
    assert combination.MAX_MULTIPLIED < alternatives(schema) <= combination.MAX_SUMMED
    assert not any(o.clauses for o in objects_of(schema))


@pytest.mark.parametrize("size", [10, 20, 40])
def test_alternatives_do_not_multiply(size: int) -> None:
    """Nor do those of conditions and of what branches evaluate."""
    base = {"type": "object"}
    either = [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(size)]
    tags = conditions("kind", [str(i) for i in range(size)])
    parts = [{"properties": {f"p{i}": WHOLE}, "required": [f"p{i}"]} for i in range(size)]
    assert alternatives({**base, "allOf": either}) == 1
    assert alternatives({**base, "allOf": [*either, *tags]}) == 1
    assert alternatives({**base, "anyOf": parts, "unevaluatedProperties": False}) <= size


def test_work_for_a_key_does_not_grow_with_unions_about_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is searched is about the keys that are connected with it."""
    searched = calls_of(ClauseMatcher, "_can_finish", monkeypatch)
    spec = sg.JsonSchema({"type": "object", "allOf": SWITCHES}, property_order="any")
    constraint = sg.compile(spec, BYTES)
    constraint.advance_bytes(constraint.start, b'{"use3":true,"path3":"x","use9":true,"path9":"y"}')
    assert searched
    assert max(len(at.open_clauses) for at, *_ in searched) <= 3


def test_names_that_branches_evaluate_close_an_object_as_names() -> None:
    """As `additionalProperties` closes it: no key is read against a pattern."""
    own: list[Any] = [{"properties": {f"a{i}": WHOLE, "kind": {"const": i}}} for i in range(3)]
    own = [{**branch, "required": ["kind"]} for branch in own]
    schema = {"properties": {"b": TEXT}, "oneOf": own, "unevaluatedProperties": False}
    objects = objects_of({"type": "object", **schema})
    assert len(objects) == len(own)
    assert not any(group.patterns for o in objects for group in o.groups)


def test_a_tag_tells_branches_apart_before_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked at inside of other members, although there are several tags."""
    compared = calls_of(logic, "_exclude", monkeypatch, is_method=False)
    inner: Any = {"type": "object", "properties": {"x": {"type": "object", "required": ["y"]}}}
    branches: list[Any] = [
        {
            "type": "object",
            "properties": {"spec": {**inner, "required": [f"x{i}"]}, "kind": {"const": kind}},
            "required": ["spec", "kind"],
        }
        for i in range(4)
        for kind in (2 * i, 2 * i + 1)
    ]
    pairs = [{"anyOf": [*pair]} for pair in zip(branches[::2], branches[1::2], strict=True)]
    assert len(objects_of({"type": "object", "oneOf": pairs})) == 8
    assert not compared


def test_what_no_constant_fits_does_not_keep_constants_from_deciding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The values of a tag have one outcome each, whatever else conditions ask that cannot be."""
    found: list[Any] = []
    decide = QuickCheck.values_that_decide

    def noted(self: QuickCheck, pending: Any, key: str) -> Any:
        decided = decide(self, pending, key)
        found.extend([decided] if key == "k" else ())
        return decided

    monkeypatch.setattr(QuickCheck, "values_that_decide", noted)
    schema = CASES["constants beside a condition that none of them fits"][0]
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any"), BYTES)
    constraint.advance_bytes(constraint.start, b'{"k":"b"')
    assert found
    assert None not in found


def bundles(count: int) -> Any:
    """Keys that come together or not at all, some of them in any case, behind optional ones."""
    keys = [[f"name{i}", f"at{i}", f"price{i}"] for i in range(count)]
    needed = {key: sorted({*some} - {key}) for some in keys for key in some}
    properties = {f"p{i}": TEXT for i in range(20)} | dict.fromkeys(needed, WHOLE)
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "anyOf": [{"required": some} for some in keys],
        "dependentRequired": needed,
    }


def test_a_completion_tries_the_keys_that_it_needs_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all that may come, in turn: those with which the object ends in the fewest bytes."""
    constraint = sg.compile(sg.JsonSchema(bundles(18), property_order="any"), BYTES)
    tried = calls_of(Completions, "_after", monkeypatch)
    begun = b'{"p3":"x",'
    text = begun + constraint.shortest_completion(constraint.advance_bytes(constraint.start, begun))
    assert len(json.loads(text)) == 4
    assert len(tried) < 40


def test_what_a_key_does_is_searched_once_whatever_else_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But for keys that are connected with it."""
    searched = calls_of(ClauseMatcher, "_searched", monkeypatch)
    schema = {**bundles(4), "anyOf": [{}]}
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any"), BYTES)
    keys = "name0", "p0", "at0", "p1", "price0", "price1", "at1", "p2", "name1"
    text = json.dumps({key: "" if key[0] == "p" and len(key) == 2 else 1 for key in keys})
    assert constraint.advance_bytes(constraint.start, text.encode()) != sg.DEAD
    assert max(len(at.seen) for at, *_ in searched) <= 2


KEYS, FITTING = "abc", [WHOLE, TEXT, {"const": 1}, {"enum": [1, "x"]}, {"not": {"const": 1}}, {}]


def drawn(rng: Random) -> Any:
    """Unions and conditions about a few keys, which get in each other's way."""

    def form() -> dict[str, Any]:
        names = rng.sample(KEYS, rng.randrange(1, 3))
        asked = {"properties": {name: rng.choice(FITTING) for name in names}}
        needed = {"required": rng.sample(KEYS, rng.randrange(1, 3))}
        return rng.choice([asked, needed, {**asked, **needed}])

    def part() -> dict[str, Any]:
        kind = rng.choice(["anyOf", "oneOf", "if", "not", "not one"])
        if kind == "not one":
            return {"not": {"oneOf": [form() for _ in range(rng.randrange(2, 5))]}}
        if kind == "if":
            return {
                "if": form(),
                "then": form(),
                **({"else": form()} if rng.random() < 0.5 else {}),
            }
        return (
            {kind: form()}
            if kind == "not"
            else {kind: [form() for _ in range(rng.randrange(2, 4))]}
        )

    found: dict[str, Any] = {
        "type": "object",
        "allOf": [part() for _ in range(rng.randrange(2, 5))],
    }
    if rng.random() < 0.3:
        found["unevaluatedProperties"] = rng.choice([False, WHOLE])
        if rng.random() < 0.3:
            found["minProperties"] = 1  # which no clause says
    return found


@pytest.mark.parametrize("seed", range(60))
def test_factors_mean_what_multiplying_out_means(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With clauses wherever they can stand, however few the alternatives are."""
    monkeypatch.setattr(combination, "MAX_MULTIPLIED", 1)
    monkeypatch.setattr(unevaluated, "MAX_CLOSED", 1)
    schema = {"$schema": DIALECTS[2020], **drawn(Random(seed))}
    decide = json_decider(schema)
    values = [None, 1, 2, "x"]  # None: the key does not come
    objects = [
        {key: value for key, value in zip("cab", each, strict=True) if value is not None}
        for each in product(values, repeat=3)
    ]
    texts = [json.dumps(each, separators=(",", ":")).encode() for each in objects]
    spec = sg.JsonSchema(schema, property_order="any", whitespace="compact")
    try:
        constraint = sg.compile(spec, BYTES)
    except UnsatisfiableSchemaError:
        assert not any(map(decide, texts))
        return
    laws.accepts_exactly(constraint, texts, decide)
    visit = laws.walk(constraint, Random(seed), 15)[-1]
    laws.completion_is_accepted(constraint, visit, decide)


def test_what_a_tag_decides_is_found_when_a_schema_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And which keys may come first; hardly anything is left to find in the text."""
    searched = calls_of(QuickCheck, "_unsatisfied", monkeypatch)
    schema = {**CASES["conditions on a tag that must come"][0], "type": "object"}
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any"), BYTES)
    assert len(searched) > len(LETTERS)
    searched.clear()
    for text in (b"{", b'{"kind": "', b'{"kind": "c"'):
        constraint.mask_id(constraint.advance_bytes(constraint.start, text))
    assert len(searched) < 4


@pytest.mark.parametrize("seed", range(8))
def test_what_a_tag_to_come_leaves_of_a_value(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several constants under a condition, several conditions for a constant; without a search."""
    rng = Random(seed)
    tags, keys = "abcd", "xyz"
    conditions = [
        {
            "if": {
                "properties": {"tag": {"enum": rng.sample(tags, rng.randrange(1, 4))}},
                **rng.choice([{}, {"required": ["tag"]}]),
            },
            rng.choice(["then", "else"]): {
                "properties": {"value": {"required": rng.sample(keys, rng.randrange(1, 3))}}
            },
        }
        for _ in range(6)
    ]
    schema = {
        "$schema": DIALECTS[2020],
        "type": "object",
        "properties": {"tag": {"enum": [*tags]}, "value": {"type": "object"}},
        "required": rng.choice([["value"], ["tag", "value"]]),
        "allOf": conditions,
    }

    def unexpected(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(clause_matcher, "enough", unexpected)
    decide = json_decider(schema)
    values = [dict.fromkeys(some, 1) for n in range(4) for some in combinations(keys, n)]
    objects = [{"value": v, **({"tag": t} if t else {})} for v in values for t in (*tags, None)]
    texts = [json.dumps(each, separators=(",", ":")).encode() for each in objects]
    constraint = sg.compile(
        sg.JsonSchema(schema, property_order="any", whitespace="compact"), BYTES
    )
    laws.accepts_exactly(constraint, texts, decide)
    for text in texts:  # what is let in can be finished
        state = constraint.advance_bytes(constraint.start, text[: text.index(b"}") + 1])
        if state != sg.DEAD:
            assert decide(text[: text.index(b"}") + 1] + constraint.shortest_completion(state))


def test_keys_are_not_told_apart_where_their_number_matters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many members some alternative asks for, what a key without a name is matters not."""

    def unexpected(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(JsonMachine, "_key", unexpected)
    schema = {**CASES["few members, or many"][0], "type": "object"}
    constraint = sg.compile(sg.JsonSchema(schema, whitespace="compact"), BYTES)
    states = [constraint.advance_bytes(constraint.start, b'{"%c":1,' % key) for key in b"xy"]
    assert constraint.mask_id(states[0]) == constraint.mask_id(states[1])
    assert constraint.shortest_completion(states[0]).count(b":") == 3
    for name, state in zip(b"xy", states, strict=True):
        assert constraint.advance_bytes(state, b'"%c"' % name) == sg.DEAD


def test_a_tag_that_may_come_needs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """That its constant satisfies the other conditions is seen at once, once it has come."""

    def unexpected(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(ClauseMatcher, "_is_finishable", unexpected)
    schema, values = CASES["conditions on a tag that may come, and what else may not"]
    spec = sg.JsonSchema({"type": "object", **schema}, property_order="any", whitespace="compact")
    constraint = sg.compile(spec, BYTES)
    text = json.dumps(values[0], separators=(",", ":")).encode()
    assert constraint.is_accepting(constraint.advance_bytes(constraint.start, text))


def test_branches_that_exclude_each_other_are_joined_once_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And an object of them is opened when the schema is compiled."""
    joined: list[int] = []
    join = alternatives_module.conjoin_objects

    def counted(*sides: Any) -> Any:
        joined.append(1)
        return join(*sides)

    monkeypatch.setattr(combination, "conjoin_objects", counted)
    schema = {"type": "object", **CASES["exactly one of branches without a tag"][0]}
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any"), BYTES)
    assert len(joined) < 4 * len(LETTERS)

    def unexpected(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(ClauseMatcher, "next_names", unexpected)
    constraint.mask_id(constraint.advance_bytes(constraint.start, b"{"))


@pytest.mark.parametrize("seed", range(8))
def test_bounds_beside_unions(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the number of members; mostly it needs no search to see that they can be kept."""
    searched = calls_of(ClauseMatcher, "_is_finishable", monkeypatch)
    monkeypatch.setattr(combination, "MAX_MULTIPLIED", 1)
    rng = Random(seed)
    keys = "abcde"
    schema = {
        "$schema": DIALECTS[2020],
        "type": "object",
        "minProperties": rng.randrange(3),
        "maxProperties": rng.randrange(2, 4),
        "required": rng.sample(keys, rng.randrange(2)),
        "allOf": [
            {"anyOf": [{"required": [x]} for x in rng.sample(keys, rng.randrange(2, 4))]}
            for _ in range(rng.randrange(1, 3))
        ],
    }
    decide = json_decider(schema)
    objects = [dict.fromkeys(some, 1) for n in range(5) for some in combinations(keys, n)]
    texts = [json.dumps(each, separators=(",", ":")).encode() for each in objects]
    spec = sg.JsonSchema(schema, property_order="any", whitespace="compact")
    constraint = sg.compile(spec, BYTES)
    laws.accepts_exactly(constraint, texts, decide)
    laws.goes_on(constraint, laws.walk(constraint, rng, 15)[-1][1])
    assert len(searched) < 40


def test_languages_that_many_branches_share_are_read_once() -> None:
    """What a text is in says which branches it fits."""
    patterns = ["^[a-f]+$", "^[d-k]+$", "^x"]
    scalars = [ScalarLanguages(False, False, False, parse(x), EMPTY) for x in patterns]
    start: Any = value_start(tuple(scalars * 10), "", Layout())
    text = start.targets[0][1]
    assert text.vector == tuple(x.string for x in scalars)
    kind, mask = text.role.end((EMPTY, EPSILON, EMPTY)).terminal
    assert (kind, mask) == ("value", sum(1 << i for i in range(1, 30, 3)))
    branches = [
        {"properties": {"v": {"pattern": patterns[i % 3]}, f"of{i}": {"const": i}}}
        for i in range(30)
    ]
    schema = {"type": "object", "properties": {"v": {"type": "string"}}, "oneOf": branches}
    spec = sg.JsonSchema(schema, property_order="any", whitespace="compact")
    others = {f"of{i}": -1 for i in range(30)}
    values = [{"v": v, **others, f"of{i}": i} for v in ("ab", "ij", "de", "x") for i in (3, 4)]
    texts = [json.dumps(value, separators=(",", ":")).encode() for value in values]
    laws.accepts_exactly(sg.compile(spec, BYTES), texts, json_decider(schema))


def test_values_behind_a_required_tag_are_looked_at_when_they_may_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first mask of a hundred branches asks about their tags, not about all their members."""
    asked: list[Expr] = []
    satisfiable = Costs.satisfiable

    def counted(costs: Costs, expr: Expr) -> bool:
        asked.append(expr)
        return satisfiable(costs, expr)

    monkeypatch.setattr(Costs, "satisfiable", counted)
    branches = [
        {
            "properties": {
                "kind": {"const": f"k{i}"},
                **{f"m{i}_{j}": {"type": "array", "minItems": 1} for j in range(20)},
            },
            "required": ["kind"],
            "additionalProperties": False,
        }
        for i in range(100)
    ]
    schema = {"$schema": DIALECTS[2020], "type": "object", "oneOf": branches}
    constraint = sg.compile(sg.JsonSchema(schema, whitespace="compact"), BYTES)
    row = np.zeros(BYTES.words, np.int32)
    constraint.fill_mask(constraint.start, row)
    assert 0 < len(asked) < 500
    values = [{"kind": "k3", "m3_7": [1]}, {"kind": "k3", "m3_7": []}, {"kind": "k3", "m4_7": [1]}]
    texts = [json.dumps(value, separators=(",", ":")).encode() for value in values]
    laws.accepts_exactly(constraint, texts, json_decider(schema))


def test_of_infinitely_many_values_some_are_left_without_a_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is left of arrays without some constants is not asked for."""
    schemas = schemas_of({"type": "array", "items": WHOLE})
    some = frozenset(value_of([i, i + 1]) for i in range(50))
    costs = schemas.costs
    left = conjoin(schemas.root, costs.negation(costs.one_of(some)))
    monkeypatch.setattr(logic, "_not_array", None)
    assert costs.satisfiable(left)
    few = schemas_of({"type": "boolean"}).costs
    booleans = frozenset(map(value_of, (True, False)))
    none = conjoin(few.one_of(booleans), few.negation(few.one_of(booleans)))
    assert not few.satisfiable(none)


NO_A = {"propertyNames": {"not": {"const": "a"}}}
TOLD_APART = [  # a key is a name of one alternative, or alone in its class, and any key of another
    [{"minProperties": 1}, {"not": NO_A}],
    [{"minProperties": 2}, {"not": NO_A}, {"maxProperties": 1, **NO_A}],
    [{"required": ["b"]}, {"not": NO_A}],
    [{"properties": {"c": True}}, {"additionalProperties": {"const": 0}}],
    [
        {"properties": {"c": True}, "dependentRequired": {"a": ["c"]}},
        {"additionalProperties": {"const": 0}},
    ],
]


@pytest.mark.parametrize("alternatives", TOLD_APART)
@pytest.mark.parametrize("order", ["any", "declared"])
def test_no_key_comes_twice_that_alternatives_read_in_different_ways(
    order: Any, alternatives: list[Any]
) -> None:
    """One alternative reads it as a name, another as any key: it has come for both."""
    schema = {"type": "object", "anyOf": alternatives}
    decide = json_decider(schema)
    c = sg.compile(sg.JsonSchema(schema, property_order=order, whitespace="compact"), BYTES)
    for count in (1, 2, 3, 4):
        for keys in product("abc", repeat=count):
            for last in "01":
                values = [*"0" * (count - 1), last]
                members = [f'"{k}":{v}' for k, v in zip(keys, values, strict=True)]
                text = ("{" + ",".join(members) + "}").encode()
                state = c.advance_bytes(c.start, text)
                accepted = state != sg.DEAD and c.is_accepting(state)
                assert not accepted or decide(text), text
                if order == "any":
                    assert accepted == decide(text), text


def test_what_fits_all_branches_does_not_make_tagged_objects_overlap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Branches that do not say `type` take every number and string: so none fits exactly one."""
    compared = []
    monkeypatch.setattr(keywords, "telling_keys", lambda *forms: compared.append(forms))
    branches = [
        {"properties": {"kind": {"const": f"k{i}"}, "of": {"minLength": i}}, "required": ["kind"]}
        for i in range(30)
    ]
    schema = {"$schema": DIALECTS[2020], "oneOf": branches}
    values: list[Any] = [
        1, "a", None, [], {}, {"kind": 3}, {"of": "ab"},
        {"kind": "k3"}, {"kind": "k3", "of": "ab"}, {"kind": "k2", "of": "ab"},
    ]  # fmt: skip
    for order in ("declared", "any"):
        spec = sg.JsonSchema(schema, property_order=order, whitespace="compact")
        texts = [json.dumps(value, separators=(",", ":")).encode() for value in values]
        laws.accepts_exactly(sg.compile(spec, BYTES), texts, json_decider(schema))
    assert not compared
