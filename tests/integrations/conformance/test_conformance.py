"""Every adapter masks as the core does, bit for bit, through drafts, trees, ends and rollbacks."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.integrations.requests import spec_of
from tests.integrations.conformance.adapters import ADAPTERS, SIZE, VOCABULARY, Row, Text

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning")]
(END,) = VOCABULARY.eos_ids
SPECS = {
    "object": (
        "json",
        json.dumps(
            {
                "type": "object",
                "properties": {"k": {"type": "boolean"}, "b": {"enum": ["ab", 1]}},
                "required": ["k"],
                "additionalProperties": False,
            }
        ),
    ),
    "any object": ("json_object", ""),
    "array": ("json", '{"type": "array", "items": {"type": ["null", "boolean"]}, "maxItems": 2}'),
    "pattern": ("regex", "(ab|ba){1,3}é?"),
    "choice": ("choice", '["a", "ab", "abab", "true"]'),
    "lark": ("grammar", 'start: "a" start "b" | "ab"'),
    "gbnf": ("grammar", 'root ::= "[" ("true" | root)? "]"'),
    "tags": (
        "structural_tag",
        json.dumps(
            {
                "structures": [{"begin": '{"k', "schema": {"type": "boolean"}, "end": "}"}],
                "triggers": ['{"'],
            }
        ),
    ),
}


@cache
def core(name: str) -> sg.Constraint:
    """The constraint that all adapters are compared with."""
    return sg.compile(spec_of(*SPECS[name]), VOCABULARY)


def expected(name: str, state: int) -> Row:
    """The row of the core; behind the end, the end token."""
    row = np.zeros(VOCABULARY.words, np.int32)
    core(name).fill_mask(state, row)
    if state == sg.FINAL:
        row[END >> 5] |= 1 << (END & 31)
    return row


def allowed(row: Row) -> list[int]:
    """The tokens of a row."""
    return [t for t in range(SIZE) if row[t >> 5] >> (t & 31) & 1]


class Compared:
    """A text in a host, compared with the states of the core."""

    def __init__(self, adapter: str, name: str) -> None:
        self.text: Text = ADAPTERS[adapter](*SPECS[name])
        self.name = name
        self.states = [core(name).start]

    def check(self) -> list[int]:
        """Compare the masks; the allowed tokens, of which there is always one."""
        state = self.states[-1]
        row = self.text.mask()
        assert (row == expected(self.name, state)).all()
        found = allowed(row)
        assert found, "a state without a token would become token 0"
        ends = state == sg.FINAL or core(self.name).is_accepting(state)
        assert (END in found) == ends, "the end token exactly where the text may end"
        return found

    def accept(self, token: int) -> bool:
        """Go on by a token in both."""
        state = self.states[-1]
        after = sg.FINAL if state == sg.FINAL else core(self.name).advance(state, token)
        accepted = self.text.accept(token)
        assert accepted == (after != sg.DEAD)
        if accepted:
            self.states.append(after)
        return accepted

    def rollback(self, count: int) -> None:
        """Take tokens back in both."""
        self.text.rollback(count)
        del self.states[len(self.states) - count :]


def pytest_generate_tests(metafunc: Any) -> None:
    """Each test for each adapter and each spec."""
    if {"adapter", "name"} <= set(metafunc.fixturenames):
        pairs = [(a, n) for a in ADAPTERS for n in SPECS]
        metafunc.parametrize(("adapter", "name"), pairs, ids=[f"{a}-{n}" for a, n in pairs])


@settings(max_examples=6)
@given(seed=st.integers(0, 10**6))
def test_masks_are_the_cores_along_texts_drafts_and_rollbacks(
    adapter: str, name: str, seed: int
) -> None:
    """Random walks: allowed tokens, others (which change nothing), ends, and steps back."""
    rng = Random(seed)
    both = Compared(adapter, name)
    for _ in range(14):
        found = both.check()
        chance = rng.random()
        if chance < 0.2 and len(both.states) > 1:
            both.rollback(rng.randrange(1, len(both.states)))
        elif chance < 0.35:
            both.accept(rng.randrange(SIZE))
        else:
            both.accept(END if END in found and rng.random() < 0.3 else rng.choice(found))
    both.check()


@settings(max_examples=4)
@given(seed=st.integers(0, 10**6))
def test_every_node_of_a_draft_tree_has_its_own_mask(adapter: str, name: str, seed: int) -> None:
    """Depth first, as hosts verify trees: a node that is not allowed has no children."""
    rng = Random(seed)
    both = Compared(adapter, name)

    def visit(depth: int) -> None:
        found = both.check()
        for token in [rng.choice(found), rng.randrange(SIZE)] if depth else []:
            if both.accept(token):
                visit(depth - 1)
                both.rollback(1)
        both.check()

    visit(3)
    assert len(both.states) == 1


def test_the_end_can_be_taken_back(adapter: str, name: str) -> None:
    """Behind a shortest text: end token, more tokens, and back to where the text may end."""
    both = Compared(adapter, name)
    text = core(name).shortest_completion(core(name).start)
    for byte in bytes(text):
        token = next(t for t in both.check() if VOCABULARY.tokens[t] == bytes([byte]))
        assert both.accept(token)
    assert END in both.check()
    assert both.accept(END)
    assert both.check() == [END], "an ended text gets its end token alone"
    assert both.accept(END)
    both.rollback(2)
    assert END in both.check()
    both.rollback(len(both.states) - 1)
    both.check()
