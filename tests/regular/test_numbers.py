"""Number languages accept exactly the texts whose value satisfies the constraints.

The oracle is `fractions.Fraction` on the decimal value of the text, and `re` for spellings.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from structgen.errors import BudgetError, SpecError
from structgen.regular.expressions.build import sub_automaton
from structgen.regular.expressions.logic import alternatives_of
from structgen.regular.expressions.nodes import SubAutomaton
from structgen.regular.lazy_dfa.numbers import NumberAutomaton, kernel_rows
from structgen.regular.numbers import language as language_module
from structgen.regular.numbers.digits import Decimal as Digits
from structgen.regular.numbers.digits import NumberState
from structgen.regular.numbers.exponents import MAX_SHIFT, Scientific
from structgen.regular.numbers.language import (
    JSON_NUMBER,
    MAX_DIGITS,
    MAX_FRACTION,
    Spelling,
    equal_to,
    number_language,
    spellings,
    to_fraction,
)
from structgen.regular.numbers.lists import listed
from structgen.regular.numbers.range import Range
from structgen.regular.numbers.set_operations import (
    has_infinitely_many_values,
    multiples,
    number_complement,
    number_intersection,
    number_union,
    tells_apart,
)
from structgen.regular.numbers.values import has_value
from structgen.regular.regex import (
    EMPTY,
    Regex,
    alt,
    complement,
    intersect,
    literal,
    matches,
    shortest,
)
from tests.regular.lazy_dfa.test_automaton import accepts

ALPHABET = "-0123456789.eE+"
RFC = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
RFC_PREFIX = re.compile(
    r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*|(?:\.[0-9]+)?[eE](?:[+-]?|[+-]?[0-9]+))?)?"
)
PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
EXPONENT = re.compile(r"-?([0-9]+)(?:\.([0-9]+))?[eE][+-]?[0-9]+")

LEAST = Fraction(Decimal("5e-324"))
GREATEST = Fraction(Decimal(repr(sys.float_info.max)))
Rules = dict[str, Any]


def exact(text: str) -> Fraction:
    """The exact value of a number text."""
    return Fraction(Decimal(text))


CASES: list[Rules] = [
    {},
    {"integer": True},
    {"minimum": 0},
    {"exclusive_minimum": 0},
    {"maximum": 0},
    {"exclusive_maximum": 0},
    {"minimum": 0, "maximum": 0},
    {"minimum": 0, "exclusive_minimum": 0},
    {"minimum": 1},
    {"minimum": 1, "maximum": 10},
    {"minimum": 1, "exclusive_minimum": 1, "maximum": 3, "exclusive_maximum": 2},
    {"exclusive_minimum": 1, "exclusive_maximum": 2, "integer": True},
    {"minimum": 10, "maximum": 20, "multiple_of": [7]},
    {"minimum": 100, "maximum": 150},
    {"minimum": 999, "maximum": 1001, "integer": True},
    {"minimum": exact("0.5"), "maximum": exact("1.25")},
    {"minimum": exact("-0.05"), "exclusive_maximum": exact("0.2")},
    {"exclusive_minimum": exact("9.99"), "exclusive_maximum": 10},
    {"exclusive_minimum": -1, "exclusive_maximum": 0},
    {"minimum": exact("0.001"), "maximum": exact("0.001")},
    {"minimum": 100, "maximum": 100},
    {"minimum": -exact("1e308"), "maximum": exact("1e308")},
    {"maximum": exact("1e-7"), "minimum": exact("1.5e-300")},
    {"integer": True, "minimum": -9223372036854775808, "maximum": 9223372036854775807},
    {"integer": True, "minimum": -5, "maximum": 5},
    {"integer": True, "minimum": exact("1.5"), "maximum": exact("99.5")},
    {"multiple_of": [exact("0.01")]},
    {"multiple_of": [exact("2.5")]},
    {"multiple_of": [3]},
    {"multiple_of": [exact("0.3")]},
    {"multiple_of": [8]},
    {"multiple_of": [100]},
    {"multiple_of": [exact("1e-8")]},
    {"multiple_of": [exact("1e308")]},
    {"multiple_of": [exact("0.5"), 3]},
    {"multiple_of": [exact("0.125")], "maximum": 1},
    {"multiple_of": [Fraction(2, 3)]},
    {"multiple_of": [123456789], "minimum": 5},
    {"multiple_of": [exact("0.123456789")], "integer": True},
    {"multiple_of": [exact("0.75")], "minimum": -2, "maximum": -1},
    {"multiple_of": [125], "minimum": 1500, "maximum": 2500},
    {
        "multiple_of": [exact("0.02")],
        "exclusive_minimum": exact("0.3"),
        "exclusive_maximum": exact("0.34"),
    },
]
UNSATISFIABLE: list[Rules] = [
    {"minimum": 3, "maximum": 2},
    {"minimum": exact("0.5"), "exclusive_maximum": exact("0.5")},
    {"exclusive_minimum": 1, "exclusive_maximum": 2, "integer": True},
    {"minimum": 15, "maximum": 20, "multiple_of": [7]},
    {"minimum": exact("0.301"), "maximum": exact("0.319"), "multiple_of": [exact("0.02")]},
    {"exclusive_minimum": -100, "exclusive_maximum": 0, "multiple_of": [100]},
    {"minimum": 1, "maximum": exact("1e300"), "multiple_of": [exact("1e301")]},
]


def fits(value: Fraction, rules: Rules) -> bool:
    """Does a value satisfy all constraints?"""
    checks: dict[str, Callable[[Any], bool]] = {
        "integer": lambda _: value.denominator == 1,
        "minimum": lambda end: value >= end,
        "exclusive_minimum": lambda end: value > end,
        "maximum": lambda end: value <= end,
        "exclusive_maximum": lambda end: value < end,
        "multiple_of": lambda steps: all((value / step).denominator == 1 for step in steps),
    }
    return all(checks[name](given) for name, given in rules.items())


def spelled(text: str, rules: Rules) -> bool:
    """Is a text among the promised spellings?"""
    free = not any(rules.values()) and not any(name.startswith("exclusive") for name in rules)
    if free and "integer" not in rules:
        return bool(RFC.fullmatch(text))
    if PLAIN.fullmatch(text):
        return True
    parts, value = EXPONENT.fullmatch(text), abs(exact(text)) if RFC.fullmatch(text) else 0
    if parts is None or not RFC.fullmatch(text):
        return False
    whole, fraction = parts[1], parts[2] or ""
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return True  # zero with any exponent
    order = len(whole) - 1 if whole != "0" else len(digits) - len(fraction) - 1
    if abs(order) > MAX_SHIFT or not LEAST <= value <= GREATEST:
        return False
    multiples = "integer" in rules or "multiple_of" in rules
    return not multiples or len(digits) <= MAX_FRACTION + 1


@functools.cache
def short_numbers(length: int) -> dict[str, Fraction]:
    """All JSON number texts of at most `length` characters, with their values."""
    found: dict[str, Fraction] = {}
    level = [""]
    for _ in range(length):
        level = [head + c for head in level for c in ALPHABET]
        level = [text for text in level if RFC_PREFIX.fullmatch(text)]
        found.update((text, exact(text)) for text in level if RFC.fullmatch(text))
    return found


def difference(left: Regex, right: Regex) -> Regex:
    """The members of `left` that are not in `right`."""
    return intersect(left, complement(right))


def show(rules: Rules | int) -> str:
    """A test id."""
    if isinstance(rules, int):
        return str(rules)
    return ",".join(f"{name}={given}" for name, given in rules.items())[:60] or "number"


LONGER = [pytest.param(rules, 4, marks=pytest.mark.thorough) for rules in CASES[::3]]
SHORTER = [pytest.param(rules, 3) for rules in CASES]


@pytest.mark.parametrize(("rules", "length"), SHORTER + LONGER, ids=show)
def test_short_texts_are_accepted_iff_their_value_fits(rules: Rules, length: int) -> None:
    """Every JSON number of few characters is decided as its exact value says."""
    language, known = number_language(**rules), spellings(**rules)
    for text, value in short_numbers(length).items():
        inside = spelled(text, rules)
        assert matches(known, text) is inside, text
        assert matches(language, text) is (inside and fits(value, rules)), text


@pytest.mark.parametrize("rules", CASES[::6], ids=show)
def test_texts_that_are_no_json_numbers_are_refused(rules: Rules) -> None:
    """No string of up to three characters that RFC 8259 refuses is accepted."""
    language = number_language(**rules)
    level = [""]
    for _ in range(3):
        level = [head + c for head in level for c in ALPHABET]
        for text in level:
            assert RFC.fullmatch(text) or not matches(language, text), text
    for text in ["", " 1", "1 ", "NaN", "Infinity", "0x1", "1_0", "01.5", "١"]:
        assert not matches(language, text)


def decimals() -> st.SearchStrategy[Fraction]:
    """Decimals of few digits at many magnitudes."""
    digits = st.one_of(st.integers(-30, 30), st.integers(-(10**18), 10**18))
    places = st.one_of(st.integers(-4, 4), st.sampled_from([-300, -16, -8, 7, 15, 22, 308]))
    return st.builds(lambda n, e: Fraction(n) * Fraction(10) ** e, digits, places)


@st.composite
def constraints(draw: st.DrawFn) -> Rules:
    """Random constraints, the two ends often close to each other."""
    rules: Rules = {}
    low = draw(decimals())
    width = draw(decimals().map(abs))
    if draw(st.booleans()):
        rules[draw(st.sampled_from(["minimum", "exclusive_minimum"]))] = low
    if draw(st.booleans()):
        rules[draw(st.sampled_from(["maximum", "exclusive_maximum"]))] = low + width
    if draw(st.booleans()):
        rules["integer"] = True
    if draw(st.booleans()):
        steps = st.one_of(st.integers(1, 40).map(Fraction), decimals().map(abs).filter(bool))
        rules["multiple_of"] = draw(st.lists(steps, min_size=1, max_size=2))
    return rules


def plain_text(value: Fraction) -> str:
    """A decimal written out without an exponent."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str(abs(value) * 10**places).rjust(places + 1, "0")
    cut = len(digits) - places
    return ("-" if value < 0 else "") + digits[:cut] + ("." + digits[cut:] if places else "")


def scientific_text(value: Fraction, zeros: int, letter: str) -> str:
    """A decimal other than 0 in scientific notation, with some zeros after its digits."""
    sign, digits, _ = Decimal(plain_text(value).replace(".", "")).as_tuple()
    exponent = 0
    while abs(value) >= Fraction(10) ** (exponent + 1):
        exponent += 1
    while abs(value) < Fraction(10) ** exponent:
        exponent -= 1
    shown = "".join(map(str, digits)).strip("0") or "0"
    part = shown[1:] + "0" * zeros
    dot = "." + part if part else ""
    return f"{'-' if sign else ''}{shown[0]}{dot}{letter}{exponent}"


def values_near(near: Fraction, step: Fraction) -> st.SearchStrategy[Fraction]:
    """A value, some beside it, some multiples of a step beside it, and others."""
    return st.one_of(
        st.just(near),
        decimals(),
        st.builds(lambda d: near + d, decimals()),
        st.builds(lambda n: n * step, st.integers(-50, 50)),
        st.builds(lambda n: (near // step + n) * step, st.integers(-3, 3)),
    )


@pytest.mark.thorough
@given(st.data(), constraints())
def test_long_texts_are_accepted_iff_their_value_fits(data: st.DataObject, rules: Rules) -> None:
    """Values on, beside and far from the ends are decided exactly in every spelling."""
    language = number_language(**rules)
    ends = [rules[name] for name in rules if name not in {"integer", "multiple_of"}]
    steps = [Fraction(step) for step in rules.get("multiple_of", [1])]
    for _ in range(8):
        near = data.draw(st.sampled_from([*ends, Fraction(0)]))
        value = data.draw(values_near(near, steps[0]))
        zeros = data.draw(st.integers(0, 3))
        texts = [plain_text(value), plain_text(value) + (".000" if value.denominator == 1 else "0")]
        if value:
            texts.append(
                scientific_text(value, zeros, data.draw(st.sampled_from(["e", "E", "e+0"])))
            )
        for text in texts:
            text = text.replace("+0-", "-00")
            assert exact(text) == value
            expected = spelled(text, rules) and fits(value, rules)
            assert matches(language, text) is expected, text


DOUBLES = [sys.float_info.max, -sys.float_info.max, 1e-323, 1.5e-323, 1e308, 9.99e307, 1e16, 1e-7]


@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(DOUBLES),
    ),
    constraints(),
)
def test_every_text_that_python_writes_is_decided(number: float, rules: Rules) -> None:
    """The repr of any double but the least is decided by its decimal value."""
    assume(abs(number) != 5e-324)
    text = json.dumps(number)
    assert matches(number_language(**rules), text) is fits(to_fraction(number), rules)


@pytest.mark.parametrize("rules", [{"integer": True}, {"maximum": 5}, {"exclusive_minimum": 0}])
def test_values_that_a_double_cannot_hold_have_no_exponent(rules: Rules) -> None:
    """A reader with doubles would see infinity or zero; other readers the same as everybody."""
    for text in ["1e400", "-1e309", "1.7976931348623158e308", "1e-400", "-4e-324", "3e999999999"]:
        assert not matches(spellings(**rules), text)
        assert not matches(number_language(**rules), text)
    for text in ["1.7976931348623157e308", "9e0307", "0e999", "5e-324", "1" + "0" * 400]:
        assert matches(spellings(**rules), text)


@pytest.mark.parametrize("text", ["1e-05", "1e+16", "1.5e+300", "1e-07", "123456789.123", "1E300"])
def test_python_and_javascript_spellings_are_known(text: str) -> None:
    """The usual ways to print a float are accepted under bounds and multiples that they fit."""
    value = exact(text)
    assert matches(equal_to(value), text)
    assert matches(number_language(multiple_of=[value], minimum=value), text)
    assert not matches(number_language(exclusive_minimum=value), text)
    assert not matches(number_language(multiple_of=[value * 2]), text)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("1e2", {"integer": True}),
        ("1E+2", {"minimum": 100, "maximum": 100}),
        ("100e-2", {"integer": True}),
        ("12.5e1", {"multiple_of": [125]}),
        ("0.1e1", {"integer": True, "maximum": 1}),
        ("0.01e003", {"minimum": 10}),
        ("-250E-2", {"multiple_of": [exact("0.5")], "maximum": exact("-2.5")}),
        ("120e-0000001", {"integer": True, "minimum": 12}),
        ("1.0", {"integer": True}),
        ("3e-8", {"multiple_of": [exact("1e-8")]}),
        ("1e308", {"integer": True, "multiple_of": [exact("0.5")]}),
    ],
)
def test_exponents_are_weighed_exactly(text: str, rules: Rules) -> None:
    """The value counts, wherever the point stands; next to it the text does not fit."""
    assert matches(number_language(**rules), text)
    assert not matches(number_complement(number_language(**rules)), text)
    mantissa, _, exponent = text.lower().partition("e")
    finer = f"{mantissa}{'' if '.' in mantissa else '.'}0000001e{exponent or 0}"
    assert matches(number_language(**rules), finer) is fits(exact(finer), rules)


@pytest.mark.parametrize("rules", UNSATISFIABLE, ids=show)
def test_unsatisfiable_constraints_give_the_empty_language(rules: Rules) -> None:
    """Constraints that no decimal satisfies are seen to be empty."""
    assert number_language(**rules).is_empty()


def test_ranges_less_ranges_are_ranges() -> None:
    """So a chain of bounds, each beside the negation of the next, stays as simple as one bound."""
    low, high = number_language(minimum=3), number_language(exclusive_minimum=7)
    between = number_intersection(low, number_complement(high))
    assert between is number_language(minimum=3, maximum=7)
    whole = number_intersection(number_language(integer=True), between)
    assert whole is number_language(integer=True, minimum=3, maximum=7)
    outside = number_intersection(number_complement(between), number_language(maximum=20))
    parts = number_language(exclusive_maximum=3), number_language(exclusive_minimum=7, maximum=20)
    assert outside is alt(*parts)


def reachable(language: Regex, limit: int) -> dict[Regex, str]:
    """Up to `limit` nodes that steps lead to, dead ones included, each with one text to it."""
    found = {language: ""}
    queue = [language]
    for node in queue:
        for chars, target in node.steps():
            if target not in found and len(found) < limit:
                found[target] = found[node] + chr(chars.first)
                queue.append(target)
    return found


SEARCHABLE = [
    rules
    for rules in CASES
    if rules not in UNSATISFIABLE and "123456789" not in show(rules)  # too many states to search
]


@pytest.mark.parametrize("rules", SEARCHABLE, ids=show)
def test_no_reachable_state_is_a_dead_end(rules: Rules) -> None:
    """From every state that steps lead to, the shortest continuation exists and fits."""
    for node, text in reachable(number_language(**rules), 250).items():
        rest = shortest(node)
        assert rest is not None, text
        whole = text + rest
        assert spelled(whole, rules), whole
        assert fits(exact(whole), rules), whole
        if isinstance(node, SubAutomaton):
            state: Any = node.state
            assert 0 <= state.shortest <= len(rest), text
            assert (state.shortest == 0) is state.nullable


@pytest.mark.parametrize("number", [123456789, 10**15 + 37, 2**40 * 97])
def test_states_know_the_way_to_a_multiple(number: int) -> None:
    """Following the least `shortest` reaches a multiple of a large number without any search."""
    choices: list[Rules] = [{"minimum": 1}, {"minimum": 10**9, "maximum": 10**17}]
    for rules in choices:
        language = number_language(multiple_of=[number], spelling="decimal", **rules)
        text = ""
        node = language
        while not node.nullable:
            ways: list[tuple[int, str, Regex]] = []
            for chars, target in node.steps():
                assert isinstance(target, SubAutomaton)
                state: NumberState = target.state  # type: ignore[assignment]
                ways.append((state.shortest, chr(chars.first), target))
            _, letter, node = min(ways, key=lambda way: way[:2])
            text += letter
            assert len(text) < 40
        assert fits(exact(text), {"multiple_of": [number], **rules})


@pytest.mark.parametrize("rules", CASES, ids=show)
def test_the_complement_within_the_spellings_is_the_negation(rules: Rules) -> None:
    """Spellings without the language are exactly the spelled texts whose value does not fit."""
    negation = intersect(spellings(**rules), complement(number_language(**rules)))
    for text, value in short_numbers(3).items():
        assert matches(negation, text) is (spelled(text, rules) and not fits(value, rules)), text


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"minimum": exact("-1.25")}, {"exclusive_maximum": 1234}),
        ({"minimum": 5}, {"maximum": 7}),
        ({"integer": True}, {"multiple_of": [exact("0.4")]}),
        ({"multiple_of": [3], "minimum": 100}, {"multiple_of": [8], "maximum": 200}),
        ({"integer": True, "minimum": 3}, {"integer": True, "maximum": 20}),
    ],
)
def test_intersections_equal_the_joint_constraint(left: Rules, right: Rules) -> None:
    """The algebra proves that two languages have the same members as one for both constraints."""
    both: Rules = {**left, **right}
    steps = [*left.get("multiple_of", []), *right.get("multiple_of", [])]
    if steps:
        both["multiple_of"] = steps
    joint = number_language(**both)
    separate = intersect(number_language(**left), number_language(**right))
    assert difference(joint, separate).is_empty()
    assert difference(separate, joint).is_empty()
    assert not joint.is_empty()


@pytest.mark.parametrize(
    "end", [exact("0.1"), exact("-3"), exact("120"), exact("1e-9"), exact("12345.678")]
)
def test_an_end_splits_all_spellings_in_two(end: Fraction) -> None:
    """`minimum` and `exclusiveMaximum` at one value are each other's negation."""
    above, below = number_language(minimum=end), number_language(exclusive_maximum=end)
    every = spellings(minimum=end)
    assert intersect(above, below).is_empty()
    assert difference(every, above) is not every
    assert difference(difference(every, above), below).is_empty()
    assert difference(difference(every, below), above).is_empty()


def test_equal_to_accepts_the_texts_of_one_value() -> None:
    """One value in many spellings, and no other value."""
    one = equal_to(1)
    for text in ["1", "1.0", "1.000", "1e0", "1E+00", "1.0e-0"]:
        assert matches(one, text)
    for text in ["-1", "1.0001", "10", "1e1", "0.1", "0.999", "1e-1"]:
        assert not matches(one, text)
    zero = equal_to(0)
    for text in ["0", "-0", "0.00", "-0.0", "0e5", "-0.0E-3", "0e+99999"]:
        assert matches(zero, text)
    assert not matches(zero, "1e-99999")


def test_spelling_narrows_how_numbers_are_written() -> None:
    """`decimal` has no exponents, `integer` has only digits, and neither changes the values."""
    plain = number_language(integer=True, maximum=99, spelling="decimal")
    digits = number_language(maximum=99, spelling="integer")
    for text, value in short_numbers(4).items():
        fit = value.denominator == 1 and value <= 99
        assert matches(plain, text) is (fit and bool(PLAIN.fullmatch(text))), text
        assert matches(digits, text) is (fit and text.lstrip("-").isdigit()), text
    assert matches(spellings(spelling="decimal"), "12.50")
    assert not matches(spellings(spelling="decimal"), "1e5")
    assert not matches(spellings(spelling="integer", minimum=5), "1.0")


def test_states_without_bounds_ahead_are_shared_between_languages() -> None:
    """Once a bound is settled, the state is that of the language without it."""
    bounded, free = number_language(integer=True, minimum=10), number_language(integer=True)
    reached = {node for node, text in reachable(bounded, 400).items() if len(text) > 2}
    assert len(reached & set(reachable(free, 400))) > 2


def test_the_digits_of_a_bound_cost_a_linear_number_of_states() -> None:
    """Plain decimals below a bound of 300 digits need at most a few states a digit."""
    language = number_language(
        minimum=exact("1e-300"), exclusive_maximum=exact("7" * 300), spelling="decimal"
    )
    assert len(reachable(language, 10_000)) < 3000


NAMES = {
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
}


def rules_of(schema: dict[str, Any]) -> Rules:
    """The constraints of a flat JSON Schema."""
    rules: Rules = {NAMES[key]: to_fraction(schema[key]) for key in schema if key in NAMES}
    if schema.get("type") == "integer":
        rules["integer"] = True
    if "multipleOf" in schema:
        rules["multiple_of"] = [to_fraction(schema["multipleOf"])]
    return rules


@pytest.mark.parametrize(
    "name",
    [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "optional/bignum",
        "optional/float-overflow",
    ],
)
def test_the_official_suite_agrees_on_numbers(data_dir: Path, name: str) -> None:
    """Every instance of the official suite that is a number is decided as the suite says."""
    suite = data_dir / "JSON-Schema-Test-Suite" / "tests" / "draft2020-12"
    seen = 0
    for group in json.loads((suite / f"{name}.json").read_text(encoding="utf-8")):
        if group["schema"].get("type") == "string":
            continue
        language = number_language(**rules_of(group["schema"]))
        for test in group["tests"]:
            data = test["data"]
            if isinstance(data, int | float) and not isinstance(data, bool):
                assert matches(language, json.dumps(data)) is test["valid"], test["description"]
                seen += 1
    assert seen


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.just("integer"),
            "minimum": st.integers(-99, 99),
            "exclusiveMaximum": st.sampled_from([-0.5, 0, 0.25, 7.5, 1e20]),
            "multipleOf": st.sampled_from([1, 2, 3, 0.5, 0.25, 1.5]),
        },
    ),
    st.one_of(st.integers(-200, 200), st.integers(-800, 800).map(lambda n: n / 8)),
)
def test_jsonschema_agrees(schema: dict[str, Any], number: float) -> None:
    """On numbers that doubles hold exactly the `jsonschema` library decides the same."""
    valid = jsonschema.Draft202012Validator(schema).is_valid(number)
    assert matches(number_language(**rules_of(schema)), json.dumps(number)) is valid


def test_a_float_stands_for_its_shortest_decimal() -> None:
    """0.1 is one tenth, and decimals and integers keep every digit."""
    assert to_fraction(0.1) == Fraction(1, 10)
    assert to_fraction(1e308) == 10**308
    assert to_fraction(5e-324) == Fraction(5, 10**324)
    assert to_fraction(-7) == -7
    assert to_fraction(10**1500) == 10**1500
    assert to_fraction(Decimal("1.00000000000000000000000000000000001")) == 1 + Fraction(1, 10**35)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("-Infinity"), True])
def test_what_is_no_number_is_refused(value: float | Decimal) -> None:
    """NaN, infinities and booleans are typed errors that say where."""
    with pytest.raises(SpecError, match="/minimum"):
        to_fraction(value, location="/minimum")


def test_broken_constraints_are_typed_errors_with_a_place() -> None:
    """Multiples of nothing, ends that are no decimals, and numbers without end are refused."""
    with pytest.raises(SpecError, match="/properties/a/multipleOf"):
        number_language(multiple_of=[0], location="/properties/a/multipleOf")
    with pytest.raises(SpecError, match="greater than 0"):
        number_language(multiple_of=[Fraction(-1, 2)])
    with pytest.raises(SpecError, match="finite decimal"):
        number_language(minimum=Fraction(1, 3), location="/minimum")
    with pytest.raises(BudgetError, match=str(MAX_DIGITS)):
        number_language(maximum=10**MAX_DIGITS)
    with pytest.raises(BudgetError, match="/maximum"):
        to_fraction(Decimal("1e999999999"), location="/maximum")


def test_without_constraints_the_whole_grammar_is_one_expression() -> None:
    """No constraint gives `JSON_NUMBER` itself, which is also its own set of spellings."""
    assert number_language() is JSON_NUMBER
    assert spellings() is JSON_NUMBER
    assert matches(JSON_NUMBER, "-12.50e-0099")


def usual_texts(value: Fraction) -> list[str]:
    """How people, Python and JavaScript write a value that a double holds exactly."""
    number = float(value)
    found = {repr(number), json.dumps(number), f"{value.numerator}.0"}
    found = {text for text in found if exact(text) == value}
    if value.denominator == 1:
        found.add(str(value.numerator))
    mantissa, _, exponent = repr(number).partition("e")
    if exponent:
        sign = "-" if exponent[0] == "-" else "+"
        found.add(f"{mantissa}e{sign}{exponent.lstrip('+-').lstrip('0')}")
    return sorted(found)


Judge = Callable[[Fraction], bool]
SPELLINGS: st.SearchStrategy[Spelling] = st.sampled_from(["any", "natural"])
VALUES = st.one_of(
    st.integers(-30, 30).map(Fraction),
    st.integers(-200, 200).map(lambda n: Fraction(n, 8)),
    st.sampled_from([exact("1e21"), exact("1e-7"), exact("-1.5e300"), exact("123456789012")]),
)


@st.composite
def one_constraint(draw: st.DrawFn) -> tuple[Regex, Judge]:
    """The language of one constraint, and which values satisfy it."""
    spelling: Spelling = draw(SPELLINGS)
    kind = draw(st.sampled_from(["minimum", "exclusive_maximum", "equal", "integer", "multiple"]))
    value = draw(VALUES)
    if kind == "equal":
        return equal_to(value, spelling=spelling), lambda v: v == value
    rules: Rules = {} if kind == "integer" else {kind: value}
    if kind == "multiple":
        rules = {"multiple_of": [abs(value) or Fraction(1, 8)]}
    if kind == "integer" or draw(st.booleans()):
        rules["integer"] = True
    return number_language(spelling=spelling, **rules), lambda v: fits(v, rules)


@st.composite
def combinations(draw: st.DrawFn) -> tuple[Regex, Judge]:
    """Unions, intersections and complements of constraints."""
    language, judge = draw(one_constraint())
    for _ in range(draw(st.integers(0, 3))):
        how = draw(st.sampled_from(["and", "or", "not"]))
        if how == "not":
            language, judge = number_complement(language), _negated(judge)
            continue
        other, also = draw(one_constraint())
        language = intersect(language, other) if how == "and" else alt(language, other)
        judge = _joined(judge, also, how)
    return language, judge


def _negated(judge: Judge) -> Judge:
    return lambda value: not judge(value)


def _joined(left: Judge, right: Judge, how: str) -> Judge:
    if how == "and":
        return lambda value: left(value) and right(value)
    return lambda value: left(value) or right(value)


@given(combinations(), st.lists(VALUES, min_size=1), st.sampled_from(sorted(short_numbers(4))))
def test_the_complement_has_the_usual_texts_of_all_other_values(
    given_: tuple[Regex, Judge], values: list[Fraction], text: str
) -> None:
    """A text in a complement has a value that does not fit, and such values have their texts."""
    language, judge = given_
    negation = number_complement(language)
    for value in values:
        for usual in usual_texts(value):
            assert matches(negation, usual) is not judge(value), usual
    assert not (matches(negation, text) and judge(exact(text))), text
    assert not (matches(language, text) and not judge(exact(text))), text
    assert not (matches(language, text) and matches(negation, text)), text


@given(combinations(), combinations(), st.lists(VALUES, min_size=1))
def test_intersections_of_combinations_have_numbers_alone(
    left: tuple[Regex, Judge], right: tuple[Regex, Judge], values: list[Fraction]
) -> None:
    """What both have, and no text that is no number."""
    (one, fits_one), (other, fits_other) = left, right
    meant = number_intersection(number_complement(one), number_union(number_complement(one), other))
    joint = number_intersection(one, other)
    for value in values:
        for usual in usual_texts(value):
            assert matches(meant, usual) is not fits_one(value), usual
            if matches(joint, usual):
                assert fits_one(value), usual
                assert fits_other(value), usual
    for text in ("", "00", "a", '"a"', "-", "1.", "+1", "\0"):
        assert not matches(meant, text), text
        assert not matches(joint, text), text


def test_all_numbers_but_one_in_a_union_have_numbers_alone() -> None:
    """A part that stands beside all numbers is no longer within these."""
    numbers, zero = number_language(), number_complement(equal_to(Fraction(0)))
    joint = number_intersection(numbers, zero, number_union(zero, number_language(integer=True)))
    assert all(matches(joint, text) for text in ("1", "-1.5", "5e3"))
    assert not any(matches(joint, text) for text in ("0", "-0", "00", '"a"', ""))


ODD = ["1e400", "0E-76695", "12e03", "1.50e0", "0.123456789012345678901234567e1", "-0.0", "10e-1"]


@given(one_constraint(), one_constraint(), st.sampled_from([*sorted(short_numbers(3)), *ODD]))
def test_numbers_that_a_language_has_not_do_not_fit_where_it_is_said_to_tell(
    one: tuple[Regex, Judge], other: tuple[Regex, Judge], text: str
) -> None:
    """However the numbers of the one are spelled."""
    (numbers, _), (language, judge) = one, other
    if tells_apart(language, numbers) and matches(numbers, text):
        assert matches(language, text) or not judge(exact(text))


def test_ranges_of_the_same_kind_tell_each_other_apart() -> None:
    """But not from numbers that may be spelled in more ways."""
    for spelling in ("any", "natural"):
        above = number_language(spelling=spelling, minimum=Fraction(2))
        below = number_language(spelling=spelling, maximum=Fraction(5))
        whole = number_language(integer=True, spelling=spelling)
        assert tells_apart(above, below)
        assert tells_apart(above, whole)
        assert not tells_apart(whole, above)
        assert not tells_apart(above, JSON_NUMBER)
        assert tells_apart(JSON_NUMBER, above)


def test_all_numbers_and_others_are_all_numbers() -> None:
    """So that nothing is left beside the complement of both."""
    above = number_language(minimum=Fraction(0), integer=True)
    assert number_union(above, number_complement(above), JSON_NUMBER) is JSON_NUMBER


def test_the_complements_of_all_and_none_are_each_other() -> None:
    """No constraint and an impossible one."""
    assert number_complement(JSON_NUMBER) is EMPTY
    assert number_complement(EMPTY) is JSON_NUMBER


def test_the_complement_of_one_has_no_spelling_of_one() -> None:
    """However the number is written."""
    for one in (equal_to(1), equal_to(1, spelling="natural")):
        negation = number_complement(one)
        for text in ["1", "1.0", "1e0", "10e-1", "0.1e1", "1.00E+00"]:
            assert not matches(negation, text), text
        for text in ["-1", "2", "1.5", "1e1", "0", "-0", "1e-1"]:
            assert matches(negation, text), text


@pytest.mark.parametrize(
    "ends", [(None, Fraction(-1, 2)), (-5, None), (-70, -3), (Fraction(5, 2), 60)]
)
def test_what_is_natural_leaves_no_other_spelling_of_its_values(
    ends: tuple[Fraction | None, Fraction | None],
) -> None:
    """However a value within ends is written, it is not in the complement; all others are."""
    low, high = ends
    others = number_complement(number_language(minimum=low, maximum=high, spelling="natural"))
    texts = ["-60E0", "-6E1", "-30E-1", "-0.3e1", "-3.0", "-4", "0", "0.0", "30e-1", "3", "600e-1"]
    for text in texts:
        value = Fraction(text)
        fits = (low is None or value >= low) and (high is None or value <= high)
        assert matches(others, text) != fits, text


def test_natural_spellings_give_way_to_what_a_text_must_be() -> None:
    """What is 0 and no integer, as draft 4 has them, is written `0.0`, although `0` is natural."""
    others = number_complement(number_language(integer=True, spelling="integer"))
    found = number_intersection(equal_to(0, spelling="natural"), others)
    fitting = [text for text in ("0", "0.0", "0e1", "-0", "1.0") if matches(found, text)]
    assert fitting == ["0.0", "0e1"]


def test_integers_of_draft_4_are_told_apart_by_their_spelling() -> None:
    """There `1.0` is no integer, so it is in the complement; with natural spelling it is not."""
    lexical = number_complement(number_language(integer=True, spelling="integer"))
    natural = number_complement(number_language(integer=True, spelling="natural"))
    for text in ["1.0", "1e2", "1e400"]:
        assert matches(lexical, text)
        assert not matches(natural, text)
    for text in ["1", "-0", "-12"]:
        assert not matches(lexical, text)
        assert not matches(natural, text)
    assert matches(natural, "1.5")


def test_natural_spelling_has_no_negative_zero() -> None:
    """Digits only, with a sign for numbers below zero."""
    digits = number_language(integer=True, minimum=-5, spelling="natural")
    same = number_language(integer=True, minimum=-5, spelling="integer")
    assert difference(same, digits).is_empty() is False
    assert difference(difference(same, digits), literal("-0")).is_empty()
    assert difference(digits, same).is_empty()


@pytest.mark.thorough
@given(one_constraint(), one_constraint(), one_constraint(), st.booleans())
def test_constraints_that_meet_become_one(
    one: tuple[Regex, Judge], two: tuple[Regex, Judge], three: tuple[Regex, Judge], negate: bool
) -> None:
    """The intersection has the members that the algebra finds, and no member means `EMPTY`."""
    parts = [one[0], two[0], number_complement(three[0]) if negate else three[0]]
    joint = number_intersection(*parts)
    plain = intersect(*parts)
    for text in sorted(short_numbers(3)):
        assert matches(joint, text) == matches(plain, text), text
    for value in (Fraction(-3), Fraction(5, 2), Fraction(24), Fraction(10**21)):
        for text in usual_texts(value):
            assert matches(joint, text) == matches(plain, text), text
    if joint is EMPTY:
        assert not any(matches(plain, str(number)) for number in range(-300, 300))


def test_what_cannot_meet_is_empty_at_once() -> None:
    """Multiples between ends, and multiples without their own multiples."""
    twenty = number_language(minimum=1, maximum=20, integer=True)
    assert number_intersection(*(number_language(multiple_of=[n]) for n in (3, 7)), twenty) is EMPTY
    no_multiple_of_8 = number_complement(number_language(multiple_of=[8]))
    assert number_intersection(number_language(multiple_of=[24]), no_multiple_of_8) is EMPTY
    halves = number_complement(number_language(multiple_of=[Fraction(1, 2)]))
    assert number_intersection(number_language(integer=True), halves) is EMPTY
    three = number_intersection(number_language(multiple_of=[3]), no_multiple_of_8)
    assert matches(three, "3")
    assert not matches(three, "24")
    whole = number_language(integer=True, minimum=2, spelling="natural")
    joint = number_intersection(whole, number_language(maximum=9, spelling="natural"))
    assert joint is number_language(integer=True, minimum=2, maximum=9, spelling="natural")


ENDS = st.tuples(st.integers(0, 60), st.integers(0, 40)).map(lambda x: Fraction(x[0], 10) ** x[1])


@given(ENDS, st.booleans(), st.none() | ENDS, st.booleans(), st.integers(0, 2), st.integers(0, 1))
def test_what_is_plainly_met_has_numbers_in_both_spellings(
    low: Fraction, low_open: bool, high: Fraction | None, high_open: bool, modulus: int, scale: int
) -> None:
    """As their first moves have it, which are otherwise looked at to know that."""
    rule = Range(low, low_open, high, high_open, modulus, scale)
    if rule.is_plainly_met:
        begun = Digits.start(rule), Scientific.start(rule)
        assert all(start is None or sub_automaton(start).steps() for start in begun)
        assert not rule.empty


def test_most_ranges_are_plainly_met() -> None:
    """Where a whole number is in one, or any fraction; not where it takes a look."""
    half = Fraction(1, 2)
    for rule in (Range(), Range(half, high=Fraction(2), modulus=1), Range(half, high=half)):
        assert rule.is_plainly_met
    for rule in (
        Range(half, high=half, modulus=1),
        Range(high=Fraction(1), high_open=True, modulus=1),
        Range(high=Fraction(0)),
        Range(modulus=3),
        Range(natural=True),
    ):
        assert not rule.is_plainly_met


@given(
    st.integers(-30, 30),
    st.integers(-30, 30),
    st.booleans(),
    st.booleans(),
    st.sampled_from([Fraction(1), Fraction(3), Fraction(1, 4), Fraction(5, 2)]),
)
def test_multiples_between_two_ends_are_listed(
    low: int, high: int, above: bool, below: bool, step: Fraction
) -> None:
    """All of them in order; without one of the ends, or without multiples, there is no end."""
    ends: dict[str, Any] = {
        "exclusive_minimum" if above else "minimum": Fraction(low, 4),
        "exclusive_maximum" if below else "maximum": Fraction(high, 4),
    }
    wanted = [
        Fraction(n, 4)
        for n in range(low + above, high - below + 1)
        if (Fraction(n, 4) / step).denominator == 1
    ]
    language = number_language(multiple_of=[step], **ends)
    listed = multiples(language)
    assert [*map(Fraction, listed or ())] == wanted
    assert (listed is None) == (not wanted)
    assert not has_infinitely_many_values(language)
    for name, end in ends.items():
        assert has_infinitely_many_values(number_language(multiple_of=[step], **{name: end}))
    assert has_infinitely_many_values(number_language(**ends)) == (low < high)


@pytest.mark.parametrize("rules", [{"minimum": 1}, {"integer": True}])
def test_all_numbers_leave_the_spellings_of_others_as_they_are(rules: Rules) -> None:
    """But what is ruled out is ruled out of all numbers."""
    assert number_intersection(JSON_NUMBER, spellings(**rules)) is spellings(**rules)
    barred = complement(literal("1"))
    assert number_intersection(JSON_NUMBER, barred) is intersect(JSON_NUMBER, barred)


def test_a_spelling_that_narrows_nothing_is_not_taken_over() -> None:
    """Numbers from 0 on are the same texts in both spellings, whichever was asked for first."""
    natural = number_language(minimum=0, spelling="natural")
    both = number_intersection(number_language(multiple_of=[2]), number_language(minimum=0))
    assert matches(natural, "10")
    assert all(matches(both, text) for text in ("10", "10e0", "1.0e1", "0"))
    assert not matches(both, "-2")


def test_a_union_of_multiples_has_none_that_others_contain() -> None:
    """Multiples of 6 are such of 2; within other ends they may be more."""
    two, six = number_language(multiple_of=[2]), number_language(multiple_of=[6])
    three = number_language(multiple_of=[3])
    some = number_language(multiple_of=[4], minimum=7)
    few = number_language(multiple_of=[2], maximum=9)
    assert number_union(six, two) is two
    assert number_union(two, six, three) is alt(two, three)
    assert number_union(some, few, six) is alt(some, few, six)
    assert number_union(few, some, two, equal_to(5)) is alt(two, equal_to(5))


@pytest.mark.parametrize("strict", [1, 2])
def test_spellings_are_read_by_a_kernel(strict: int) -> None:
    """All spellings beside a bound, and beside a multiple, as their sub-automata have them."""
    language = language_module.spelled(strict)
    rows = kernel_rows(language)
    assert rows is not None
    automaton = NumberAutomaton(rows, ends=False)
    texts = ["0", "-0", "0.000", "-0e9", "00", "1", "12.50", "-1.5e-7", "1e308", "1e309", "2e-324"]
    texts += [f"1.{'3' * n}e{k}" for n in (1, 16, 17, 18, 40) for k in (0, 5)]
    texts += ["0." + "0" * n + "1e3" for n in (5, 300, 330)] + [
        "9" * 30,
        "1" * 400 + "e1",
        "5.",
        "-",
    ]
    for text in texts:
        assert accepts(automaton, text) == matches(language, text), text


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("0.5", "1", "2", "3", "5", "6")).map(Fraction),
            st.none() | st.integers(-9, 9),
            st.none() | st.integers(-9, 99),
            st.booleans(),
        ),
        min_size=2,
        max_size=4,
    )
)
def test_whether_a_value_is_left_is_found_by_trying(
    parts: list[tuple[Fraction, Any, Any, bool]],
) -> None:
    """Among numbers that are multiples of some, between ends, and not of others."""
    wanted: list[Regex] = [spellings(multiple_of=[1])]
    barred: list[Regex] = []
    for step, low, high, how in parts:
        made = number_language(multiple_of=[step], minimum=low, maximum=high)
        (wanted if how else barred).append(made)

    def fits(value: Fraction) -> bool:
        return all(
            how
            == (
                not value % step
                and (-999 if low is None else low) <= value <= (999 if high is None else high)
            )
            for step, low, high, how in parts
        )

    if EMPTY not in wanted:
        some = any(fits(Fraction(n, 4)) for n in range(-300, 700))
        assert has_value(intersect(*wanted, *map(complement, barred))) in {some, None}


LISTED = [
    *("1", "10", "12", "120", "1234", "100200", "123456789", "1e30", "2.5", "0.05", "0.0005"),
    *("1e-20", "12.5", "999.001", "-3", "-1.25", "-1e3", "0", "31.4159265", "1e308", "5e-324"),
]


def test_a_long_list_of_numbers_has_the_spellings_of_each() -> None:
    """Those without a long list are as they were."""
    languages = [equal_to(exact(text)) for text in LISTED]
    several = number_language(minimum=5, maximum=7)
    union = alt(*languages, several)
    joined = listed(union)
    assert joined is not union
    assert intersect(union, complement(joined)).is_empty()
    assert intersect(joined, complement(union)).is_empty()
    assert listed(alt(*languages[:5], several)) is alt(*languages[:5], several)


def test_a_long_list_of_numbers_is_read_by_few_parts() -> None:
    """However many numbers there are: as many as there are exponents that they may need."""
    joined = [listed(alt(*(equal_to(i * i + 7) for i in range(n)))) for n in (100, 300)]
    assert all(len(alternatives_of(language)) < 30 for language in joined)
