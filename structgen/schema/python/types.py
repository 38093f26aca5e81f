"""The spec of a Python type: a Pydantic model, dataclass, TypedDict, Enum, list[...], and so on.

The type becomes a JSON Schema and the text becomes a value of the type, both through Pydantic's
`TypeAdapter`, which is imported at first use. Pydantic comes with the extra `pydantic`.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from structgen.errors import GenerationError, SpecError, UnsupportedSchemaError
from structgen.schema.json_schema import JsonSchema
from structgen.schema.values import dumps
from structgen.spec.base import MachineSpec
from structgen.util.json_pointer import pointer_to

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from structgen.automata.pushdown.machine import Machine
    from structgen.spec.partial_json import PartialValue

_MAX_DIGITS = 4000  # digits of an integer that may be written out
_FORMS = (type, types.UnionType, typing.NewType)


def is_python_type(obj: object) -> bool:
    """Is `obj` something that a value can be annotated with, or a Pydantic `TypeAdapter`?

    A class, a generic such as `list[int]`, `Annotated`, `Literal`, a union, `Any`, an alias.
    """
    if isinstance(obj, _FORMS) or obj is Any or typing.get_origin(obj) is not None:
        return True
    if type(obj).__name__ == "TypeAliasType":  # of typing from Python 3.12 on, or typing_extensions
        return True
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(obj, pydantic.TypeAdapter)


@dataclass(frozen=True)
class PythonType(MachineSpec):
    """The JSON texts that stand for a value of a Python type.

    type: whatever Pydantic 2 has a JSON Schema for. Objects of classes take no keys but their
    fields, unless the class says `extra="allow"`; keys come in the order of the fields, and fields
    with a default may be left out. The other fields are those of `JsonSchema`.

    What a schema cannot say (validators written in Python, `PastDate`) is checked by `parse`. A
    `Decimal` is written as a JSON number, which Pydantic reads to 15 significant digits.
    """

    type: Any
    property_order: str = "declared"
    whitespace: str = "bounded"
    formats: str = "assert"
    escapes: str = "auto"
    patterns: str = "auto"
    kind: ClassVar[str] = "python_type"

    def __hash__(self) -> int:
        try:
            return hash(self.type)
        except TypeError:  # Annotated with metadata that cannot be hashed
            return hash(PythonType)

    def __reduce__(self) -> tuple[object, ...]:
        options = self.property_order, self.whitespace, self.formats, self.escapes, self.patterns
        return PythonType, (self.type, *options)

    @property
    def name(self) -> str:
        """The type as messages call it."""
        return getattr(self.type, "__qualname__", None) or repr(self.type)

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """Pydantic's view of the type. Raises SpecError where it has none or is not installed."""
        try:
            from pydantic import TypeAdapter
            from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
        except ImportError as error:
            raise SpecError(
                "Python types as specs need Pydantic 2",
                location=self.name,
                hint="run: pip install 'structgen[pydantic]'",
            ) from error
        if isinstance(self.type, TypeAdapter):
            return self.type
        try:
            return TypeAdapter(self.type)
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise SpecError(_first_line(error), location=self.name) from error

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the type; not to be changed.

        Raises SpecError where Pydantic cannot use the type, UnsupportedSchemaError where no schema
        says what its values are.
        """
        adapter = self.adapter
        from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

        from structgen.schema.python.pydantic_schemas import TypeSchemas

        try:
            return adapter.json_schema(mode="validation", schema_generator=TypeSchemas)
        except PydanticInvalidForJsonSchema as error:
            raise UnsupportedSchemaError(_first_line(error), location=self.name) from error
        except PydanticUserError as error:
            raise SpecError(_first_line(error), location=self.name) from error

    def machine(self) -> Machine[Any]:
        """The machine that reads exactly the texts of this spec. Raises the errors of `errors`."""
        return self.portable().machine()

    def portable(self) -> JsonSchema:
        """The schema of the type as a spec, which does without the type."""
        return JsonSchema(
            self.schema,
            property_order=self.property_order,
            whitespace=self.whitespace,
            formats=self.formats,
            escapes=self.escapes,
            patterns=self.patterns,
        )

    def as_read(self) -> JsonSchema:
        """See `Spec.as_read`."""
        return self.portable().as_read()

    def to_json(self) -> dict[str, Any]:
        """What `JsonSchema.from_json` makes `portable()` of."""
        return self.portable().to_json()

    def write(self, value: Any) -> bytes:
        """A value of the type as JSON text. Raises ValueError or TypeError where it is none.

        Decimals are numbers, and durations have days and seconds: so the schema has them, and
        Pydantic reads them, but it writes strings, and years.
        """
        written = json.loads(self.adapter.dump_json(value, by_alias=True, warnings=False))
        plain = self.adapter.dump_python(value, by_alias=True, warnings=False)
        return dumps(_respelt(written, plain), ensure_ascii=False).encode()

    def partial(self, text: str) -> PartialValue:
        """The JSON value so far; what is final of it can be validated already."""
        from structgen.spec.partial_json import read_partial

        return read_partial(text)

    def parse(self, text: str) -> Any:
        """The value that a JSON text stands for.

        Raises GenerationError, with the JSON Pointer of the culprit, for what Pydantic refuses.
        """
        adapter = self.adapter
        from pydantic import ValidationError

        try:
            return adapter.validate_json(text)
        except ValidationError as error:
            refused = error
        try:
            return adapter.validate_json(_plain_integers(text))
        except ValueError:  # the first error speaks of the text as it is
            first = refused.errors(include_url=False)[0]
            raise GenerationError(
                f"the text is no {self.name}: {first['msg']}",
                text=text,
                location=pointer_to(first["loc"]),
                hint="let the type say in its annotations what its validators check",
            ) from refused


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _respelt(written: Any, value: Any) -> Any:
    """What Pydantic has written of a value, with Decimals and durations as the schema has them."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, timedelta) and value >= timedelta() and not value.microseconds:
        return f"P{value.days}DT{value.seconds}S"
    if not isinstance(written, list | dict) or not isinstance(value, Collection):
        return written
    if len(value) != len(written):
        return written
    if isinstance(written, list):
        return [*map(_respelt, written, value)]
    if isinstance(written, dict) and isinstance(value, Mapping):
        return dict(zip(written, map(_respelt, written.values(), value.values()), strict=True))
    return written


def _plain_integers(text: str) -> str:
    """The same JSON value with all integers in digits: to JSON Schema `1e30` is one, too."""
    return json.dumps(json.loads(text, parse_float=_plain))


def _plain(text: str) -> int | float:
    if not text.lower().partition("e")[0].strip("-.0"):
        return 0
    try:
        value = Decimal(text)
    except InvalidOperation:  # an exponent beyond all bounds
        return float(text)
    if value.adjusted() >= _MAX_DIGITS or value != value.to_integral_value():
        return float(text)
    return int(value)
