"""Patterns are read as ECMA-262 and JSON Schema define them.

Oracles: Python's `re` where both dialects agree (random patterns with anchors, word boundaries and
lookarounds, on random texts), interegular's automata for plain patterns, the official Test Suite,
and real schemas' patterns.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import interegular
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structgen.errors import BudgetError, PatternError, SpecError, UnsupportedSchemaError
from structgen.regular.regex import ANY, EMPTY, Regex, complement, intersect, matches, shortest
from structgen.regular.syntax import ecma, unicode
from structgen.regular.syntax.ecma import parse
from structgen.regular.syntax.unicode import property_names, property_set

QUANTIFIERS = ["", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "*?", "+?", "??"]
LETTERS = st.sampled_from(["a", "b", "-", "."])
CLASSES = st.sampled_from(["[ab]", "[^a]", "[a-]", r"\w", r"\W", r"\s", r"\S", r"[\w-]", r"\d"])
EDGES = st.sampled_from(["^", "$", r"\b", r"\B"])
LOOKBEHIND = st.tuples(
    st.sampled_from(["(?<=", "(?<!"]), st.sampled_from(["a", "b", "ab", "[ab]", "-", "^", "a."])
).map(lambda parts: "".join(parts) + ")")
TEXTS = st.text("ab- \n", max_size=7)


def sequence(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Alternatives of quantified atoms."""
    quantified = st.tuples(atoms, st.sampled_from(QUANTIFIERS)).map("".join)
    terms = st.lists(quantified, max_size=4).map("".join)
    return st.lists(terms, min_size=1, max_size=3).map("|".join)


def group(inner: st.SearchStrategy[str], *openings: str) -> st.SearchStrategy[str]:
    """Alternatives in parentheses."""
    return st.tuples(st.sampled_from(openings), inner).map(lambda parts: "".join(parts) + ")")


PLAIN = st.recursive(
    sequence(st.one_of(LETTERS, CLASSES)),
    lambda inner: sequence(st.one_of(LETTERS, CLASSES, group(inner, "(", "(?:"))),
    max_leaves=5,
)
ASSERTIONS = st.recursive(
    st.one_of(sequence(LETTERS), EDGES, LOOKBEHIND),
    lambda inner: st.lists(
        st.one_of(
            sequence(LETTERS),
            EDGES,
            LOOKBEHIND,
            group(inner, "(?=", "(?!", "(", "(?:"),
            group(inner, "(?:").flatmap(
                lambda text: st.sampled_from(QUANTIFIERS).map(lambda q: text + q)
            ),
        ),
        max_size=4,
    ).map("".join),
    max_leaves=6,
)


def in_python(pattern: str) -> re.Pattern[str]:
    """The same pattern in Python's dialect: `$` and `.` differ, classes are ASCII."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spelled = pattern.replace("$", r"\Z").replace(".", r"[^\n\r\u2028\u2029]")
        return re.compile(spelled, re.ASCII)


@given(PLAIN, st.lists(TEXTS, max_size=8))
def test_plain_patterns_find_what_python_finds(pattern: str, texts: list[str]) -> None:
    """Searching and matching as a whole agree with `re`."""
    compiled = in_python(pattern)
    for text in texts:
        assert matches(parse(pattern), text) == (compiled.search(text) is not None)
        assert matches(parse(pattern, anchored=True), text) == (
            compiled.fullmatch(text) is not None
        )


@given(ASSERTIONS, st.lists(TEXTS.filter(bool), min_size=1, max_size=8))
@example("(?:(?!ab).)*$", ["aab", "abab", "ba"])
@example(r"(?:\b|-)+a", ["-a", "ba", "b-a"])
@example("(?:a|^)*b", ["aab", "b", "ab"])
@example("(?:(?=a)|b)*$", ["bba"])
@example("(?<!(?<=b)a)b$", ["bab", "aab", "b"])
@example("(?:(?=(?:(?!b).)*a)[ab]){2,3}$", ["aaa", "aba", "aab", "ab"])
def test_assertions_hold_where_python_holds_them(pattern: str, texts: list[str]) -> None:
    r"""Anchors, `\b` and lookarounds in any place agree with `re`, save `\B` on an empty text."""
    compiled = in_python(pattern)
    for text in texts:
        assert matches(parse(pattern), text) == (compiled.search(text) is not None)
        assert matches(parse(pattern, anchored=True), text) == (
            compiled.fullmatch(text) is not None
        )


@given(ASSERTIONS)
def test_the_shortest_match_is_one(pattern: str) -> None:
    """A shortest text of the algebra is found by `re`; where there is none, `re` finds none."""
    found = shortest(parse(pattern))
    if found is not None and (found or r"\B" not in pattern):
        assert in_python(pattern).search(found)
    if found is None:
        texts = ("".join(t) for n in range(1, 4) for t in itertools.product("ab- ", repeat=n))
        assert not any(in_python(pattern).search(text) for text in texts)


@given(PLAIN.filter(lambda pattern: len(pattern) < 25 and pattern.count("{") < 3))
def test_plain_patterns_accept_what_interegular_accepts(pattern: str) -> None:
    """A second, automaton-based oracle: the same texts of up to four letters."""
    spelled = re.sub(r"(?<=[*+?}])\?", "", pattern).replace(".", r"[^\n]")
    machine = interegular.parse_pattern(spelled).to_fsm()
    regex = parse(pattern, anchored=True)
    for text in ("".join(t) for n in range(5) for t in itertools.product("ab- ", repeat=n)):
        assert matches(regex, text) == machine.accepts(text)


# -- the dialect, construct by construct ----------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "fits", "fails"),
    [
        (r"^\d$", ["0", "9"], ["٣", "a", "10"]),
        (r"^\w$", ["a", "Z", "_", "5"], ["é", "-"]),
        (r"^\s$", [" ", "\t", "\xa0", "\ufeff", "\u2029", "\u3000"], ["\x85", "\u200b", "a"]),
        (r"^.$", ["a", "\x85", "😀"], ["\n", "\r", "\u2028", "\u2029", ""]),
        (r"^\u{1F600}$", ["😀"], ["\u1f60"]),
        (r"^\uD83D\uDE00$", ["😀"], ["\ud83d"]),
        (r"^[\uD83D\uDE00-\uD83D\uDE02]$", ["😀", "😂"], ["😃"]),
        (r"^\x41\t\cJ\0$", ["A\t\n\0"], ["A\t\n0"]),
        (r"^\-\_\:\/\'\ $", ["-_:/' "], [r"\-_:/' "]),
        (r"^[\w-.]$", ["a", "-", "."], ["+"]),
        (r"^[a\-c\b]$", ["a", "-", "c", "\x08"], ["b"]),
        (r"^[]$", [], ["", "a"]),
        (r"^[^]$", ["a", "\n"], ["", "ab"]),
        (r"^[^\d\s]$", ["a"], ["1", " "]),
        (r"^a{,3}$", ["a{,3}"], ["aaa", ""]),
        (r"^{a}]$", ["{a}]"], ["a"]),
        (r"^a{2}?b{1,}$", ["aab", "aabb"], ["ab"]),
        (r"^(?<year>\d{4})(?:-)(\d)$", ["2024-1"], ["2024"]),
        (r"\p{Lu}\P{L}", ["É1"], ["ÉÉ", "é1"]),
        (r"^\p{General_Category=Decimal_Number}[\p{gc=Sc}]$", ["٣€"], ["3x"]),
        (r"^\p{ASCII_Hex_Digit}+$", ["0aF"], ["g", "０"]),
        ("^foo|bar$", ["foo-", "-bar"], ["-foo-", "bar-"]),
        (r"^(?=.*\d)(?=.*[a-z]).{3,}$", ["a1-", "1za"], ["a1", "abc", "123"]),
        (r"^(?!aliases$|draft$).*$", ["aliases2", "x"], ["aliases", "draft"]),
        (r"^((?!mode)(?!Mode).)*$", ["mod", "xMod"], ["mode", "a Mode"]),
        (r"\bcat\b", ["a cat.", "cat"], ["cats", "a_cat"]),
        (r"^(a|b|^)*$", ["", "ab"], ["c"]),
        (r"$^", [""], ["a"]),
        (r"a$b", [], ["ab", "a"]),
        (r"(?<=\$)\d+", ["$5"], ["5", "5$"]),
        (r"(?<=^|-)a(?=$|-)", ["a", "b-a-"], ["ba", "-ab"]),
        (r"(?<=a+)b", ["aab"], ["b", "cb"]),
        (r"^(\^|\$)$", ["^", "$"], [""]),
    ],
)
def test_a_construct_means_what_ecma_says(pattern: str, fits: list[str], fails: list[str]) -> None:
    """Texts that fit and texts that do not, for one construct each."""
    regex = parse(pattern)
    assert [text for text in fits if not matches(regex, text)] == []
    assert [text for text in fails if matches(regex, text)] == []


@pytest.mark.parametrize(
    ("pattern", "position", "named"),
    [
        ("(abc", 0, r"'\('"),
        ("ab)c", 2, r"'\)'"),
        ("[abc", 0, r"'\['"),
        ("*a", 0, "repeat"),
        ("a|+", 2, "repeat"),
        ("a{2}{3}", 4, "quantifier"),
        ("a*+", 2, "possessive"),
        ("a{5,2}", 1, "out of order"),
        ("{2}", 0, "repeat"),
        ("[z-a]", 2, "out of order"),
        ("a\\", 1, "backslash"),
        (r"a\Z", 1, r"write \$"),
        (r"\Aa", 0, r"write \^"),
        (r"\a", 0, "not ECMA-262"),
        (r"(?P<n>a)", 0, r"\(\?<name>"),
        (r"(?P=n)", 0, r"\(\?P"),
        (r"(?i)abc", 0, r"\(\?i:"),
        (r"(?#c)a", 0, "group"),
        (r"(?>a)", 0, "group"),
        (r"(?<1>a)", 3, "name"),
        (r"\u{110000}", 0, "code point"),
        (r"\u12", 0, "4 hexadecimal"),
        (r"\x1", 0, "2 hexadecimal"),
        (r"\c1", 0, "letter"),
        (r"\p", 0, r"'{\.\.\.}'"),
        (r"\012", 0, "octal"),
        (r"(a)\2", 3, "group 2"),
        (r"\k<a>", 0, "named group"),
        (r"^*", 1, "assertion"),
        (r"(?<=a)+", 6, "assertion"),
    ],
)
def test_a_broken_pattern_names_what_is_wrong_and_where(
    pattern: str, position: int, named: str
) -> None:
    """Syntax errors carry the pattern and the offset, and say what to write instead."""
    with pytest.raises(PatternError, match=named) as caught:
        parse(pattern)
    assert isinstance(caught.value, SpecError)
    assert (caught.value.pattern, caught.value.position) == (pattern, position)


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        (r"(a+)\1", "backreference"),
        (r"(?<n>\w*)\k<n>", "backreference"),
        (r"^(?:(a|b)\1)+$", "backreference"),
        (r"(a|b)*\1", "backreference"),
        (r"(?!(a|b)\1)c", "backreference"),
        (r"\1(a)", "backreference"),
        (r"(?<=a(?=b))c", "lookbehind"),
        (r"(?<=a\b)c", "lookbehind"),
    ],
)
def test_what_cannot_be_enforced_is_refused_by_name(pattern: str, named: str) -> None:
    """Legal constructs beyond this library are refused, never ignored or approximated."""
    with pytest.raises(UnsupportedSchemaError, match=re.escape(named)) as caught:
        parse(pattern)
    assert caught.value.keyword == "pattern"
    assert repr(pattern) in caught.value.location


@pytest.mark.parametrize(
    "pattern",
    ["(" * 200 + ")" * 200, r"\b-" * 300, "(?:(?=a)|b){30}", "(?=" * 90 + ")" * 90 + r"\b" * 20],
    ids=["groups", "boundaries", "empty-turns", "lookaheads"],
)
def test_what_is_nested_beyond_measure_is_refused(pattern: str) -> None:
    """Depth ends in a typed error with the pattern in it, not in a RecursionError."""
    with pytest.raises(BudgetError) as caught:
        parse(pattern)
    assert repr(pattern) in caught.value.location


def test_many_alternatives_with_anchors_are_no_nesting() -> None:
    """Five hundred `^...$` side by side are as fine as one."""
    regex = parse("|".join(f"^w{n}$" for n in range(500)))
    assert matches(regex, "w499")
    assert not matches(regex, "w4999")


def test_huge_counts_cost_nothing_until_walked() -> None:
    """Counts up to a million and long literals are read at once."""
    assert parse("^.{0,1000000}$").longest == 1_000_000
    assert parse("^(?:[ab]{1,1000}){1,1000}$") is parse("^[ab]{1,1000000}$")
    assert matches(parse("^" + "ab" * 5000 + "$"), "ab" * 5000)
    counted = parse("^(?:(?!aa)[ab]){1,900}$")
    assert matches(counted, "ab" * 450)
    assert not matches(counted, "ab" * 451)
    assert not matches(counted, "ab" * 20 + "aa")


def test_equal_patterns_are_one_language() -> None:
    """Anchors are absorbed: `^a*$` is the language that `a*` is as a whole."""
    assert parse("^a*$") is parse("a*", anchored=True)
    assert parse("") is parse("^") is parse("$") is parse("a*") is ANY
    assert parse("a^") is parse("[]") is EMPTY
    both = intersect(parse("^[a-f]+$"), complement(parse("^[a-z]+$")))
    assert both.is_empty()


# -- Unicode properties ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "prefixes"),
    [("Lu", ["Lu"]), ("L", ["L"]), ("LC", ["Lu", "Ll", "Lt"]), ("Cn", ["Cn"]), ("Co", ["Co"])],
)
def test_categories_are_those_of_unicodedata(name: str, prefixes: list[str]) -> None:
    """The set of a category holds exactly the code points whose category it is."""
    chars = property_set(name)
    assert chars is not None
    expected = bytes(
        unicodedata.category(chr(point)).startswith(tuple(prefixes))
        for point in range(sys.maxunicode + 1)
        if not 0xD800 <= point <= 0xDFFF
    )
    found = bytearray(sys.maxunicode + 1)
    for first, last in chars.ranges:
        found[first : last + 1] = b"\1" * (last - first + 1)
    assert bytes(found[:0xD800] + found[0xE000:]) == expected


def test_every_property_name_has_a_set() -> None:
    """Long and short names of one property share a set; `Cs` is empty here."""
    assert all(property_set(name) is not None for name in property_names())
    assert property_set("Letter") is property_set("gc=L") is property_set("L")
    assert property_set("Script=Klingon") is None
    upper, lower = property_set("Uppercase"), property_set("Lowercase")
    assert upper is not None
    assert lower is not None
    assert "Ⓐ" in upper
    assert "ª" in lower
    assert not upper & lower


@pytest.mark.parametrize("pattern", [r"\p{Script=Klingon}", r"[^\P{Line_Break}]"])
def test_an_unknown_property_is_named_with_its_place(pattern: str) -> None:
    """As what is no pattern of ECMA-262; of a known one that lacks data, see the next."""
    with pytest.raises(PatternError, match=r"Klingon|Line_Break") as caught:
        parse(pattern)
    assert caught.value.position == pattern.lower().index(r"\p")


def test_a_property_without_data_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the package that has data for it."""
    monkeypatch.setitem(sys.modules, "regex", None)
    monkeypatch.setattr(unicode, "find_spec", lambda _: None)
    with pytest.raises(UnsupportedSchemaError, match="pip install regex"):
        parse(r"\p{Script=Gothic}{3}")


# -- other people's cases -------------------------------------------------------------------------


def suite_cases(path: Path, keyword: str) -> Iterator[tuple[str, str, bool]]:
    """(pattern, text, does it fit) for the string cases of a file of the official Test Suite."""
    for group_ in json.loads(path.read_text(encoding="utf-8")):
        if keyword in group_["schema"]:
            for case in group_["tests"]:
                if isinstance(case["data"], str):
                    yield group_["schema"][keyword], case["data"], case["valid"]


@pytest.mark.parametrize("draft", ["draft7", "draft2020-12"])
@pytest.mark.parametrize("name", ["pattern", "optional/ecmascript-regex", "optional/non-bmp-regex"])
def test_the_official_suite_agrees(data_dir: Path, draft: str, name: str) -> None:
    """All string cases of `pattern` in the official Test Suite come out as it says."""
    folder = data_dir / "JSON-Schema-Test-Suite" / "tests" / draft
    cases = list(suite_cases(folder / f"{name}.json", "pattern"))
    assert cases
    wrong = [case for case in cases if matches(parse(case[0]), case[1]) != case[2]]
    assert wrong == []


def real_patterns(value: Any) -> Iterator[str]:
    """All values of `pattern` and keys of `patternProperties` within a schema."""
    if isinstance(value, dict):
        found = value.get("pattern")
        if isinstance(found, str):
            yield found
        keyed = value.get("patternProperties")
        if isinstance(keyed, dict):
            yield from keyed
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from real_patterns(inner)


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")
def test_patterns_of_real_schemas_are_read_and_agree_with_python(data_dir: Path) -> None:
    """All 1,900 patterns are read; a shortest text of each is found by `re` where it reads them."""
    path = data_dir / "maskbench" / "maskbench-dev.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        patterns = {p for line in lines for p in real_patterns(json.loads(line)["schema"])}
    assert len(patterns) > 1000
    empty = []
    for pattern in sorted(patterns):
        text = shortest(parse(pattern))
        if text is None:
            empty.append(pattern)
        elif r"\p" not in pattern:
            assert re.search(pattern, text), pattern
    assert all(pattern.startswith("/^") for pattern in empty)


def test_a_language_is_shared_between_equal_calls() -> None:
    """Reading a pattern twice gives the same node."""
    first: Regex = parse(r"^[a-z]+\.(?:json|yaml)$")
    assert parse(r"^[a-z]+\.(?:json|yaml)$") is first


def test_a_pattern_is_read_once_to_find_its_dialect_and_its_language() -> None:
    """What the search for a dialect has read is not read again."""
    before = ecma._read.cache_info().misses
    parse(r"^(?:[Oo][Nn][Cc][Ee])-read-\d$", dialect="auto")
    assert ecma._read.cache_info().misses == before + 1


@pytest.mark.parametrize("members", ["aA", "$.*", "a|(b", "é😀", "&a", "a^", "ab-"])
@pytest.mark.parametrize("flag", ["", "(?i)"])
@pytest.mark.parametrize("negated", ["", "^"])
def test_classes_of_plain_characters_are_those_of_their_escapes(
    members: str, flag: str, negated: str
) -> None:
    """However a character of a class is written, the set is the same."""
    spelled = "".join(rf"\u{{{ord(letter):x}}}" for letter in members)
    plain, escaped = (f"^{flag}[{negated}{inside}]$" for inside in (members, spelled))
    assert parse(plain, dialect="auto") is parse(escaped, dialect="auto")
