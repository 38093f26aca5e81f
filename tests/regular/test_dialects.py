"""Patterns of ECMA-262 2025 and of other dialects, against Python's `re` where it has the same.

`$` of ECMA-262 is `\\Z` of Python, which otherwise also holds before a last line feed.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import PatternError, SpecError, UnsupportedSchemaError, ValidationError
from structgen.regular.regex import matches
from structgen.regular.syntax.ecma import dialect_of, parse
from structgen.regular.syntax.unicode import property_set

LETTERS = "aAbBcCxX\n\r'\"-:;1 "
TEXTS = st.one_of(
    st.text(LETTERS, max_size=7),
    st.lists(st.sampled_from(["a", "b", "ab", "AB", "x", "'", '"', "-", "\n"]), max_size=6).map(
        "".join
    ),
)
AS_PYTHON = [
    r"^(?i:ab)c$", r"^a(?i:b[a-c])C", r"(?i:a(?-i:b)c)", r"^(?i:[^ab])+$", r"(?s:a.b)", r"a.b",
    r"(?is-m:a.B)", r"(?m:^a$)", r"(?m:^)b", r"^(?i:a|(?-i:B)|c)$",
    r"^(['\"])[a-c]*\1$", r"^(a|b|AB)-\1$", r"^(a|b)(x|b)\2\1$", r"(?i:(a|b)\1)$",
    r"^(?:(a|ab)\1|x)$", r"^(a|b)\1*x?$", r"^(a|b)(?!\1)", r"^(a|b)(?=\1)", r"(a)(?:\1|b)\1",
    r"^(?:([ab])x\1)?$", r"^(?:(a|b)|(x))$", r"^(|a)b\1$",
]  # fmt: skip


@pytest.mark.parametrize("pattern", AS_PYTHON)
@given(text=TEXTS)
def test_modifiers_and_backreferences_mean_what_they_mean_in_python(
    pattern: str, text: str
) -> None:
    """Groups with flags, and references to groups that match few texts."""
    text = text.replace("\r", "")  # a line end of ECMA-262, and none of Python
    oracle = pattern if "(?m" in pattern else pattern.replace("$", r"\Z")
    assert matches(parse(pattern), text) == bool(re.search(oracle, text, re.ASCII)), text
    assert dialect_of(pattern) == "ecma"


def test_names_of_groups_can_be_referred_to() -> None:
    """`\\k<name>` is the text of the group."""
    language = parse(r"^(?<sep>[:;,])[a-z]+\k<sep>[a-z]+$")
    assert [matches(language, x) for x in (":a:b", ",a,b", ":a;b")] == [True, True, False]


@pytest.mark.parametrize(
    "pattern",
    [
        r"\Aa.b\Z", r"^a$", r"a$", r"(?i)ab\Z", r"(?s)a.b", r"(?m)^b$", r"^\s\S$", r"(?P<n>a|b)x",
        r"(?im)^B$", r"a\Z",
    ],
)  # fmt: skip
@given(text=TEXTS)
def test_python_is_read_as_python_reads_it(pattern: str, text: str) -> None:
    """With flag ASCII."""
    found = matches(parse(pattern, dialect="python"), text)
    assert found == bool(re.search(pattern, text, re.ASCII)), text


@pytest.mark.parametrize(
    ("dialect", "pattern", "fit", "others"),
    [
        ("java", r"^[a-z&&[^aeiou]]+$", ["bcd", "b\n"], ["abc", "&"]),
        ("java", r"^[a-c[x-z]]+$", ["axz"], ["m", "["]),
        ("java", r"^[a-z&&b-d&&[^c]]+$", ["bd"], ["c", "a", "e"]),
        ("java", r"^\p{Alnum}\p{Punct}\P{Cntrl}$", ["a-x"], ["--x", "a-\x01"]),
        ("java", r"^\p{IsLatin}\p{IsL}[\pL\PN]\p{IsAlphabetic}$", ["aéαb"], ["αaab", "aa1b"]),
        ("java", r"\Aa\Z", ["a", "a\n"], ["a\nb"]),
        ("java", r"\Aa\z", ["a"], ["a\n"]),
        ("java", r"^.$", ["a"], ["\x85", "\u2028"]),
        ("re2", r"^[[:alpha:]_]+[[:^digit:]]$", ["ab_", "ax"], ["a1"]),
        ("re2", r"^\pL[^\pZ\pC]\PN$", ["é-x", "αα "], ["1-x", "a x", "aa1"]),
        ("re2", r"^\p{Greek}\p{^Greek}\P{^L}$", ["αaé"], ["aaa", "ααa", "αa1"]),
        ("re2", r"(?i)ab$", ["xAB"], ["AB\n"]),
        ("re2", r"^a(?i)b$", ["aB"], ["AB"]),
        ("re2", r"^(?:(?i)a|b)c$", ["Ac", "bc"], ["aC"]),
        ("re2", r"^(?P<n>a)\s.$", ["a\t\r"], ["a\v-", "a \n"]),
        ("ecma", r"^[a-z&&[^aeiou]]+$", ["&]", "a]"], ["bcd"]),
    ],
)
def test_each_dialect_has_its_own_reading(
    dialect: str, pattern: str, fit: list[str], others: list[str]
) -> None:
    """As its documentation says."""
    language = parse(pattern, dialect=dialect)
    assert all(matches(language, text) for text in fit)
    assert not any(matches(language, text) for text in others)


@pytest.mark.parametrize(
    ("pattern", "dialect"),
    [
        (r"\Aa\z", "re2"), (r"\Aa\Z", "python"), ("(?i)a", "re2"), ("(?P<n>a)", "re2"),
        (r"\p{Alnum}", "java"), (r"\pL", "re2"), (r"\p{Greek}", "re2"), (r"\p{IsGreek}", "java"),
        (r"\p{Letter}", "ecma"), (r"\p{L", "ecma"), (r"\pX", "ecma"), ("[[:alpha:]]", "ecma"),
        ("a", "ecma"), ("(?i:a)", "ecma"),
        ("(a", "ecma"), ("a++", "ecma"), (r"(\w+)\1", "ecma"),
    ],
)  # fmt: skip
def test_a_pattern_is_read_in_the_first_dialect_that_has_it(pattern: str, dialect: str) -> None:
    """ECMA-262 goes before all others, and stays where none has a meaning."""
    assert dialect_of(pattern) == dialect


def test_scripts_and_binary_properties_have_their_characters() -> None:
    """By the names of the characters, and by relations between properties."""
    greek, cyrillic = property_set("Script=Greek"), property_set("sc=Cyrl")
    assert greek is not None
    assert cyrillic is not None
    assert greek is property_set("Script=Grek")
    for point in range(0x370, 0x530):
        name = unicodedata.name(chr(point), "")
        if "LETTER" in name and name.startswith(("GREEK", "CYRILLIC")):
            assert point in (greek if name.startswith("GREEK") else cyrillic), name
    alphabetic, letters = property_set("Alpha"), property_set("L")
    starts, continues = property_set("ID_Start"), property_set("IDC")
    assert alphabetic is not None
    assert letters is not None
    assert starts is not None
    assert continues is not None
    assert not letters - alphabetic
    assert not starts - continues
    han = property_set("scx=Han")
    assert han is not None
    assert ord("中") in han
    assert ord("〆") in han
    assert property_set("Script=greek") is property_set("sc=") is property_set("Greek") is None


PATTERNS = {"properties": {"a": {"pattern": r"\Ax\Z"}, "b": {"pattern": "^[a-z&&[^aeiou]]+$"}}}


def test_a_schema_says_in_which_dialect_its_patterns_are() -> None:
    """`patterns=` is an option as others are, and errors of `check` see the same language."""
    sg.check(sg.JsonSchema(PATTERNS), '{"a": "x"}')
    java = sg.JsonSchema(PATTERNS, patterns="java")
    sg.check(java, '{"b": "bcd"}')
    with pytest.raises(ValidationError) as found:
        sg.check(java, '{"b": "abc"}')
    assert found.value.schema_path == "#/properties/b/pattern"
    with pytest.raises(PatternError):
        sg.check(sg.JsonSchema(PATTERNS, patterns="ecma"), "{}")
    assert sg.JsonSchema.from_json(java.to_json()) == java
    with pytest.raises(SpecError, match="patterns"):
        sg.JsonSchema({}, patterns="pcre")


def test_reports_name_patterns_that_are_read_otherwise_elsewhere() -> None:
    """With their JSON Pointer; not where the dialect was said."""

    def dialects(schema: Any, **options: Any) -> dict[str, str]:
        found = sg.support(schema, **options).advice
        return {one.pointer: one.message for one in found if one.kind == "pattern dialect"}

    found = dialects(PATTERNS)
    assert set(found) == {"#/properties/a/pattern", "#/properties/b/pattern"}
    assert "read as python" in found["#/properties/a/pattern"]
    assert "patterns='java'" in found["#/properties/b/pattern"]
    assert not dialects(PATTERNS, patterns="java")
    keys: dict[str, Any] = {
        "patternProperties": {"(?i)^x-": {}, "^[[:alpha:]]$": {}, "^[a\\[b]$": {}}
    }
    assert [x.rpartition("/")[2] for x in dialects(keys)] == ["(?i)^x-", "^[[:alpha:]]$"]


def test_backreferences_to_many_texts_are_refused() -> None:
    """As many as can be spelled out are not."""
    parse(r"^(\d\d)-\1$")
    with pytest.raises(UnsupportedSchemaError):
        parse(r"^(\d\d\d)-\1$")
