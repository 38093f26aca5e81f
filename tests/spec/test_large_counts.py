"""Specs that ask for more than a text can have compile; what cannot be done is an error."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.pushdown import completion
from structgen.errors import BudgetError
from structgen.schema import json_schema
from structgen.schema.normal_form.finite_values import has_perfect_matching
from structgen.schema.values import value_of

BYTES = sg.Vocabulary([*(bytes((i,)) for i in range(256)), b"<end>"], eos_ids=[256])


def compiled(spec: Any, vocabulary: sg.Vocabulary = BYTES) -> sg.Constraint:
    """A constraint whose first mask was made."""
    constraint = sg.compile(spec, vocabulary)
    constraint.fill_mask(constraint.start, np.zeros(vocabulary.words, np.int32))
    return constraint


MILLIARD = 10**9
TOO_LONG: list[tuple[Any, str]] = [
    ({"type": "string", "minLength": MILLIARD}, "the shortest text has 1000000000 characters"),
    ({"type": "string", "minLength": 10**30}, "characters"),
    ({"type": "array", "minItems": MILLIARD}, "has 2000000001 bytes"),
    ({"type": "array", "minItems": 10**30}, "bytes"),
    ({"type": "object", "minProperties": MILLIARD}, "takes too long"),
    ({"type": "object", "minProperties": 10**30}, "takes too long"),
    ({"type": "array", "prefixItems": [{}] * 9, "minItems": MILLIARD}, "has 2000000001 bytes"),
    (sg.Regex("a{1000000000}"), "characters"),
    (sg.Regex("(?:(?:ab?){1000}){1000000}"), "characters"),
]


@pytest.mark.parametrize(("spec", "message"), TOO_LONG)
def test_a_completion_that_is_too_long_is_an_error(
    spec: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The spec itself compiles, and texts may begin."""
    monkeypatch.setattr(completion, "MAX_WORK", 2000)
    constraint = compiled(spec)
    with pytest.raises(BudgetError, match=message):
        constraint.shortest_completion(constraint.start)


def test_a_chain_of_pairs_is_too_long_to_complete() -> None:
    """Each definition has two of the next: no text is shorter than 2 ** 60 bytes."""
    pairs: dict[str, Any] = {
        f"d{i}": {
            "type": "object",
            "properties": {key: {"$ref": f"#/$defs/d{i + 1}"} for key in "lr"},
            "required": ["l", "r"],
        }
        for i in range(60)
    }
    constraint = compiled({"$ref": "#/$defs/d0", "$defs": pairs | {"d60": {"type": "null"}}})
    with pytest.raises(BudgetError, match=r"has [0-9]{19,} bytes"):
        constraint.shortest_completion(constraint.start)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ('{"type": "string", "maxLength": 1e30}', '""'),
        ({"type": "array", "maxItems": 10**30}, "[]"),
        ({"type": "object", "maxProperties": 10**30}, "{}"),
        ({"const": "é\n\\" * 3000}, json.dumps("é\n\\" * 3000, ensure_ascii=False)),
        ({"type": "object", "required": ["k" * 30_000]}, '{"' + "k" * 30_000 + '":0}'),
        (sg.Regex("(a{100}b){100}c{5,}"), ("a" * 100 + "b") * 100 + "ccccc"),
        ({"type": "array", "minItems": 500, "items": {"const": "x"}}, None),
        ({"type": "array", "prefixItems": [{"type": "null"}] * 500, "minItems": 500}, None),
    ],
)
def test_long_texts_are_completed(spec: Any, text: str | None) -> None:
    """As they are written, in time that grows with their length."""
    constraint = compiled(sg.JsonSchema(spec) if isinstance(spec, str) else spec)
    found = constraint.shortest_completion(constraint.start)
    assert text is None or found == text.encode()
    assert constraint.is_accepting(constraint.advance_bytes(constraint.start, found))


FEW_OR_MANY: list[dict[str, Any]] = [
    {"if": {"properties": {"a": {"maxLength": 10**8}}}, "then": {"required": ["b"]}},
    {"not": {"properties": {"a": {"const": 1}, "b": {"maxLength": 10**8}}, "required": ["a"]}},
    {"oneOf": [{"properties": {"a": {"maxLength": 10**8}}}, {"required": ["b"]}]},
    {"properties": {"a": {"type": "string", "minLength": 10**8}}},
]


@pytest.mark.parametrize("schema", FEW_OR_MANY, ids=json.dumps)
@pytest.mark.parametrize("order", ["any", "declared"])
def test_what_is_too_long_to_write_is_not_written_where_it_need_not_be(
    schema: dict[str, Any], order: str
) -> None:
    """A string of 10 ** 8 characters is one way to go on; there are others."""
    constraint = compiled(sg.JsonSchema({"type": "object", **schema}, property_order=order))
    for begun in (b"", b"{", b'{"'):
        state = constraint.advance_bytes(constraint.start, begun)
        found = constraint.shortest_completion(state)
        assert len(found) < 40
        assert constraint.is_accepting(constraint.advance_bytes(state, found))


def test_what_takes_too_long_is_refused_at_first() -> None:
    """Whether an odd number of letters comes an even number of times: 2 ** 20 states.

    It is refused when it is compiled, or at the first mask.
    """
    schema: dict[str, Any] = {"pattern": "^(?:[^a]*a[^a]*a)*[^a]*$"}
    for letter in "bcdefghijklmnopqrst":
        even = f"^(?:[^{letter}]*{letter}[^{letter}]*{letter})*[^{letter}]*$"
        schema = {"oneOf": [schema, {"pattern": even}]}
    letters = [b"%c" % letter for letter in range(97, 117)]
    words = [b"".join(word) for n in (2, 3) for word in itertools.product(letters, repeat=n)]
    tokens = [bytes((i,)) for i in range(256)] + words
    vocabulary = sg.Vocabulary(tokens)
    with pytest.raises(BudgetError):
        compiled({"type": "string"} | schema, vocabulary)


def test_overlapping_ranges_are_right_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly one of some ranges of numbers."""
    ranges = [{"minimum": 10 * i, "maximum": 10 * i + 14} for i in range(100)]
    monkeypatch.setattr(json_schema, "MAX_WORK", 2000)
    with pytest.raises(BudgetError, match="too long to combine"):
        sg.compile({"type": "integer", "oneOf": ranges}, BYTES)
    few = sg.compile({"type": "integer", "oneOf": ranges[:12]}, BYTES)
    for number in range(-3, 140):
        fits = sum(r["minimum"] <= number <= r["maximum"] for r in ranges[:12]) == 1
        state = few.advance_bytes(few.start, str(number).encode())
        assert (state >= 0 and few.is_accepting(state)) == fits


@given(st.lists(st.sets(st.sampled_from([None, *range(6)]), max_size=4), max_size=6))
def test_values_are_given_to_all_or_not(domains: list[set[int | None]]) -> None:
    """As trying all ways to hand them out tells."""
    values = [[value_of(v) for v in domain] for domain in domains]
    ways = itertools.product(*domains)
    assert has_perfect_matching(values) == any(len(set(way)) == len(domains) for way in ways)


def test_null_is_given_once_as_any_value_is() -> None:
    """In whatever order the values of each domain are tried."""
    domains = [list(d) for n in (1, 2, 3) for d in itertools.permutations((None, 1, 2), n)]
    for chosen in itertools.product(domains, repeat=3):
        fits = any(len(set(way)) == len(way) for way in itertools.product(*chosen))
        assert has_perfect_matching([list(map(value_of, d)) for d in chosen]) == fits


def test_a_thousand_places_for_a_thousand_values() -> None:
    """Where each may take any, nobody has to give way often."""
    values = [value_of(i) for i in range(1000)]
    assert has_perfect_matching([values] * 1000)
    assert not has_perfect_matching([values[:-1]] * 1000)
