"""The limits of schemas are those that docs/limits.md tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from structgen.automata.pushdown import completion
from structgen.constraint import constraint
from structgen.regular.expressions import search
from structgen.regular.lazy_dfa.pairs import beside
from structgen.regular.numbers import language
from structgen.schema.arrays import contains
from structgen.schema.normal_form import combination, finite_values
from structgen.schema.objects import clauses, enough, key_classes, key_rules, matcher

PAGE = (Path(__file__).parents[2] / "docs" / "limits.md").read_text()
ROWS: list[tuple[int, str]] = [
    (constraint.MAX_WORK, "units of work for the first mask"),
    (completion.MAX_WORK, "units of work for a shortest completion"),
    (completion.MAX_BYTES, "bytes of a completion"),
    (combination.MAX_ALTERNATIVES, "alternatives"),
    (clauses.MAX_TRIES, "steps that lead to no way to finish an object"),
    (key_rules.MAX_COMBINATIONS, "sets of key patterns"),
    (key_classes.MAX_CLASSES, "sets of key patterns"),
    (contains.MAX_STEPS, "steps until a way to finish an array"),
    (finite_values.MAX_VALUES, "items that must differ"),
    (language.MAX_DIGITS, "digits of a bound"),
    (search.NODE_BUDGET, "derivatives"),
]
INSIDE: list[tuple[int, str]] = [
    (combination.MAX_MULTIPLIED, "multiplied out up to {} alternatives"),
    (combination.MAX_SUMMED, "or {} where clauses cannot express some"),
    (combination.MAX_DISTRIBUTED, "up to {} clauses"),
    (matcher.MAX_SPLITTING, "more than {} patterns"),
    (clauses.LATER_TRIES, "a member after which {} steps"),
    (enough.MAX_WAYS, "those values are offered that {} sets of conditions show"),
    (beside.MAX_SEARCHED, "for which {} others were looked at"),
]


@pytest.mark.parametrize(("limit", "words"), ROWS)
def test_each_row_has_the_limit(limit: int, words: str) -> None:
    """With its thousands apart."""
    assert f"\n| {limit:,} | {words}" in PAGE


@pytest.mark.parametrize(("limit", "words"), INSIDE)
def test_limits_inside_a_row_are_true(limit: int, words: str) -> None:
    """They change how the work is done, and stop nothing."""
    assert words.format(limit) in PAGE
