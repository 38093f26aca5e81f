"""`Calibration`: how often tokens of a given drafter confidence are kept."""

from __future__ import annotations

import threading
from bisect import bisect_right

_EDGES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97)
_TRUST = 2.0  # tokens that a drafter's own estimate is worth


class Calibration:
    """The share of draft tokens that are kept, given their parent, by the drafter's confidence.

    Recent tokens count more. Where little was seen, the drafter is believed.
    """

    def __init__(self, memory: float = 0.98) -> None:
        """memory: weight of a token, per token of its kind since."""
        self._memory = memory
        self._kept = [0.0] * (len(_EDGES) + 1)
        self._tried = [0.0] * (len(_EDGES) + 1)
        self._lock = threading.Lock()

    def kept(self, confidence: float) -> float:
        """How probable it is that a token of this confidence is kept, if its parent is."""
        kind = bisect_right(_EDGES, confidence)
        return (self._kept[kind] + _TRUST * confidence) / (self._tried[kind] + _TRUST)

    def learn(self, confidence: float, kept: bool) -> None:
        """A token of this confidence was put to the test."""
        kind = bisect_right(_EDGES, confidence)
        with self._lock:
            self._kept[kind] = self._memory * self._kept[kind] + kept
            self._tried[kind] = self._memory * self._tried[kind] + 1.0

    def faded(self, share: float) -> Calibration:
        """A copy that believes what this one does, with this share of its experience."""
        copy = Calibration(self._memory)
        with self._lock:
            copy._kept = [share * kept for kept in self._kept]
            copy._tried = [share * tried for tried in self._tried]
        return copy
