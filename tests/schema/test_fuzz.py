"""Generated schemas and values: texts are accepted iff another library validates them.

A small, fixed part of what `python -m tests.fuzz.fuzz` does by the hundred thousand;
STRUCTGEN_THOROUGH=1 draws many more examples. A failure shows the schema made as small as it goes.
"""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import DanglingReferenceError, StructgenError
from tests.fuzz.judge import (
    LAYOUTS,
    Report,
    compare,
    compiled,
    guarded,
    legal,
    smaller,
    texts_of,
    walk,
)
from tests.helpers import laws
from tests.helpers.oracle import DIALECTS, json_decider, validator_for
from tests.helpers.schemas import MISSPELT_ON_PURPOSE, loops, random_schema
from tests.helpers.values import Guide, mutated

pytestmark = MISSPELT_ON_PURPOSE

SEEDS = st.integers(0, 2**32)
DRAFTS = [4, 6, 7, 2019, 2020]
seen: Counter[str] = Counter()
slow_is_fine = settings(suppress_health_check=list(HealthCheck))


def check(report: Report) -> None:
    """Fail with the smallest form of what went wrong; count what was done."""
    seen.update(report.counts)
    wrong = [fault for fault in report.faults if fault.kind != "slow"]
    if wrong:
        fault = smaller(wrong[0])
        schema = json.dumps(fault.schema, ensure_ascii=False)
        pytest.fail(f"{fault.kind} {fault.layout}: {fault.text!r} {fault.detail}\n{schema}")


def schema_of(rng: Random, draft: int, formats: bool = False) -> Any:
    """A legal schema without loops of references."""
    while True:
        schema = random_schema(rng, draft, formats=formats)
        if legal(schema) and not loops(schema):
            return schema


@pytest.mark.parametrize("draft", DRAFTS)
@given(seed=SEEDS)
@slow_is_fine
def test_a_text_is_accepted_iff_its_value_is_valid(draft: int, seed: int) -> None:
    """Under any order and white space; nothing is refused, and completions are short."""
    rng = Random(seed)
    formats = rng.random() < 0.2
    schema = schema_of(rng, draft, formats)
    guide = Guide(schema, rng)
    values = [guide.value() for _ in range(6)]
    values += [mutated(value, rng) for value in values]
    texts = texts_of(values, rng)
    check(guarded(schema, lambda: compare(schema, texts, formats, rng)))


@pytest.mark.parametrize("draft", DRAFTS)
@given(seed=SEEDS)
@slow_is_fine
def test_a_random_walk_is_never_stuck_and_ends_valid(draft: int, seed: int) -> None:
    """Whatever bytes are picked, in any layout, every place has a valid completion."""
    rng = Random(seed)
    schema = schema_of(rng, draft)
    decide = json_decider(schema)
    check(guarded(schema, lambda: walk(schema, rng.choice(LAYOUTS), decide, rng, steps=20)))


@given(seed=SEEDS)
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_the_laws_hold_with_tokens_of_several_bytes(seed: int) -> None:
    """Masks are brute force's, cutting does not matter, and ends are marked."""
    rng = Random(seed)
    schema = schema_of(rng, 2020)
    order, space = rng.choice(LAYOUTS)
    guide = Guide(schema, rng)
    pieces = [
        text[: rng.randint(1, 9)] for text in texts_of([guide.value() for _ in range(9)], rng)
    ]
    single = [bytes((i,)) for i in range(256)]
    vocabulary = sg.Vocabulary([*single, *pieces, b'","', b'":', b"},{", b""], eos_ids=[256 + 12])
    spec = sg.JsonSchema(schema, property_order=order, whitespace=space, formats="annotate")
    try:
        constraint = sg.compile(spec, vocabulary)
    except StructgenError:
        return  # told of by the tests above
    decide = json_decider(schema)
    visits = laws.walk(constraint, rng, 8)
    for visit in visits[-2:]:
        laws.one_state_keeps_the_laws(constraint, visit, decide)
    laws.batch_is_singles(constraint, [state for _, state in visits])
    laws.cutting_does_not_matter(constraint, visits[-1][0], rng)


LOOP = {"$ref": "#/$defs/x"}


@pytest.mark.parametrize(
    "body",
    [
        {"allOf": [LOOP]},
        {"anyOf": [True, LOOP]},
        {"oneOf": [{"type": "null"}, LOOP]},
        {"not": LOOP},
        {"if": LOOP, "then": True},
        {"if": True, "else": LOOP},
        {"dependentSchemas": {"a": LOOP}},
    ],
)
def test_a_loop_of_references_is_named(body: dict[str, Any]) -> None:
    """A schema that leads back to itself never hangs the compiler."""
    schema = {"items": LOOP, "$defs": {"x": body}}
    assert loops(schema)
    with pytest.raises(DanglingReferenceError, match="leads back to itself"):
        compiled(schema, LAYOUTS[0])


def test_most_generated_values_are_worth_judging() -> None:
    """Most schemas compile, and valid and invalid values are not rare (runs after the others)."""
    if not seen["pairs"]:
        pytest.skip("counts what the fuzz tests of this file did; they did not run")
    assert seen["compiled"] > 2 * seen["unsatisfiable"]
    assert min(seen["valid"], seen["invalid"]) * 5 > seen["pairs"]


# -- the oracle itself --------------------------------------------------------------------------

CORRECTIONS = [
    (7, {"uniqueItems": True}, [[1], [True], [1]], False),
    (7, {"items": False, "additionalItems": {"type": "null"}}, [], True),
    (2019, {"contains": {"const": 1}, "unevaluatedItems": False}, [1], False),
    (2020, {"contains": {"const": 1}, "unevaluatedItems": False}, [1], True),
    (2019, {"items": True, "unevaluatedItems": False}, [1], True),
    (2019, {"anyOf": [{"additionalProperties": {"type": "null"}}, True],
            "unevaluatedProperties": False}, {"type": None}, True),
    (2020, {"dependentSchemas": {"a": {"properties": {"a": True}}},
            "unevaluatedProperties": False}, {"a": 1}, True),
    (2020, {"anyOf": [{"$ref": "#/$defs/x"}, True], "$defs": {"x": {"prefixItems": [{"const": 1}]}},
            "unevaluatedItems": {"const": 2}}, [2], True),
    (2020, {"pattern": "^$"}, "\n", False),
    (2020, {"patternProperties": {"a$": False}}, {"a\n": 1}, True),
]  # fmt: skip


@pytest.mark.parametrize(("draft", "schema", "value", "valid"), CORRECTIONS)
def test_the_oracle_follows_the_standard_where_the_library_does_not(
    draft: int, schema: Any, value: Any, valid: bool
) -> None:
    """Cases of `tests.helpers.evaluation`, worked out by hand."""
    assert validator_for({"$schema": DIALECTS[draft], **schema}).is_valid(value) is valid
