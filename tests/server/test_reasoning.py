"""Reasoning in front of an answer: read apart, and left free by constraints."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.server.reasoning import Marks, ReasoningReader
from structgen.server.requests.specs import FREE, choice
from tests.server.conftest import Serving, ask, served

MARKS = Marks("<think>", "</think>")
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 9}, "fun": {"type": "boolean"}},
    "required": ["name", "fun"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "film", "schema": SCHEMA}}


@pytest.fixture(scope="module")
def serving(generator: Any) -> Iterator[Serving]:
    """A server whose chat template opens the reasoning, and of which clients expect it."""
    from structgen.server.settings import ServerSettings

    thinking = copy.copy(generator)
    thinking.tokenizer = copy.deepcopy(generator.tokenizer)
    thinking.tokenizer.chat_template += "<think>\n"
    with served(thinking, ServerSettings(reasoning=("<think>", "</think>"))) as found:
        yield found


@pytest.fixture
def client(serving: Serving) -> Iterator[Any]:
    """A client of it."""
    with serving.client() as found:
        yield found


def test_a_prompts_tail_says_whether_reasoning_is_open() -> None:
    """The last mark counts."""
    assert MARKS.opened_by("<user> hi <think>\n")
    assert not MARKS.opened_by("<user> <think> a </think> b")
    assert MARKS.opened_by("</think> and again <think>")
    assert not MARKS.opened_by("nothing")


@pytest.mark.parametrize("opened", [False, True])
def test_a_constraint_begins_behind_the_reasoning(opened: bool) -> None:
    """Free up to the mark, exact behind it; without any where the prompt has not begun it."""
    spec = MARKS.before(choice("", ["yes", "no"]), opened=opened).make()
    start = "" if opened else "<think>"
    for text, fits in [
        (f"{start}it is yes or no</think>\n\nyes", True),
        (f"{start}hm</think>no", True),
        (f"{start}</think>maybe", False),
        (f"{start}yes", False),
        ("yes", not opened),
    ]:
        found = True
        try:
            sg.check(spec, text)
        except sg.errors.ValidationError:
            found = False
        assert found == fits, text
    assert MARKS.before(FREE, opened=opened) is FREE


@given(
    st.sampled_from(["", "a", "<b", "x</thin k", "\n"]),
    st.sampled_from(["", "yes", "\nno", "<think>", "</think>"]),
    st.booleans(),
    st.lists(st.integers(1, 4), max_size=40),
)
def test_pieces_make_no_difference(
    thought: str, answer: str, opened: bool, sizes: list[int]
) -> None:
    """However a text is cut, the reasoning and the answer are the same."""
    text = ("" if opened else "<think>") + thought + "</think>\n\n" + answer
    reader, thoughts, answers = ReasoningReader(MARKS, opened=opened), "", ""
    for size in [*sizes, len(text)]:
        piece, text = text[:size], text[size:]
        more = reader.feed(piece, ended=not text)
        thoughts, answers = thoughts + more[0], answers + more[1]
        if not text:
            break
    assert (thoughts, answers) == (thought, answer.lstrip("\n"))


@pytest.mark.parametrize("text", ["plain", "<thin", "", "a <think> b"])
def test_a_text_without_reasoning_is_an_answer(text: str) -> None:
    """Also one that only looks like it at first."""
    reader = ReasoningReader(MARKS, opened=False)
    pieces = [reader.feed(letter, ended=False) for letter in text] + [reader.feed("", ended=True)]
    assert "".join(thoughts for thoughts, _ in pieces) == ""
    assert "".join(answer for _, answer in pieces) == text


def test_chats_have_reasoning_and_answer(client: Any) -> None:
    """Whole and in pieces; the answer fits, however the reasoning ends."""
    fields: dict[str, Any] = {"response_format": FORMAT, "seed": 5, "max_tokens": 60}
    whole = ask(client, **fields).choices[0]
    assert set(json.loads(whole.message.content)) == {"name", "fun"}
    assert "</think>" not in whole.message.reasoning_content
    chunks = [c.choices[0].delta for c in ask(client, stream=True, **fields) if c.choices]
    assert "".join(c.content or "" for c in chunks) == whole.message.content
    thoughts = [getattr(c, "reasoning_content", None) or "" for c in chunks]
    assert "".join(thoughts) == whole.message.reasoning_content != ""


@pytest.mark.thorough
def test_responses_have_an_item_of_reasoning(client: Any) -> None:
    """In front of the message, with its tokens counted and events of its own."""
    fields: dict[str, Any] = {
        "model": "demo",
        "input": "A film.",
        "max_output_tokens": 60,
        "text": {"format": {"type": "json_schema", "name": "film", "schema": SCHEMA}},
    }
    found = client.responses.create(**fields)
    assert [item.type for item in found.output] == ["reasoning", "message"]
    assert set(json.loads(found.output_text)) == {"name", "fun"}
    assert found.output[0].content[0].text
    assert found.usage.output_tokens_details.reasoning_tokens > 0
    kinds = [event.type for event in client.responses.create(stream=True, **fields)]
    assert kinds.index("response.reasoning_text.delta") < kinds.index("response.output_text.delta")
    assert "response.reasoning_text.done" in kinds
