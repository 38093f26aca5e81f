"""The command `structgen serve`: its options, and a server of its own process."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from structgen.cli.commands.serve import settings_of
from structgen.cli.main import build_parser, main
from structgen.errors import StructgenError
from structgen.server.settings import Limits

REPOSITORY = Path(__file__).resolve().parent.parent.parent


def settings(*arguments: str) -> Any:
    """The settings of a command line."""
    return settings_of(build_parser().parse_args(["serve", "demo", *arguments]))


def test_the_defaults_are_those_of_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """On loopback, without a key."""
    monkeypatch.delenv("STRUCTGEN_API_KEY", raising=False)
    found = settings()
    assert found.model_name == "demo"
    assert found.everybody.limits == Limits()
    assert not found.keys


def test_options_set_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has an option; a key comes from the environment or the command line."""
    monkeypatch.setenv("STRUCTGEN_API_KEY", "from the environment")
    found = settings("--max-tokens", "9", "--seconds", "2.5", "--tools", "names", "--name", "m")
    assert list(found.keys) == ["from the environment"]
    [tenant] = found.keys.values()
    assert (tenant.limits.max_tokens, tenant.limits.seconds) == (9, 2.5)
    assert (tenant.limits.tools, found.model_name) == ("names", "m")
    assert list(settings("--api-key", "a", "--api-key", "b").keys) == ["a", "b"]


def test_others_are_let_in_with_a_key_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address beyond loopback needs one."""
    monkeypatch.delenv("STRUCTGEN_API_KEY", raising=False)
    with pytest.raises(StructgenError, match="no key"):
        settings("--host", "0.0.0.0")
    assert settings("--host", "0.0.0.0", "--api-key", "a").keys


def test_a_file_gives_keys_limits_of_their_own(tmp_path: Path) -> None:
    """What it does not name is as the options say."""
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"a": {"name": "team", "concurrent": 3}, "b": {}}))
    found = settings("--keys", str(path), "--max-tokens", "7").keys
    assert (found["a"].name, found["a"].limits.concurrent, found["a"].limits.max_tokens) == (
        "team",
        3,
        7,
    )
    assert found["b"].limits == Limits(max_tokens=7)


@pytest.mark.parametrize(
    "content", ["[", "[]", '{"a": 1}', '{"a": {"speed": 1}}', '{"a": {"states": 0}}']
)
def test_a_broken_file_of_keys_is_refused(content: str, tmp_path: Path) -> None:
    """And no key is shown."""
    path = tmp_path / "keys.json"
    path.write_text(content)
    with pytest.raises(StructgenError) as caught:
        settings("--keys", str(path))
    assert "'a'" not in str(caught.value)


def test_the_command_hands_the_model_and_the_address_to_the_server(
    generator: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On loopback, without the headers of others; in this process."""
    import uvicorn

    from structgen.cli.commands import serve

    handed: dict[str, Any] = {}
    monkeypatch.delenv("STRUCTGEN_API_KEY", raising=False)
    monkeypatch.setattr(serve, "load_generator", lambda *_, **__: generator)
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: handed.update(options, app=app))
    assert main(["serve", "demo", "--port", "8123", "--rows", "3"]) == 0
    service = handed["app"].state.service
    service.close()
    assert (handed["host"], handed["port"], handed["server_header"]) == ("127.0.0.1", 8123, False)
    assert (service.settings.rows, service.settings.model_name) == (3, "demo")
    assert "http://127.0.0.1:8123/v1" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_serves_until_it_is_interrupted() -> None:
    """Ready when /health answers; a client of the API is answered."""
    for package in ("torch", "transformers", "fastapi", "uvicorn", "openai", "httpx"):
        pytest.importorskip(package)
    import httpx
    import openai

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "structgen", "serve", "demo", "--port", str(port)]
    process = subprocess.Popen(command, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True)
    try:
        root = f"http://127.0.0.1:{port}"
        end = time.monotonic() + 120
        while not answers(f"{root}/health"):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.1)
        with openai.OpenAI(base_url=f"{root}/v1", api_key="none") as client:
            found = client.completions.create(
                model="demo", prompt="x", extra_body={"guided_choice": ["one", "two"]}
            )
        assert found.choices[0].text in {"one", "two"}
        assert httpx.get(f"{root}/v1/models").json()["data"][0]["id"] == "demo"
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert f"demo: http://127.0.0.1:{port}/v1" in said
    assert "Traceback" not in said


def answers(url: str) -> bool:
    """Whether a server answers there with 200."""
    import httpx

    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False
