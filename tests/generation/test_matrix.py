"""Checks, with old and new releases of other packages, that what a user sees first works.

`make test-matrix` runs this, and what else is marked so, in environments of their own.
"""

from __future__ import annotations

import json
import random
from typing import Annotated

import numpy as np
import pydantic
import pytest

import structgen as sg
from structgen import demo
from structgen.automata.interface import DEAD
from structgen.generation.models.target import HuggingFaceTarget
from structgen.masks import bitmask
from tests.generation.models import mixed_model, sliding_model

pytestmark = pytest.mark.matrix


class Person(pydantic.BaseModel):
    """A spec with the kinds of fields that Pydantic turns into keywords."""

    name: Annotated[str, pydantic.Field(max_length=20)]
    age: Annotated[int, pydantic.Field(ge=0, le=150)]
    tags: list[str] = pydantic.Field(default=[], max_length=2)


@pytest.fixture(scope="module")
def generator() -> sg.Generator:
    """The shipped model on the CPU, in the precision in which drafts change no text."""
    return sg.Generator(demo.model_path(), device="cpu", dtype="float32")


def test_the_shipped_model_writes_pydantic_types(generator: sg.Generator) -> None:
    """Greedily and drawn, alone and in a batch of prompts of different lengths."""
    prompts = ["Ada Lovelace is 36 years old.", "Bob is 7."]
    rows = generator.batch(prompts, Person, n=2, seed=1, max_tokens=90)
    greedy = generator.generate(prompts[0], Person, max_tokens=90, temperature=0)
    for result in [greedy, *rows[0], *rows[1]]:
        assert isinstance(result.value, Person)
        assert result.value == Person.model_validate(json.loads(result.text))


def test_drafts_change_no_text(generator: sg.Generator) -> None:
    """A draft model reads and is read through the same caches."""
    prompt, schema = "Ada is 36.", {"type": "array", "items": {"type": "integer"}, "maxItems": 9}
    plain = generator.generate(prompt, schema, max_tokens=60, temperature=0)
    drafter = sg.speculate.ModelDrafter(demo.draft_path(), device="cpu", dtype="float32")
    drafted = generator.generate(prompt, schema, max_tokens=60, temperature=0, speculate=drafter)
    assert drafted.tokens == plain.tokens


@pytest.mark.parametrize(
    "spec",
    [
        sg.Regex(r"[a-c]{2,5}(x|yz)*\d"),
        sg.Lark('start: "[" [start ("," start)*] "]" | /[0-9]{1,3}/'),
        sg.JsonSchema({"type": "object", "properties": {"a": {"type": "integer", "minimum": 12}}}),
    ],
)
def test_masks_are_what_can_be_read(spec: object) -> None:
    """A bit is set exactly where the token can be read, along random texts."""
    pieces = [b'{"', b'":', b'"a"', b"[[", b"],", b"12", b"ab", b"yz", b"3]", b" "]
    tokens = [b"", *(bytes([byte]) for byte in range(256)), *pieces]
    vocabulary = sg.Vocabulary(tokens, eos_ids=[0])
    constraint = sg.compile(spec, vocabulary)
    rng = random.Random(3)
    seen = 0
    for _ in range(8):
        state = constraint.start
        for _ in range(12):
            row = bitmask.allocate(1, vocabulary.size)
            constraint.fill_mask(state, row[0])
            allowed = np.flatnonzero(bitmask.unpack(row, vocabulary.size)[0]).tolist()
            readable = [
                token
                for token in range(1, vocabulary.size)
                if constraint.advance(state, token) != DEAD
            ]
            assert [token for token in allowed if token] == readable
            seen += len(readable)
            if not readable:
                break
            state = constraint.advance(state, rng.choice(readable))
    assert seen > 100


@pytest.mark.parametrize("build", [sliding_model, mixed_model])
def test_windows_become_masks(build: object) -> None:
    """A model with sliding windows is served as one that takes trees."""
    wide = HuggingFaceTarget(build()).with_trees()  # type: ignore[operator]
    assert wide is not None
    assert wide.takes_trees
