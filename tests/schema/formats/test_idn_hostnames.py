"""The format `idn-hostname` follows RFC 5890 to 5893, in many scripts.

The oracle is the `idna` package; its `check_bidi` is applied to whole names as RFC 5893 wants it.
"""

from __future__ import annotations

import random
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.regular import byte_groups
from structgen.regular.lazy_dfa.automaton import automaton_of
from structgen.regular.lazy_dfa.stepped import ListedAutomaton
from structgen.regular.regex import EMPTY, Regex, matches, shortest, sub_automaton
from structgen.schema.formats.formats import format_built
from structgen.schema.formats.idna_classes import LATIN, UNIFORM, classes, letter_of
from structgen.schema.formats.idna_labels import label_direction, permitted, punycode
from structgen.schema.formats.idna_limits import LabelLimit
from structgen.schema.formats.idna_sizes import LIMITS, MOST_OTHERS, ROUNDED, free_beside, joined

idna = pytest.importorskip("idna")

LETTERS = (
    "abl01-xnXAßéŋäç·ل٠۰اب\u200c\u200d\u0301\u0323\u0308אב׳͵βαаяйक्ष"
    "ক\u09be\u09c7あか\u3099ア・中〇한ﬀⅷ"
)
DOTS = ".\u3002\uff0e\uff61"


def fits(text: str) -> bool:
    """Does a text have the format?"""
    return matches(format_built("idn-hostname"), text)


def ascii_label(label: str) -> str | None:
    """What `idna` makes of a label, None if it is not allowed."""
    lower = label.lower()
    try:
        if lower.isascii() and not lower.startswith("xn--"):
            plain = lower.replace("-", "a").isalnum() and lower == lower.strip("-")
            return lower if plain and lower[2:4] != "--" and len(lower) <= 63 else None
        unicode = idna.ulabel(lower) if lower.isascii() else label
        if unicode.isascii():
            return None
        code = str(idna.alabel(unicode).decode())
    except (idna.IDNAError, UnicodeError, ValueError):
        return None
    return code if not lower.isascii() or code == lower else None


def valid(text: str) -> bool:
    """Is a text an internationalised host name, as far as the package can say?"""
    for dot in DOTS[1:]:
        text = text.replace(dot, ".")
    labels = [ascii_label(label) for label in text.split(".")]
    known = [label for label in labels if label is not None]
    if len(known) < len(labels) or len(".".join(known)) > 253:
        return False
    unicode = [idna.ulabel(label) for label in known]
    if not any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for u in unicode for c in u):
        return True
    try:
        return all(idna.check_bidi(label, check_ltr=True) for label in unicode)
    except idna.IDNABidiError:
        return False


LABELS = st.text(LETTERS, min_size=1, max_size=6)


@pytest.mark.thorough
@given(st.lists(LABELS, min_size=1, max_size=3), st.sampled_from(DOTS))
def test_names_of_many_scripts_are_judged_as_the_idna_package_does(
    labels: list[str], dot: str
) -> None:
    """Letters, contexts, normal form, direction of labels and of whole names."""
    text = dot.join(labels)
    if "--" in text or "・" in text or any(unicodedata.combining(c) or c == "\u09be" for c in text):
        assert valid(text) or not fits(text), ascii(text)  # a few are left out
    else:
        assert fits(text) == valid(text), ascii(text)


@given(st.lists(LABELS, min_size=1, max_size=2))
def test_a_labels_are_judged_by_what_they_spell(labels: list[str]) -> None:
    """The Punycode of a label, right or wrong, in the place of the label."""
    coded = ["xn--" + punycode(label) if not label.isascii() else label for label in labels]
    text = ".".join(coded)
    if "\u0301" in text or any(unicodedata.combining(c) for label in labels for c in label):
        assert valid(text) or not fits(text), ascii(text)  # a few are left out
    else:
        assert fits(text) == valid(text), ascii(text)


SCRIPTS = [
    "abcdefghij-",
    "äöüßéñ",
    "αβγδεζηθάέώ",
    "абвгдежзийя",
    "中文字体国家",
    "한국어말글",
    "あいうえおアイ",
    "ابتثجح",
]


@given(st.sampled_from(SCRIPTS), st.sampled_from(SCRIPTS), st.data())
def test_long_labels_never_pass_the_limit(one: str, other: str, data: st.DataObject) -> None:
    """Every label that fits has an A-label of at most 63 characters; short ones do fit."""
    text = data.draw(st.text(one + other, min_size=8, max_size=60))
    allowed = valid(text)
    assert allowed or not fits(text), text
    assert fits(text[:9]) == valid(text[:9]), text


@pytest.mark.thorough
def test_labels_of_greek_letters_may_fill_all_of_the_63_characters() -> None:
    """They are measured letter by letter."""
    rng = random.Random(1)
    for size in range(36, 60, 2):
        text = "".join(rng.choice("αβγδεζηάέώ") for _ in range(size))
        assert fits(text) == (len(punycode(text)) <= 59), text


@pytest.mark.thorough
@pytest.mark.parametrize("window", sorted(LIMITS))
def test_as_many_letters_as_the_table_says_always_fit(window: int) -> None:
    """A search for long Punycodes finds none that is too long, and some that are nearly so."""
    sets = [of for of, letter in classes() if letter.window == window]
    points = [point for of in sets for low, high in of.ranges for point in range(low, high + 1)]
    points = points or list(range(0xDF, 0x180 if window == LATIN else 0x2000))
    rng = random.Random(window)
    longest = 0
    for plain in range(0, 50, 7):
        count = LIMITS[window][plain]
        for _ in range(40):
            letters = [chr(rng.choice(points)) for _ in range(count)]
            order = rng.sample(range(count + plain), count + plain)
            best = 0
            for _ in range(60):  # climb: change the label as long as its code gets no shorter
                changed, moved = [*letters], [*order]
                changed[rng.randrange(count)] = chr(rng.choice(points))
                a, b = rng.randrange(len(order)), rng.randrange(len(order))
                moved[a], moved[b] = moved[b], moved[a]
                both = changed + ["a"] * plain
                length = len(punycode("".join(both[at] for at in moved)))
                if length >= best:
                    best, letters, order = length, changed, moved
            assert best <= 59
            longest = max(longest, best)
    assert longest > 35


def is_too_long(plain: int, others: int, kind: int) -> bool:
    """Does a label of so many characters of ASCII, and others, count as too long?"""
    return plain >= 57 or (others > 0 and others > LIMITS[kind][plain])


@pytest.mark.parametrize("kind", sorted(LIMITS))
@pytest.mark.parametrize("most", [1, 4])
def test_so_many_characters_leave_a_label_short_enough(kind: int, most: int) -> None:
    """The most characters of which any mixture does, in any order."""
    rnd = random.Random(kind)
    for _ in range(60):
        plain, others = rnd.randrange(64), rnd.randrange(MOST_OTHERS + 1)
        found = free_beside(kind, most)[plain, others]
        for more in range(found + 2):
            sizes = [
                (plain + n * (most if others + more - n else 1), more - n) for n in range(more + 1)
            ]
            rounded = [(n if others else -(-n // ROUNDED) * ROUNDED, m) for n, m in sizes]
            long = any(is_too_long(n, others + m, kind) for n, m in rounded)
            assert long == (more > found), (plain, others, more)


def test_a_label_is_read_as_its_states_say() -> None:
    """By the listed states, and by each one; what may follow often, or in any case, may."""
    automaton, rnd = automaton_of(sub_automaton(LabelLimit())), random.Random(6)
    assert isinstance(automaton, ListedAutomaton)
    letters = LETTERS + DOTS + "éé\u4e00\uac00\U0001f600"
    for _ in range(60):
        node, state = LabelLimit(), 0
        for _ in range(rnd.randrange(40)):
            after = {
                letter: to for chars, to in node.moves() for letter in letters if letter in chars
            }
            assert [x for x in letters if automaton.reads(state, x)] == [
                x for x in letters if x in after
            ]
            if not after:
                break
            letter = rnd.choice([*after])
            node, state = after[letter], automaton.after(state, letter)
        groups = int(automaton.loops[state])
        often = [x for x in letters if groups >> int(byte_groups.groups()[x.encode()[0]]) & 1]
        for count, chars in (
            (automaton.free_from(state), letters.replace("-", "a")),
            (automaton.often[state], often),
        ):
            at = state
            for _ in range(min(int(count), 64) if chars else 0):
                letter = rnd.choice(chars)
                if letter not in DOTS:
                    at = automaton.after(at, letter)


def test_windows_join() -> None:
    """Letters of one window stay in it, and others widen it."""
    assert joined(-1, 0x3) == joined(0x3, 0x3) == 0x3
    assert joined(0x3, 0x4) not in {0x3, 0x4}
    assert joined(0, 1) == joined(2, 1) == LATIN


@pytest.mark.thorough
def test_walks_end_well_wherever_they_go() -> None:
    """From every state that a random walk reaches some name can be finished."""
    rng = random.Random(4)
    for before in ("", "אב.", "1.", ("c" * 61 + ".") * 3 + "c" * 50 + "."):
        for _ in range(6):
            node: Regex = format_built("idn-hostname")
            for letter in before:
                node = node.after(ord(letter))
            text = before
            for _ in range(rng.randrange(1, 25)):
                moves = node.moves()
                if not moves:
                    break
                chars, node = rng.choice(moves)
                text += chr(chars.sample)
            rest = shortest(node)
            assert rest is not None
            assert len(rest) <= 5
            assert valid(text + rest), ascii(text + rest)
            assert node is not EMPTY


def test_the_direction_of_labels_is_that_of_rfc_5893() -> None:
    """Right-to-left, left-to-right, and those that it does not know."""
    assert [label_direction(label) for label in ("אב", "ab1", "1a", "中")] == ["R", "L", "N", "L"]


def test_uniform_blocks_are_uniform() -> None:
    """Every assigned letter of them is permitted, and like the first of its block."""
    for low, high in UNIFORM:
        letters = [c for c in map(chr, range(low, high + 1)) if unicodedata.category(c) == "Lo"]
        sample = [*letters[:5], *letters[-5:], *letters[:: max(len(letters) // 500, 1)]]
        assert all(map(permitted, sample))
        assert len({letter_of(letter) for letter in sample}) <= 1


TOKENS = [
    *(bytes((i,)) for i in range(256)),
    *(text.encode() for text in (
        "example", "ABcd", "xn--", "-", "--", ".com", "münchen", "straßenverkehrsamt", "е",
        "почта", "енциклопедически", "例え", "ドメイン", "。", "한국어도메인", "ไทยนี้", "مثال",
        "שלום", "उदाहरण", "παράδειγμα", "ä" * 12, "mnchen-3ya", "a" * 32, "·l", "a\u200d",
    )),
    b'com"', "де\"".encode(), b"\\u00e4", b"<end>",
]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize(
    "begun",
    [
        "", "ex", "xn--", "xn--mnchen", "почта", "почтовыйящикдля", "ä" * 15, "a" * 50, "a" * 61,
        "a" * 40 + "ä", "例" * 10, "例" * 13 + "。a", "aå.שלום", "שלום.", "κ" * 30,
        ("a" * 60 + ".") * 4 + "a",
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", [{}, {"maxLength": 40}])
def test_masks_hold_exactly_the_tokens_that_may_come(begun: str, more: dict[str, int]) -> None:
    """Also tokens that are longer than the rules alone can tell, and near the limits."""
    vocabulary = sg.Vocabulary(TOKENS, eos_ids=[len(TOKENS) - 1])
    schema = {"type": "string", "format": "idn-hostname", **more}
    constraint = sg.compile(schema, vocabulary)
    state = constraint.start
    for byte in f'"{begun}'.encode():
        state = constraint.advance(state, byte)
    row = np.zeros((len(TOKENS) + 31) // 32, np.int32)
    constraint.fill_mask(state, row)
    allowed = {t for t in range(len(TOKENS)) if row[t >> 5] >> (t & 31) & 1}
    dead = constraint.advance(constraint.start, ord("}"))
    assert allowed == {t for t in range(len(TOKENS)) if constraint.advance(state, t) != dead}
