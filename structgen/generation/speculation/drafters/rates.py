"""`Rates`: how often guesses of a kind were right, smoothed by a prior."""

from __future__ import annotations

from collections.abc import Hashable

_GUESSED = 4.0  # cases that a guess counts for
_NONE = (0.0, 0.0)


class Rates:
    """How often guesses of a kind were right. Shared by texts; a lost update does no harm."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, tuple[float, float]] = {}

    def of(self, kind: Hashable, guess: float) -> float:
        """The share of right guesses; `guess`, in (0, 1), counts as long as few were seen."""
        right, cases = self._seen.get(kind, _NONE)
        return (right + _GUESSED * guess) / (cases + _GUESSED)

    def learn(self, kind: Hashable, right: bool) -> None:
        """Count a guess."""
        before, cases = self._seen.get(kind, _NONE)
        self._seen[kind] = (before + right, cases + 1.0)
