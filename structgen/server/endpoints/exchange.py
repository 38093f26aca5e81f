"""`Exchange`: a request of any endpoint that writes texts, and its answer, whole or as events."""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any

from structgen.server.jobs import Job, Piece
from structgen.server.requests.tools import Plan
from structgen.server.requests.wire import GenerationFields, SamplingFields
from structgen.server.service import Asked, Service
from structgen.server.settings import Limits


class Exchange(ABC):
    """One request. Attributes: `body`, as it came; `plan`, what its texts have to fit."""

    PREFIX: str  # of the answer's id
    plan: Plan
    asked: Asked

    def __init__(self, service: Service, body: SamplingFields, limits: Limits) -> None:
        """Read the request. ApiError for what is wrong with it."""
        service.check_model(body.model)
        self.service = service
        self.body: Any = body
        self.limits = limits
        self.id = f"{self.PREFIX}{secrets.token_hex(12)}"
        self.created = int(time.time())

    @property
    def generation(self) -> GenerationFields:
        """How the texts are to be written."""
        fields: GenerationFields = self.body
        return fields

    @property
    def wants_usage(self) -> bool:
        """Whether a stream is to end with the counts of tokens."""
        options = self.body.stream_options
        return options is not None and bool(options.include_usage)

    async def start(self) -> Job:
        """Compile and begin to write."""
        return await self.service.start(self.generation, self.asked, self.plan, self.limits)

    @abstractmethod
    async def answer(self, job: Job) -> dict[str, Any]:
        """The whole answer."""

    @abstractmethod
    def events(self, job: Job) -> AsyncIterator[dict[str, Any]]:
        """The events of a stream."""

    def envelope(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """An object of the API that carries choices."""
        about = {"id": self.id, "object": kind, "created": self.created}
        return about | {"model": self.body.model, "choices": choices}


async def collected(job: Job) -> list[list[Piece]]:
    """The pieces of each row, once all have ended."""
    found: list[list[Piece]] = [[] for _ in job.rows]
    async for pieces in job.pieces():
        for piece in pieces:
            found[piece.row].append(piece)
    return found
