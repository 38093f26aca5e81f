"""Numbers of a schema that is given as text are those that stand there, however long or small.

The oracle is `decimal.Decimal`, which is exact.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.spelling import embedded_dfa
from structgen.errors import BudgetError, ValidationError
from structgen.regular.numbers.language import constraints_of
from structgen.regular.regex import Regex
from structgen.schema.json_schema import JsonSchema
from structgen.schema.values import dumps, loads

VOCABULARY = sg.Vocabulary([b"<end>", *(bytes((byte,)) for byte in range(256))], eos_ids=[0])
EXACT = {"property_order": "any", "whitespace": "any"}
TEXTS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    st.tuples(st.integers(-(10**25), 10**25), st.integers(1, 30)).map(
        lambda x: f"{x[0]}.{'0' * (x[1] % 5)}{x[1]}"
    ),
    st.tuples(st.integers(1, 99), st.integers(-20, 20)).map(lambda x: f"{x[0]}E{x[1]}"),
)


def accepts(schema: str, text: str, **options: Any) -> bool:
    """Does a text fit?"""
    constraint = sg.compile(JsonSchema(schema, **options), VOCABULARY)
    state = constraint.advance_bytes(constraint.start, text.encode())
    return state != sg.DEAD and constraint.is_accepting(state)


def listed(texts: list[str]) -> str:
    """A JSON array of values."""
    return f"[{', '.join(texts)}]"


def plain(text: str) -> str:
    """The digits of a number, without an exponent."""
    return format(Decimal(text), "f")


@given(TEXTS, TEXTS)
def test_constants_and_bounds_have_their_exact_value(one: str, other: str) -> None:
    """`const`, `maximum` and `exclusiveMinimum` compare decimals, and the text itself fits."""
    assert accepts(f'{{"const": {one}}}', one)
    assert accepts(f'{{"const": {one}}}', plain(one), **EXACT)
    same, less = Decimal(other) == Decimal(one), Decimal(other) < Decimal(one)
    assert accepts(f'{{"const": {one}}}', plain(other), **EXACT) == same
    assert accepts(f'{{"not": {{"const": {one}}}}}', plain(other), **EXACT) != same
    assert accepts(f'{{"maximum": {one}}}', plain(other), **EXACT) == (same or less)
    assert accepts(f'{{"exclusiveMinimum": {one}}}', plain(other), **EXACT) == (
        not same and not less
    )


@given(st.recursive(TEXTS, lambda inner: st.lists(inner, max_size=3).map(listed), max_leaves=6))
def test_texts_come_back_as_they_were(text: str) -> None:
    """Reading and writing changes no number, and a saved spec has all of them."""
    assert dumps(loads(text)) == text
    spec = JsonSchema(f'{{"enum": [{text}]}}')
    assert JsonSchema.from_json(json.loads(json.dumps(spec.to_json()))) == spec


def test_neighbours_that_doubles_take_for_one_are_told_apart() -> None:
    """Beyond 2**53, below the least double, beyond the greatest."""
    assert accepts('{"const": 9007199254740993.0}', "9007199254740993", **EXACT)
    assert not accepts('{"const": 9007199254740993.0}', "9007199254740992", **EXACT)
    assert accepts('{"const": 1e-400}', "1e-400", **EXACT)
    assert not accepts('{"const": 1e-400}', "0", **EXACT)
    assert accepts('{"maximum": 1e400}', "1e308", **EXACT)
    assert accepts('{"enum": [1.50, 2E3, -0]}', "1.50")
    assert accepts('{"enum": [1.50, 2E3, -0]}', "-0")
    assert not accepts('{"enum": [1.50, 2E3, -0]}', "2000.0")


@pytest.mark.parametrize("keyword", ["const", "maximum", "maxLength"])
def test_numbers_beyond_reckoning_are_a_budget_error(keyword: str) -> None:
    """A typed one, however many digits they have."""
    for text in ("9" * 100_000, "1e99999999999999999999", "1e3000"):
        with pytest.raises(BudgetError):
            sg.compile(JsonSchema(f'{{"{keyword}": {text}}}'), VOCABULARY)


def test_counts_may_have_a_fraction_of_zero() -> None:
    """`1E1` is the integer 10."""
    schema = '{"type": "string", "maxLength": 1E1, "minLength": 1.00}'
    assert accepts(schema, '"0123456789"')
    assert not accepts(schema, '"0123456789a"')
    assert not accepts(schema, '""')


def test_errors_and_reports_have_the_text_of_a_number() -> None:
    """What is wrong is said in the schema's own words; exported schemas have doubles."""
    with pytest.raises(ValidationError, match=r"<= 1\.50") as found:
        sg.check(JsonSchema('{"maximum": 1.50}'), "1.51")
    assert found.value.keyword == "maximum"
    with pytest.raises(ValidationError, match=r"9007199254740993\.0.*it is 9007199254740992"):
        sg.check(JsonSchema('{"const": 9007199254740993.0}'), "9007199254740992")
    [advice] = sg.support('{"maximum": 1.50, "minimum": 1.60}').advice
    assert "1.60" in advice.message
    exported, _ = sg.export_schema(
        '{"type": "object", "properties": {"a": {"const": 1.20}}}', "openai"
    )
    assert '"const": 1.2}' in json.dumps(exported)


def test_the_rest_of_a_number_gets_no_automaton_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor do some numbers by their texts, each of which may be spelled in many ways."""
    entered: list[Any] = []
    embed = embedded_dfa._embed

    def noted(numbers: Any, q: int, embedded: Any) -> None:
        entered.append(numbers.described(q).vector[0])
        embed(numbers, q, embedded)

    monkeypatch.setattr(embedded_dfa, "_embed", noted)
    listed = [k * k for k in range(1, 31)]
    whole = {"type": "integer", "minimum": 1}
    for schema, numbers in ((whole, [1, 12]), ({"enum": listed}, listed)):
        spec = sg.JsonSchema(schema, property_order="any", whitespace="any")
        constraint = sg.compile(spec, VOCABULARY)
        for number in numbers:
            for text in (f"{number}", f"{number}.0", f"{number}E+0", f"{number}7"):
                state = constraint.advance_bytes(constraint.start, text.encode())
                value = Decimal(text)
                fits = value >= 1 and value % 1 == 0 if "type" in schema else value in listed
                assert (state != sg.DEAD and constraint.is_accepting(state)) == fits, text
                if state != sg.DEAD:
                    constraint.mask_id(state)
    assert all(map(constraints_of, entered))  # these are all the numbers with some constraints


def test_fractional_numbers_are_told_from_whole_ones_when_a_schema_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each state takes a search for a number that can follow; a text takes one for all of them."""
    names = {key: {"type": "integer"} for key in "ab"}
    schema = {"not": {"properties": names}, "type": "object"}
    spec = sg.JsonSchema(schema, property_order="any", whitespace="any")
    constraint = sg.compile(spec, VOCABULARY)
    searched: list[Regex] = []
    decide = Regex.search_member

    def counted(expression: Regex) -> bool:
        if expression.known_nonempty() is None:
            searched.append(expression)
        return decide(expression)

    monkeypatch.setattr(Regex, "search_member", staticmethod(counted))
    for text in (b'{"a":', b'{"a":1', b'{"a":12'):
        constraint.mask_id(constraint.advance_bytes(constraint.start, text))
    assert len(searched) < 2


@pytest.mark.parametrize(
    ("schema", "shortest"),
    [
        ({"not": {"anyOf": [{"maximum": 0.75}, {"multipleOf": 2}]}}, b"1"),
        ({"oneOf": [{"multipleOf": 0.25}, {"maximum": -3}], "exclusiveMaximum": 0.25}, b"0"),
        ({"oneOf": [{"maximum": 12.34}, {"multipleOf": 0.5}], "multipleOf": 3}, b"15"),
    ],
)
def test_numbers_are_finished_where_derivatives_are_endless(
    schema: dict[str, Any], shortest: bytes
) -> None:
    """That no negative number fits is seen by a product automaton; derivatives never end."""
    constraint = sg.compile({"type": "number", **schema}, VOCABULARY)
    assert constraint.shortest_completion(constraint.start) == shortest
