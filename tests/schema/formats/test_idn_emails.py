"""The format `idn-email`: two automata side by side read what the one expression does."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from structgen.regular.charset import CharSet
from structgen.regular.expressions.estimates import estimate
from structgen.regular.expressions.search import is_nonempty
from structgen.regular.lazy_dfa.automaton import automaton_of
from structgen.regular.lazy_dfa.pairs.side_by_side import SideBySideAutomaton
from structgen.regular.regex import (
    ANY_CHAR,
    Regex,
    alt,
    concat,
    intersect,
    literal,
    matches,
    readable,
    repeat,
    sub_automaton,
)
from structgen.schema.formats.formats import _mailbox, format_built
from tests.regular.lazy_dfa.test_beside import masks_are_exact

MAIL = format_built("idn-email")
BELOW, ABOVE = (estimate(MAIL, wide=wide) for wide in (False, True))
LETTERS = 'aé가😀.-@"\\ [:1]!'


@dataclass(frozen=True)
class Octets:
    """A sub-automaton: any text of at most `left` octets in UTF-8."""

    left: int
    nullable: ClassVar[bool] = True

    def moves(self) -> list[tuple[CharSet, Octets]]:
        """A character of each size that there is room for."""
        sizes = ((1, 0, 0x7F), (2, 0x80, 0x7FF), (3, 0x800, 0xFFFF), (4, 0x10000, 0x10FFFF))
        return [
            (CharSet.of([(low, high)]), Octets(self.left - size))
            for size, low, high in sizes
            if size <= self.left
        ]


def whole() -> Regex:
    """The format as one expression."""
    local, domain, address = _mailbox(most=0x10FFFF)
    few, many = sub_automaton(Octets(64)), sub_automaton(Octets(255))
    return concat(intersect(few, local), literal("@"), alt(intersect(many, domain), address))


def mails(rnd: random.Random) -> str:
    """A text that is nearly a mail address, often of nearly the greatest sizes."""
    letter = rnd.choice("aé가😀")
    size = len(letter.encode())
    count = rnd.choice([1, 2, 62 // size, 63 // size, 64 // size, 65 // size])
    local = (
        rnd.choice(["", "b.", "b", '"', "\\"]) + letter * count + rnd.choice(["", ".", '"', "-"])
    )
    label = rnd.choice("aé가") * rnd.choice([1, 5, 61, 62, 63, 64])
    domain = ".".join([label] * rnd.choice([1, 1, 2, 4, 5])) + rnd.choice(
        ["", "-", ".", ".x", "xx"]
    )
    return f"{local}@{rnd.choice([domain, domain, '[::1]', '[1.2.3.4]', '[ipv6:::1]', '['])}"


def read_alike(automaton: Any, rest: Regex, text: str) -> bool:
    """Whether a text fits. The automaton goes on just where there is an end for the expression."""
    state = 0
    for letter in text:
        rest = rest.after(ord(letter))
        lives = is_nonempty(rest)
        assert automaton.reads(state, letter) == lives, text
        if not lives:
            return False
        state = automaton.after(state, letter)
    assert bool(automaton.ends[state]) == rest.nullable, text
    return rest.nullable


def test_an_address_alone_is_what_the_expression_says() -> None:
    """Character by character; what has begun can be finished, and nothing else."""
    automaton: Any = automaton_of(MAIL)
    rnd, good = random.Random(1), 0
    for _ in range(250):
        text = mails(rnd)
        if rnd.random() < 0.3:
            at = rnd.randrange(len(text))
            text = text[:at] + rnd.choice(LETTERS) + text[at + 1 :]
        fits = read_alike(automaton, whole(), text)
        assert fits == matches(MAIL, text), text
        good += fits
    assert good > 20


@pytest.mark.parametrize("text", ["a@{}", "a@{}b", "a@b.{}", "a@b.{}c.d"])
def test_no_label_of_a_domain_begins_with_a_mark(text: str) -> None:
    """RFC 5891 section 4.2.3.2; within a label a mark may stand, and anywhere before the "@"."""
    for mark in "\u0301\u093e":
        assert not matches(MAIL, text.format(mark))
        assert matches(MAIL, text.format("x" + mark))
        assert matches(MAIL, mark + text.format("x"))


def test_estimates_count_characters() -> None:
    """All addresses are in the one, and in the other none but those with few or small letters."""
    rnd, found, left_out = random.Random(2), 0, 0
    for _ in range(300):
        text = mails(rnd)
        fits = matches(MAIL, text)
        assert matches(ABOVE, text) or not fits, text
        assert fits or not matches(BELOW, text), text
        found += fits
        left_out += fits and not matches(BELOW, text)
    assert found > 2 * left_out > 0
    for text in ("a" * 64 + "@b", "\u00e9" * 32 + "@b", "\uac00" * 16 + "@b"):
        assert matches(BELOW, text), text
        assert not matches(BELOW, text[:1] + text), text
    assert matches(BELOW, "a@" + "\uac00" * 63)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 9),
        (3, 254),
        (12, None),
        (20, 24),
        pytest.param(60, 61, marks=pytest.mark.thorough),
    ],
)
def test_a_length_is_counted_beside_the_letters(low: int, high: int | None) -> None:
    """Character by character; what has begun can be finished in time, and nothing else."""
    length = repeat(ANY_CHAR, low, high)
    automaton: Any = automaton_of(readable(intersect(MAIL, length)))
    assert isinstance(automaton, SideBySideAutomaton)
    rnd, good = random.Random(low), 0
    for _ in range(40):
        text = mails(rnd)
        if high is not None and rnd.random() < 0.7:  # nearly as long as may be
            size = rnd.choice([low, high - 1, high, high + 1])
            text = rnd.choice(["a@", "가@", text])[: max(size - 1, 0)]
            text += rnd.choice("aé가") * max(size - len(text) - 2, 0) + rnd.choice(["a", ".b", "]"])
        good += read_alike(automaton, intersect(whole(), length), text)
    assert good


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"maxLength": 254},
        {"maxLength": 40},
        {"minLength": 5, "maxLength": 12},
        {"pattern": "^[^.]*$"},
    ],
)
def test_masks_hold_exactly_the_tokens_that_may_come(more: dict[str, object]) -> None:
    """Each token alone, read by the automaton, says the same as its bit."""
    masks_are_exact({"type": "string", "format": "idn-email", **more}, LETTERS)
