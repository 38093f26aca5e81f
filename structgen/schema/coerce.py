"""Turns what `compile` and `generate` accept into a spec."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from structgen.errors import SpecError
from structgen.schema.json_schema import JsonSchema
from structgen.schema.python.types import PythonType, is_python_type
from structgen.spec.base import Spec


@runtime_checkable
class HasSpec(Protocol):
    """What knows the spec that it stands for, such as a piece of a grammar."""

    def as_spec(self) -> Spec:
        """The spec."""


def coerce(spec: Any) -> Spec:
    """The spec that a user's object means: a spec, a Python type, or a schema as dict or bool."""
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, dict | bool):
        return JsonSchema(spec)
    if is_python_type(spec):
        return PythonType(spec)
    if isinstance(spec, HasSpec):
        return spec.as_spec()
    raise SpecError(
        f"{spec!r} is not a spec",
        expected="JsonSchema, Regex, Lark, ..., a schema as a dict, or a Python type",
        hint="for JSON text use structgen.JsonSchema(text)",
    )
