"""Tags work over the vocabulary of Llama 3, where tokens cut everything anywhere."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.compose.tools.tools import tools
from structgen.masks.bitmask import unpack

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
TEXT = 'Let me see.\n<tool_call>\n{"name": "look", "arguments": {"city": "Bonn", "days": 3}}\n'
TEXT += "</tool_call> There."


@pytest.fixture(scope="module")
def vocabulary(data_dir: Path) -> sg.Vocabulary:
    """128,000 text tokens."""
    path = data_dir / "tokenizers" / "llama3.tiktoken"
    if not path.is_file():
        pytest.skip(f"no tokenizer at {path}")
    return sg.Vocabulary.from_tiktoken(path)


@pytest.fixture(scope="module")
def constraint(vocabulary: sg.Vocabulary) -> sg.Constraint:
    """One tool."""
    return sg.compile(tools([{"name": "look", "parameters": SCHEMA}]), vocabulary)


def allowed(c: sg.Constraint, text: str) -> set[int]:
    """The tokens of the mask behind a text."""
    row = np.zeros(c.vocabulary.words, np.int32)
    c.fill_mask(c.advance_bytes(c.start, text.encode()), row)
    return set(np.flatnonzero(unpack(row, c.vocabulary.size)).tolist())


def test_free_text_allows_every_token(constraint: sg.Constraint) -> None:
    """No token holds the trigger, so outside of calls the mask takes nothing away."""
    everything = set(constraint.vocabulary.text_ids.tolist())
    assert allowed(constraint, "Let me see.") >= everything
    left_out = everything - allowed(constraint, "Let me see.\n<tool_call")
    assert left_out
    assert all(constraint.vocabulary.token_bytes(t).startswith(b">") for t in left_out)


def test_masks_in_arguments_are_those_of_the_schema(
    vocabulary: sg.Vocabulary, constraint: sg.Constraint
) -> None:
    """Inside the arguments both allow the same, but for tokens that end the call."""
    alone = sg.compile(SCHEMA, vocabulary)
    start = TEXT.index("{", TEXT.index("arguments"))
    for end in (start, start + 1, start + 9, start + 12, start + 16, start + 24, start + 26):
        wider = allowed(constraint, TEXT[:end]) - allowed(alone, TEXT[start:end])
        assert allowed(alone, TEXT[start:end]) <= allowed(constraint, TEXT[:end])
        for token in wider:
            data = vocabulary.token_bytes(token)
            at = constraint.advance_bytes(constraint.start, TEXT[:end].encode() + data)
            assert at != sg.DEAD
            assert b"}}" in data or data.startswith(b"}")


def test_the_text_is_allowed_however_it_is_cut(constraint: sg.Constraint) -> None:
    """Every token of the vocabulary that the rest of the text starts with has its bit set."""
    vocabulary = constraint.vocabulary
    ids = {vocabulary.token_bytes(t): t for t in vocabulary.text_ids.tolist()}
    data = TEXT.encode()
    for at in range(0, len(data), 3):
        mask = allowed(constraint, TEXT[:at])
        for end in range(at + 1, min(at + 16, len(data)) + 1):
            token = ids.get(data[at:end])
            assert token is None or token in mask


def test_random_walks_over_real_tokens_finish(constraint: sg.Constraint) -> None:
    """Calls that random tokens begin are finished and read back."""
    spec: Any = constraint.spec
    rng = Random(1)
    row = np.zeros(constraint.vocabulary.words, np.int32)
    for _ in range(6):
        text = b'<tool_call>\n{"name": "look", "arguments": '
        state = constraint.advance_bytes(constraint.start, text)
        for _ in range(12):
            constraint.fill_mask(state, row)
            token = rng.choice(np.flatnonzero(unpack(row, constraint.vocabulary.size)).tolist())
            state = constraint.advance(state, token)
            text += constraint.vocabulary.token_bytes(token)
        text_out = (text + constraint.shortest_completion(state)).decode(errors="replace")
        assert spec.parse(text_out)[0].name == "look"
