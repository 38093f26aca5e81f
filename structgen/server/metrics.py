"""What a server counts, for Prometheus: waiting, compiling, masks, tokens, refusals."""

from __future__ import annotations

from collections import deque

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_KEPT = 20_000  # mask times that the quantile is taken of
_FINE = (1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 0.1, 1.0)
_COARSE = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The figures of one server, in a registry of their own."""

    def __init__(self) -> None:
        """Nothing has been counted yet."""
        self.registry = CollectorRegistry()
        home = self.registry
        self.requests = Counter(
            "structgen_requests",
            "Requests answered.",
            ["endpoint", "tenant", "status"],
            registry=home,
        )
        self.refused = Counter(
            "structgen_refused_specs", "Specs refused, by kind of error.", ["code"], registry=home
        )
        self.waiting = Histogram(
            "structgen_waiting_seconds",
            "Time that requests waited, by reason.",
            ["reason"],
            buckets=_COARSE,
            registry=home,
        )
        self.compile = Histogram(
            "structgen_compile_seconds", "Time to compile a spec.", buckets=_COARSE, registry=home
        )
        self.cache = Counter(
            "structgen_compile_lookups",
            "Specs asked for: hit (known), joined (being compiled), miss (compiled).",
            ["outcome"],
            registry=home,
        )
        self.cancelled = Counter(
            "structgen_cancelled_compilations",
            "Compilations given up because nobody waited for them any more.",
            registry=home,
        )
        self.mask = Histogram(
            "structgen_mask_seconds",
            "Time to make the masks of a step.",
            buckets=_FINE,
            registry=home,
        )
        self.tokens = Counter(
            "structgen_tokens", "Tokens read and written.", ["kind"], registry=home
        )
        self.rows = Gauge("structgen_rows", "Texts being written.", registry=home)
        self.queued = Gauge(
            "structgen_queued_requests", "Requests that wait for a row.", registry=home
        )
        self.steps = Counter("structgen_steps", "Forward passes that wrote tokens.", registry=home)
        self.dropped = Counter(
            "structgen_dropped_requests",
            "Requests given up before their end.",
            ["reason"],
            registry=home,
        )
        self._masks: deque[float] = deque(maxlen=_KEPT)
        quantile = Gauge(
            "structgen_mask_p99_seconds",
            f"99th percentile of the masks of the last {_KEPT} steps.",
            registry=home,
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
