"""The server as an application of Ray Serve, where `ray[serve]` is installed: a local cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from structgen.errors import ArgumentError

# Warnings are those of Ray's own packages.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of two replicas."""
    pytest.importorskip("ray")
    serve = pytest.importorskip("ray.serve", exc_type=ImportError)
    openai = pytest.importorskip("openai")
    import ray

    from structgen.server.ray_app import app

    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
    serve.start(http_options={"port": 8765})
    try:
        serve.run(app({"model": "demo", "replicas": "2", "dtype": "float32"}))
        with openai.OpenAI(base_url="http://127.0.0.1:8765/v1", api_key="none") as found:
            yield found
    finally:
        serve.shutdown()
        ray.shutdown()


def test_texts_fit_and_say_so(client: Any) -> None:
    """Whole and in a stream; the replicas are alike."""
    messages = [{"role": "user", "content": "Ada is 36."}]
    fields = {"model": "demo", "messages": messages, "temperature": 0}
    asked = {"guided_regex": "(yes|no), [0-9]{2}"}
    whole = [client.chat.completions.create(**fields, extra_body=asked) for _ in range(6)]
    [text] = {found.choices[0].message.content for found in whole}
    assert re.fullmatch(asked["guided_regex"], text)
    assert whole[0].structgen["enforced"] == "full"
    chunks = client.chat.completions.create(**fields, extra_body=asked, stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == text


def test_a_broken_spec_is_a_400_with_its_place(client: Any) -> None:
    """As the server by itself has it."""
    import openai

    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(
            model="demo", prompt="x", extra_body={"guided_json": {"type": "nothing"}}
        )
    assert caught.value.param == "guided_json"


def test_an_unknown_argument_is_refused() -> None:
    """With those that there are."""
    pytest.importorskip("ray.serve", exc_type=ImportError)
    from structgen.server.ray_app import app

    with pytest.raises(ArgumentError, match="replica"):
        app({"replica": "2"})
