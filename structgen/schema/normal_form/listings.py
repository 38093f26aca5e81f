"""The constants that a subschema lists, and whether it has nothing else."""

from __future__ import annotations

from typing import Any

from structgen.schema.normal_form.expressions import OneOf, Values
from structgen.schema.references.vocabularies import Dialect
from structgen.schema.values import value_of

ANNOTATIONS = frozenset(("title", "description", "$comment", "default", "examples"))


def is_listing(value: Any) -> bool:
    """Whether a subschema has nothing but `enum` or `const`, and a `type` that agrees."""
    if isinstance(value, OneOf):
        return True
    if not isinstance(value, dict):
        return False
    says = value.keys() - ANNOTATIONS
    if "type" in says and says != {"type"}:
        listed = value.get("enum") or [value.get("const")]
        says -= {"type"} if all(_type_of(x) == value["type"] for x in listed) else set()
    return says in ({"enum"}, {"const"})


def excludes_listing(schema: dict[str, Any]) -> bool:
    """Whether a subschema has nothing but `not` of some constants."""
    return "not" in schema and schema.keys() - ANNOTATIONS == {"not"} and is_listing(schema["not"])


def listed(schema: dict[str, Any], dialect: Dialect) -> Values:
    """The values that `enum` and `const` of a subschema leave."""
    schema, found = dialect.effective(schema), None
    if isinstance(schema.get("enum"), list):
        found = frozenset(map(value_of, schema["enum"]))
    if "const" in schema and dialect.draft > 4:
        constant = frozenset((value_of(schema["const"]),))
        found = constant if found is None else found & constant
    return found


def _type_of(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "integer", dict: "object", list: "array"}
    return names.get(type(value), "another type")
