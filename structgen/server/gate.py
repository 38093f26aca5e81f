"""What stands before every request: its key, its size, how many of the same key are under way."""

from __future__ import annotations

import hmac
from collections import Counter

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from structgen.server.errors import ApiError
from structgen.server.metrics import Metrics
from structgen.server.settings import ServerSettings, Tenant
from structgen.server.tracing import request_span
from structgen.version import __version__

_COUNTED = ("/v1/chat/completions", "/v1/completions", "/v1/responses")


class Gate:
    """An ASGI middleware. `/health` needs no key; everything else does where there are keys."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._under_way: Counter[Tenant] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, headers = scope["path"], Headers(scope=scope)
        endpoint = path if path in _COUNTED else "other"
        if endpoint == "other":
            await self._let_in(endpoint, scope, receive, send)
            return
        with request_span(f"{scope['method']} {path}", headers) as span:
            status = await self._let_in(endpoint, scope, receive, send)
            span.set_attribute("http.response.status_code", status)

    async def _let_in(self, endpoint: str, scope: Scope, receive: Receive, send: Send) -> int:
        """Let a request in, or answer it; returns the status of the answer."""
        path, headers = scope["path"], Headers(scope=scope)
        name, status = "", 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], (b"server", _SERVER)]}
            await send(message)

        try:
            tenant = self._tenant(headers, path)
            name = tenant.name
            self._check_length(headers, tenant)
            scope.setdefault("state", {})["tenant"] = tenant
            if endpoint != "other":
                await self._counted(tenant, scope, self._limited(receive, tenant), noted)
            else:
                await self._app(scope, receive, noted)
        except ApiError as error:
            await JSONResponse(error.body(), error.status)(scope, receive, noted)
        finally:
            self._metrics.requests.labels(endpoint, name, str(status)).inc()
        return status

    async def _counted(self, tenant: Tenant, scope: Scope, receive: Receive, send: Send) -> None:
        if self._under_way[tenant] >= tenant.limits.concurrent:
            raise ApiError(
                f"{tenant.limits.concurrent} requests with this key are under way already",
                status=429,
                code="too_many_requests",
                kind="rate_limit_error",
            )
        self._under_way[tenant] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way[tenant] -= 1

    def _tenant(self, headers: Headers, path: str) -> Tenant:
        keys = self._settings.keys
        if not keys or path == "/health":
            return self._settings.everybody
        scheme, _, given = headers.get("authorization", "").partition(" ")
        found = None
        for key, tenant in keys.items():  # all of them, so that time tells nothing
            if hmac.compare_digest(key.encode(), given.strip().encode()):
                found = tenant
        if found is None or scheme.lower() != "bearer":
            raise ApiError(
                "the API key is missing or wrong",
                status=401,
                code="invalid_api_key",
                kind="authentication_error",
                more={"expected": "Authorization: Bearer KEY"},
            )
        return found

    def _check_length(self, headers: Headers, tenant: Tenant) -> None:
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > tenant.limits.body_bytes:
            raise _too_large(tenant)

    def _limited(self, receive: Receive, tenant: Tenant) -> Receive:
        """The same for a body whose length is not said ahead."""
        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > tenant.limits.body_bytes:
                raise _too_large(tenant)
            return message

        return limited


_SERVER = f"structgen/{__version__}".encode()


def _too_large(tenant: Tenant) -> ApiError:
    return ApiError(
        f"the request is larger than {tenant.limits.body_bytes} bytes",
        status=413,
        code="request_too_large",
    )
