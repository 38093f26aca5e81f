"""Spans of OpenTelemetry, where it is installed: a request, its compilation, its writing.

Only the API is used, so where spans go is decided by whoever starts the server, as with
`opentelemetry-instrument structgen serve ...`; without an SDK they go nowhere.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from structgen.version import __version__


def _installed(module: str) -> Any:
    """A module, None where its package is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


trace, propagate = _installed("opentelemetry.trace"), _installed("opentelemetry.propagate")


class _NoSpan:
    """Takes what spans take, and keeps nothing."""

    def set_attribute(self, key: str, value: Any) -> None:
        """Do nothing."""

    def add_event(self, name: str) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


@contextmanager
def request_span(name: str, headers: Mapping[str, str]) -> Iterator[Any]:
    """The span of a request, below that which its headers name (`traceparent`)."""
    if trace is None:
        yield _NoSpan()
        return
    above, kind = propagate.extract(headers), trace.SpanKind.SERVER
    with _tracer().start_as_current_span(name, context=above, kind=kind) as span:
        yield span


def begin(name: str, **attributes: Any) -> Any:
    """A span below the current one. `end` must be called on it."""
    return _NoSpan() if trace is None else _tracer().start_span(name, attributes=attributes)


def _tracer() -> Any:
    return trace.get_tracer("structgen", __version__)
