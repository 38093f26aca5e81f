"""Texts that are written by loops of their own: with drafts, and by exact samplers."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import jsonschema
import pytest

from structgen.util.cancellation import CancelledError
from tests.server.conftest import Serving, ask, wait_for
from tests.server.test_chat import FORMAT, SMALL
from tests.server.test_many import LONG, figures


@pytest.mark.parametrize("drafter", ["auto", "forced", "copy", "suffix"])
def test_greedy_texts_are_the_same_with_drafts(drafter: str, client: Any) -> None:
    """As the plain loop writes them, whole and in a stream."""
    plain = ask(client, response_format=FORMAT, temperature=0)
    extra = {"speculate": drafter}
    fields: dict[str, Any] = {"response_format": FORMAT, "temperature": 0, "extra_body": extra}
    fast = ask(client, **fields)
    assert fast.choices[0].message.content == plain.choices[0].message.content
    assert fast.choices[0].finish_reason == "stop"
    assert fast.usage == plain.usage
    assert fast.structgen == plain.structgen
    chunks = list(ask(client, **fields, stream=True))
    pieces = [c.choices[0].delta.content or "" for c in chunks if c.choices]
    assert "".join(pieces) == plain.choices[0].message.content
    assert sum(map(bool, pieces)) > 1
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_drafts_take_fewer_passes(serving: Serving, client: Any) -> None:
    """Forced text is read at once."""
    asked = {"guided_regex": "(a|b)[0-9](forty-two forty-two )x?"}
    passes = []
    for more in ({}, {"speculate": "forced"}):
        before = figures(serving)["structgen_steps_total"]
        ask(client, extra_body=asked | more, temperature=0)
        serving.rests()
        passes.append(figures(serving)["structgen_steps_total"] - before)
    assert passes[1] < passes[0]


def test_several_texts_at_once(client: Any) -> None:
    """Of several prompts, each with texts of its own seed."""
    found = client.completions.create(
        model="demo",
        prompt=["Ada is 36.", "Bob is 7."],
        n=2,
        max_tokens=30,
        seed=5,
        extra_body={"guided_json": SMALL, "speculate": "auto"},
    )
    plain = client.completions.create(
        model="demo",
        prompt=["Ada is 36.", "Bob is 7."],
        n=2,
        max_tokens=30,
        seed=5,
        extra_body={"guided_json": SMALL},
    )
    for choice in found.choices:
        jsonschema.validate(json.loads(choice.text), SMALL)
    assert [c.text for c in found.choices] == [c.text for c in plain.choices]


def test_responses_take_both_fields(client: Any) -> None:
    """As chats do."""
    form = {"format": {"type": "json_schema", "name": "a", "schema": {"enum": ["yes", "no"]}}}
    for extra in ({"speculate": "auto"}, {"sampler": "cars"}):
        found = client.responses.create(model="demo", input="Well?", text=form, extra_body=extra)
        assert json.loads(found.output_text) in ("yes", "no")


@pytest.mark.thorough
def test_texts_of_an_exact_sampler_have_the_models_own_distribution(
    client: Any, generator: Any
) -> None:
    """Compared with the probabilities of both texts under the model, by a binomial bound."""
    import structgen as sg
    from structgen.generation.sampling import exact_law
    from structgen.generation.sampling.api import posterior_of

    messages = [{"role": "user", "content": "Heads or tails?"}]
    fields = {"guided_regex": "(a|bb)c?", "sampler": "cars"}
    count = Counter[str]()
    for seed in range(25):
        found = ask(client, messages[0]["content"], n=16, seed=seed, extra_body=fields)
        assert all(choice.finish_reason == "stop" for choice in found.choices)
        count.update(choice.message.content for choice in found.choices)
    law = exact_law(posterior_of(generator, messages, sg.Regex("(a|bb)c?")))
    vocabulary = generator.vocabulary
    shares: dict[str, float] = {}
    for tokens, log_probability in law.log_probs.items():
        text = vocabulary.decode_bytes(tokens).decode()
        shares[text] = shares.get(text, 0.0) + math.exp(log_probability)
    assert set(shares) == {"a", "ac", "bb", "bbc"}
    for text, share in shares.items():
        wide = 5 * math.sqrt(share * (1 - share) / 400) + 1 / 400
        assert abs(count[text] / 400 - share) <= wide


CONFLICTS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown drafter": ({"speculate": "psychic"}, "speculate"),
    "a drafter with weights of its own": ({"speculate": "medusa"}, "speculate"),
    "an unknown sampler": ({"sampler": "beam"}, "sampler"),
    "both": ({"sampler": "cars", "speculate": "auto"}, "speculate"),
    "a truncation": ({"sampler": "cars", "top_k": 3}, "top_k"),
    "no temperature": ({"sampler": "cars", "temperature": 0}, "temperature"),
    "probabilities": ({"speculate": "auto", "logprobs": True}, "logprobs"),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_what_does_not_go_together_is_refused(name: str, client: Any) -> None:
    """With the field that is in the way."""
    import openai

    extra, param = CONFLICTS[name]
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, extra_body={"guided_regex": "a+", **extra})
    assert caught.value.param == param


@pytest.mark.parametrize("more", [{"speculate": "forced"}, {"sampler": "rejection"}])
def test_others_are_answered_meanwhile_and_a_client_may_leave(
    more: dict[str, Any], serving: Serving, client: Any
) -> None:
    """Such a loop takes turns with the others, and ends when its client goes away."""
    threads = {"before": count_of_samplers()}
    spec = LONG if "speculate" in more else {"guided_regex": "zq{30}zq"}  # hardly ever drawn
    stream = ask(client, extra_body=spec | more, max_tokens=900, stream=True)
    next(stream)
    wait_for(lambda: serving.service.engine.busy[0] == 1)
    found = ask(client, extra_body={"guided_choice": ["yes"]})
    assert found.choices[0].message.content == "yes"
    assert serving.service.engine.busy[0] == 1
    stream.close()
    assert serving.rests(5)
    wait_for(lambda: count_of_samplers() == threads["before"])


def count_of_samplers() -> int:
    """Threads of samplers that are under way."""
    import threading

    return sum(thread.name == "structgen-sampler" for thread in threading.enumerate())


def test_work_in_steps_stands_still_between_them() -> None:
    """Each step runs to the next pause; the result is there after the last."""
    from structgen.server.alone import InSteps

    done = []

    def work(pause: Any) -> str:
        for number in range(3):
            done.append(number)
            pause()
        return "whole"

    with InSteps(work) as steps:
        assert done == []
        for number, _ in enumerate(steps):
            assert done == list(range(number + 1))
        assert steps.result == "whole"


def test_work_in_steps_is_ended_or_fails() -> None:
    """Work that pauses ends with the block; its error is that of `next`."""
    from structgen.server.alone import InSteps

    seen = []

    def endless(pause: Any) -> None:
        try:
            while True:
                pause()
        except CancelledError:
            seen.append("ended")
            raise

    with InSteps(endless) as steps:
        next(steps)
    assert seen == ["ended"]

    def broken(_pause: Any) -> None:
        raise ValueError("broken")

    with InSteps(broken) as steps, pytest.raises(ValueError, match="broken"):
        next(steps)
