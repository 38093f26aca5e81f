"""Internationalised host names beside other demands: what is read fits; plain names are read."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

import structgen as sg
from structgen.errors import ValidationError
from structgen.regular.expressions.logic import complement, intersect
from structgen.regular.regex import ANY_CHAR, Regex, literal, matches, readable, repeat, words
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from structgen.schema.formats.idna_labels import label_fits, punycode
from tests.regular.lazy_dfa.test_beside import masks_are_exact
from tests.schema.formats.test_hostnames_beside import ends

NAME = format_built("idn-hostname")
LETTERS = "ab1Xn-éßжяδ例えテ한국"
ODD = "\u0301·ש\u0661ｱÄ_ \u302e・क\u094d"  # marks, contextual, right-to-left, refused letters


def is_name(text: str) -> bool:
    """Whether labels and lengths are right, by the rules of `idna_labels` for whole labels."""
    sent = []
    for label in re.split("[.\u3002\uff0e\uff61]", text):
        if label.isascii():
            if not re.fullmatch(r"(?!..--)[0-9A-Za-z]([0-9A-Za-z-]*[0-9A-Za-z])?", label):
                return False
            sent.append(label)
        elif label_fits(label):
            sent.append("xn--" + punycode(label))
        else:
            return False
    return max(map(len, sent)) <= 63 and len(".".join(sent)) <= 253


def texts() -> Iterator[str]:
    """Names of letters of some scripts, labels of nearly the greatest length among them."""
    rnd = random.Random(3)
    for _ in range(500):
        labels = []
        for _ in range(rnd.choice([1, 1, 2, 3, 4, 5])):
            letters = rnd.choice(
                [LETTERS, "ab-", "жя", "例", "한", "aé", "aaaaaaaé", LETTERS + ODD]
            )
            labels.append("".join(rnd.choices(letters, k=rnd.choice([1, 2, 5, 12, 18, 40, 63]))))
        yield rnd.choice(".。").join(labels)
    yield from ("www.бундес-страж.рф", "bücher.example", "例え.テスト", "실례.테스트", "a" * 64)
    yield from (".".join(["a" * 61] * 4 + ["b" * k]) for k in (1, 4, 5, 6))


def is_plain(text: str) -> bool:
    """Whether a name has only what is read beside other demands, and is short."""
    plain = all(c not in ODD and c.lower() == c for c in text)
    wide = [label for label in re.split("[.。]", text) if not label.isascii()]
    return plain and len(text) <= 60 and len(wide) <= 3 and max(map(len, wide), default=0) <= 11


LENGTH, PATTERN = repeat(ANY_CHAR, 3, 90), parse(r"^[^x]*$")
LANGUAGES: dict[str, Regex] = {
    "length": intersect(NAME, LENGTH),
    "pattern": intersect(NAME, PATTERN),
    "not not": intersect(complement(complement(NAME)), LENGTH, PATTERN),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_what_is_read_is_a_name_and_plain_names_are_read(name: str) -> None:
    """Beside a length or a pattern."""
    language, read = readable(LANGUAGES[name]), 0
    for text in texts():
        verdict = ends(language, text)
        assert verdict == matches(language, text)
        fits = is_name(text)
        fits = fits and (name == "pattern" or 3 <= len(text) <= 90)
        fits = fits and (name == "length" or "x" not in text)
        assert fits or not verdict, text
        assert verdict or not (fits and is_plain(text)), text
        read += verdict
    assert read > 40


def test_what_is_to_be_no_name_is_none() -> None:
    """Of texts that are no names those are read that have a wrong character or an empty label."""
    language = readable(complement(NAME))
    wrong = ["", "a..b", "-a", "a-", "é_", "a b", "〮실례", "é.-"]
    assert all(ends(language, text) for text in wrong)
    assert not any(ends(language, text) for text in texts() if is_name(text))


@pytest.mark.parametrize("text", ["مثال.إختبار", "xn--4gbwdl.xn--wgbh1c"])
def test_listed_names_are_tested_one_by_one(text: str) -> None:
    """Those that are left out beside other demands, too."""
    for name in ("idn-hostname", *["hostname"] * text.isascii()):
        listed = intersect(format_built(name), words([text, "a..b", "c", "d.e"]), PATTERN)
        assert matches(listed, "c")
        assert matches(listed, text) == ("x" not in text)
        assert matches(intersect(format_built(name), literal(text)), text)


@pytest.mark.parametrize("name", ["hostname", "idn-hostname", "idn-email"])
def test_to_differ_from_some_leaves_nothing_out(name: str) -> None:
    """As further keys and items must."""
    one, other = {"idn-email": ["مثال@é.de", "a@b"]}.get(name, ["xn--4gbwdl.xn--wgbh1c", "ab.c"])
    spec = {"type": "array", "uniqueItems": True, "items": {"type": "string", "format": name}}
    keys = {"propertyNames": {"format": name}, "additionalProperties": {"const": 1}}
    sg.check(spec, [other, one])
    sg.check({"type": "object", **keys}, {other: 1, one: 1})
    with pytest.raises(ValidationError):
        sg.check(spec, [one, other, one])


def test_a_length_that_every_name_has_changes_nothing() -> None:
    """No name has more than 253 characters."""
    assert readable(intersect(NAME, repeat(ANY_CHAR, 1, 253))) is NAME
    assert readable(intersect(NAME, repeat(ANY_CHAR, 0, 300))) is NAME


@pytest.mark.parametrize(
    "more", [{"maxLength": 30}, {"pattern": "^[^b]*$"}, {"not": {"enum": ["ab", "é"]}}]
)
def test_masks_hold_exactly_the_tokens_that_may_come(more: dict[str, object]) -> None:
    """Each token alone, read by the automaton, says the same as its bit."""
    masks_are_exact({"type": "string", "format": "idn-hostname", **more}, "aé-.lж例")
