"""The whole pipeline over twelve tokens, held in one hand. Read this file first.

The vocabulary can write JSON like {"a":1} or {"a":[1,1]} and little else, so every mask fits on a
line, and the expected ones below were worked out by hand.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import structgen as sg
from structgen.errors import UnsatisfiableSchemaError

# id:      0     1     2      3      4     5     6     7     8     9      10    11
TOKENS = [b"{", b"}", b'"a"', b'":', b":", b"1", b"[", b"]", b",", b'{"a', b"1}", b"</s>"]
END = 11
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
SCHEMA = {
    "type": "object",
    "properties": {"a": {"anyOf": [{"const": 1}, {"type": "array", "items": {"const": 1}}]}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def constraint() -> sg.Constraint:
    """The schema compiled for the twelve tokens, without white space."""
    vocabulary = sg.Vocabulary(TOKENS, eos_ids=[END])
    return sg.compile(sg.JsonSchema(SCHEMA, whitespace="compact"), vocabulary)


def allowed(c: sg.Constraint, state: int) -> list[bytes]:
    """The tokens whose bit is set in the mask of a state."""
    row = np.zeros(1, np.int32)
    c.fill_mask(state, row)
    return [token for i, token in enumerate(TOKENS) if row[0] >> i & 1]


def read(c: sg.Constraint, *tokens: bytes) -> int:
    """The state after some tokens."""
    state = c.start
    for token in tokens:
        state = c.advance(state, TOKENS.index(token))
    return state


@pytest.mark.nojit
def test_each_mask_has_exactly_the_tokens_that_may_come_next(constraint: sg.Constraint) -> None:
    """From the first brace to the end token: one mask after another, as a human would have it."""
    assert allowed(constraint, read(constraint)) == [b"{", b'{"a']
    assert allowed(constraint, read(constraint, b"{")) == [b'"a"']
    assert allowed(constraint, read(constraint, b'{"a')) == [b'":']
    assert allowed(constraint, read(constraint, b"{", b'"a"')) == [b":"]
    assert allowed(constraint, read(constraint, b'{"a', b'":')) == [b"1", b"[", b"1}"]
    assert allowed(constraint, read(constraint, b'{"a', b'":', b"1")) == [b"}"]
    assert allowed(constraint, read(constraint, b'{"a', b'":', b"[")) == [b"1", b"]"]
    assert allowed(constraint, read(constraint, b'{"a', b'":', b"[", b"1")) == [b"]", b","]
    assert allowed(constraint, read(constraint, b'{"a', b'":', b"1}")) == [b"</s>"]


@pytest.mark.nojit
def test_the_way_a_text_is_cut_into_tokens_does_not_matter(constraint: sg.Constraint) -> None:
    """Two tokenizations of {"a":1} lead to the same state."""
    assert read(constraint, b"{", b'"a"', b":", b"1", b"}") == read(
        constraint, b'{"a', b'":', b"1}"
    )


@pytest.mark.nojit
def test_a_refused_token_is_dead_and_the_end_token_is_final(constraint: sg.Constraint) -> None:
    """DEAD and FINAL are the two states after which nothing is allowed."""
    assert constraint.advance(constraint.start, TOKENS.index(b"}")) == sg.DEAD
    whole = read(constraint, b'{"a', b'":', b"1}")
    assert constraint.is_accepting(whole)
    assert constraint.advance(whole, END) == sg.FINAL
    assert allowed(constraint, sg.DEAD) == allowed(constraint, sg.FINAL) == []


@pytest.mark.nojit
def test_a_state_says_what_is_forced_and_how_to_finish(constraint: sg.Constraint) -> None:
    """Forced bytes are those before the first choice; the shortest completion ends the text."""
    assert constraint.forced_bytes(constraint.start) == b'{"a":'
    assert constraint.shortest_completion(constraint.start) == b'{"a":1}'
    inside = read(constraint, b'{"a', b'":', b"[", b"1")
    assert constraint.forced_bytes(inside) == b""
    assert constraint.shortest_completion(inside) == b"]}"


@pytest.mark.nojit
def test_an_old_state_is_a_checkpoint(constraint: sg.Constraint) -> None:
    """Going back needs no call: the int still means the same place."""
    before = read(constraint, b"{")
    read(constraint, b"{", b'"a"', b":", b"1")
    assert allowed(constraint, before) == [b'"a"']


def test_a_saved_constraint_is_the_same_constraint(
    constraint: sg.Constraint, tmp_path: Path
) -> None:
    """What was written to a file gives the same masks."""
    constraint.save(tmp_path / "tiny")
    loaded = sg.load(tmp_path / "tiny", constraint.vocabulary)
    for tokens in [(), (b"{",), (b'{"a', b'":'), (b'{"a', b'":', b"[", b"1")]:
        assert allowed(loaded, read(loaded, *tokens)) == allowed(
            constraint, read(constraint, *tokens)
        )


def test_a_vocabulary_that_cannot_write_the_text_is_refused(constraint: sg.Constraint) -> None:
    """No token of the twelve has the letter n, so null cannot be written with them."""
    with pytest.raises(UnsatisfiableSchemaError):
        sg.compile(sg.JsonSchema({"type": "null"}), constraint.vocabulary)
