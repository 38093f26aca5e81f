"""Fixtures: the shipped model behind a real socket on loopback, and clients of it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from structgen import demo
from tests.generation.conftest import one_thread

__all__ = ["one_thread"]

PACKAGES = ("torch", "transformers", "fastapi", "uvicorn", "prometheus_client", "openai", "httpx")
PERSON = "Extract the person as JSON.\n\nText: Oscar Lehmann is 36 years old."


class Serving:
    """A server that runs: its address, and its parts to look at."""

    def __init__(self, port: int, service: Any) -> None:
        self.root = f"http://127.0.0.1:{port}"
        self.url = f"{self.root}/v1"
        self.service = service

    def client(self, key: str = "none") -> Any:
        """A client of the OpenAI API that does not try again."""
        import openai

        return openai.OpenAI(base_url=self.url, api_key=key, max_retries=0, timeout=60)

    def rests(self, seconds: float = 20.0) -> bool:
        """Whether nothing is written and nothing waits, before long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.service.engine.busy == (0, 0):
                return True
            time.sleep(0.01)
        return False


@pytest.fixture(scope="session")
def generator() -> Any:
    """The shipped model in float32, so that a text does not depend on the texts beside it."""
    for package in PACKAGES:
        pytest.importorskip(package)
    import structgen

    return structgen.Generator(demo.model_path(), dtype="float32")


@contextlib.contextmanager
def served(generator: Any, settings: Any) -> Iterator[Serving]:
    """A server with these settings on a free port."""
    import uvicorn

    from structgen.server.app import create_app

    app = create_app(generator, settings)
    config = uvicorn.Config(app, log_level="error", server_header=False, ws="none")
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield Serving(listening.getsockname()[1], app.state.service)
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="package")
def serving(generator: Any) -> Iterator[Serving]:
    """A server with the usual settings."""
    from structgen.server.settings import ServerSettings

    with served(generator, ServerSettings()) as found:
        yield found


@pytest.fixture(scope="package")
def client(serving: Serving) -> Iterator[Any]:
    """A client of it."""
    with serving.client() as found:
        yield found


def ask(client: Any, content: str = PERSON, **fields: Any) -> Any:
    """A chat completion of the shipped model."""
    messages = [{"role": "user", "content": content}]
    return client.chat.completions.create(**{"model": "demo", "messages": messages} | fields)


def wait_for(holds: Any, seconds: float = 20.0) -> None:
    """Return once something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)
