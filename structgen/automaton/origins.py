"""In: the order in which an engine numbered things. Out: what is needed to number them again alike.

A saved engine keeps arrays only. Lexer states, labels and frames are Python objects; each was met
at a known place (a byte of a row, an event), so replaying the places in order makes them again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy.typing as npt

STATE, FRAME, LABEL = 0, 1, 2  # kinds of births
BEFORE, ONLY, FREE = 256, 257, 511  # places that no byte stands for


@dataclass
class Origins:
    """How each number was first met, from which Python's side of the tables can be made again.

    states: parent << 9 | byte (FREE: the free form of the parent), or -1 - ctx for the lexer state
    of a frame. frames: (ctx, context, label), the event that led to it. labels: (lexer state,
    byte), or BEFORE for `accept`, ONLY for the single label of the lexeme. births: which of the
    three kinds was numbered, in order.
    """

    states: list[int] = field(default_factory=list)
    frames: list[tuple[int, int, int]] = field(default_factory=list)
    labels: list[tuple[int, int]] = field(default_factory=list)
    births: bytearray = field(default_factory=bytearray)


class Saved(NamedTuple):
    """What an engine starts from when it was saved: tables by name, origins, start pair."""

    tables: dict[str, npt.NDArray[Any]]
    origins: Origins
    start: int
