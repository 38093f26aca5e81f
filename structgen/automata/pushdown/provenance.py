"""In: the order in which an engine numbered things. Out: what is needed to number them again alike.

A saved engine keeps arrays only. Lexer states, labels and frames are Python objects; each was met
at a known place (a byte of a row, an event), so replaying the places in order makes them again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

STATE, FRAME, LABEL = 0, 1, 2  # kinds of births
BEFORE, NAMED = 256, 512  # places that no byte stands for; those from NAMED on are of words
LAST, MOVE, REST, FREE, UNBOUNDED = range(507, 512)  # such places, too
OPEN, WAITING, TEXT = 0, 1, -1  # how a frame was met: a move led to it, or left it waiting below


@dataclass
class ProvenanceLog:
    """How each number was first met, from which Python's side of the tables can be made again.

    states: those that Python describes: parent << 9 | byte (FREE: the free form of the parent,
    UNBOUNDED: the parent without the bounds of its length,
    REST: what reads other texts than the listed ones, MOVE: the first that a character leads to and
    that had no number, LAST: the last of those at whose starts the parent is), -1 - 2 * frame for
    the lexeme of a frame, -2 - 2 * frame for its entry. frames: three numbers for each, (OPEN or
    WAITING, frame, label), the event that led to it; (TEXT, context, label) for an event that
    needed the text of a context; a frame of -1 for the start. labels: two for each, (lexer state,
    byte), or BEFORE for `accept`, NAMED + i for listed word i; (-1 - frame, label) for one that an
    event in that frame popped. births: which of the kinds was numbered, in order.
    """

    states: list[int] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)
    terminals: list[int] = field(default_factory=list)
    kinds: bytearray = field(default_factory=bytearray)
