"""In: a text that goes on, strings to look for. Out: how much of its end may be one's beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

TextT = TypeVar("TextT", str, bytes)


def held(text: TextT, sequences: Sequence[TextT]) -> int:
    """The length of the longest end of `text` that begins a sequence and is not all of it."""
    most = max((len(sequence) for sequence in sequences), default=1) - 1
    for size in range(min(most, len(text)), 0, -1):
        end = text[len(text) - size :]
        if any(len(s) > size and s[:size] == end for s in sequences):
            return size
    return 0
