"""Words the facts of one example as a text, with distractors."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Any

from structgen.demo.training.types import (
    DATE,
    PERSON,
    Field,
    Group,
    Kind,
    Leaf,
    Many,
    Type,
    enum,
    integer,
    number,
    text,
)
from structgen.demo.training.values import NUMBER_WORDS, Values, long_date

_RECORD_KEYS = (
    "color size height width speed owner model serial level grade region sector team coach author "
    "editor genre rating length depth power voltage output input source target label group rank "
    "score limit mode format version license river mountain capital currency leader founder year "
    "month engine wheel door window floor room key lock note topic course teacher room_number "
    "first_name last_name start_date end_date max_value min_value file_name user_name unit_price "
    "item_count zone_code batch lot crew pilot ship harbor cargo weight dose drug patient doctor "
    "ward"
).split()
_RECORD_TYPES: tuple[Leaf, ...] = (
    text(lambda v: v.word()),
    text(lambda v: v.word()),
    text(lambda v: f"{v.word()} {v.word()}"),
    text(lambda v: v.first()),
    PERSON,
    text(lambda v: v.code()),
    text(lambda v: v.city()),
    integer(0, 9999),
    integer(0, 99),
    number(0, 500),
    DATE,
    Leaf("yes", lambda v: v.rng.random() < 0.5, (("type", "boolean"),)),
)
_NOISE = (
    "{person} called yesterday.",
    "The office in {city} opens at {time}.",
    "A copy was sent to {person}.",
    "Thanks and best regards, {first}.",
    "By the way, {first} says hello.",
    "The meeting in {city} was moved.",
    "Last year it was {number}.",
    "This message was sent at {time}.",
    "See also {code}.",
    "Our {product} are sold out.",
    "Have a nice day!",
    "Thank you very much.",
    "Please let us know if anything is missing.",
)


def listing(rng: random.Random, words: list[str], last: str = " and ") -> str:
    """Words as `a, b and c` or `a, b, c`."""
    if len(words) < 2 or rng.random() < 0.4:
        return ", ".join(words)
    return ", ".join(words[:-1]) + last + words[-1]


def show(values: Values, kind: Type, value: Any, plain: bool = False) -> str:
    """The value as a text states it; `plain` keeps numbers and dates as they are in JSON."""
    rng = values.rng
    if isinstance(kind, Many):
        return listing(rng, [show(values, kind.item, item, plain) for item in value])
    if isinstance(kind, Group):
        inside = {f.keys[0]: show(values, f.type, value[f.keys[0]], plain) for f in kind.fields}
        return rng.choice(kind.say).format(**inside)
    if kind.kind == "date" and not plain and rng.random() < 0.3:
        return long_date(value, rng.randrange(2))
    if (
        kind.kind == "integer"
        and not plain
        and 0 < value < len(NUMBER_WORDS)
        and rng.random() < 0.2
    ):
        return NUMBER_WORDS[int(value)]
    if kind.kind == "number" and not plain and rng.random() < 0.5:
        return f"{value:.2f}" if isinstance(value, float) else str(value)
    if kind.kind == "yes":
        return "yes" if value else "no"
    if kind.kind == "boolean":
        yes, no = kind.options
        return yes if value else no
    return str(value)


def describe(values: Values, kind: Kind, facts: dict[str, Any]) -> str:
    """A text that states all facts: sentences in random order, or a form, one field a line."""
    rng = values.rng
    fields = {f.keys[0]: f for f in kind.fields}
    if rng.random() < 0.12:
        return _form(values, fields, facts)
    sentences = []
    rest = list(facts)
    leads = [lead for lead in kind.leads if set(_slots(lead)) <= facts.keys()]
    if leads and rng.random() < 0.9:
        lead = rng.choice(leads)
        said = {name: show(values, fields[name].type, facts[name]) for name in _slots(lead)}
        sentences.append(_sentence(lead.format(**said)))
        rest = [name for name in rest if name not in said]
    rng.shuffle(rest)
    sentences.extend(_state(values, fields[name], facts[name]) for name in rest)
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        sentences.insert(rng.randint(0, len(sentences)), _noise(values))
    if rng.random() < 0.25:
        rng.shuffle(sentences)
    return " ".join(sentences)


def facts(values: Values, record: dict[str, Any], kinds: dict[str, Leaf]) -> str:
    """A text that states the facts of a record with arbitrary keys, in random order."""
    rng = values.rng
    form = rng.choice(
        ("{k}: {v}", "{k} = {v}", "{k}: {v}", "The {k} is {v}.", "The {k} is {v}.", "{k} {v}")
    )
    join = " " if form.endswith(".") else rng.choice(("\n", ", ", "; "))
    items = list(record.items())
    if rng.random() < 0.7:
        rng.shuffle(items)
    said = []
    for key, value in items:
        label = key.replace("_", " ") if form.endswith(".") and rng.random() < 0.7 else key
        said.append(form.format(k=label, v=show(values, kinds[key], value, plain=True)))
    if form.endswith(".") and rng.random() < 0.3:
        said.insert(rng.randint(0, len(said)), _noise(values))
    return join.join(said)


def record_key(values: Values) -> str:
    """A key of a record: a known word or a made-up one."""
    rng = values.rng
    draw = rng.random()
    if draw < 0.6:
        return rng.choice(_RECORD_KEYS)
    return values.word() if draw < 0.85 else f"{rng.choice(_RECORD_KEYS)}_{values.word()}"


def record_type(values: Values) -> Leaf:
    """The type of a record's field; enums have made-up members."""
    if values.rng.random() < 0.12:
        members = list(dict.fromkeys(values.word() for _ in range(values.rng.randint(2, 4))))
        return enum(*members)
    return values.rng.choice(_RECORD_TYPES)


def _slots(lead: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(lead) if name]


def _sentence(said: str) -> str:
    return said[:1].upper() + said[1:] if said[:4] == "the " else said


def _state(values: Values, field: Field, value: Any) -> str:
    said = show(values, field.type, value)
    if isinstance(field.type, Leaf) and field.type.kind == "boolean":
        return said
    if values.rng.random() < 0.15:
        label = values.rng.choice(field.keys).replace("_", " ")
        return f"{label[:1].upper()}{label[1:]}: {said}."
    return values.rng.choice(field.sentences).format(said)


def _form(values: Values, fields: dict[str, Field], facts: dict[str, Any]) -> str:
    lines = []
    for name, value in facts.items():
        field = fields[name]
        said = show(values, field.type, value, plain=values.rng.random() < 0.7)
        if isinstance(field.type, Leaf) and field.type.kind == "boolean":
            lines.append(said)
            continue
        label = values.rng.choice(field.keys).replace("_", " ")
        lines.append(f"{label[:1].upper()}{label[1:]}: {said}")
    values.rng.shuffle(lines)
    return "\n".join(lines)


def _noise(values: Values) -> str:
    template = values.rng.choice(_NOISE)
    makers: dict[str, Callable[[], str]] = {
        "person": values.person,
        "first": values.first,
        "city": values.city,
        "time": values.time,
        "code": values.code,
        "product": lambda: values.product(True),
        "number": lambda: str(values.integer(13, 9999)),
    }
    return template.format(**{slot: makers[slot]() for slot in _slots(template)})
