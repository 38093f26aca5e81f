"""Histograms of times merge exactly, and their quantiles are as exact as promised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsonschemabench.running.times import QUANTILES, histogram, merged, quantile, summary

TIMES = st.lists(st.integers(1, 10**11), min_size=1, max_size=60)


@given(TIMES)
def test_count_sum_and_maximum_are_exact(times: list[int]) -> None:
    """And the counts of the rounded values add up to the count."""
    found = histogram(times)
    assert (found["count"], found["sum_ns"], found["max_ns"]) == (
        len(times),
        sum(times),
        max(times),
    )
    assert sum(found["n"]) == len(times)
    assert found["ns"] == sorted(set(found["ns"]))


@given(TIMES)
def test_a_quantile_is_off_by_one_percent_at_most(times: list[int]) -> None:
    """Compared with the exact quantile of the times themselves."""
    found = histogram(times)
    for q in QUANTILES:
        exact = float(np.quantile(times, q, method="inverted_cdf"))
        assert abs(quantile(found, q) - exact) <= 0.0115 * exact + 0.5


@given(TIMES, TIMES)
def test_merging_is_the_histogram_of_all(a: list[int], b: list[int]) -> None:
    """However the times are spread over cases."""
    assert merged([histogram(a), histogram(b)]) == histogram(a + b)


def test_no_times_have_no_summary() -> None:
    """An empty histogram merges with others and has no quantiles."""
    assert merged([]) == histogram([])
    assert summary(histogram([])) == {}
    assert math.isnan(quantile(histogram([]), 0.5))
    assert merged([histogram([]), histogram([7])]) == histogram([7])


def test_a_summary_names_quantiles_maximum_and_mean() -> None:
    """p25 to p99.9 as tables show them."""
    found = summary(histogram([100] * 99 + [10_000]))
    assert list(found) == ["p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "max", "mean"]
    assert found["p99"] == pytest.approx(100, rel=0.011)
    assert found["p99.9"] == pytest.approx(10_000, rel=0.011)
    assert (found["max"], found["mean"]) == (10_000, 199)
