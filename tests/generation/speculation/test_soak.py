"""Runs requests of all kinds at once: none is illegal, lost, or mixed up.

`python -m tests.fuzz.soak --requests 10000` is the same for longer.
"""

from __future__ import annotations

import pytest

from tests.fuzz.soak import Soak


@pytest.mark.thorough
def test_mixed_requests_by_several_threads() -> None:
    """Batches, streams, dropped streams and raising hooks, with all drafters; also compared."""
    report = Soak(1).run(48, seed=2, threads=3)
    assert report.faults == []
    assert report.requests == 48
    assert report.kinds["batch"] > 10
    assert min(report.kept, report.compared, report.kinds["dropped"], report.kinds["hook"]) > 0
