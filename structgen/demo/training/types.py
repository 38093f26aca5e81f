"""The types of fields in the demo corpus: leaves, groups, arrays, fields, kinds of records.

`Leaf` is for text, numbers, dates, flags and enum members, `Group` for nested objects, `Many` for
arrays. Each knows its JSON Schema, how to draw a value, and how a text words it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from structgen.demo.training.values import Values


@dataclass(frozen=True)
class Leaf:
    """A scalar: its JSON Schema fragment, how to draw a value; `kind` tells how a text shows it."""

    kind: str
    make: Callable[[Values], Any]
    schema: tuple[tuple[str, Any], ...]
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """A nested object; `say` are its wordings, with a slot per field."""

    fields: tuple[Field, ...]
    say: tuple[str, ...]


@dataclass(frozen=True)
class Many:
    """An array of `low` to `high` items."""

    item: Leaf | Group
    low: int
    high: int


Type = Leaf | Group | Many


@dataclass(frozen=True)
class Field:
    """One field: key names, the first being the default, and sentences; {} is the value."""

    keys: tuple[str, ...]
    type: Type
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """A kind of record: fields, lead sentences with named slots, names of the default fields."""

    name: str
    fields: tuple[Field, ...]
    leads: tuple[str, ...]
    default: tuple[str, ...]
    optional: tuple[str, ...]


def text(make: Callable[[Values], str]) -> Leaf:
    """A string leaf."""
    return Leaf("string", make, (("type", "string"),))


def enum(*options: str) -> Leaf:
    """An enum leaf over fixed members."""
    return Leaf(
        "enum",
        lambda v: v.rng.choice(options),
        (("type", "string"), ("enum", list(options))),
        options,
    )


def integer(low: int, high: int, minimum: int | None = None) -> Leaf:
    """An integer leaf; with `minimum` the schema states it."""
    bound = () if minimum is None else (("minimum", minimum),)
    return Leaf("integer", lambda v: v.integer(low, high), (("type", "integer"), *bound))


def number(low: int, high: int) -> Leaf:
    """A leaf for amounts with decimals."""
    return Leaf("number", lambda v: v.decimal(low, high), (("type", "number"),))


DATE = Leaf("date", lambda v: v.date(), (("type", "string"), ("format", "date")))
PERSON = text(lambda v: v.person())
EMAIL = text(lambda v: v.email())
CITY = text(lambda v: v.city())
CODE = text(lambda v: v.code())
BRAND = text(lambda v: v.brand())
TITLE = text(lambda v: v.title())
PHONE = text(lambda v: v.phone())


def flag(yes: str, no: str) -> Leaf:
    """A boolean leaf that a text states by the sentence `yes` or `no`."""
    return Leaf("boolean", lambda v: v.rng.random() < 0.5, (("type", "boolean"),), (yes, no))


COUNT = Leaf(
    "integer",
    lambda v: v.rng.randint(1, 12) if v.rng.random() < 0.7 else v.integer(13, 400),
    (("type", "integer"),),
)


ADDRESS = Group(
    (
        Field(("street",), text(lambda v: v.street())),
        Field(("number", "house_number"), integer(1, 250)),
        Field(("zip", "postcode", "postal_code"), text(lambda v: v.postcode())),
        Field(("city", "town"), CITY),
    ),
    (
        "{number} {street}, {zip} {city}",
        "{street} {number}, {city} {zip}",
        "{street} {number} in {zip} {city}",
    ),
)
ITEM = Group(
    (
        Field(("product", "name", "item", "article"), text(lambda v: v.product(True))),
        Field(("quantity", "qty", "count", "amount"), COUNT),
    ),
    ("{quantity} {product}", "{quantity} x {product}", "{product} ({quantity})"),
)
PRICED_ITEM = Group(
    (*ITEM.fields, Field(("price", "unit_price"), number(1, 300))),
    (
        "{quantity} {product} at {price}",
        "{quantity} {product} for {price} each",
        "{quantity} x {product} ({price})",
    ),
)
CONTACT = Group(
    (
        Field(("name", "full_name"), PERSON),
        Field(("email", "mail"), EMAIL),
        Field(("phone", "telephone"), PHONE),
    ),
    ("{name} ({email}, {phone})", "{name}, {email}, phone {phone}"),
)
PLACE = Group(
    (
        Field(
            ("venue", "place", "hall"),
            text(lambda v: v.title().title() + v.rng.choice((" Hall", " Center", " Park", ""))),
        ),
        Field(("city", "town"), CITY),
    ),
    ("{venue} in {city}", "{venue}, {city}", "the {venue} in {city}"),
)
