"""What a server counts, for Prometheus: waiting, compiling, masks, tokens, refusals."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_KEPT = 20_000  # mask times that the quantile is taken of
_FINE = (1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 0.1, 1.0)
_COARSE = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The figures of one server, in a registry of their own."""

    def __init__(self) -> None:
        """Nothing has been counted yet."""
        home = self.registry = CollectorRegistry()

        def counter(name: str, help_text: str, *labels: str) -> Counter:
            return Counter(f"structgen_{name}", help_text, labels, registry=home)

        def gauge(name: str, help_text: str) -> Gauge:
            return Gauge(f"structgen_{name}", help_text, registry=home)

        def times(
            name: str, help_text: str, buckets: Sequence[float], labels: Sequence[str] = ()
        ) -> Histogram:
            return Histogram(
                f"structgen_{name}_seconds", help_text, labels, buckets=buckets, registry=home
            )

        self.requests = counter("requests", "Requests answered.", "endpoint", "tenant", "status")
        self.refused = counter("refused_specs", "Specs refused, by kind of error.", "code")
        self.waiting = times(
            "waiting", "Time that requests waited, by reason.", _COARSE, ["reason"]
        )
        self.compile = times("compile", "Time to compile a spec.", _COARSE)
        self.cache = counter(
            "compile_lookups",
            "Specs asked for: hit (known), joined (being compiled), miss (compiled).",
            "outcome",
        )
        self.cancelled = counter(
            "cancelled_compilations",
            "Compilations given up because nobody waited for them any more.",
        )
        self.mask = times("mask", "Time to make the masks of a step.", _FINE)
        self.tokens = counter("tokens", "Tokens read and written.", "kind")
        self.rows = gauge("rows", "Texts being written.")
        self.queued = gauge("queued_requests", "Requests that wait for a row.")
        self.steps = counter("steps", "Forward passes that wrote tokens.")
        self.dropped = counter("dropped_requests", "Requests given up before their end.", "reason")
        self._masks: deque[float] = deque(maxlen=_KEPT)
        quantile = gauge(
            "mask_p99_seconds", f"99th percentile of the masks of the last {_KEPT} steps."
        )
        quantile.set_function(self.mask_p99)

    def masks_made(self, seconds: float) -> None:
        """Count the time of all masks of a step."""
        self.mask.observe(seconds)
        self._masks.append(seconds)

    def mask_p99(self) -> float:
        """Seconds; 0 before the first mask."""
        found = list(self._masks)
        return float(np.quantile(found, 0.99)) if found else 0.0

    def text(self) -> bytes:
        """All figures in the format of Prometheus."""
        return generate_latest(self.registry)
