"""Each format accepts exactly the strings that its specification defines.

Oracles: the official Test Suite, the standard library (`datetime`, `ipaddress`, `uuid`, `re`), the
`idna` package for labels of host names, and plain arithmetic for leap seconds.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import random
import re
import unicodedata
import uuid
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import BudgetError, UnsupportedSchemaError
from structgen.regular.lazy_dfa.automaton import automaton_of
from structgen.regular.regex import (
    ANY_CHAR,
    EMPTY,
    Regex,
    intersect,
    literal,
    matches,
    repeat,
    shortest,
    sub_automaton,
)
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.a_labels import ROOM
from structgen.schema.formats.formats import (
    SPEC_FORMATS,
    format_built,
    format_language,
    prepare_formats,
)
from structgen.schema.formats.idna_labels import label_fits, permitted, punycode
from structgen.schema.formats.leap_seconds import LeapSecond
from tests.schema.objects.test_obligations import BYTES

UNENFORCED: set[str] = set()


def a_label_fits(code: str) -> bool:
    """Is `xn--` with this lower-case rest the A-label of an allowed U-label (RFC 5891 4.4)?"""
    if len(code) > 59 or code.endswith("-"):
        return False
    try:
        text = code.encode("ascii").decode("punycode")
        return not text.isascii() and punycode(text) == code and label_fits(text)
    except (UnicodeError, ValueError, OverflowError):
        return False


def language(name: str) -> Regex:
    """The language of a format that has one."""
    found = format_language(name)
    assert found is not None
    return found


def fits(name: str, text: str) -> bool:
    """Does a text have a format?"""
    return matches(language(name), text)


@pytest.mark.parametrize("draft", ["draft7", "draft2020-12"])
@pytest.mark.parametrize("name", sorted(SPEC_FORMATS - UNENFORCED))
def test_the_official_suite_agrees(data_dir: Path, draft: str, name: str) -> None:
    """All string cases of a format in the official Test Suite come out as it says."""
    folder = data_dir / "JSON-Schema-Test-Suite" / "tests" / draft / "optional" / "format"
    path = folder / f"{name}.json"
    if not path.exists():
        pytest.skip(f"{draft} has no format {name}")
    files = [path, folder / "ecmascript-regex.json"] if name == "regex" else [path]
    cases = [
        (case["data"], case["valid"])
        for file in files
        for group in json.loads(file.read_text(encoding="utf-8"))
        for case in group["tests"]
        if isinstance(case["data"], str) and group["schema"].get("format") == name
    ]
    assert cases
    assert [case for case in cases if fits(name, case[0]) != case[1]] == []


def test_every_format_of_the_specifications_is_enforced_or_unknown() -> None:
    """Only the listed formats have no language, and names outside the specifications have none."""
    without = {name for name in SPEC_FORMATS if format_language(name) is None}
    assert without == UNENFORCED
    assert format_language("color") is None
    assert format_language("date-time") is format_language("date-time")


@pytest.mark.parametrize("name", sorted(SPEC_FORMATS - UNENFORCED))
def test_a_shortest_text_has_its_format(name: str) -> None:
    """Each language has members, finds a shortest one quickly, and accepts it."""
    text = shortest(language(name))
    assert text is not None
    assert fits(name, text)
    assert not fits(name, text + "\ud800")
    assert language(name) is format_language(name)


# -- dates and times ------------------------------------------------------------------------------


@given(st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32))
def test_dates_are_those_of_the_calendar(year: int, month: int, day: int) -> None:
    """A date is one iff `datetime` can make it (here year 400 stands for 0, which it lacks)."""
    try:
        dt.date(year or 400, month, day)
        valid = True
    except ValueError:
        valid = False
    assert fits("date", f"{year:04}-{month:02}-{day:02}") == valid


@given(
    st.integers(0, 24),
    st.integers(0, 60),
    st.integers(58, 61),
    st.integers(-24 * 60, 24 * 60),
    st.sampled_from(["", ".5", ".000"]),
)
def test_leap_seconds_fall_on_midnight_utc(
    hour: int, minute: int, second: int, offset: int, fraction: str
) -> None:
    """Second 60 is allowed iff local time minus offset is 23:59."""
    away = divmod(abs(offset), 60)
    text = f"{hour:02}:{minute:02}:{second:02}{fraction}"
    text += f"{'-' if offset < 0 else '+'}{away[0]:02}:{away[1]:02}"
    usual = hour <= 23 and minute <= 59 and away[0] <= 23
    utc = (hour * 60 + minute - offset) % (24 * 60)
    valid = usual and (second <= 59 or (second == 60 and utc == 23 * 60 + 59))
    assert fits("time", text) == valid
    assert fits("date-time", f"2016-12-31T{text}") == valid


@pytest.mark.parametrize("more", [{"pattern": "0$"}, {"maxLength": 17}, {"not": {"pattern": "1"}}])
def test_leap_seconds_are_known_beside_patterns(more: dict[str, Any]) -> None:
    """Each offset of some hours allows the same minutes, whatever else a text must be."""
    constraint = sg.compile(sg.JsonSchema({"type": "string", "format": "time", **more}), BYTES)
    judge = jsonschema.Draft202012Validator(more)
    accepted = 0
    for hour in range(24):
        for minute in (0, 29, 30, 59):
            for away in ("+00:30", "-00:30", "+20:00", "-23:59", "+12:30", "Z"):
                for second in ("60", "60.7"):
                    text = f"{hour:02}:{minute:02}:{second}{away}"
                    state = constraint.advance_bytes(constraint.start, f'"{text}"'.encode())
                    found = constraint.is_accepting(state)
                    assert found == (fits("time", text) and judge.is_valid(text)), text
                    accepted += found
    assert accepted


def test_every_state_of_a_leap_second_ends_as_soon_as_it_says() -> None:
    """As many characters as `shortest` says lead to the end, and no fewer."""
    table = LeapSecond.table()
    wanted = np.where(table.ends, 0, 99)
    for _ in range(20):
        behind = np.where(table.moves < 0, 99, wanted[table.moves]).min(axis=1) + 1
        wanted = np.minimum(wanted, behind)
    assert [LeapSecond(number).shortest for number in range(len(wanted))] == wanted.tolist()


def test_every_offset_has_its_leap_second() -> None:
    """Each of the 2,880 offsets allows exactly the local minute that is 23:59 UTC."""
    for minutes in range(24 * 60):
        for sign, step in (("+", 1), ("-", -1)):
            local = (23 * 60 + 59 + step * minutes) % (24 * 60)
            end = f":60{sign}{minutes // 60:02}:{minutes % 60:02}"
            assert fits("time", f"{local // 60:02}:{local % 60:02}{end}")
            later = (local + 1 + minutes % 7) % (24 * 60)
            assert not fits("time", f"{later // 60:02}:{later % 60:02}{end}")


# -- addresses ------------------------------------------------------------------------------------

GROUPS = st.lists(st.sampled_from(["", "0", "1", "ff", "09aF", "12345", "g"]), max_size=9)


@given(GROUPS, st.sampled_from(["", "1.2.3.4", "1.2.3", "01.2.3.4", "::1.2.3.4"]))
def test_ipv6_addresses_are_those_of_ipaddress(groups: list[str], end: str) -> None:
    """Random groups with and without gaps and embedded IPv4 agree with the standard library."""
    text = ":".join([*groups, end]) if end else ":".join(groups)
    try:
        ipaddress.IPv6Address(text)
        valid = True
    except ValueError:
        valid = False
    assert fits("ipv6", text) == valid


@given(st.lists(st.sampled_from(["0", "9", "10", "255", "256", "01", "", "a"]), max_size=5))
def test_ipv4_addresses_are_those_of_ipaddress(parts: list[str]) -> None:
    """Four decimal bytes without leading zeros."""
    text = ".".join(parts)
    try:
        ipaddress.IPv4Address(text)
        valid = True
    except ValueError:
        valid = False
    assert fits("ipv4", text) == valid


@given(st.uuids(), st.integers(0, 35), st.sampled_from("0aF-gx"))
def test_uuids_are_five_groups_of_hexadecimal_digits(
    value: uuid.UUID, at: int, letter: str
) -> None:
    """Every UUID fits; with one character replaced it fits iff it still has the shape."""
    text = str(value)
    changed = text[:at] + letter + text[at + 1 :]
    shape = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    assert fits("uuid", text)
    assert fits("uuid", changed) == (re.fullmatch(shape, changed) is not None)


# -- host names -----------------------------------------------------------------------------------

PLAIN_LABELS = st.text("xnXN-a0", min_size=0, max_size=7)


@given(st.lists(PLAIN_LABELS, min_size=1, max_size=3))
def test_plain_host_names_are_letters_digits_and_inner_hyphens(labels: list[str]) -> None:
    """Labels that do not begin with `xn--` need only begin and end with a letter or digit."""
    if any(label.lower().startswith("xn--") for label in labels):
        return
    valid = all(re.fullmatch("[xnXNa0]([xnXNa0-]*[xnXNa0])?", label) for label in labels)
    assert fits("hostname", ".".join(labels)) == valid


@pytest.mark.parametrize("start", ["a", "x", "xa", "x-", "xn", "xn-"])
def test_host_names_respect_their_sizes(start: str) -> None:
    """A label has at most 63 characters, a name at most 253."""
    label = start + "b" * (63 - len(start))
    assert fits("hostname", label)
    assert not fits("hostname", label + "b")
    name = ".".join([label] * 3 + ["c" * 61])
    assert len(name) == 253
    assert fits("hostname", name)
    assert not fits("hostname", name + "c")
    assert not fits("hostname", name[:-2] + ".cc")


@pytest.mark.parametrize("label", ["bücher", "例え", "ελληνικά", "правда", "מבחן", "faß", "ñandú"])
def test_words_of_many_scripts_have_host_names(label: str) -> None:
    """The A-label of a plain word fits, in any case of letters; a broken one does not."""
    code = "xn--" + punycode(label)
    assert fits("hostname", f"www.{code}.com")
    assert fits("hostname", code.upper())
    assert not fits("hostname", code + "-")


def test_a_host_name_can_be_finished_from_wherever_it_stands() -> None:
    """Walks that read as much as they can of `xn--...`, also near the end of a name, end well."""
    rng = random.Random(5)
    for before in ("", "ab.", ("c" * 61 + ".") * 4, ("c" * 61 + ".") * 3 + "c" * 54 + "."):
        for _ in range(4):
            node, text = language("hostname"), before
            for letter in before + "xn--":
                node = node.after(ord(letter))
            if node is EMPTY:
                assert len(before) > 240
                continue
            while moves := [move for move in node.moves() if "." not in move[0]]:
                chars, node = rng.choice(moves)
                text += chr(chars.sample)
            assert node.nullable
            assert len(text) <= 253
            assert a_label_fits(text[len(before) :].lower())


@pytest.mark.parametrize("code", ["", "b", "bcher", "a1-", "z" * 50, "a-b"])
def test_a_host_name_can_be_finished_in_as_few_characters_as_promised(code: str) -> None:
    """Searches rely on `witness`: a letter in digits completes the label of any beginning."""
    node: Any = language("hostname")
    for letter in "xn--" + code:
        node = node.after(ord(letter))
    ending = node.state.halves[0].ending
    assert fits("hostname", f"xn--{code}{ending}")
    assert len(ending) <= node.witness < 10


def test_labels_are_judged_as_the_idna_package_does() -> None:
    """Code points, context, direction and Punycode agree with a second implementation."""
    idna = pytest.importorskip("idna")
    rng = random.Random(11)
    letters = "abz019-ßéŋ·ل٠۰ا‌‍אב׳͵βаяक्षक्あア・中〇ä\u0301\u302eЀ"
    judged = {True: 0, False: 0}
    for _ in range(4000):
        text = "".join(rng.choice(letters) for _ in range(rng.randrange(1, 5)))
        try:
            idna.check_label(text)
            valid = True
        except (idna.IDNAError, UnicodeError):
            valid = False
        assert label_fits(text) == valid, ascii(text)
        judged[valid] += 1
        if not text.isascii():
            assert a_label_fits(punycode(text)) == valid
    assert min(judged.values()) > 300


def test_permitted_code_points_are_those_of_the_idna_package() -> None:
    """RFC 5892's derivation gives the published tables, for characters that Python knows."""
    idnadata = pytest.importorskip("idna.idnadata")
    intranges = pytest.importorskip("idna.intranges")
    tables = idnadata.codepoint_classes
    wrong = []
    for point in [*range(0x80, 0xD800), *range(0xE000, 0x32000, 3)]:
        letter = chr(point)
        listed = any(
            intranges.intranges_contain(point, tables[kind])
            for kind in ("PVALID", "CONTEXTJ", "CONTEXTO")
        )
        if permitted(letter) != listed and unicodedata.category(letter) != "Cn":
            wrong.append(hex(point))
    assert wrong == []


# -- mail, identifiers, pointers ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("email", ["a@b", '"a b"@c.d', r'"\""@c', "a@[IPv6:::1]"], ["a@b-", "a@-b", '"a"b@c']),
        ("email", ["a" * 64 + "@b.c"], ["a" * 65 + "@b.c", "é@b.c", "a@[tag:x]"]),
        ("idn-email", ["é" * 32 + "@ñ.es"], ["é" * 33 + "@ñ.es", "a@ñ-.es", "a@Ñ€.es"]),
        ("uri", ["a:", "a://", "a:/b", "a:b?c#d", "A1+-.:x"], ["a:#b#c", "a://b c", "a:[", "1:"]),
        ("uri", ["http://[v7.a:b]/", "http://u:p@h:80"], ["http://[::1", "http://h:8a", "a:%4"]),
        ("uri-reference", ["", "a", "?q", "#f", "./a:b"], ["a:b#c#d", "[", ":a"]),
        ("iri", ["http://ü/ä?\ue000"], ["http://ü/\ue000", "http://ü#\ue000", "ü:"]),
        ("json-pointer", ["", "/", "/a~0~1\n"], ["a", "/~", "/~2"]),
        ("relative-json-pointer", ["0", "10/a", "0#"], ["01", "", "/a", "0#/"]),
        ("uri-template", ["{a}", "x{?a,b*}", "{a:3}"], ["{a", "{a:10000}", "}", "{a:03}"]),
        ("duration", ["P1W", "P1DT1S", "PT1H2M"], ["P", "P1W1D", "PT1H2S", "P1.5D"]),
    ],
)
def test_edges_of_a_format(name: str, good: list[str], bad: list[str]) -> None:
    """Cases beside the official ones, one grammar rule each."""
    assert [text for text in good if not fits(name, text)] == []
    assert [text for text in bad if fits(name, text)] == []


def test_a_format_combines_with_other_languages() -> None:
    """Formats are languages like any other: a date in February 2023 that ends in 9."""
    pattern = parse("^2023-02-.9$")
    assert shortest(intersect(language("date"), pattern)) == "2023-02-09"
    assert intersect(language("date"), parse("^2023-02-29$")).is_empty()
    assert intersect(language("ipv4"), literal("1.2.3.4")) is literal("1.2.3.4")


def test_letters_may_follow_an_a_label_in_any_order() -> None:
    """A mask need not look at each: what they begin can be ended by at most `ROOM` characters."""
    rng = random.Random(5)
    found: Any = language("hostname")
    for begun in ("xn--mnchen-3ya", "xn--bcher", "xn--b"):
        first: Any = found.state.halves[0]
        for letter in begun:
            first = next(to for chars, to in first.moves() if letter in chars)
        chars, often = first.again
        assert often > 30
        for _ in range(8):
            state = first
            for _ in range(rng.randrange(often)):
                letter = rng.choice("abcxyz019")
                assert letter in chars
                state = next(to for chars, to in state.moves() if letter in chars)
            assert len(state.ending) <= state.witness <= ROOM
            for letter in state.ending:
                state = next(to for chars, to in state.moves() if letter in chars)
            assert state.nullable


def test_a_mask_looks_at_few_states_of_a_labels() -> None:
    """Not at those before letters beyond ASCII: that these must not come is known beside them."""
    words = [f"{a}{b}é" for a in "abcdefgh" for b in "abcdefgh"]
    tokens = [b"", *(bytes((byte,)) for byte in range(256)), *(word.encode() for word in words)]
    vocabulary = sg.Vocabulary(tokens, eos_ids=[0])
    constraint = sg.compile({"type": "string", "format": "hostname"}, vocabulary)
    state = constraint.advance_bytes(constraint.start, b'"xn--mn')
    found: Any = language("hostname")
    codes = automaton_of(sub_automaton(found.state.halves[0]))
    assert codes is not None
    before = codes.known
    row = np.zeros(vocabulary.words, np.int32)
    constraint.fill_mask(state, row)
    allowed = {tokens[t] for t in range(len(tokens)) if row[t >> 5] >> (t & 31) & 1}
    assert {b"a", b"Z", b"0", b"-"} <= allowed
    assert all(len(token) == 1 for token in allowed)
    assert codes.known <= before + 4


@pytest.mark.parametrize("text", ["2024-02-29T10:30:59Z", "1999-12-31t23:59:60z"])
def test_a_time_may_just_fit_a_length(text: str) -> None:
    """Where a text is to end at once, its nearest end is looked for where it may be."""
    whole = automaton_of(intersect(language("date-time"), repeat(ANY_CHAR, 0, len(text))))
    assert whole is not None
    state = 0
    for letter in text[:-1]:
        state = whole.after(state, letter)
    assert not whole.reads(state, ".")
    assert whole.ends[whole.after(state, text[-1])]


# -- regex ----------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["a$", r"\)$"])
def test_a_pattern_that_ends_in_some_way_may_begin_in_any(ending: str) -> None:
    """Also where a bracket that is still open looks as near to the end as one that is closed."""
    both = intersect(language("regex"), parse(ending))
    for first in "([\\a.":
        (node,) = (n for c, n in both.moves() if any(a <= ord(first) <= z for a, z in c.ranges))
        rest = shortest(node)
        assert rest is not None
        assert fits("regex", first + rest)
        assert re.search(ending, first + rest)


def test_every_written_pattern_can_be_read() -> None:
    """Random walks through the format `regex` end in patterns that the parser takes."""
    rng = random.Random(3)
    start = language("regex")
    read = 0
    for _ in range(25):
        node, text, wanted = start, "", rng.randrange(1, 14)
        while not (node.nullable and len(text) >= wanted):
            chars, node = rng.choice(node.moves()) if len(text) < 40 else node.moves()[-1]
            text += chr(rng.randint(*rng.choice(chars.ranges)))
            if len(text) > 80:
                break
        if node.nullable:
            try:
                parse(text)
            except (UnsupportedSchemaError, BudgetError):
                continue
            read += 1
    assert read >= 10


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(?<y>\d{4})-(?:0[1-9]|1[0-2])$", r"[a-zA-ZÀ-ÿ\u0400-\u{4FF}]+", r"(a)(b)\2\1", r"a{2",
        r"^[^\]\\]*$", r"(?=a)(?!b)(?<=c)(?<!d)", r"\p{Lu}\P{gc=Nd}", r"{,3}a{,3}", "[]", "[^]",
        r"(?<n>a)\k<n>", "a??b*?c+?d{1,2}?", r"[\w-.]", "[a-]", r"\cA\x41\0", "]}",
    ],
)  # fmt: skip
def test_patterns_fit_the_format_regex(pattern: str) -> None:
    """Every construct of the dialect belongs."""
    assert fits("regex", pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(", ")", "[", "[b-a]", "*", "a**", "a{2,1}", "{1}", "\\", r"\a", r"\1", r"(a)\2", "(?a)",
        "(?P<n>a)", r"\k<n>", r"\p{Nope}", r"\u{110000}", r"\x4", "^*", "(?<=a)*", "a{1}{2}",
        "(?<n>a)(?<n>b)", r"[\d", r"\01", r"[\x62-\x61]",
    ],
)  # fmt: skip
def test_broken_patterns_do_not_fit_the_format_regex(pattern: str) -> None:
    """Every kind of syntax error is kept out."""
    assert not fits("regex", pattern)


def test_what_many_patterns_have_is_found_beforehand() -> None:
    """Nothing is looked for where such a pattern is read."""
    prepare_formats()
    automaton = automaton_of(format_built("regex"))
    assert automaton is not None
    for pattern in (r"^[a-z]\d+$", r"^(([a-z]+|\d{1,3", r"^[a-z]\w{2", r"^[^a-z", r"^(?:\.|"):
        state, known = 0, automaton.known
        for letter in pattern:
            state = automaton.after(state, letter)
        assert automaton.known == known, pattern
