"""In: generated schemas and values. Out: proof that texts are accepted iff another library says so.

STRUCTGEN_THOROUGH=1 draws many more examples. Schemas that this version refuses are passed over,
and a test makes sure that they are few.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import (
    DanglingReferenceError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)
from tests import laws
from tests.oracle import Decider, json_decider
from tests.schemas import mutated, near_value, schemas, spelt

BYTES = sg.Vocabulary([*(bytes((i,)) for i in range(256)), b""], eos_ids=[256])
SEEDS = st.integers(0, 10**6)
seen: Counter[str] = Counter()


def legal(schema: Any) -> bool:
    """Whether the metaschema accepts the schema."""
    try:
        jsonschema.validators.validator_for(schema).check_schema(schema)
    except jsonschema.SchemaError:
        return False
    return True


def texts_near(schema: Any, rng: Random, count: int) -> list[bytes]:
    """Texts of values along the schema and of values one change away."""
    values = [near_value(schema, schema, rng) for _ in range(count)]
    values += [mutated(value, rng) for value in values]
    return [spelt(value, rng, plain=rng.random() < 0.3).encode() for value in values]


def judged(texts: list[bytes], decide: Decider) -> list[bool] | None:
    """What the oracle says; None where a reference loops for ever."""
    try:
        return [decide(text) for text in texts]
    except RecursionError:
        return None


def compiled(spec: sg.JsonSchema) -> sg.Constraint | str:
    """The constraint, or why there is none."""
    try:
        return sg.compile(spec, BYTES)
    except (UnsupportedSchemaError, UnsatisfiableSchemaError, DanglingReferenceError) as error:
        return error.kind


@pytest.mark.parametrize("draft", [4, 6, 7, 2019, 2020])
@given(data=st.data(), seed=SEEDS)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_a_text_is_accepted_iff_its_value_is_valid(
    draft: int, data: st.DataObject, seed: int
) -> None:
    """Under any order and white space; unsatisfiable schemas have no valid value at hand."""
    schema = data.draw(schemas(draft, hard=True))
    rng = Random(seed)
    texts = texts_near(schema, rng, 6)
    verdicts = judged(texts, json_decider(schema)) if legal(schema) else None
    if verdicts is None:
        return
    constraint = compiled(
        sg.JsonSchema(schema, property_order="any", whitespace="any", formats="annotate")
    )
    if isinstance(constraint, str):
        seen[constraint] += 1
        assert constraint != UnsatisfiableSchemaError.kind or not any(verdicts)
        return
    seen["compiled"] += 1
    seen["valid"] += sum(verdicts)
    for text, valid in zip(texts, verdicts, strict=True):
        state = constraint.advance_bytes(constraint.start, text)
        assert constraint.is_accepting(state) == valid, text
        if valid:
            at = rng.randrange(len(text) + 1)
            place = constraint.advance_bytes(constraint.start, text[:at])
            assert len(constraint.shortest_completion(place)) <= len(text) - at


@pytest.mark.parametrize("draft", [4, 7, 2020])
@given(data=st.data(), seed=SEEDS)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_a_random_walk_ends_in_a_valid_text(draft: int, data: st.DataObject, seed: int) -> None:
    """Whatever bytes are picked, in any layout, the text can be finished and is then valid."""
    schema = data.draw(schemas(draft))
    rng = Random(seed)
    if not legal(schema):
        return
    constraint = compiled(
        sg.JsonSchema(
            schema,
            property_order=rng.choice(("declared", "any")),
            whitespace=rng.choice(("bounded", "compact", "any")),
            formats="annotate",
        )
    )
    if isinstance(constraint, str):
        return
    decide = json_decider(schema)
    for visit in laws.walk(constraint, rng, rng.randrange(30))[-3:]:
        laws.goes_on(constraint, visit[1])
        laws.completion_is_accepted(constraint, visit, decide)


def test_most_generated_schemas_are_compiled_and_most_values_are_valid() -> None:
    """The tests above speak of constraints, not of refusals (it runs after them)."""
    if not seen:
        pytest.skip("counts what the fuzz tests of this file did; they did not run")
    assert seen["compiled"] * 2 > sum(seen.values()) - seen["valid"]
    assert seen["valid"] > 3 * seen["compiled"]
