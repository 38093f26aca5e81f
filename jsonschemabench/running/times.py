"""Histograms of times in nanoseconds, small enough to be kept with each record; their quantiles.

Times are rounded to one of 32 steps an octave, so a quantile is off by 1.1 % at most; count, sum
and maximum are exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

STEPS = 32  # an octave
QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


def histogram(times_ns: Iterable[int]) -> dict[str, Any]:
    """`{"count", "sum_ns", "max_ns", "ns": rounded values ascending, "n": how many of each}`."""
    times = np.fromiter(times_ns, np.int64)
    steps = np.round(np.log2(np.maximum(times, 1)) * STEPS)
    found, counts = np.unique(np.round(np.exp2(steps / STEPS)).astype(np.int64), return_counts=True)
    return {
        "count": len(times),
        "sum_ns": int(times.sum()),
        "max_ns": int(times.max(initial=0)),
        "ns": found.tolist(),
        "n": counts.tolist(),
    }


def merged(histograms: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One histogram of all times in several."""
    parts = list(histograms)
    values = np.array([v for part in parts for v in part["ns"]], np.int64)
    weights = np.array([w for part in parts for w in part["n"]], np.int64)
    found, where = np.unique(values, return_inverse=True)
    counts = np.zeros(len(found), np.int64)
    np.add.at(counts, where, weights)
    return {
        "count": sum(part["count"] for part in parts),
        "sum_ns": sum(part["sum_ns"] for part in parts),
        "max_ns": max((part["max_ns"] for part in parts), default=0),
        "ns": found.tolist(),
        "n": counts.tolist(),
    }


def quantile(histogram: dict[str, Any], q: float) -> float:
    """The smallest time in ns that at least a share `q` of the times do not exceed."""
    counts = np.cumsum(histogram["n"])
    if not len(counts):
        return float("nan")
    index = int(np.searchsorted(counts, q * counts[-1], side="left"))
    found = histogram["ns"][min(index, len(counts) - 1)]
    return float(min(found, histogram["max_ns"]))


def summary(histogram: dict[str, Any]) -> dict[str, float]:
    """Quantiles, maximum and mean in ns by name: "p25" ... "p99.9", "max", "mean"."""
    if not histogram["count"]:
        return {}
    found = {f"p{100 * q:g}": quantile(histogram, q) for q in QUANTILES}
    return found | {
        "max": float(histogram["max_ns"]),
        "mean": histogram["sum_ns"] / histogram["count"],
    }
