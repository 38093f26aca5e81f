"""Keys of a bounded length: read by class, but for the longest, which are remembered."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import structgen as sg
from structgen.errors import ValidationError
from structgen.regular.regex import INFINITE, complement, intersect, matches, repeat
from structgen.regular.syntax.ecma import parse
from structgen.schema.objects import key_classes
from structgen.schema.objects.key_classes import KeyClass
from tests.helpers.laws import one_state_keeps_the_laws, walk
from tests.helpers.oracle import json_decider

PIECES = ['":1', '":1,"', '":1}', "ab", 'abc":1', '","a', 'abc":1,"abc', '1,"ab', "aab", "abb"]
VOCABULARY = sg.Vocabulary(
    [b"", *(bytes([byte]) for byte in b'{}":,1abc'), *(piece.encode() for piece in PIECES)],
    eos_ids=[0],
)


def keyed(pattern: str, **more: Any) -> dict[str, Any]:
    """Objects of numbers whose keys match a pattern."""
    numbers = {"type": "integer"}
    closed = {"patternProperties": {pattern: numbers}, "additionalProperties": False}
    return {"type": "object", **closed, **more}


def is_read(schema: dict[str, Any], text: str) -> bool:
    """Whether a text fits a schema."""
    try:
        sg.check(schema, text)
    except ValidationError:
        return False
    return True


NAMES = {"ab": {"type": "integer"}, "abc": {"type": "integer"}, "b": {}}
SCHEMAS = [
    keyed("^.{1,3}$"),
    keyed("^[abc]{2,3}$"),
    keyed("^a[ab]{0,3}$"),
    keyed("^.{1,3}$", properties=NAMES),
    keyed("^.{1,3}$", properties=NAMES, required=["abc"]),
    keyed("^.{1,3}$", minProperties=2, maxProperties=3),
    keyed("^.{1,3}$", propertyNames={"maxLength": 2}),
    keyed("^.{1,3}$", properties={"b": {"const": 1}}, dependentRequired={"b": ["ab"]}),
    {"type": "object", "propertyNames": {"maxLength": 2}},
    {"anyOf": [keyed("^.{1,3}$"), keyed("^a", maxProperties=2)]},
    {"oneOf": [keyed("^.{1,2}$"), keyed("^[ab]{1,3}$")]},
]


@pytest.mark.parametrize("ample", [8, key_classes.AMPLE])
@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@pytest.mark.parametrize("order", ["any", "declared"])
def test_no_key_comes_twice_and_none_is_begun_in_vain(
    schema: dict[str, Any], ample: int, order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever random texts lead, masks are exact, and some text ends."""
    monkeypatch.setattr(key_classes, "AMPLE", ample)
    spec = sg.JsonSchema(schema, whitespace="compact", property_order=order)
    constraint, decide = sg.compile(spec, VOCABULARY), json_decider(schema)
    for seed in range(6):
        for visit in walk(constraint, Random(seed), 16):
            one_state_keeps_the_laws(constraint, visit, decide)


@pytest.mark.parametrize(
    ("keys", "fits"),
    [
        (["abc", "ab", "abd"], True),
        (["abc", "ab", "abc"], False),
        (["ab", "abc", "ab"], False),
        (["a" * 64, "a" * 63, "a" * 62], True),
        (["a" * 64, "a" * 63, "a" * 64], False),
        (["a" * 65], False),
        ([""], False),
    ],
)
def test_keys_of_64_characters_are_read_as_others_are(keys: list[str], fits: bool) -> None:
    """Each once, up to the last."""
    text = "{" + ",".join(f'"{key}":1' for key in keys) + "}"
    for pattern in ("^.{1,64}$", "^[a-d]{1,64}$", "^[a-z][a-z0-9]{0,63}$"):
        assert is_read(keyed(pattern), text) == fits


def test_what_would_only_be_a_key_once_more_is_not_offered() -> None:
    """Behind the longest keys but one, all letters are but those that end in what was read."""
    schema = keyed("^.{1,3}$", properties={"abb": {}})
    spec = sg.JsonSchema(schema, whitespace="compact", property_order="any")
    constraint = sg.compile(spec, VOCABULARY)
    state = constraint.advance_bytes(constraint.start, b'{"abc":1,"ab":1,"abb":1,"ab')
    for letter, follows in ((b"a", True), (b"b", False), (b"c", False), (b'"', False)):
        assert (constraint.advance_bytes(state, letter) != sg.DEAD) == follows


@pytest.mark.parametrize(
    ("pattern", "last"),
    [("^.{1,9}$", 1), ("^[a-z]{2,9}$", 5), ("^x[01]{1,24}$", 20), ("^[^\n]{1,64}$", 1)],
)
def test_longest_keys_are_a_class_of_their_own(pattern: str, last: int) -> None:
    """As many characters before the end as make AMPLE keys."""
    language = parse(pattern)
    short, long = KeyClass(language, ()).split_by_length()
    assert short.ample
    assert long.by_text
    assert long.language.longest - short.language.longest == last
    assert intersect(language, complement(short.language), complement(long.language)).is_empty()
    for part in (short, long):
        assert intersect(part.language, complement(language)).is_empty()


def test_other_keys_are_one_class() -> None:
    """Of any length, of few letters or characters, and of bounds of another kind."""
    for pattern in (
        "^a+$",
        "^.{0,99}a.{0,500}$",
        "^[ab]{1,9}$",
        "^[a-z]{1,5}$",
        "^(ab){1,64}$",
        "^[a-z]{1,9}-?$",
    ):
        assert len(KeyClass(parse(pattern), ()).split_by_length()) == 1


def test_names_are_none_of_the_longest_keys() -> None:
    """Or one would be begun that is refused at its end."""
    language = intersect(parse("^[a-z]{1,9}$"), repeat(parse("[^x]", anchored=True), 0, INFINITE))
    names = frozenset(("abcdefghi", "abc", "xyzxyzxyz"))
    long = KeyClass(language, (), names).split_by_length()[-1]
    assert not matches(long.language, "abcdefghi")
    assert matches(long.language, "abcdefghj")
