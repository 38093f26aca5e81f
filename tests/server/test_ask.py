"""`sg.ask` with the openai package, over a socket, of a server that may or may not mask."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

import structgen as sg
from structgen.errors import NoAnswerError
from tests.server.conftest import PERSON


class Person(BaseModel):
    """What is asked for, with a bound that OpenAI's dialect lacks."""

    name: str = Field(min_length=2)
    age: int = Field(ge=0, le=150)
    town: str = ""


def test_a_server_that_masks_needs_one_attempt(client: Any) -> None:
    """The exported schema is enforced there, and the value comes back as a model."""
    found = sg.ask(client, PERSON, Person, model="demo", temperature=0)
    assert isinstance(found.value, Person)
    assert [loss.effect for loss in found.losses if loss.keyword == "minLength"] == ["looser"]
    [attempt] = found.attempts
    assert (attempt.error, attempt.part, attempt.finish_reason) == (None, "whole", "stop")
    assert sg.assert_enforced(attempt.response)["kind"] == "json_schema"
    assert found.enforced.enforced == "checked"


def test_without_a_schema_the_model_writes_what_it_likes(client: Any) -> None:
    """Nothing is enforced then, and answers that were cut off or do not fit are errors."""
    spec, options = sg.Choice(["yes"]), dict[str, Any](max_tokens=8, temperature=0)
    with pytest.raises(NoAnswerError) as caught:  # drawn at random, the text ends now and then
        sg.ask(client, "Write a story.", spec, model="demo", **options)
    attempts = caught.value.attempts
    assert len(attempts) == 3
    assert {attempt.finish_reason for attempt in attempts} == {"length"}
    assert all("cut off" in attempt.faults[0] for attempt in attempts)


def test_refused_requests_are_the_clients_own_errors(client: Any) -> None:
    """They come through as they are."""
    openai = pytest.importorskip("openai")
    with pytest.raises(openai.BadRequestError):
        sg.ask(client, PERSON, Person, model="demo", temperature=-1)
