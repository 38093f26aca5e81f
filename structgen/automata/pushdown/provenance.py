"""The provenance log: how each number was first met, so that saved tables get their objects again.

Saved tables are arrays only; lexer states, terminals and frames are Python objects. Each was met at
a known place (a byte of a row, an action of a frame), so visiting these places in the same order
makes the same objects with the same numbers (module `replay`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

STATE, FRAME, TERMINAL = 0, 1, 2  # what was numbered
PLACE_BITS = 9  # of an origin, parent << PLACE_BITS | place
BEFORE, NAMED = 256, 512  # places beyond the bytes: `accept`, and listed words from NAMED on
LAST, MOVE, REST, FREE, UNBOUNDED = range(507, 512)  # further such places
HALF, MOST_HALVES = 300, 200  # such places from HALF on
OPEN, WAITING, TEXT = 0, 1, -1  # an action opened a frame, left it below, or needed captures


@dataclass
class ProvenanceLog:
    """How each number was first met.

    states: for each lexer state that Python describes, one number:

    - parent << PLACE_BITS | byte: the target of a byte in the row of the parent state;
    - parent << PLACE_BITS | FREE: its open-ended form; with UNBOUNDED: its form without length
      bounds; REST: what reads other texts than the listed ones; MOVE: the first state that a
      character leads to and that had no number; LAST: the last of the states at whose starts the
      parent is; HALF + i: the i-th of the texts that are read side by side;
    - -1 - 2 * frame: the lexeme of a frame; -2 - 2 * frame: its entry.

    frames: three numbers each. (OPEN or WAITING, frame, terminal): the action that led to it;
    (TEXT, stack node, terminal): an action that needed captures; a frame of -1: the start.

    terminals: two numbers each. (lexer state, byte): met in the row of the state, with BEFORE for
    its `accept` and NAMED + i for listed word i; (-1 - frame, terminal): an action in that frame
    popped with it.

    kinds: STATE, FRAME or TERMINAL for each number, in the order they were handed out.
    """

    states: list[int] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)
    terminals: list[int] = field(default_factory=list)
    kinds: bytearray = field(default_factory=bytearray)
