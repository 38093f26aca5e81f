"""The application: routes, errors in OpenAI's form, and what happens when a client goes away."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from structgen.server.endpoints.chat import Chat, sse
from structgen.server.endpoints.completions import Completion
from structgen.server.endpoints.exchange import Exchange
from structgen.server.endpoints.responses import Responses
from structgen.server.errors import ApiError, of_failure, of_problems
from structgen.server.gate import Gate
from structgen.server.jobs import Job
from structgen.server.requests.responses_wire import ResponsesRequest
from structgen.server.requests.wire import ChatRequest, CompletionRequest
from structgen.server.service import Service
from structgen.server.settings import Limits, ServerSettings
from structgen.version import __version__

if TYPE_CHECKING:
    from structgen.generation.generator import Generator


class EventStream(StreamingResponse):
    """Server-sent events of a job, which is given up when nobody reads them any more."""

    def __init__(self, exchange: Exchange, job: Job, headers: dict[str, str]) -> None:
        super().__init__(_written(exchange, job), media_type="text/event-stream", headers=headers)
        self._job = job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._job.cancel()


async def _written(exchange: Exchange, job: Job) -> AsyncIterator[bytes]:
    try:
        async for event in exchange.events(job):
            yield sse(event)
    except ApiError as error:
        yield sse(error.body())
    yield b"data: [DONE]\n\n"


def create_app(generator: Generator, settings: ServerSettings) -> FastAPI:
    """The application for a loaded model; its threads end with its lifespan."""
    service = Service(generator, settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    app = FastAPI(title="structgen", version=__version__, lifespan=lifespan)
    app.state.service = service
    app.add_middleware(Gate, settings=settings, metrics=service.metrics)
    _add_errors(app)
    _add_about(app, service)

    @app.post("/v1/chat/completions")
    async def chat(request: Request, body: ChatRequest) -> Response:
        return await respond(request, Chat(service, body, limits_of(request)))

    @app.post("/v1/completions")
    async def completions(request: Request, body: CompletionRequest) -> Response:
        return await respond(request, Completion(service, body, limits_of(request)))

    @app.post("/v1/responses")
    async def responses(request: Request, body: ResponsesRequest) -> Response:
        return await respond(request, Responses(service, body, limits_of(request)))

    return app


def limits_of(request: Request) -> Limits:
    """The limits of who asks, as the gate has found them."""
    limits: Limits = request.state.tenant.limits
    return limits


async def respond(request: Request, exchange: Exchange) -> Response:
    """Write the answer, or begin a stream of events. A client that leaves frees its rows."""
    headers = exchange.service.headers(exchange.plan)
    job = await _unless_gone(request, exchange.start())
    if job is None:
        return Response(status_code=499)
    if exchange.body.stream:
        return EventStream(exchange, job, headers)
    try:
        answer = await _unless_gone(request, exchange.answer(job))
    finally:
        job.cancel()
    return Response(status_code=499) if answer is None else JSONResponse(answer, headers=headers)


async def _unless_gone(request: Request, work: Any) -> Any:
    """The result of `work`, or None when the client has gone away first; then it is cancelled."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return await task if task.done() else None
    finally:
        for one in (task, gone):
            one.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _add_about(app: FastAPI, service: Service) -> None:
    """The endpoints that write no texts."""
    model = {
        "id": service.settings.model_name,
        "object": "model",
        "created": service.started,
        "owned_by": "structgen",
    }

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [model]}

    @app.get("/v1/models/{name:path}")
    async def one_model(name: str) -> dict[str, Any]:
        service.check_model(name)
        return model

    @app.get("/health")
    async def health() -> JSONResponse:
        rows, waiting = service.engine.busy
        fine = service.engine.alive
        about = {"status": "ok" if fine else "stopped", "rows": rows, "waiting": waiting}
        return JSONResponse(about | {"structgen": __version__}, 200 if fine else 503)

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


def _add_errors(app: FastAPI) -> None:
    """Every error is in OpenAI's form."""

    @app.exception_handler(ApiError)
    async def refused(_: Request, error: ApiError) -> JSONResponse:
        return JSONResponse(error.body(), error.status)

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: RequestValidationError) -> JSONResponse:
        found = of_problems([{**e, "loc": e["loc"][1:]} for e in error.errors()], error.body)
        return JSONResponse(found.body(), found.status)

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> JSONResponse:
        status = error.status_code
        code = {404: "not_found", 405: "method_not_allowed"}.get(status, "invalid_request")
        found = ApiError(str(error.detail), code=code, status=status)
        return JSONResponse(found.body(), found.status)

    @app.exception_handler(Exception)
    async def failed(_: Request, error: Exception) -> JSONResponse:
        found = of_failure(error)
        return JSONResponse(found.body(), found.status)
