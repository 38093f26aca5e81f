"""The quick checks of clauses say yes only where the search finds a way to finish the object."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.automata.pushdown import completion
from structgen.errors import BudgetError, UnsatisfiableSchemaError
from structgen.schema.machine.frames import JsonFrame, next_names
from structgen.schema.normal_form.clause_groups import Clauses
from structgen.schema.normal_form.costs import Costs
from structgen.schema.normal_form.expressions import FALSE, TRUE
from structgen.schema.normal_form.forms import Clause, Exists, ForAll, NormalForm
from structgen.schema.normal_form.progress import Progress
from structgen.schema.objects.clause_matcher import ClauseMatcher
from structgen.schema.objects.quick_check import QuickCheck
from tests.helpers import laws
from tests.helpers.oracle import json_decider
from tests.schema.objects.test_obligations import BYTES, SCHEMAS

NAMES = "abcd"
KINDS: list[Any] = [
    {"type": "integer"}, {"type": "string"}, {"const": 1}, {"enum": [1, "x"]}, True, {"minimum": 2},
    {"not": {"const": 1}}, {"type": "array", "items": {"type": "integer"}}, {"required": ["a"]},
]  # fmt: skip


def forms(rng: Random) -> dict[str, Any]:
    """Exactly one, or none, of several objects."""

    def form() -> dict[str, Any]:
        names = rng.sample(NAMES, rng.randrange(1, 4))
        found: dict[str, Any] = {"properties": {name: rng.choice(KINDS) for name in names}}
        found["required"] = [name for name in NAMES if rng.random() < 0.3]
        if rng.random() < 0.4:
            found["additionalProperties"] = rng.choice([False, {"type": "string"}])
        if rng.random() < 0.2:
            found["patternProperties"] = {"^[ab]": rng.choice(KINDS)}
        return found

    asked = {"oneOf": [form() for _ in range(rng.randrange(2, 5))], "type": "object"}
    return asked if rng.random() < 0.7 else {**asked, "not": form()}


class Watch:
    """Compares the quick checks with what a search finds, while constraints are used."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.seen: Counter[str] = Counter()
        key_check, object_check = QuickCheck.surely_allows, ClauseMatcher.surely_satisfiable
        form_check, clause_check = Costs._surely_satisfiable, QuickCheck.surely_satisfiable

        def key_checked(of: QuickCheck, at: Progress, key: str) -> bool:
            found = key_check(of, at, key)
            matcher = of._matcher
            assert isinstance(matcher, ClauseMatcher)
            if found:
                self.seen["key"] += 1
                assert matcher._searched(at, key), (at, key)
            return found

        def clauses_checked(of: QuickCheck, at: Progress) -> bool:
            found = clause_check(of, at)
            matcher = of._matcher
            assert isinstance(matcher, ClauseMatcher)
            if found and all(
                map(matcher._costs.satisfiable, map(matcher.child, matcher.missing(at)))
            ):
                self.seen["clauses"] += 1
                assert matcher._is_finishable(at), at
            return found

        def object_checked(matcher: ClauseMatcher) -> bool:
            found = object_check(matcher)
            if found:
                self.seen["object"] += 1
                assert matcher.minimum(matcher._costs.of) is not None
            return found

        def form_checked(costs: Costs, form: NormalForm) -> bool:
            found = form_check(costs, form)
            if found:
                self.seen["form"] += 1
                assert costs.of_form(form) is not None
            return found

        def names_checked(frame: JsonFrame) -> list[str]:
            found = next_names(frame)
            each = [n for t in frame.threads for n in t.matcher.next_names(t.progress)]
            self.seen["named"] += len(frame.threads) > 1 and len(each) > len(found)
            assert sorted(found) == sorted(set(each))
            return found

        patch.setattr("structgen.schema.machine.machine.next_names", names_checked)
        patch.setattr(QuickCheck, "surely_allows", key_checked)
        patch.setattr(QuickCheck, "surely_satisfiable", clauses_checked)
        patch.setattr(ClauseMatcher, "surely_satisfiable", object_checked)
        patch.setattr(Costs, "_surely_satisfiable", form_checked)


def walk(schema: Any, rng: Random, options: dict[str, Any]) -> None:
    """Go on random walks; whatever is allowed can be finished, and is valid then."""
    try:
        c = sg.compile(sg.JsonSchema(schema, **options), BYTES)
    except (UnsatisfiableSchemaError, BudgetError):
        return
    for _ in range(2):
        visit = laws.walk(c, rng, 30)[-1]
        laws.completion_is_accepted(c, visit, json_decider(schema))


@pytest.mark.thorough
@pytest.mark.parametrize("order", ["any", "declared"])
def test_quick_checks_agree_with_the_search(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that surely may come have a transition; what is surely satisfiable has a cost.

    And the names that may come under several alternatives are those that each of them takes.
    """
    rng = Random(11)
    watch = Watch(monkeypatch)
    objects = [s for s in SCHEMAS if "Properties" in str(s) or "properties" in str(s)]
    for schema in [*objects, *(forms(rng) for _ in range(60))]:
        walk(schema, rng, {"property_order": order, "whitespace": "compact"})
    kinds = "key", "clauses", "object", "form", "named"
    assert min(watch.seen[kind] for kind in kinds) > 20


def test_clauses_of_which_the_same_is_left_are_counted_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No value of `c` is both no integer and 1, and `a` is over when `d` has come."""
    far = {"a": {"minimum": 2}}
    branches = [
        {"properties": {"a": {"type": "string"}, "b": {"not": {"const": 1}}}, "required": ["d"]},
        {"properties": {"b": {"const": 1}, "d": {"minimum": 2}}, "required": ["b", "c"]},
        {"properties": {"c": {"not": {"const": 1}}, **far}, "required": ["c"]},
        {"properties": {"c": {"type": "integer"}, **far}, "required": ["c"]},
    ]
    Watch(monkeypatch)  # which compares each answer about a key with the search
    for seed in range(20):
        walk(
            {"type": "object", "oneOf": branches},
            Random(seed),
            {"property_order": "declared", "whitespace": "compact"},
        )


def test_one_value_satisfies_several_clauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """An optional constant tells an object from all others, which is seen without a search."""
    searched: list[Progress] = []
    finishes = ClauseMatcher._is_finishable

    def finishing(of: ClauseMatcher, at: Progress, *more: Any) -> bool:
        searched.append(at)
        return finishes(of, at, *more)

    monkeypatch.setattr(ClauseMatcher, "_is_finishable", finishing)
    kinds = [{"properties": {"kind": {"const": x}, "with": {"type": "object"}}} for x in "wxyz"]
    schema = {"properties": {"a": {"type": "object", "oneOf": kinds}}, "required": ["a"]}
    c = sg.compile(sg.JsonSchema(schema, whitespace="compact"), BYTES)
    c.fill_mask(c.advance_bytes(c.start, b'{"a":'), np.zeros(BYTES.words, np.int32))
    assert all(at.position for at in searched)
    decide = json_decider(schema)
    for inner in ('{"kind":"w"}', '{"kind":"v"}', "{}", '{"with":1,"kind":"x"}', '{"with":{}}'):
        text = f'{{"a":{inner}}}'.encode()
        state = c.advance_bytes(c.start, text)
        assert (state != sg.DEAD and c.is_accepting(state)) == decide(text), text


def test_exists_never_equals_for_all() -> None:
    """A clause of an `Exists` never equals that of a `ForAll`, also where equal ones are merged."""
    some, every = Clause((Exists("a", FALSE),)), Clause((ForAll("a", FALSE),))
    assert len({some, every}) == 2
    assert ForAll("a", FALSE) == ForAll("a", FALSE)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("letters", "most", "lengths"), [("abcde", 2, (3,)), ("abcd", 2, (2, 3)), ("abcde", 3, (2,))]
)
def test_few_keys_that_must_have_many_letters(
    letters: str, most: int, lengths: tuple[int, ...]
) -> None:
    """Of each letter some key has it, and there are so few keys that each must have several."""
    low, high = min(lengths), max(lengths)
    some = [{"not": {"propertyNames": {"not": {"pattern": letter}}}} for letter in letters]
    schema = {
        "type": "object",
        "allOf": some,
        "propertyNames": {"pattern": f"^.{{{low},{high}}}$"},
        "maxProperties": most,
    }
    c = sg.compile(sg.JsonSchema(schema, property_order="any", whitespace="compact"), BYTES)
    decide = json_decider(schema)
    rng = Random(letters)
    for _ in range(300):
        texts = ["".join(rng.sample(letters, rng.choice(lengths))) for _ in range(most)]
        cut = rng.sample(letters, len(letters))
        if rng.random() < 0.5:
            texts = ["".join(cut[i * high : (i + 1) * high]) for i in range(most)]
        value = dict.fromkeys(filter(None, texts), 0)
        text = json.dumps(value, separators=(",", ":")).encode()
        state = c.advance_bytes(c.start, text)
        assert (state != sg.DEAD and c.is_accepting(state)) == decide(text), value


@pytest.mark.parametrize("order", ["any", "declared"])
def test_an_object_whose_clauses_are_hard_never_fails_in_the_middle(order: str) -> None:
    """Few members that must meet many clauses (hitting set): no error, no dead end, valid texts."""
    rng, names = Random(5), [f"v{i}" for i in range(30)]
    asked = [{"anyOf": [{"required": [n]} for n in rng.sample(names, 3)]} for _ in range(30)]
    schema = {
        "properties": {name: {"type": "boolean"} for name in names},
        "type": "object",
        "additionalProperties": False,
        "maxProperties": 12,
        "allOf": asked,
    }
    tokens = [b"", *(bytes((byte,)) for byte in range(256)), b"true", b"false", b'": ', b', "v']
    vocab = sg.Vocabulary(tokens, eos_ids=[0])
    spec = sg.JsonSchema(schema, property_order=order, whitespace="compact")
    constraint = sg.compile(spec, vocab)
    state, text, row = constraint.start, b"", np.zeros(vocab.words, np.int32)
    while True:
        constraint.fill_mask(state, row)
        allowed = [t for t in range(len(tokens)) if row[t >> 5] >> (t & 31) & 1]
        token = rng.choice(allowed)
        if token == 0:
            break
        state, text = constraint.advance(state, token), text + tokens[token]
    assert json_decider(schema)(text)


@pytest.mark.parametrize("order", ["any", "declared"])
def test_a_required_member_may_fail_what_a_pattern_asks_of_all(order: str) -> None:
    """Where a value of it never fits the pattern's schema, the other ways must stay open."""
    others = {f"x{i}": {"enum": [1, 2]} for i in range(5)}
    asked = [
        {
            "anyOf": [
                {"patternProperties": {"^a": {"type": "integer"}}},
                {"properties": {name: {"const": 1}}, "required": [name]},
            ]
        }
        for name in others
    ]
    named = {**others, "ab": {"type": "string"}}
    schema = {"type": "object", "properties": named, "required": ["ab"], "allOf": asked}
    c = sg.compile(sg.JsonSchema(schema, property_order=order, whitespace="compact"), BYTES)
    assert c.advance_bytes(c.start, b'{"x0":2') == sg.DEAD
    begun = b'{"x0":1,'
    text = begun + c.shortest_completion(c.advance_bytes(c.start, begun))
    assert json_decider(schema)(text)


@pytest.mark.parametrize("order", ["any", "declared"])
def test_many_unions_about_few_keys_each_are_finished_one_by_one(
    order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dozens of pairs of a switch and what it asks for: completions are found, and fit."""
    monkeypatch.setattr(completion, "MAX_WORK", 1500)
    count = 12
    asked = [
        {
            "oneOf": [
                {"properties": {f"s{i}": {"enum": ["no"]}, f"d{i}": {"type": "null"}}},
                {"properties": {f"s{i}": {"enum": ["yes"]}}, "required": [f"s{i}", f"d{i}"]},
            ]
        }
        for i in range(count)
    ]
    named: dict[str, Any] = {f"s{i}": {"enum": ["no", "yes", "x"]} for i in range(count)}
    named |= {f"d{i}": {"type": ["string", "null"]} for i in range(count)}
    schema = {
        "type": "object",
        "properties": named,
        "required": [f"s{i}" for i in range(count)],
        "allOf": asked,
        "additionalProperties": False,
    }
    c = sg.compile(sg.JsonSchema(schema, property_order=order, whitespace="compact"), BYTES)
    switches = {f"s{i}": "no" for i in range(count)}
    whole = json.dumps(switches, separators=(",", ":")).encode()
    assert c.shortest_completion(c.start) == whole
    begun = b'{"s0":"yes",'
    text = begun + c.shortest_completion(c.advance_bytes(c.start, begun))
    assert json_decider(schema)(text)
    assert len(text) == len(whole) + len('e,"d0":""')
    assert c.advance_bytes(c.start, b'{"s0":"yes","s1":"x"') == sg.DEAD


@pytest.mark.parametrize(
    ("asked", "begun", "order"),
    [
        (
            [
                {
                    "oneOf": [
                        {"properties": {"k1": {"maxLength": 1}}},
                        {"not": {"required": ["k4"]}},
                    ]
                },
                {"if": {"properties": {"k1": {"type": "integer"}}}, "then": {}},
                {
                    "anyOf": [
                        {"propertyNames": {"pattern": "^[ka]"}},
                        {"required": ["k8"]},
                        {"required": ["k5"]},
                    ]
                },
                {"if": {"additionalProperties": {"type": "integer"}}, "then": {}},
            ],
            b'{"xa3',
            "any",
        ),
        (
            [
                {"anyOf": [{"required": ["k1"]}, {"patternProperties": {"^a": {}}}]},
                {"oneOf": [{"properties": {"k0": {"enum": ["b"]}}}, {"required": ["k7"]}]},
                {"if": {"required": ["k4"]}, "then": {}},
                {"oneOf": [{"required": ["k0"]}, {"properties": {"k0": False}}]},
                {"if": {"required": ["k2"]}, "then": {"additionalProperties": {}}},
            ],
            b'{"k0"',
            "declared",
        ),
    ],
    ids=["value", "tag"],
)
def test_a_value_that_leaves_no_way_to_finish_its_object_counts_as_none(
    asked: list[Any], begun: bytes, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a value may fit by itself, and is never all that it fits, misleads no completion."""
    monkeypatch.setattr(completion.Completions, "_best_first", None)  # the greedy search finds it
    schema = {"type": "object", "allOf": asked}
    c = sg.compile(sg.JsonSchema(schema, property_order=order), BYTES)
    text = begun + c.shortest_completion(c.advance_bytes(c.start, begun))
    assert json_decider(schema)(text)


STEPS = [f"step{i}" for i in range(9)]


def steps(closed: bool, required: bool) -> dict[str, Any]:
    """A kind of step decides about three other members; it need not be there, if not `required`."""

    def settings(i: int) -> dict[str, Any]:
        more = {"additionalProperties": False} if closed else {}
        return {
            "type": "object",
            "properties": {f"s{i}": {"type": "integer"}, "time": True},
            **more,
        }

    def demanded(i: int) -> dict[str, Any]:
        named = {"kind": {"type": "string"}, "settings": settings(i), "run": {"enum": [i, f"r{i}"]}}
        return {"properties": named, "required": ["kind", "run"] if i % 2 else ["name", "kind"]}

    conditions = [
        {"if": {"properties": {"kind": {"enum": [step]}}}, "then": demanded(i)}
        for i, step in enumerate(STEPS)
    ]
    schema = {"type": "object", "properties": {"kind": {"enum": STEPS}}, "allOf": conditions}
    return {**schema, "required": ["kind"]} if required else schema


def chained(conditions: list[dict[str, Any]], last: Any) -> dict[str, Any]:
    """Each condition in the `else` of the one before it."""
    found = last
    for condition in reversed(conditions):
        found = {**condition, "else": found}
    return {"type": "object", **found}


CHAIN: list[dict[str, Any]] = [
    {
        "if": {"properties": {"kind": {"const": step}}, **({"required": ["kind"]} if i else {})},
        "then": {"properties": {"run": {"type": "integer", "minimum": i}}, "required": ["run"]},
    }
    for i, step in enumerate(STEPS)
]
OPTIONAL: list[dict[str, Any]] = [
    {**condition, "if": {"properties": condition["if"]["properties"]}} for condition in CHAIN
]
OTHERS: list[dict[str, Any]] = [
    *CHAIN[:3],
    {"if": {"properties": {"run": {"minimum": 5}}}, "then": False},
    *CHAIN[3:],
]


@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize(
    "schema",
    [
        steps(closed=True, required=False),
        steps(closed=False, required=True),
        chained(CHAIN, {"required": ["name"]}),
        chained(CHAIN, False),
        chained(CHAIN[1:], True),
        chained(OPTIONAL, {"properties": {"run": {"const": "x"}}}),
        chained(OTHERS, True),
    ],
    ids=[
        "steps",
        "steps-tagged",
        "chain",
        "chain-or-nothing",
        "chain-of-tags",
        "optional",
        "others",
    ],
)
def test_a_tag_decides_about_members_before_and_behind_it(
    schema: dict[str, Any], order: str
) -> None:
    """Conditions on one key, beside each other or in a chain, accept what the library accepts."""
    spec = sg.JsonSchema(schema, property_order=order, whitespace="compact")
    constraint = sg.compile(spec, BYTES)
    decide, rng = json_decider(schema), Random(3)
    members: dict[str, list[Any]] = {
        "kind": [*STEPS[:5], "other"],
        "run": [0, 1, 3, 7, "r1", "x"],
        "settings": [{}, {"s1": 3}, {"s1": "x"}, {"time": 1, "s3": 2}, 5],
        "name": ["n"],
    }
    accepted = 0
    for _ in range(400):
        names = rng.sample([*members], rng.randrange(5))
        value = {name: rng.choice(members[name]) for name in names}
        text = json.dumps(value, separators=(",", ":")).encode()
        state = constraint.advance_bytes(constraint.start, text)
        found = state != sg.DEAD and constraint.is_accepting(state)
        assert found <= decide(text), value
        assert found == decide(text) or order == "declared", value
        accepted += found
    assert accepted


@pytest.mark.parametrize("seed", range(20))
def test_groups_of_changed_clauses_are_found_from_those_before(seed: int) -> None:
    """Whatever goes and comes: no two groups share a key, and clauses of a group are connected."""
    rng = Random(seed)

    def drawn(count: int) -> list[Clause]:
        several = (
            [rng.choice("abcdefghijkl") for _ in range(rng.randrange(1, 4))] for _ in range(count)
        )
        return [Clause(Exists(key, TRUE) for key in dict.fromkeys(keys)) for keys in several]

    clauses = Clauses(dict.fromkeys(drawn(8)))
    for _ in range(10):
        gone = rng.sample(clauses, rng.randrange(len(clauses) + 1))
        before, clauses = clauses, clauses.changed(gone, drawn(rng.randrange(3)) + gone[:1])
        assert {*before}.difference(gone) <= {*clauses}
        fresh = Clauses(tuple(clauses))
        assert {frozenset(group) for group in clauses.groups} == {
            frozenset(x) for x in fresh.groups
        }
        assert {k: {*g} for k, g in clauses.group_of.items()} == {
            k: {*g} for k, g in fresh.group_of.items()
        }


def about_inner_members(rng: Random) -> Any:
    """Conditions on what is inside of members, of which values must often meet several at once."""
    kinds: list[Any] = [{"type": "integer"}, {"type": "string"}, {"enum": [1, 2, "q"]}, {}]
    names = "abcd"[: rng.randrange(2, 5)]

    def asked() -> Any:
        name, inner = rng.choice(names), rng.choice("xyzuv")
        value = rng.choice([{"const": 1}, {"const": "q"}, {"type": "integer"}])
        within = [{"required": [inner]}, {"properties": {inner: value}}]
        within.append({"properties": {inner: {"const": 2}}, "required": [inner]})
        found: Any = rng.choice(
            [{"properties": {name: x}} for x in within] + [{"required": [name]}]
        )
        return {"not": found} if rng.random() < 0.15 else found

    inner = {name: {"properties": {x: rng.choice(kinds) for x in "xyzuv"}} for name in names}
    return {
        "type": "object",
        "properties": {name: {"type": "object", **x} for name, x in inner.items()},
        "required": [names[0]],
        "allOf": [{"if": asked(), "then": asked()} for _ in range(rng.randrange(10, 24))],
    }


@pytest.mark.parametrize("seed", [3, 4, 42, 54, 56, pytest.param(49, marks=pytest.mark.thorough)])
def test_a_completion_is_found_where_a_value_has_to_meet_several_conditions(seed: int) -> None:
    """What is behind the value is not known then for any of them alone."""
    schema = about_inner_members(Random(seed))
    constraint = sg.compile(sg.JsonSchema(schema, property_order="any"), BYTES)
    begun = b'{"a":{"other":['
    text = begun + constraint.shortest_completion(constraint.advance_bytes(constraint.start, begun))
    assert json_decider(schema)(text)


CHEAP = [  # a schema, how a text begins, and how it may go on
    (
        {"not": {"properties": {"b": {"enum": ["a", 0]}, "c": False},
                 "patternProperties": {"b": {"const": 0}, "a|c": {"enum": [0]}},
                 "unevaluatedProperties": False}},
        b"{", b'"":0}',
    ),
    (
        {"not": {"properties": {"c": {"maxLength": 0}}, "patternProperties": {"b": True},
                 "unevaluatedProperties": {"enum": [1, "a"]}},
         "if": {"required": ["b"], "patternProperties": {"[ab]": {"const": None}}}},
        b'{"d":1,', b'"":2}',
    ),
    (
        {"oneOf": [{}, {"additionalProperties": False}],
         "not": {"additionalProperties": {"const": "a"}, "maxProperties": 1, "required": ["a"],
                 "patternProperties": {"b": {"const": {"a": 0}}, "[ab]": {"enum": [0]}}}},
        b"", b'{"":0}',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "begun", "rest"), CHEAP)
def test_of_the_ways_to_break_a_schema_the_shortest_is_found(
    schema: dict[str, Any], begun: bytes, rest: bytes
) -> None:
    """Members that add little are tried first: there are more ways than are compared."""
    wanted = {"type": "object", **schema}
    assert json_decider(wanted)(begun + rest)
    c = sg.compile(sg.JsonSchema(wanted, property_order="any", whitespace="any"), BYTES)
    found = c.shortest_completion(c.advance_bytes(c.start, begun))
    assert json_decider(wanted)(begun + found)
    assert len(found) <= len(rest)
