"""Whether a subschema has nothing but constants: those that fit, or those that do not."""

from __future__ import annotations

from typing import Any

from structgen.schema.keywords.copies import ANNOTATIONS
from structgen.schema.normal_form.expressions import OneOf


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


def _type_of(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "integer", dict: "object", list: "array"}
    return names.get(type(value), "another type")
