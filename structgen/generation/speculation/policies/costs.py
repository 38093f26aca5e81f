"""`CostTable`: the measured cost of a forward pass over n tokens on this machine.

On a GPU, or with bfloat16, 16 tokens may cost little more than one; in float32 two may cost more
than eight. So policies and planners ask this table, which learns from every round.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import Any

from structgen.generation.checks import check_share, check_some
from structgen.generation.interfaces import Target
from structgen.generation.speculation.interfaces import Round

WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
FIRST, AGAIN = 3, 128  # plain passes at first, and wider passes between two plain ones later
SOON = 4  # wider passes between two plain ones at first
_TRUST = 1.0  # measurements that the prior SLOPE counts for: one outlier must not rule out a width
SLOPE = 0.03  # of T(1), for each further token, where nothing was measured (a bfloat16 model's)


class _Times:
    """The last times of one kind; their median, since few and many are compared by it."""

    __slots__ = ("_kept", "_typical")

    def __init__(self, window: int) -> None:
        self._kept: deque[float] = deque(maxlen=window)
        self._typical: float | None = 0.0

    def add(self, seconds: float) -> None:
        self._kept.append(seconds)
        self._typical = None

    @property
    def typical(self) -> float:
        """Worked out when it is asked for."""
        found = self._typical
        if found is None:
            kept = sorted(self._kept.copy())  # another thread may add to it
            found = self._typical = (kept[(len(kept) - 1) // 2] + kept[len(kept) // 2]) / 2
        return found

    def __len__(self) -> int:
        return len(self._kept)


class CostTable:
    """Seconds of a forward pass by the number of tokens that it reads, and of making a draft.

    A width is the tokens of one text that a pass reads: its draft and the root. Times are kept for
    each number of texts read together, and only the last `window` of a width, so that they follow
    the length of the contexts and the load of the machine; widths between two of WIDTHS count as
    the wider one, numbers of texts as the next power of two. Threads may share a table.
    """

    def __init__(self, window: int = 32) -> None:
        check_some("window", window)
        self._window = window
        self._passes: dict[int, dict[int, _Times]] = {}  # group of rows -> width -> times
        self._drafts = _Times(window)
        self._curves: dict[int, list[tuple[int, float]]] = {}  # group -> T(width) / T(1)
        self._since: dict[int, float] = {}  # group -> passes since the last of width 1
        self._lock = threading.Lock()

    def observe(self, seen: Round) -> None:
        """Learn from a round; that of the prompt says nothing."""
        if seen.width < 1:
            return
        self.add(seen.verify_seconds, seen.width, seen.rows)
        if len(seen.tree) > 1:
            with self._lock:
                self._drafts.add(seen.draft_seconds / (len(seen.tree) - 1))

    def add(self, seconds: float, width: int, rows: int = 1) -> None:
        """A pass over `width` tokens of each of `rows` texts took `seconds`."""
        check_some("tokens", width)
        check_share("seconds", seconds, most=float("inf"))
        width, group = _kind(width), _group(rows)
        with self._lock:
            times = self._passes.setdefault(group, {})
            if width not in times:
                self._passes[group] = times = {**times, width: _Times(self._window)}
            times[width].add(seconds)
            self._curves.pop(group, None)
            # Each text of a pass reports it, so only its share is counted.
            self._since[group] = 0 if width == 1 else self._since.get(group, 0) + 1 / rows

    def known(self, width: int, rows: int = 1) -> int:
        """How many times of this width are kept."""
        return len(self._passes.get(_group(rows), {}).get(_kind(width), ()))

    def plain_due(self, rows: int = 1) -> bool:
        """Whether a pass without a draft is wanted, to know T(1): at first, and now and then.

        Not all at once in the beginning, because the first passes may be slow ones.
        """
        known, since = self.known(1, rows), self._since.get(_group(rows), 0)
        return not known or since >= (SOON if known < FIRST else AGAIN)

    def ratio(self, width: int, rows: int = 1) -> float:
        """T(width) / T(1): measured, between measured widths in proportion, beyond them by SLOPE.

        At least 1. It need not grow with the width: a wider pass may be the faster one.
        """
        group = _group(rows)
        points = self._curves.get(group)
        if points is None:
            points = self._curves[group] = self._points(group)
        i = bisect_left(points, (width, 0.0))
        if i == len(points):
            last, ratio = points[-1]
            return ratio + SLOPE * (width - last)
        (right, after), (left, before) = points[i], points[max(i - 1, 0)]
        if right == width:
            return after
        return before + (after - before) * (width - left) / (right - left)

    def seconds(self, width: int, rows: int = 1) -> float:
        """T(width) in seconds; 0.0 as long as nothing was measured."""
        times = self._passes.get(_group(rows), {})
        if not times:
            return 0.0
        near = min(times, key=lambda w: (abs(w - width), w))
        return times[near].typical * self.ratio(width, rows) / self.ratio(near, rows)

    def draft_ratio(self, nodes: int, rows: int = 1) -> float:
        """Making a draft of so many tokens, in units of T(1); the grammar's part is in it."""
        unit = self.seconds(1, rows)
        return nodes * self._drafts.typical / unit if unit else 0.0

    def rate(self, expected: float, nodes: int, rows: int = 1, *, drafted: bool = False) -> float:
        """Tokens per time, plain decoding being 1: (expected + 1) / (T(nodes + 1) + draft).

        expected: draft tokens that are kept (Chen et al. 2024, Sequoia, section 3.3). drafted: the
        draft has been paid for already.
        """
        cost = self.ratio(nodes + 1, rows)
        return (expected + 1) / (cost if drafted else cost + self.draft_ratio(nodes, rows))

    def best_size(self, gains: Sequence[float], rows: int = 1, *, drafted: bool = False) -> int:
        """How many of the draft tokens to read, the first ones, so that `rate` is largest.

        gains: for each its probability of being kept; in the order in which they are worth reading.
        """
        best, size, expected = 1.0, 0, 0.0
        for nodes, gain in enumerate(gains, 1):
            expected += gain
            rate = self.rate(expected, nodes, rows, drafted=drafted)
            if rate > best:
                best, size = rate, nodes
        return size

    def measure(
        self,
        target: Target[Any],
        widths: Sequence[int] = WIDTHS,
        *,
        context: int = 64,
        repeats: int = 5,
        rows: int = 1,
    ) -> None:
        """Time passes of a target over chains of these widths in so many rows, widths in turn."""
        check_some("repeats", repeats)
        for _ in range(repeats):
            cache, logits = target.prefill([[1] * context] * rows)
            logits.wait()
            for width in widths:
                start = time.perf_counter()
                parents = [[i - 1 for i in range(width)]] * rows if target.takes_trees else None
                target.forward(cache, [[1] * width] * rows, parents).wait()
                if target.takes_trees:
                    target.commit(cache, [[0]] * rows)
                self.add(time.perf_counter() - start, width, rows)

    def table(self, rows: int = 1) -> dict[int, float]:
        """T(n)/T(1) of the widths that were measured."""
        return {
            width: self.ratio(width, rows) for width in sorted(self._passes.get(_group(rows), {}))
        }

    def _points(self, group: int) -> list[tuple[int, float]]:
        """Widths with T(width) / T(1), from width 1 on; SLOPE where T(1) was not measured.

        What the other widths take beyond SLOPE, on average, is expected of each.
        """
        times = self._passes.get(group, {})
        if not times:
            return [(1, 1.0)]
        # `over`: for each measured width its number of times, and its cost beyond the prior SLOPE.
        # An estimate is a mean of the own cost and that of the other widths, which counts for
        # _TRUST.
        first = min(times)
        unit = times[first].typical / (1 + SLOPE * (first - 1))
        over = {
            width: (len(kept), kept.typical / unit - 1 - SLOPE * (width - 1) if unit else 0.0)
            for width, kept in times.items()
            if width > 1
        }
        points = [(1, 1.0)]
        for width in sorted({2, *over}):
            others = [found for other, found in over.items() if other != width]
            count, own = over.get(width, (0, 0.0))
            known = sum(n for n, _ in others)
            expected = sum(n * more for n, more in others) / (known + _TRUST)
            more = (count * own + _TRUST * expected) / (count + _TRUST)
            points.append((width, max(1.0, 1 + SLOPE * (width - 1) + more)))
        return points


def _group(rows: int) -> int:
    """The number of texts that a pass over so many counts as: the next power of two."""
    return 1 << (rows - 1).bit_length()


def _kind(width: int) -> int:
    """The width that a pass counts as."""
    i = bisect_left(WIDTHS, width)
    return WIDTHS[i] if i < len(WIDTHS) else -(-width // WIDTHS[-1]) * WIDTHS[-1]
