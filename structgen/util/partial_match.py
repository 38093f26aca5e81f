"""How much of the end of a text may be the beginning of a string that is looked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

TextT = TypeVar("TextT", str, bytes)


def partial_match_length(text: TextT, sequences: Sequence[TextT]) -> int:
    """The length of the longest suffix of `text` that is a proper prefix of a sequence."""
    most = max((len(sequence) for sequence in sequences), default=1) - 1
    for size in range(min(most, len(text)), 0, -1):
        end = text[len(text) - size :]
        if any(len(s) > size and s[:size] == end for s in sequences):
            return size
    return 0
