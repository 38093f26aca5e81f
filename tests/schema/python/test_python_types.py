"""Python types as specs: their schemas fit, and texts become values of the type.

The oracles are `jsonschema` (does a text fit the schema?) and Pydantic (does it make a value?).
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import pickle
import subprocess
import sys
import uuid
from collections import Counter, OrderedDict
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from random import Random
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

import jsonschema
import pytest
from pydantic import (
    UUID4,
    AfterValidator,
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    FileUrl,
    FiniteFloat,
    HttpUrl,
    IPvAnyAddress,
    MongoDsn,
    NaiveDatetime,
    RootModel,
    TypeAdapter,
    ValidationError,
)
from typing_extensions import TypeAliasType, TypedDict

import structgen as sg
from structgen.errors import GenerationError, SpecError, UnsupportedSchemaError
from structgen.schema.python.types import PythonType, is_python_type
from tests.fuzz.judge import BYTES
from tests.fuzz.values import written


class Colour(enum.Enum):
    """Some values of different JSON types."""

    RED = "red"
    TWO = 2


class Rank(enum.IntEnum):
    """Members that are numbers."""

    LOW = 1
    HIGH = 10


class Span(enum.Enum):
    """A member that no JSON stands for, and one that does."""

    NONE = ""
    WIDE = (1, 2)


class Address(BaseModel):
    """A nested model."""

    street: str
    zip: Annotated[str, Field(pattern=r"^\d{5}$")]


class Person(BaseModel):
    """Fields with and without defaults, in an order that is not the alphabet's."""

    name: str
    age: Annotated[int, Field(ge=0, lt=150)]
    email: str | None = None
    address: Address
    colours: list[Colour] = []


class Tree(BaseModel):
    """A model that holds itself."""

    value: int
    children: list[Tree] = []


class Open(BaseModel):
    """A model with any further keys."""

    model_config = ConfigDict(extra="allow")
    a: int


class Strict(BaseModel):
    """A model that converts nothing."""

    model_config = ConfigDict(strict=True)
    count: int
    day: dt.date


class Cat(BaseModel):
    """One branch of a union, its tag with a default."""

    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    """The other branch."""

    kind: Literal["dog"] = "dog"
    weight: float = 1.0


@dataclasses.dataclass
class Point:
    """A dataclass."""

    x: float
    y: float = 0.0
    tags: list[str] = dataclasses.field(default_factory=list)


class Total(TypedDict):
    """All keys but one are required."""

    a: int
    b: NotRequired[str]


class Partial(TypedDict, total=False):
    """No key is required."""

    a: int


class Pair(NamedTuple):
    """A tuple with names."""

    left: int
    right: str


def even(value: int) -> int:
    """A check that no schema can say."""
    if value % 2:
        raise ValueError("it is odd")
    return value


class Trimmed(BaseModel):
    """Strings lose white space at their ends before they are judged, bytes are counted."""

    model_config = ConfigDict(str_strip_whitespace=True, allow_inf_nan=False)
    name: Annotated[str, Field(min_length=2)]
    code: Annotated[bytes, Field(max_length=3)]
    size: float


class Invoice(BaseModel):
    """Values that Pydantic writes in another way than their schema says."""

    total: Decimal
    parts: dict[str, list[Decimal]]
    due: dt.timedelta
    rate: tuple[Decimal, ...] = ()


Numbers = TypeAliasType("Numbers", list[int])
Pet = Annotated[Cat | Dog, Field(discriminator="kind")]
Money = Annotated[Decimal, Field(max_digits=5, decimal_places=2)]
UTC = dt.UTC
RANDOM = uuid.UUID("c047191c-7168-4316-bfc0-c1d1892c49e2")
ADDRESS = {"street": "Main St", "zip": "12345"}

ROUND_TRIPS: list[tuple[Any, Any, Any]] = [
    (int, 3, 3),
    (str, "né\n", "né\n"),
    (bool, True, True),
    (float, 1.5, 1.5),
    (type(None), None, None),
    (Colour, "red", Colour.RED),
    (Colour, 2, Colour.TWO),
    (Literal["a", 1] | None, 1, 1),
    (int | None, None, None),
    (int | str, "1", "1"),
    (list[int], [1, 2], [1, 2]),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[int, ...], [1, 2, 3], (1, 2, 3)),
    (set[int], [1, 2], {1, 2}),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (dict[int, bool], {"-7": True, "0": False}, {-7: True, 0: False}),
    (dict[bool, int], {"true": 1}, {True: 1}),
    (dict[dt.date, int], {"2024-02-29": 1}, {dt.date(2024, 2, 29): 1}),
    (dt.date, "2024-02-29", dt.date(2024, 2, 29)),
    (dt.time, "10:20:30Z", dt.time(10, 20, 30, tzinfo=UTC)),
    (
        dt.datetime,
        "2024-02-29T10:20:30.5Z",
        dt.datetime(2024, 2, 29, 10, 20, 30, 500_000, UTC),
    ),
    (NaiveDatetime, "2024-02-29T10:20:30", dt.datetime(2024, 2, 29, 10, 20, 30)),  # noqa: DTZ001
    (dt.timedelta, "P1DT2H", dt.timedelta(days=1, hours=2)),
    (HttpUrl, "https://a-b.example:80/c?d#e", HttpUrl("https://a-b.example:80/c?d#e")),
    (
        uuid.UUID,
        "12345678-1234-1234-1234-123456789abc",
        uuid.UUID("12345678-1234-1234-1234-123456789abc"),
    ),
    (UUID4, str(RANDOM), RANDOM),
    (dict[UUID4, int], {str(RANDOM): 1}, {RANDOM: 1}),
    (Counter[int], {"7": 2}, Counter({7: 2})),
    (OrderedDict[int, str], {"-7": "a"}, OrderedDict({-7: "a"})),
    (dict[int | None, int], {"7": 2}, {7: 2}),
    (dict[Rank, int], {"10": 2}, {Rank.HIGH: 2}),
    (dict[Literal["a", 1], int], {"a": 2}, {"a": 2}),
    (Span, "", Span.NONE),
    (Literal[Rank.LOW], 1, Rank.LOW),
    (Literal["a", Span.NONE], "a", "a"),
    (complex, "-1.5+2j", -1.5 + 2j),
    (Base64Bytes, "AP8=", b"\0\xff"),
    (IPvAnyAddress, "::1", IPv6Address("::1")),
    (IPv4Network, "172.16.0.0/12", IPv4Network("172.16.0.0/12")),
    (IPv6Network, "2001:db8::/32", IPv6Network("2001:db8::/32")),
    (IPv4Interface, "10.1.2.3/8", IPv4Interface("10.1.2.3/8")),
    (IPv6Interface, "fe80::1:2", IPv6Interface("fe80::1:2")),
    (HttpUrl, "http://u:p@127.0.0.1:65535", HttpUrl("http://u:p@127.0.0.1:65535")),
    (MongoDsn, "mongodb+srv://db:27017/x", MongoDsn("mongodb+srv://db:27017/x")),
    (FileUrl, "file:///a/b", FileUrl("file:///a/b")),
    (
        Trimmed,
        {"name": "a b", "code": "abc", "size": 1e308},
        Trimmed(name="a b", code=b"abc", size=1e308),
    ),
    (Decimal, 12.5, Decimal("12.5")),
    (Annotated[Decimal, Field(gt=Decimal("1e40"))], 10**41, Decimal(10**41)),
    (FiniteFloat, -1.5, -1.5),
    (Money, 123.45, Decimal("123.45")),
    (Point, {"x": 1.5, "tags": ["a"]}, Point(1.5, 0.0, ["a"])),
    (Total, {"a": 1}, {"a": 1}),
    (Partial, {}, {}),
    (Pair, [1, "b"], Pair(1, "b")),
    (Numbers, [1], [1]),
    (RootModel[list[int]], [1], RootModel[list[int]]([1])),
    (Cat, {"lives": 3}, Cat(lives=3)),
    (Pet, {"kind": "dog", "weight": 2.0}, Dog(weight=2.0)),
    (Open, {"a": 1, "b": 2}, Open(a=1, b=2)),  # type: ignore[call-arg]
    (Strict, {"count": 1, "day": "2024-01-01"}, Strict(count=1, day=dt.date(2024, 1, 1))),
    (Tree, {"value": 1, "children": [{"value": 2}]}, Tree(value=1, children=[Tree(value=2)])),
    (
        list[Person],
        [{"name": "A", "age": 3, "address": ADDRESS, "colours": [2]}],
        [Person(name="A", age=3, address=Address(**ADDRESS), colours=[Colour.TWO])],
    ),
    (TypeAdapter(list[int]), [1], [1]),
]


def fits(spec: PythonType, value: Any) -> bool:
    """Does `jsonschema` accept a value under the schema of a spec?"""
    validator = jsonschema.Draft202012Validator(
        spec.schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    return bool(validator.is_valid(value))


@pytest.mark.parametrize(
    ("tp", "value", "expected"), ROUND_TRIPS, ids=[str(case[0])[-40:] for case in ROUND_TRIPS]
)
def test_a_value_fits_the_schema_and_comes_back(tp: Any, value: Any, expected: Any) -> None:
    """Its JSON is valid against the schema, and `parse` gives an equal value of the same type."""
    assert is_python_type(tp)
    spec = PythonType(tp)
    jsonschema.Draft202012Validator.check_schema(spec.schema)
    assert json.loads(json.dumps(spec.schema)) == spec.schema
    assert fits(spec, value)
    found = spec.parse(json.dumps(value))
    assert found == expected
    assert type(found) is type(expected)


MISFITS: list[tuple[Any, Any]] = [
    (int, 1.5),
    (Colour, "green"),
    (Person, {"name": "A", "age": 200, "address": ADDRESS}),
    (Person, {"name": "A", "address": ADDRESS}),
    (Person, {"name": "A", "age": 3, "address": {"street": "", "zip": "x"}}),
    (Person, {"name": "A", "age": 3, "address": ADDRESS, "extra": 1}),
    (Point, {"x": 1, "z": 2}),
    (Total, {"b": "x"}),
    (Partial, {"c": 1}),
    (Pair, [1]),
    (set[int], [1, 1]),
    (dict[int, int], {"a": 1}),
    (dict[int, int], {"01": 1}),
    (dict[Annotated[str, Field(pattern="^x")], int], {"y": 1}),
    (Pet, {"lives": 3}),
    (Money, 1234.5),
    (Money, 0.001),
    (Annotated[Decimal, Field(gt=1, max_digits=3)], 1),
    (Annotated[Decimal, Field(max_digits=3)], 10.25),
    (Annotated[Decimal, Field(max_digits=3)], 0.0001),
    (Annotated[Decimal, Field(multiple_of=0.25)], 0.3),
    (Decimal, 1e30),
    (Annotated[Decimal, Field(ge=0)], 1e30),
    (Annotated[Decimal, Field(le=0)], -1e30),
    (FiniteFloat, 10**309),
    (dt.date, "0000-01-01"),
    (dt.datetime, "0000-01-01T00:00:00Z"),
    (dt.datetime, "2016-12-31T23:59:60Z"),
    (dt.time, "23:59:60Z"),
    (NaiveDatetime, "2024-02-29T10:20:30Z"),
    (NaiveDatetime, "2023-02-29T10:20:30"),
    (dt.timedelta, "P99999999999D"),
    (UUID4, "2eb8aa08-aa98-11ea-b4aa-73b441d16380"),
    (UUID4, "2eb8aa08-aa98-41ea-14aa-73b441d16380"),
    (dict[UUID4, int], {"a": 1}),
    (Counter[int], {"a": 1}),
    (OrderedDict[int, int], {"01": 1}),
    (dict[int | None, int], {"": 1}),
    (dict[Literal["a", 1], int], {"1": 1}),
    (Span, [1, 2]),
    (Literal["a", Span.NONE], ""),
    (complex, "1 + 2j"),
    (Base64Bytes, "AP8"),
    (IPvAnyAddress, "a"),
    (IPv4Network, "172.17.0.0/12"),
    (IPv6Network, "2001:db8:1::/32"),
    (IPv4Interface, "10.1.2.3/33"),
    (IPv6Interface, "1::2::3"),
    (MongoDsn, "mongodbsrv://db"),
    (FileUrl, "file://a:1/b"),
    (HttpUrl, "http://a:65536/"),
    (Trimmed, {"name": "a ", "code": "abc", "size": 1}),
    (Trimmed, {"name": "ab", "code": "éé", "size": 1}),
    (Trimmed, {"name": "ab", "code": "abc", "size": 10**309}),
    (HttpUrl, "ftp://a.example"),
    (HttpUrl, "http://999.999/"),
    (HttpUrl, "http://a@/"),
]


@pytest.mark.parametrize(("tp", "value"), MISFITS, ids=[str(case)[-60:] for case in MISFITS])
def test_what_the_type_refuses_does_not_fit_the_schema(tp: Any, value: Any) -> None:
    """The schema is as strict as the type, or stricter, so that no text fails in `parse`."""
    assert not fits(PythonType(tp), value)


@pytest.mark.parametrize(
    "tp", [*dict.fromkeys(case[0] for case in ROUND_TRIPS if case[0] is not FileUrl)], ids=str
)
def test_what_is_written_at_random_is_a_value(tp: Any) -> None:
    """Pydantic reads what the constraint lets through, wherever the random walk turns."""
    spec = PythonType(tp)
    constraint = sg.compile(spec, BYTES)
    for seed in range(6):
        spec.parse(json.dumps(written(constraint, Random(seed))))


def test_values_are_checked_as_the_schema_has_them() -> None:
    """Decimals are numbers, and durations fit their format, wherever in a value they stand."""
    value = Invoice(
        total=Decimal("12.50"),
        parts={"a": [Decimal(3), Decimal("-0.25")]},
        due=dt.timedelta(days=400, seconds=7),
        rate=(Decimal(1),),
    )
    text = PythonType(Invoice).write(value).decode()
    assert json.loads(text) == {
        "total": 12.5,
        "parts": {"a": [3, -0.25]},
        "due": "P400DT7S",
        "rate": [1],
    }
    assert PythonType(Invoice).parse(text) == value
    sg.check(Invoice, value)
    with pytest.raises(sg.errors.ValidationError):
        sg.check(Invoice, value.model_copy(update={"due": dt.timedelta(days=-1)}))


@pytest.mark.parametrize("tp", [Literal[Span.WIDE], Literal[b"x"], dict[tuple[int, int], int]])
def test_what_pydantic_never_reads_from_json_is_refused(tp: Any) -> None:
    """A type of which no text is a value does not compile."""
    with pytest.raises(UnsupportedSchemaError):
        _ = PythonType(tp).schema


def holds(schema: dict[str, Any], value: Fraction) -> bool:
    """Is a number valid against a schema for numbers, without rounding?"""
    step = Fraction(str(schema.get("multipleOf", value or 1)))
    return (
        (value / step).denominator == 1
        and value < schema.get("exclusiveMaximum", value + 1)
        and value > schema.get("exclusiveMinimum", value - 1)
        and not ("not" in schema and value == schema["not"]["const"])
        and all(holds(part, value) for part in schema.get("allOf", ()))
        and ("anyOf" not in schema or any(holds(part, value) for part in schema["anyOf"]))
    )


@pytest.mark.parametrize("digits", [None, 1, 2, 3, 4])
@pytest.mark.parametrize("places", [None, 0, 1, 2, 4])
def test_the_digits_of_decimals_are_counted_as_pydantic_counts_them(
    digits: int | None, places: int | None
) -> None:
    """On a grid of numbers the schema allows exactly what Pydantic accepts."""
    spec = PythonType(Annotated[Decimal, Field(max_digits=digits, decimal_places=places)])
    numbers = "0 0.5 0.05 0.0005 9 9.5 12 12.25 99 100 999 999.9 1000 -99.5 1e2 1e-2 0.99"
    for number in numbers.split():
        try:
            spec.adapter.validate_json(number)
            accepted = True
        except ValidationError:
            accepted = False
        assert holds(spec.schema, Fraction(number)) is accepted, number


def test_properties_come_in_the_order_of_the_fields() -> None:
    """Field order is schema order, for models, dataclasses and TypedDicts."""
    assert [*PythonType(Person).schema["properties"]] == [*Person.model_fields]
    assert [*PythonType(Point).schema["properties"]] == ["x", "y", "tags"]
    assert [*PythonType(Total).schema["properties"]] == ["a", "b"]


def test_fields_with_a_default_may_be_left_out() -> None:
    """Only fields without a default are required."""
    assert PythonType(Person).schema["required"] == ["name", "age", "address"]
    assert PythonType(Point).schema["required"] == ["x"]
    assert "required" not in PythonType(Partial).schema


def test_every_branch_of_a_tagged_union_requires_its_tag() -> None:
    """Without the tag Pydantic could not choose, even where the tag has a default."""
    spec = PythonType(Pet)
    assert not fits(spec, {})
    assert fits(spec, {"kind": "cat"})
    assert fits(PythonType(Cat), {})
    with pytest.raises(GenerationError):
        spec.parse("{}")


@pytest.mark.parametrize(
    ("tp", "text", "expected"),
    [
        (int, "1e30", 10**30),
        (int, "1.50e1", 15),
        (Strict, '{"count": 2.0, "day": "2024-01-01"}', 2),
        (Literal[1], "1.0", 1),
        (Strict, '{"count": -0.0E99999999999999999999, "day": "2024-01-01"}', 0),
    ],
)
def test_integers_in_any_spelling_come_back(tp: Any, text: str, expected: int) -> None:
    """What JSON Schema calls an integer becomes one, however it was written."""
    found = PythonType(tp).parse(text)
    assert (found.count if isinstance(found, Strict) else found) == expected


@pytest.mark.parametrize("text", ["1e4001", "3e99999999999999999999", "-2E0987654321"])
def test_numbers_beyond_all_bounds_are_typed_errors(text: str) -> None:
    """A number that would fill the memory is refused, not written out."""
    with pytest.raises(GenerationError):
        PythonType(int).parse(text)


def test_a_text_that_pydantic_refuses_is_a_typed_error_with_a_place() -> None:
    """Checks that no schema can say fail in `parse`, with the JSON Pointer of the value."""
    spec = PythonType(list[dict[str, Annotated[int, AfterValidator(even)]]])
    assert spec.parse('[{"a/b": 2}]') == [{"a/b": 2}]
    with pytest.raises(GenerationError, match="it is odd") as caught:
        spec.parse('[{}, {"a/b": 3}]')
    assert caught.value.location == "/1/a~1b"
    assert caught.value.text == '[{}, {"a/b": 3}]'
    with pytest.raises(GenerationError, match="Invalid JSON"):
        spec.parse("[")


def test_types_without_a_schema_are_typed_errors() -> None:
    """A callable, a foreign class, an unknown name and a limit on keys each say what is wrong."""

    class Foreign:
        """A class that Pydantic knows nothing of."""

    class Unfinished(BaseModel):
        """A model that names a class nobody defines."""

        other: Nowhere  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(UnsupportedSchemaError, match="type"):
        _ = PythonType(type).schema
    with pytest.raises(SpecError, match="Foreign"):
        _ = PythonType(Foreign).schema
    with pytest.raises(SpecError, match="Unfinished"):
        _ = PythonType(Unfinished).schema
    with pytest.raises(UnsupportedSchemaError, match="keys of a dict") as caught:
        _ = PythonType(dict[Annotated[int, Field(gt=0)], int]).schema
    assert caught.value.keyword == "gt"


@pytest.mark.parametrize("obj", [3, "int", {"type": "integer"}, [int], None, True, Person])
def test_only_types_are_types(obj: Any) -> None:
    """Schemas, values and texts are not taken for types; a model is one."""
    assert is_python_type(obj) is (obj is Person)


def test_specs_of_equal_types_are_equal_values() -> None:
    """Specs compare and hash by type, also where metadata cannot be hashed, and can be pickled."""
    assert PythonType(list[int]) == PythonType(list[int])
    assert hash(PythonType(list[int])) == hash(PythonType(list[int]))
    assert PythonType(list[int]) != PythonType(list[str])
    assert PythonType(int) != PythonType(int, whitespace="compact")
    odd = Annotated[int, Field(json_schema_extra={"examples": [1]})]
    assert len({PythonType(odd), PythonType(odd)}) == 1
    spec = PythonType(Person)
    assert spec.schema is spec.schema
    assert pickle.loads(pickle.dumps(PythonType(dict[str, int]))) == PythonType(dict[str, int])


def test_the_portable_spec_is_the_schema() -> None:
    """A spec that is saved does without the type and keeps its options."""
    spec = PythonType(Person, whitespace="compact", property_order="any")
    portable = spec.portable()
    assert portable.schema == spec.schema
    assert (portable.whitespace, portable.property_order) == ("compact", "any")
    assert spec.to_json() == portable.to_json()


def test_pydantic_is_imported_at_first_use_and_missed_with_a_hint() -> None:
    """The module loads without pydantic; using a type then says what to install."""
    code = (
        "import sys; sys.modules['pydantic'] = None\n"
        "from structgen.schema.python.types import PythonType, is_python_type\n"
        "assert is_python_type(int) and not is_python_type(3)\n"
        "try: PythonType(int).schema\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert "pip install 'structgen[pydantic]'" in done.stdout
