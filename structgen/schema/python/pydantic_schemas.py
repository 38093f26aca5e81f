"""JSON Schemas of Python types that are as strict as Pydantic's own validation.

Pydantic's JSON Schemas describe loosely what it accepts; generated text must certainly be accepted.
So objects are closed, discriminators are required, and patterns name what a format leaves open
(Python has no year 0 and no leap seconds). Importing this module imports pydantic.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from structgen.errors import UnsupportedSchemaError
from structgen.schema.python.pydantic_formats import FORMATS, IPV4_PATTERN

_YEAR = r"(?:\d{3}[1-9]|\d\d[1-9]0|\d[1-9]00|[1-9]000)"
_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_MONTH_DAY = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))"
)
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"

TRIMMED_PATTERN = r"^(?:[^\s\x85](?:[\s\S]*[^\s\x85])?)?$"  # no white space at an end
ASCII_PATTERN = r"^[\0-\x7f]*$"  # a byte for each character
_PART = r"(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?"
COMPLEX_PATTERN = rf"^-?{_PART}(?:j|[+-]{_PART}j)?$"

_LABEL = r"(?:-?[A-Za-z0-9])*"
_HOST = rf"(?:(?:[A-Za-z0-9]{_LABEL}\.)*[A-Za-z]{_LABEL}|{IPV4_PATTERN})"
_USER = r"(?:[A-Za-z0-9._~-]+(?::[A-Za-z0-9._~-]+)?@)?"
_PORT = r"(?::(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5]))?(?:[/?#]|$)"

DATE_PATTERN = f"^{_YEAR}-"
TIME_PATTERN = f"^{_CLOCK}"
DATETIME_PATTERN = f"^{_YEAR}-.{{5}}[Tt]{_CLOCK}"
NAIVE_PATTERN = rf"^(?:{_YEAR}-{_MONTH_DAY}|{_LEAP_YEAR}-02-29)T{_CLOCK}(?:\.\d{{1,6}})?$"
DURATION_PATTERN = r"^(?:\D+\d{1,6})+\D$"  # no count that a timedelta cannot hold

# Spellings of dict keys that are no strings: one for each value, so no two keys fall together.
_KEYS: dict[str, JsonSchemaValue] = {
    "int": {"pattern": r"^(?:0|-?[1-9]\d{0,17})$"},
    "float": {"pattern": r"^-?(?:0|[1-9]\d{0,6})\.(?:0|\d{0,7}[1-9])$"},
    "decimal": {"pattern": r"^-?(?:0|[1-9]\d{0,6})\.(?:0|\d{0,7}[1-9])$"},
    "bool": {"enum": ["true", "false"]},
}
# Kinds of Pydantic's core schemas whose values are never read from a string.
_NO_KEYS = {"tuple", "list", "set", "frozenset", "dict", "model", "dataclass", "typed-dict", "none"}
_MAX_WHOLE = 28  # digits before the point of a Decimal without `max_digits`: Python's precision
_LIMITS = ("gt", "ge", "lt", "le", "multiple_of", "max_digits", "decimal_places")


class TypeSchemas(GenerateJsonSchema):
    """Pydantic's generator of JSON Schemas, made stricter where Pydantic's own checks are."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """An object that is closed unless the model allows extra keys."""
        return _closed(super().model_schema(schema))

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """An object that is closed unless the dataclass allows extra keys."""
        return _closed(super().dataclass_schema(schema))

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        """An object that is closed unless the TypedDict allows extra keys."""
        return _closed(super().typed_dict_schema(schema))

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        """The schema of a part, with what Pydantic's own formats mean."""
        found = super().generate_inner(schema)
        meant = FORMATS.get(str(found.get("format")))
        if meant is None:
            return found
        return {key: part for key, part in found.items() if key != "format"} | meant

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """An object whose keys are spelled as the type of the keys wants."""
        return self._with_keys(super().dict_schema(schema), schema)

    def ordered_dict_schema(self, schema: Any) -> JsonSchemaValue:
        """The same."""
        return self._with_keys(super().ordered_dict_schema(schema), schema)

    def frozendict_schema(self, schema: Any) -> JsonSchemaValue:
        """The same."""
        return self._with_keys(super().frozendict_schema(schema), schema)

    def counter_schema(self, schema: Any) -> JsonSchemaValue:
        """The same."""
        return self._with_keys(super().counter_schema(schema), schema)

    def _with_keys(self, found: JsonSchemaValue, schema: Mapping[str, Any]) -> JsonSchemaValue:
        if "patternProperties" in found:
            found.setdefault("additionalProperties", False)
        keys = self._keys(schema.get("keys_schema", {"type": "str"}))
        if keys is not None:
            found["propertyNames"] = keys
        return found

    def _keys(self, schema: Mapping[str, Any]) -> JsonSchemaValue | None:
        """What the keys of a dict must be, None where that is what Pydantic says.

        Keys are strings, which Pydantic reads as numbers where the type wants these.
        """
        kind = schema["type"]
        if kind in _KEYS:
            limits = [name for name in _LIMITS if schema.get(name) is not None]
            if limits:
                raise UnsupportedSchemaError(
                    f"{limits[0]!r} on the keys of a dict is not enforced",
                    keyword=limits[0],
                    hint="use keys without limits, or a list of pairs",
                )
            return dict(_KEYS[kind])
        if kind == "nullable" or kind.startswith("function-"):
            return self._keys(schema["schema"]) if "schema" in schema else None
        if kind == "enum" and schema.get("sub_type") == "int":
            return {"enum": [str(member.value) for member in schema["members"]]}
        if kind in _NO_KEYS:
            raise UnsupportedSchemaError(
                f"the keys of a dict are no {kind}: JSON has strings there",
                hint="use a list of pairs",
            )
        if kind == "literal":
            return {"enum": [value for value in schema["expected"] if isinstance(value, str)]}
        return None

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        """Those of the values that Pydantic reads from JSON."""
        expected = [value for value in schema["expected"] if _is_readable(value)]
        if not expected:
            raise _unreadable(schema["expected"])
        return super().literal_schema({**schema, "expected": expected})

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        """Those of the members that Pydantic reads from JSON."""
        members = [member for member in schema["members"] if _is_readable(member.value)]
        if not members:
            raise _unreadable(schema["members"])
        return super().enum_schema({**schema, "members": members})

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        """A string; one without white space at its ends where Pydantic takes that away first."""
        found = super().str_schema(schema)
        trimmed = schema.get("strip_whitespace", self._config.str_strip_whitespace)
        if trimmed and ("pattern" in found or found.get("minLength")):
            found["allOf"] = [{"pattern": TRIMMED_PATTERN}]
        return found

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        """A string; one of ASCII where Pydantic counts bytes, not characters."""
        found = super().bytes_schema(schema)
        if "maxLength" in found:
            found["pattern"] = ASCII_PATTERN
        return found

    def complex_schema(self, schema: core_schema.ComplexSchema) -> JsonSchemaValue:
        """A string such as "1.5-2j"."""
        return {**super().complex_schema(schema), "pattern": COMPLEX_PATTERN}

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """Alternatives that all name their tag, even where it has a default."""
        found = super().tagged_union_schema(schema)
        tag = found.get("discriminator", {}).get("propertyName")
        if tag is not None:
            found["oneOf"] = [
                {**option, "required": sorted({*option.get("required", ()), tag})}
                for option in found["oneOf"]
            ]
        return found

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """A number; one that a double holds where infinity is forbidden."""
        found = super().float_schema(schema)
        if not schema.get("allow_inf_nan", self._config.config_dict.get("allow_inf_nan", True)):
            _bound(found, sys.float_info.max)
        return found

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """A number of few enough digits.

        `max_digits` digits are so many in front and behind the point, in all combinations.
        """
        found: JsonSchemaValue = {"type": "number"}
        for name, keyword in (
            ("gt", "exclusiveMinimum"),
            ("ge", "minimum"),
            ("lt", "exclusiveMaximum"),
            ("le", "maximum"),
            ("multiple_of", "multipleOf"),
        ):
            limit = schema.get(name)
            if limit is not None:
                found[keyword] = _number(Decimal(str(limit)), name)
        digits, places = schema.get("max_digits"), schema.get("decimal_places")
        if digits is None:
            _bound(found, 10**_MAX_WHOLE)
        if digits is None:
            options = [] if places is None else [{"multipleOf": _unit(places)}]
        else:
            fractions = range(digits + 1) if places is None else (min(places, digits),)
            options = [
                {
                    "multipleOf": _unit(count),
                    "exclusiveMinimum": -(10 ** (digits - count)),
                    "exclusiveMaximum": 10 ** (digits - count),
                }
                for count in fractions
            ]
        if digits is not None and places is not None and digits <= places:
            found["not"] = {"const": 0}  # Pydantic counts its digit before the point
        if options:
            found["allOf"] = [options[0] if len(options) == 1 else {"anyOf": options}]
        return found

    def date_schema(self, schema: core_schema.DateSchema) -> JsonSchemaValue:
        """A date of a year that Python has."""
        return {**super().date_schema(schema), "pattern": DATE_PATTERN}

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonSchemaValue:
        """A time without a leap second."""
        return {**super().time_schema(schema), "pattern": TIME_PATTERN}

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        """A date and time that Python has, with an offset unless the type forbids one."""
        if schema.get("tz_constraint") == "naive":
            return {"type": "string", "pattern": NAIVE_PATTERN}
        return {**super().datetime_schema(schema), "pattern": DATETIME_PATTERN}

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
        """A duration that Python can hold."""
        return {**super().timedelta_schema(schema), "pattern": DURATION_PATTERN}

    def url_schema(self, schema: core_schema.UrlSchema) -> JsonSchemaValue:
        """A URL, of the schemes that the type allows."""
        found = super().url_schema(schema)
        schemes = schema.get("allowed_schemes")
        if schemes:
            found["pattern"] = _url_pattern(schemes)
        return found

    def multi_host_url_schema(self, schema: core_schema.MultiHostUrlSchema) -> JsonSchemaValue:
        """A URL, with one host."""
        found = super().multi_host_url_schema(schema)
        found["format"] = "uri"
        schemes = schema.get("allowed_schemes")
        if schemes:
            found["pattern"] = _url_pattern(schemes)
        return found


def _is_readable(value: object) -> bool:
    """Whether Pydantic reads a constant from JSON."""
    return value is None or isinstance(value, str | int | float)


def _unreadable(values: Sequence[Any]) -> UnsupportedSchemaError:
    return UnsupportedSchemaError(
        f"{values[0]!r} is nothing that Pydantic reads from JSON",
        expected="strings, numbers, true, false or None, or members of enums that are such as well",
        hint="derive the enum from str or int: class Colour(str, Enum)",
    )


def _url_pattern(schemes: Sequence[str]) -> str:
    if [*schemes] == ["file"]:
        return "^file:///"  # no host
    named = "|".join(map(re.escape, schemes))
    return f"^(?:{named})://{_USER}{_HOST}{_PORT}"


def _closed(schema: JsonSchemaValue) -> JsonSchemaValue:
    if schema.get("type") == "object" and "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


def _bound(schema: JsonSchemaValue, size: float) -> None:
    """Set both ends where there are none, unless the other end is beyond them."""
    low = max(schema.get(name, -size) for name in ("minimum", "exclusiveMinimum"))
    high = min(schema.get(name, size) for name in ("maximum", "exclusiveMaximum"))
    if not {"minimum", "exclusiveMinimum"} & schema.keys() and high > -size:
        schema["minimum"] = -size
    if not {"maximum", "exclusiveMaximum"} & schema.keys() and low < size:
        schema["maximum"] = size


def _unit(places: int) -> int | float:
    return float(f"1e-{places}") if places else 1


def _number(value: Decimal, name: str) -> Any:
    """A limit as JSON has it, without loss."""
    if value == value.to_integral_value():
        return int(value)
    if Fraction(Decimal(repr(float(value)))) != Fraction(value):
        raise UnsupportedSchemaError(
            f"the {name!r} of a Decimal has too many digits",
            keyword=name,
            expected="at most 15 significant digits",
        )
    return float(value)
