"""Spans of requests, where OpenTelemetry's API is installed; a recorder takes the SDK's place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.server.conftest import Serving, ask, wait_for

pytest.importorskip("opentelemetry.trace")

from opentelemetry import trace

TRACE = "0af7651916cd43dd8448eb211c80319c"


class Recorded(trace.NonRecordingSpan):
    """A span that keeps what it was given. above: the context of its parent."""

    def __init__(self, name: str, above: trace.SpanContext, attributes: Any) -> None:
        number = 1 + (above.span_id + hash(name)) % (1 << 60)
        super().__init__(
            trace.SpanContext(
                above.trace_id, number, is_remote=False, trace_flags=above.trace_flags
            )
        )
        self.name, self.above = name, above
        self.attributes: dict[str, Any] = dict(attributes or {})
        self.events: list[str] = []
        self.ended = 0

    def set_attribute(self, key: str, value: Any) -> None:
        """Keep it."""
        self.attributes[key] = value

    def add_event(self, name: str, *_: Any, **__: Any) -> None:
        """Keep its name."""
        self.events.append(name)

    def end(self, end_time: int | None = None) -> None:
        """Count it."""
        self.ended += 1


class Recorder(trace.Tracer):
    """Makes such spans, and keeps them."""

    def __init__(self) -> None:
        self.spans: list[Recorded] = []

    def start_span(self, name: str, context: Any = None, *_: Any, **options: Any) -> Recorded:
        """A span below that of the context."""
        above = trace.get_current_span(context).get_span_context()
        self.spans.append(Recorded(name, above, options.get("attributes")))
        return self.spans[-1]

    @contextmanager
    def start_as_current_span(self, name: str, context: Any = None, **_: Any) -> Iterator[Any]:  # type: ignore[override]
        """The same, as the current span of the block."""
        span = self.start_span(name, context)
        with trace.use_span(span, end_on_exit=True):
            yield span


@pytest.fixture
def recorder(monkeypatch: Any) -> Recorder:
    """What takes the spans of the server while a test runs."""
    found = Recorder()
    monkeypatch.setattr(trace, "get_tracer", lambda *_: found)
    return found


def test_a_request_is_a_span_with_its_compilation_and_its_writing(
    recorder: Recorder, client: Any
) -> None:
    """Below the span that its client names; each ends once."""
    headers = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
    asked = {"guided_regex": "traced [0-9]{2}"}
    chunks = list(ask(client, extra_body=asked, extra_headers=headers, stream=True))
    wait_for(lambda: len(recorder.spans) == 3 and all(s.ended == 1 for s in recorder.spans))
    request, compiling, writing = recorder.spans
    assert request.name == "POST /v1/chat/completions"
    assert request.above.trace_id == int(TRACE, 16)
    assert request.above.span_id == int("b7ad6b7169203331", 16)
    assert request.attributes["http.response.status_code"] == 200
    assert compiling.name == "compile spec"
    assert writing.name == "write texts"
    for below in (compiling, writing):
        assert below.above.span_id == request.get_span_context().span_id
    assert compiling.attributes["structgen.lookup"] == "miss"
    assert compiling.attributes["structgen.spec"] == chunks[0].structgen["spec"]
    assert writing.attributes["structgen.texts"] == 1
    assert writing.attributes["gen_ai.usage.output_tokens"] > 1
    assert len(writing.events) > 1


def test_a_refused_spec_is_named_by_its_span(recorder: Recorder, client: Any) -> None:
    """With the kind of its error, and the status of the answer."""
    with pytest.raises(Exception, match="no JSON value fits"):
        ask(client, extra_body={"guided_json": {"type": "string", "minLength": 2, "maxLength": 1}})
    wait_for(lambda: len(recorder.spans) == 2 and all(s.ended == 1 for s in recorder.spans))
    request, compiling = recorder.spans
    assert compiling.attributes["error.type"] == "unsatisfiable"
    assert request.attributes["http.response.status_code"] == 400
    assert (request.ended, compiling.ended) == (1, 1)


def test_without_the_api_nothing_is_recorded(
    recorder: Recorder, serving: Serving, client: Any, monkeypatch: Any
) -> None:
    """And all works as it did."""
    from structgen.server import tracing

    monkeypatch.setattr(tracing, "trace", None)
    assert ask(client, extra_body={"guided_choice": ["yes"]}).choices[0].message.content == "yes"
    assert serving.rests()
    assert recorder.spans == []
