"""Constraints keep the laws of `laws.py`, over specs and small random vocabularies.

The languages that can be written out are compared with the written-out language token by token;
the others with parsers that know nothing of this project.
"""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from random import Random
from typing import Any

import pytest
import referencing
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from tests.helpers import laws
from tests.helpers.oracle import (
    Decider,
    Finite,
    json_decider,
    random_tokens,
    regex_decider,
    spellings,
    texts_over,
)

SEEDS = st.integers(0, 10**6)
BYTES: list[bytes | None] = [bytes((i,)) for i in range(256)]

PATTERNS = ["a|ab|abc", "(ab|ba){1,3}", "a{2,4}b?", "(a|b)c{0,3}", "(é|a)(b|é){0,2}", "a?b?c?a?b?"]
VALUES: list[list[Any]] = [
    [None, True],
    ["a", "ab", "é"],
    ["😀"],
    ["a/b", '"'],
    [[], [True], [None, False]],
    [{"a": True}, {"a": True, "b": None}, {}],
    [{"é": [{"a": None}]}, {"a": "b"}],
]
SCHEMAS: list[Any] = [
    {},
    {"type": "integer", "minimum": -3, "maximum": 120},
    {"type": "number", "multipleOf": 0.5},
    {"type": "string", "pattern": "^(a|é)+😀?$", "maxLength": 4},
    {"type": "array", "items": {"enum": [1, "a", None, [2]]}, "minItems": 1, "maxItems": 3},
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "ab": {"$ref": "#"}, "é": {"type": "string"}},
        "required": ["a"],
        "maxProperties": 3,
    },
    {"anyOf": [{"required": ["a"]}, {"type": "array", "items": {"$ref": "#"}}, {"const": "end"}]},
    {"type": "object", "patternProperties": {"^a": {"type": "null"}}, "minProperties": 2},
]
INSTANCES = [
    b'{"a":1}', b'{"a": 2, "ab": {"a": 1}}', b'[1, "a", null]', b"[[2]]", b'"a\\u00e9"', b"-3",
    b"1.5e1", b'{"ab":null,"a":null}', b'"end"', b'[{"a":[]},"end"]', '"é😀"'.encode(), b"0.5",
]  # fmt: skip


def vocabulary_of(texts: list[bytes], rng: Random, whole: bool) -> sg.Vocabulary:
    """Random pieces of texts, with an end token and a special one; `whole`: all bytes as well."""
    tokens = random_tokens(texts, rng, rng.randrange(8, 32)) + (BYTES if whole else [])
    size = len(tokens)
    return sg.Vocabulary([*tokens, b"</s>", b"<x>"], eos_ids=[size], special_ids=[size + 1])


def check_finite(spec: Any, language: Finite, rng: Random) -> None:
    """Compile for a vocabulary with the letters of the language; compare along random walks."""
    texts = sorted(language.texts)
    letters: list[bytes | None] = [bytes((b,)) for b in sorted(set(b"".join(texts)))]
    tokens = random_tokens(texts, rng) + (letters if rng.random() < 0.5 else [texts[0]])
    vocabulary = sg.Vocabulary([*tokens, b"</s>"], eos_ids=[len(tokens)])
    constraint = sg.compile(spec, vocabulary)
    for _ in range(4):
        for visit in laws.walk(constraint, rng, 12):
            laws.agrees_with(constraint, visit, language)
            laws.mask_is_advance(constraint, visit[1])


@given(st.sampled_from(PATTERNS), SEEDS)
def test_masks_of_finite_patterns_are_those_of_the_written_out_language(
    pattern: str, seed: int
) -> None:
    """Bit for bit, at every place of a random walk; so are ends, completions and forced bytes."""
    language = Finite(texts_over("abcé", 6, regex_decider(pattern)))
    check_finite(sg.Regex(pattern), language, Random(seed))


@given(st.lists(st.text("abé", max_size=4), min_size=1, max_size=6), SEEDS)
def test_masks_of_choices_are_those_of_the_written_out_language(
    texts: list[str], seed: int
) -> None:
    """The choices themselves are the language."""
    rng = Random(seed)
    if not any(texts):
        texts = [*texts, "a"]
    check_finite(sg.Choice(texts), Finite(frozenset(t.encode() for t in texts)), rng)


@given(st.sampled_from(VALUES), SEEDS)
def test_masks_of_constants_are_those_of_all_their_spellings(values: list[Any], seed: int) -> None:
    """Escapes in every form, keys in every order, nothing else."""
    language = Finite(frozenset(text for value in values for text in spellings(value)))
    spec = sg.JsonSchema(
        {"enum": values}, property_order="any", whitespace="compact", escapes="any"
    )
    if any(isinstance(value, dict) for value in values):
        rng = Random(seed)
        constraint = sg.compile(spec, sg.Vocabulary([*BYTES, b""], eos_ids=[256]))
        for text, state in laws.walk(constraint, rng, 8):
            laws.agrees_with(constraint, (text, state), language)
        return
    check_finite(spec, language, Random(seed))


def compiled(schema: Any, rng: Random) -> tuple[sg.JsonSchema, sg.Vocabulary, Decider]:
    """A spec with random options, a vocabulary for it, and the oracle of its texts."""
    spec = sg.JsonSchema(
        schema,
        property_order=rng.choice(("declared", "any")),
        whitespace=rng.choice(("bounded", "compact", "any", "( |\\n){0,2}")),
    )
    return spec, vocabulary_of(INSTANCES, rng, whole=True), json_decider(schema)


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_every_state_of_a_schema_keeps_the_laws(schema: Any) -> None:
    """Masks, ends, completions, batches, cuts and checkpoints, along random walks."""
    for seed in range(3):
        rng = Random(seed)
        spec, vocabulary, decide = compiled(schema, rng)
        constraint = sg.compile(spec, vocabulary)
        visits = laws.walk(constraint, rng, 10)
        for visit in visits[-3:]:
            laws.one_state_keeps_the_laws(constraint, visit, decide)
        laws.batch_is_singles(constraint, [state for _, state in visits])
        laws.cutting_does_not_matter(constraint, visits[-1][0], rng)
        laws.checkpoints_hold(constraint, visits[:4], rng)
        laws.same_behaviour(constraint, sg.compile(spec, vocabulary), rng)


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_tokens_of_valid_texts_are_allowed_at_every_byte(schema: Any) -> None:
    """Texts are accepted iff they are valid, and no token on the way to their end is refused."""
    vocabulary = vocabulary_of(INSTANCES, Random(5), whole=True)
    decide = json_decider(schema)
    spec = sg.JsonSchema(schema, property_order="any", whitespace="any")
    constraint = sg.compile(spec, vocabulary)
    laws.accepts_exactly(constraint, INSTANCES, decide)
    for text in filter(decide, INSTANCES):
        laws.own_tokens_are_allowed(constraint, text)


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
@pytest.mark.parametrize("ahead", [0, 40])
def test_a_saved_constraint_behaves_like_a_fresh_one(
    schema: Any, ahead: int, tmp_path: Path
) -> None:
    """Saved with nothing or with many states made, it goes on where a fresh one would."""
    rng = Random(ahead)
    spec, vocabulary, _ = compiled(schema, rng)
    constraint = sg.compile(spec, vocabulary)
    if ahead:
        constraint.precompute(ahead)
        laws.walk(constraint, rng, 6)
    constraint.save(tmp_path / "saved")
    for _ in range(3):
        loaded = sg.load(tmp_path / "saved", vocabulary)
        laws.same_behaviour(loaded, sg.compile(spec, vocabulary), rng)


@pytest.mark.parametrize("schema", [SCHEMAS[0], SCHEMAS[5]], ids=json.dumps)
def test_threads_may_share_a_constraint(schema: Any) -> None:
    """Four threads that start together see what each would see alone."""
    spec, vocabulary, _ = compiled(schema, Random(1))
    laws.threads_agree(lambda: sg.compile(spec, vocabulary), seeds=range(4))


PICKLED = [
    sg.JsonSchema(SCHEMAS[5], closed=True, whitespace="compact"),
    sg.JsonSchema({"$ref": "urn:a"}, registry=referencing.Registry().with_resource(
        "urn:a", referencing.jsonschema.DRAFT202012.create_resource({"type": "integer"})
    )),
    sg.Regex("(a|é)+b"),
    sg.Lark('start: "a" start? "b"'),
    sg.sequence("a", sg.JsonSchema({"type": "object"})),
    sg.all_of(sg.Regex("a*"), sg.filters.length(at_least=2, unit="tokens")),
]  # fmt: skip


@pytest.mark.parametrize("spec", PICKLED, ids=lambda spec: type(spec).__name__)
def test_a_pickled_constraint_is_compiled_again(spec: Any) -> None:
    """It behaves as the one that was pickled; copies in one process are the constraint itself."""
    constraint = sg.compile(spec, sg.Vocabulary([*BYTES, b"<end>"], eos_ids=[256]))
    laws.walk(constraint, Random(1), 6)
    laws.same_behaviour(pickle.loads(pickle.dumps(constraint)), constraint, Random(1))
    assert copy.copy(constraint) is copy.deepcopy(constraint) is constraint
