"""Masks made with shortcuts are exact, where lexemes take most tokens and subtrees are deep.

The shortcuts are whole subtrees and neighbouring positions; reading each token by itself uses none
of them.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import structgen as sg
from structgen.kernels.build.loader import kernels
from structgen.masks.shared import shared_masks
from structgen.regular.byte_groups import BROKEN, groups

PIECES = ["a", "for", "in", "x_", "10", " ", "\n", '"', "\\", "#", "(", "é", "Ã", "中", "😀"]
BROKEN_PIECES = [b"\xe4", b"\xb8\xad", b"\x80", b"\xff", b"\xed\xa0", b"\xf0\x9f"]

NAMES = """
start: (NAME | KEYWORD | INT | STRING | "(")+
KEYWORD: /(for|from|in|int)(?![a-z0-9_])/
NAME: /(?!(for|from|in|int)(?![a-z0-9_]))[a-z_][a-z0-9_]*/
INT: /[0-9]+/
STRING: /"([^"\\\\\\n]|\\\\.)*"/
COMMENT: /#[^\\n]*/
%ignore " "
%ignore COMMENT
"""
PENDING = """
start: ((NAME | COUNTED | "for" | "(") _LINES?)+ COMMENT?
COUNTED.1: /[a-z_]+ *10/
NAME: /[a-z_]+/
_LINES: /( *#[^\\n]*)?\\n/
COMMENT: / *#[^\\n]*/
%ignore / +/
"""
ARROWS = """
start: (line _NEWLINE [_INDENT start _DEDENT])+
line: ARROW SPACES NAME | "(" ARROW (SPACES "10" | "#")
ARROW: /[a-z_]+#(?! *10)/
SPACES: / +/
NAME: /[a-z_]+/
_NEWLINE: /\\n */
%declare _INDENT _DEDENT
"""
KINDS = """
start: (TEXT | RAW | LATE)+
TEXT.1: /"[^"\\n]*"/
RAW.2: /x_"(?![#(a])[^"\\n]*"/
LATE.2: /10"[^"\\n]+"/
"""
LAYOUT = sg.Indentation(newline="_NEWLINE", indent="_INDENT", dedent="_DEDENT")
GRAMMARS = {
    # What follows may still undo what was read.
    "arrows": sg.Lark(ARROWS, lexing="viable", layout=LAYOUT),
    "kinds": sg.Lark(KINDS, lexing="viable"),  # states within lexemes that differ in little
    "pending": sg.Lark(PENDING, lexing="longest"),  # longer lexemes may still come of what was read
    "longest": sg.Lark(NAMES, lexing="longest"),
    "free": sg.Lark('start: (NAME | TEXT)+ "("\nNAME: /[a-z_]+/\nTEXT: /"[^"]*"/'),
    "letters": sg.Lark("start: LETTER*\nLETTER: /[a-z]|[^\\x00-\\x7f]/", lexing="longest"),
    "accents": sg.Lark("start: (WORD | ODD)*\nWORD: /[a-zà-ÿ一-龥]+/\nODD: /[(#À-ß]/"),
    "narrow": sg.Lark("start: (WORD | ODD)*\nWORD: /[a-z\\u0080-\\uffff]+/\nODD: /[(#]/"),
    "lines": sg.Lark(
        "start: (LINE _NEWLINE [_INDENT start _DEDENT])+\nLINE: /[a-z][^\\n]*/\n"
        "_NEWLINE: /(#[^\\n]*)?\\n( *(#[^\\n]*)?\\n)* */\n%declare _INDENT _DEDENT",
        lexing="longest",
        layout=LAYOUT,
    ),
}


def vocabulary() -> sg.Vocabulary:
    """All words of up to three pieces, whole and with characters cut in the middle; all bytes.

    What a vocabulary without these cannot finish is sorted out token by token.
    """
    pieces = [*(piece.encode() for piece in PIECES), *BROKEN_PIECES]
    words = {b"".join(parts) for n in (1, 2, 3) for parts in itertools.product(pieces, repeat=n)}
    words |= {bytes((byte,)) for byte in range(256)}
    return sg.Vocabulary([b"<end>", *sorted(words)], eos_ids=[0])


VOCABULARY = vocabulary()


@pytest.mark.thorough
@pytest.mark.parametrize("name", GRAMMARS)
def test_rows_are_what_reading_each_token_says(name: str) -> None:
    """Wherever random tokens lead, the end of the text included."""
    constraint = sg.compile(GRAMMARS[name], VOCABULARY)
    chance = random.Random(name)
    row = np.zeros(VOCABULARY.words, np.int32)
    for _ in range(6):
        state = constraint.start
        for _ in range(4):
            constraint.fill_mask(state, row)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            read = [t for t in range(len(VOCABULARY)) if constraint.advance(state, t) != sg.DEAD]
            assert allowed.tolist() == read
            text = [t for t in read if t != 0]
            if not text:
                break
            state = constraint.advance(state, chance.choice(text))


def test_subtrees_hold_the_characters_below_their_nodes() -> None:
    """By the paths themselves: what begins there, what is no UTF-8, the tokens in order."""
    nodes, found = VOCABULARY.trie, shared_masks(VOCABULARY).subtrees
    assert found.order.tolist() == nodes.token[nodes.token >= 0].tolist()
    assert found.first.tolist() == [0, *np.cumsum(nodes.token >= 0).tolist()]
    path: list[int] = []
    paths = []
    for depth, byte in zip(nodes.depth.tolist(), nodes.byte.tolist(), strict=True):
        path = [*path[: depth - 1], byte]
        paths.append(bytes(path))
    for node in random.Random(1).sample(range(len(paths)), 2000):
        below = found.at[node, kernels("trie.nodes").BELOW]
        assert below == _groups(paths[node], paths[node + 1 : nodes.end[node]])


def _groups(above: bytes, below: list[bytes]) -> int:
    """The groups of the characters that paths have behind `above`, as a set of bits."""
    found = set() if _between_characters(above) else {BROKEN}
    for path in below:
        if not _may_go_on(path):
            found.add(BROKEN)
        elif _between_characters(path[:-1]):
            found.add(int(groups()[path[-1]]))
    return sum(1 << group for group in found)


def _between_characters(text: bytes) -> bool:
    """Whether a text is UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _may_go_on(text: bytes) -> bool:
    """Whether a text is UTF-8, up to a last character that is not whole."""
    tails = (b"", b"\x80", b"\xbf", b"\x80\x80", b"\xbf\xbf", b"\x80\x80\x80", b"\xbf\xbf\xbf")
    return any(_between_characters(text + tail) for tail in tails)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("kinds", b'"'),  # whatever follows, ...
        ("kinds", b'x_"'),  # ... but for some characters, ...
        ("kinds", b'10"'),  # ... or the end of it
        ("arrows", b"a# "),  # names may follow
        ("arrows", b"(a#"),  # what may follow spaces is what must not
        ("arrows", b"a"),
        ("arrows", b"(a"),
    ],
)
def test_rows_that_differ_in_little(name: str, prefix: bytes) -> None:
    """One is made of the other, or both of what they share, and each is exact."""
    constraint = sg.compile(GRAMMARS[name], VOCABULARY)
    row = np.zeros(VOCABULARY.words, np.int32)
    for text in (b'"', b"for", b"a", b"a#", prefix):
        state = constraint.advance_bytes(constraint.start, text)
        if state != sg.DEAD:
            constraint.fill_mask(state, row)
    allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
    read = [t for t in range(len(VOCABULARY)) if constraint.advance(state, t) != sg.DEAD]
    assert read
    assert allowed.tolist() == read
