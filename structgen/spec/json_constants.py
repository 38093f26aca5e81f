"""In: JSON values. Out: the node of exactly these values."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from structgen.automaton.numbers import equal_to, to_fraction
from structgen.automaton.regex import Regex, alt, words
from structgen.spec.json_exprs import FALSE
from structgen.spec.json_nodes import ArrayAlt, Group, Node, ObjectAlt

if TYPE_CHECKING:
    from structgen.spec.json_schemas import Schemas

NUMBERS = (int, float, Decimal)
LARGE = 10**21  # whole numbers from here on are spelled with an exponent, too


def constants(schemas: Schemas, values: list[Any], location: str) -> Node:
    """The node of exactly these JSON values."""
    numbers = [v for v in values if isinstance(v, NUMBERS) and not isinstance(v, bool)]
    return Node(
        any(v is None for v in values),
        any(v is True for v in values),
        any(v is False for v in values),
        alt(*(_constant_number(schemas, to_fraction(v)) for v in numbers)),
        words(v for v in values if isinstance(v, str)),
        tuple(_constant_array(schemas, v, location) for v in values if isinstance(v, list)),
        tuple(_constant_object(schemas, v, location) for v in values if isinstance(v, dict)),
    )


def _constant_number(schemas: Schemas, value: Fraction) -> Regex:
    natural = schemas.natural and value.denominator == 1 and abs(value) < LARGE
    return equal_to(value, spelling="natural" if natural else "any")


def _constant_array(schemas: Schemas, value: list[Any], location: str) -> ArrayAlt:
    items = tuple(schemas.constant(v, f"{location}/{i}") for i, v in enumerate(value))
    return ArrayAlt(((items, FALSE),), len(value), len(value))


def _constant_object(schemas: Schemas, value: dict[str, Any], location: str) -> ObjectAlt:
    named = {k: schemas.constant(v, f"{location}/{k}") for k, v in value.items()}
    return ObjectAlt((Group(named, (), FALSE),), tuple(value))
