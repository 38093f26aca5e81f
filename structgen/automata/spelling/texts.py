"""Moves of a text by characters, written into the kernels' tables as spans of code points.

Kernels spell the characters in bytes from there (module `kernels.lexer.spans`): bytes within a
character and escapes are not looked at in Python. `described` says what such lexer states are.
"""

from __future__ import annotations

import numpy as np

from structgen.automata.lexer.lexer import (
    QUOTE,
    Digits,
    End,
    Escape,
    Fixed,
    Language,
    LexState,
    Text,
    vector_moves,
)
from structgen.automata.pushdown.numbering import Numbering
from structgen.automata.pushdown.provenance import BEFORE, MOVE, PLACE_BITS
from structgen.automata.spelling import embedded_dfa
from structgen.kernels.build.loader import kernels
from structgen.regular.expressions.nodes import Alt, Concat, Not
from structgen.regular.regex import ANY
from structgen.regular.utf8 import DIGIT, Segment


def write_state(numbers: Numbering, q: int, state: LexState) -> bool:
    """Write the moves by characters of lexer state `q`; False if it is not between characters."""
    if not isinstance(state, Text) or state.role.surrogates:
        return False
    if embedded_dfa.write_state(numbers, q, state):
        return True
    k, role = numbers.kernel_tables, state.role
    spans: list[tuple[int, int, int]] = []
    for chars, after in vector_moves(state.vector):
        target = numbers.state_id(Text(after, role), (q << PLACE_BITS) | MOVE)
        spans += [(lo, hi, target) for lo, hi in chars.ranges]
    spans.sort()
    end = role.end(state.vector)
    terminal = -1
    if isinstance(end, End):
        terminal = numbers.terminal_id(end.terminal, (q, QUOTE if role.quoted else BEFORE))
    pair = any(isinstance(x, Not) and x.body in state.vector for x in state.vector)
    if pair or any(map(_goes_on, state.vector)):
        embedded_dfa.loop_on_all(numbers, q, quoted=role.quoted)  # no character ends that
    numbers.make_room(0, len(spans))
    said = np.array(spans, np.int32).reshape(-1, 3)
    flags = embedded_dfa.spelled_flags(role, k)
    kernels("lexer.word_lists").list_spans(numbers.tables_at, q, said, terminal, flags)
    return True


def _goes_on(language: Language) -> bool:
    """Whether any characters may be read in a language for ever."""
    if isinstance(language, Alt):
        return any(map(_goes_on, language.parts))
    return language is ANY or (isinstance(language, Concat) and language.head is ANY)


def next_move(numbers: Numbering, parent: Text) -> LexState | None:
    """The first of the next states that has no number yet."""
    targets = (Text(after, parent.role) for _, after in vector_moves(parent.vector))
    return next((target for target in targets if not numbers.is_numbered(target)), None)


def described(numbers: Numbering, q: int) -> LexState:
    """The description of a lexer state that the spelling of characters led to."""
    k, t = numbers.kernel_tables, numbers.tables
    kind, came, left, first, last = t.state_info[
        q, [k.KIND, k.FROM_STATE, k.DIGITS_LEFT, k.FIRST, k.LAST]
    ].tolist()
    recorded, capitals = bool(t.recorded[q]), bool(t.state_info[q, k.FLAGS] & k.ESCAPES)
    if kind in {k.SPANS_TEXT, k.SPANS_UNKNOWN}:
        return embedded_dfa.described(numbers, q)
    if kind == k.SPANS_ESCAPE:
        text = numbers.state(came)
        return Escape(text)  # type: ignore[arg-type]
    segments = tuple(
        Segment(lo, hi, numbers.state(target)) for lo, hi, target in t.spans[first:last].tolist()
    )
    if kind == k.SPANS_UTF8:
        return Digits(DIGIT, left, segments, recorded)
    if kind == k.SPANS_HEX:
        return Digits(4, left, segments, recorded, capitals)
    spelled = b"\\u" if kind == k.SPANS_AFTER_HIGH else b"u"
    return Fixed(spelled, Digits(4, 4, segments, recorded, capitals), recorded)
