"""Draws examples of the demo corpus: prompt, JSON Schema and right answer, from a seeded generator.

Three ways to say what is wanted: the kind alone ("Extract the order as JSON.", which means the
kind's default fields), the field names, or a JSON Schema in the prompt. Two kinds have random
fields: `record` (facts with arbitrary keys) and `copy` (a list of words); they teach the model to
follow a schema and to copy words that it has not seen.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from structgen.demo.training import texts as text
from structgen.demo.training.kinds import KINDS
from structgen.demo.training.types import Field, Group, Kind, Leaf, Many, Type
from structgen.demo.training.values import Split, Values

ASK = (
    "Extract the {kind} as JSON.",
    "Extract the {kind} from the text.",
    "Return the {kind} as a JSON object.",
    "Read the text and write the {kind} as JSON.",
    "Extract the {kind}.",
)
ASK_FIELDS = (
    "Extract the {kind} with the fields {fields} as JSON.",
    "Extract {fields} as JSON.",
    "Extract the {kind}. Fields: {fields}.",
    "Return JSON with the fields {fields}.",
)
ASK_SCHEMA = (
    "Extract the {kind} as JSON.",
    "Extract the {kind} that fits the schema.",
    "Extract the data as JSON.",
    "Fill in the schema from the text.",
)


@dataclass(frozen=True)
class Example:
    """One task: what the user writes, the schema of the answer, and the right answer."""

    prompt: str
    schema: dict[str, Any]
    answer: dict[str, Any]
    kind: str
    way: str

    @property
    def target(self) -> str:
        """The answer as the model has to write it."""
        return json.dumps(self.answer, ensure_ascii=False)


def example(rng: random.Random, split: Split = "train", record_share: float = 0.3) -> Example:
    """Draw one example; the same generator state gives the same example.

    `record_share` of them have random fields (`record` and `copy`), the others are of KINDS.
    """
    values = Values(rng, split)
    draw = rng.random()
    if draw < 0.2 * record_share:
        return _copy(values)
    if draw < record_share:
        return _record(values)
    return _kind(values, rng.choice(KINDS))


def default_schema(kind: Kind) -> dict[str, Any]:
    """The schema that is meant when a prompt names only the kind."""
    chosen = [f for f in kind.fields if f.keys[0] in kind.default]
    chosen.sort(key=lambda f: kind.default.index(f.keys[0]))
    plan = [_Plan(f, f.keys[0], f.keys[0] in kind.optional, _default_names(f.type)) for f in chosen]
    return _object_schema(plan)


@dataclass
class _Plan:
    """A field that is asked for, the key it gets, and the same for the fields inside it."""

    field: Field
    key: str
    optional: bool
    inner: list[_Plan]


def _inner_type(kind: Type) -> Leaf | Group:
    return kind.item if isinstance(kind, Many) else kind


def _default_names(kind: Type) -> list[_Plan]:
    inside = _inner_type(kind)
    if isinstance(inside, Leaf):
        return []
    return [_Plan(f, f.keys[0], False, []) for f in inside.fields]


def _varied_names(rng: random.Random, kind: Type) -> list[_Plan]:
    inside = _inner_type(kind)
    if isinstance(inside, Leaf):
        return []
    fields = list(inside.fields)
    if rng.random() < 0.3:
        rng.shuffle(fields)
    if rng.random() < 0.2:
        fields = fields[: rng.randint(1, len(fields))]
    return [_Plan(f, _name(rng, f), False, []) for f in fields]


def _name(rng: random.Random, field: Field) -> str:
    return field.keys[0] if rng.random() < 0.4 else rng.choice(field.keys)


def _distinct(plan: list[_Plan]) -> list[_Plan]:
    seen: set[str] = set()
    kept = []
    for p in plan:
        if p.key not in seen:
            seen.add(p.key)
            kept.append(p)
    return kept


def _schema(kind: Type, inner: list[_Plan]) -> dict[str, Any]:
    if isinstance(kind, Many):
        return {"type": "array", "items": _schema(kind.item, inner)}
    if isinstance(kind, Group):
        return _object_schema(inner)
    return dict(kind.schema)


def _object_schema(plan: list[_Plan]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {p.key: _schema(p.field.type, p.inner) for p in plan},
        "required": [p.key for p in plan if not p.optional],
        "additionalProperties": False,
    }


def _answer(plan: list[_Plan], facts: dict[str, Any]) -> dict[str, Any]:
    """The drawn values, under default names, become the answer under the asked names."""
    answer: dict[str, Any] = {}
    for p in plan:
        name = p.field.keys[0]
        if name not in facts:
            continue
        value = facts[name]
        if p.inner and isinstance(value, list):
            answer[p.key] = [_answer(p.inner, v) for v in value]
        else:
            answer[p.key] = _answer(p.inner, value) if p.inner else value
    return answer


def _draw(values: Values, kind: Type) -> Any:
    if isinstance(kind, Many):
        drawn: list[Any] = []
        for _ in range(values.rng.randint(kind.low, kind.high)):
            value = _draw(values, kind.item)
            if value not in drawn:
                drawn.append(value)
        return drawn
    if isinstance(kind, Group):
        return {f.keys[0]: _draw(values, f.type) for f in kind.fields}
    return kind.make(values)


def _plan_for(values: Values, kind: Kind, way: str) -> list[_Plan]:
    rng = values.rng
    if way == "default":
        chosen = sorted(
            (f for f in kind.fields if f.keys[0] in kind.default),
            key=lambda f: kind.default.index(f.keys[0]),
        )
        return [
            _Plan(f, f.keys[0], f.keys[0] in kind.optional, _default_names(f.type)) for f in chosen
        ]
    candidates = [
        f for f in kind.fields if way == "schema" or not isinstance(_inner_type(f.type), Group)
    ]
    count = rng.choice((1, 2, 3, 3, 4, 4, 5)) if way == "schema" else rng.choice((1, 2, 3, 4, 5))
    chosen = rng.sample(candidates, min(count, len(candidates)))
    if rng.random() < 0.5:
        chosen.sort(key=kind.fields.index)
    optional = 0.25 if way == "schema" else 0.0
    plan = [
        _Plan(f, _name(rng, f), rng.random() < optional, _varied_names(rng, f.type)) for f in chosen
    ]
    return _distinct(plan)


def _kind(values: Values, kind: Kind) -> Example:
    rng = values.rng
    way = rng.choice(("default", "default", "fields", "schema", "schema"))
    plan = _plan_for(values, kind, way)
    facts: dict[str, Any] = {}
    for p in plan:
        if not p.optional or rng.random() < 0.6:
            facts[p.field.keys[0]] = _draw(values, p.field.type)
    asked = {p.field.keys[0] for p in plan}
    others = [f for f in kind.fields if f.keys[0] not in asked]
    for f in rng.sample(others, min(len(others), rng.choice((0, 0, 1, 1, 2, 3)))):
        facts[f.keys[0]] = _draw(values, f.type)
    schema = _object_schema(plan)
    body = text.describe(values, kind, facts)
    prompt = _prompt(rng, kind.name, body, way, schema)
    return Example(prompt, schema, _answer(plan, facts), kind.name, way)


def _prompt(rng: random.Random, kind: str, body: str, way: str, schema: dict[str, Any]) -> str:
    if way == "default":
        ask = rng.choice(ASK).format(kind=kind)
        if ask.endswith(f"the {kind}.") and rng.random() < 0.7 and "\n" not in body:
            return f"{ask[:-1]}: {body}"
        return f"{ask}\n\nText: {body}"
    if way == "fields":
        names = text.listing(rng, list(schema["properties"]), " and ")
        return f"{rng.choice(ASK_FIELDS).format(kind=kind, fields=names)}\n\nText: {body}"
    ask = rng.choice(ASK_SCHEMA).format(kind=kind)
    dumped = json.dumps(schema, ensure_ascii=False)
    if rng.random() < 0.7:
        return f"{ask}\n\nText: {body}\n\nSchema: {dumped}"
    return f"{ask}\n\nSchema: {dumped}\n\nText: {body}"


def _record(values: Values) -> Example:
    """Facts under arbitrary keys, some of which are asked for."""
    rng = values.rng
    count = rng.randint(2, 7)
    keys = list(dict.fromkeys(text.record_key(values) for _ in range(count)))
    kinds = {key: text.record_type(values) for key in keys}
    facts = {key: _draw(values, kind) for key, kind in kinds.items()}
    asked = rng.sample(keys, rng.randint(max(1, len(keys) - 3), len(keys)))
    schema = {
        "type": "object",
        "properties": {key: dict(kinds[key].schema) for key in asked},
        "required": list(asked),
        "additionalProperties": False,
    }
    answer = {key: facts[key] for key in asked}
    way = rng.choice(("fields", "schema"))
    body = text.facts(values, facts, kinds)
    return Example(_prompt(rng, "record", body, way, schema), schema, answer, "record", way)


def _copy(values: Values) -> Example:
    """A list of words to be copied into an array."""
    rng = values.rng
    key = rng.choice(("words", "names", "list", "items", "entries"))
    make = rng.choice(
        (values.word, values.word, values.first, values.code, values.city, values.person)
    )
    words = [make() for _ in range(rng.randint(2, 6))]
    schema = {
        "type": "object",
        "properties": {key: {"type": "array", "items": {"type": "string"}}},
        "required": [key],
        "additionalProperties": False,
    }
    body = rng.choice((", ", "; ", "\n")).join(words)
    way = rng.choice(("fields", "schema"))
    return Example(_prompt(rng, "list", body, way, schema), schema, {key: words}, "copy", way)
