"""Tests that the examples of the demo corpus are right."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from structgen.demo.training.corpus import Example, default_schema, example
from structgen.demo.training.evaluate import leaves
from structgen.demo.training.kinds import KINDS
from structgen.demo.training.texts import listing
from structgen.demo.training.values import (
    ADJECTIVES,
    CITIES,
    FIRST_NAMES,
    LAST_NAMES,
    NOUNS,
    Split,
    Values,
    held_out,
    in_split,
    long_date,
    made_up,
)

MONTH_NUMBER = {"January": "01", "June": "06", "December": "12"}


def drawn(count: int, split: Split = "train", seed: int = 5) -> list[Example]:
    """Seeded examples of a split."""
    rng = random.Random(seed)
    return [example(rng, split) for _ in range(count)]


def test_the_same_seed_gives_the_same_examples() -> None:
    """Two generators with one seed agree, one with another seed does not."""
    assert drawn(50) == drawn(50)
    assert drawn(50) != drawn(50, seed=6)


def test_another_process_draws_the_same_examples() -> None:
    """The order of sets and dictionaries, which differs between processes, plays no part."""
    code = (
        "import random; from structgen.demo.training.corpus import example\n"
        "rng = random.Random(5)\n"
        "print([example(rng).prompt for _ in range(50)])"
    )
    expected = [e.prompt for e in drawn(50)]
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
        assert ast.literal_eval(done.stdout) == expected


@pytest.mark.thorough
@pytest.mark.parametrize("split", ["train", "eval"])
def test_every_answer_fits_its_schema_in_the_declared_order(split: Split) -> None:
    """The jsonschema library accepts each answer, and its keys have the schema's order."""
    for e in drawn(600, split):
        Draft202012Validator.check_schema(e.schema)
        checker = Draft202012Validator(e.schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        assert checker.is_valid(e.answer), e
        order = list(e.schema["properties"])
        assert [k for k in order if k in e.answer] == list(e.answer)
        assert json.loads(e.target) == e.answer


@pytest.mark.parametrize("split", ["train", "eval"])
def test_every_text_value_of_the_answer_can_be_read_off_the_prompt(split: Split) -> None:
    """A string of the answer stands in the prompt, or is a date that the prompt spells out."""
    for e in drawn(600, split):
        for value in leaves(e.answer).values():
            if isinstance(value, str) and value not in e.prompt:
                assert re.fullmatch(r"\d{4}-\d\d-\d\d", value), (value, e.prompt)
                assert long_date(value, 0) in e.prompt or long_date(value, 1) in e.prompt


def test_a_schema_in_the_prompt_is_the_schema_of_the_answer() -> None:
    """Where the prompt carries a schema it is, text for text, that of the answer."""
    shown = [e for e in drawn(400) if e.way == "schema"]
    assert len(shown) > 100
    assert all(json.dumps(e.schema, ensure_ascii=False) in e.prompt for e in shown)


def test_a_kind_alone_means_its_default_fields() -> None:
    """All examples that name only the kind share one schema, the kind's default one."""
    by_name = {kind.name: default_schema(kind) for kind in KINDS}
    plain = [e for e in drawn(800) if e.way == "default"]
    assert {e.kind for e in plain} == by_name.keys()
    assert all(e.schema == by_name[e.kind] for e in plain)


def words_of(examples: list[Example]) -> set[str]:
    """Lower-case words of at least three letters that occur in string values of the answers."""
    texts = (v for e in examples for v in leaves(e.answer).values() if isinstance(v, str))
    return {w.lower() for t in texts for w in re.findall(r"\b[^\W\d_]{3,}\b(?!-\d)", t)}


@pytest.mark.thorough
def test_names_and_words_of_the_two_splits_do_not_meet() -> None:
    """Only closed words (enum members, fixed endings) occur in answers of both splits."""
    shared = words_of(drawn(4000)) & words_of(drawn(4000, "eval"))
    listed = {w.lower() for w in (*FIRST_NAMES, *LAST_NAMES, *CITIES, *NOUNS)}
    assert not {w for w in shared if w in listed and w not in ADJECTIVES} - closed_words()
    assert shared <= closed_words(), shared - closed_words()


def closed_words() -> set[str]:
    """Words of enum members and fixed parts of values, which both splits use."""
    fixed = (
        "street road lane avenue way square hill alley hall center park ltd gmbh labs systems new "
        "san bad port junior senior does not load slow crashes missing fails org com net example"
    ).split()
    enums = {
        option.lower()
        for e in (*drawn(3000), *drawn(3000, "eval"))
        for option in re.findall(r"[^\W\d_]{3,}", " ".join(enum_members(e.schema)))
        if e.kind != "record"
    }
    return {*fixed, *enums, *ADJECTIVES}


def enum_members(schema: object) -> list[str]:
    """All members of all enums inside a schema."""
    if isinstance(schema, dict):
        own = [m for m in schema.get("enum", []) if isinstance(m, str)]
        return own + [m for inner in schema.values() for m in enum_members(inner)]
    return []


def test_numbers_and_dates_of_the_two_splits_do_not_meet() -> None:
    """Dates, decimals and integers from 13 on belong to one split only."""
    pairs: tuple[tuple[Split, Split], ...] = (("train", "eval"), ("eval", "train"))
    for split, other in pairs:
        values = Values(random.Random(1), split)
        for _ in range(300):
            for text in (
                values.date(),
                str(values.integer(13, 9999)),
                values.code(),
                values.postcode(),
            ):
                assert in_split(text, split)
                assert not in_split(text, other)


def test_the_split_ignores_letter_case_and_takes_a_sixth() -> None:
    """A name counts as held out in any letter case; about a sixth of made-up words are held out."""
    rng = random.Random(3)
    words = [made_up(rng) for _ in range(6000)]
    assert all(held_out(w) == held_out(w.upper()) for w in words if w.isascii())
    assert 0.14 < sum(map(held_out, words)) / len(words) < 0.19


def test_long_dates_name_the_month() -> None:
    """Both long forms state day, month name and year without leading zeros."""
    assert long_date("2025-03-04", 0) == "4 March 2025"
    assert long_date("2025-12-14", 1) == "December 14, 2025"


def test_a_listing_joins_with_commas_and_one_and() -> None:
    """One word stays alone; several are joined by commas, with or without a last `and`."""
    rng = random.Random(0)
    assert listing(rng, ["a"]) == "a"
    assert {listing(rng, ["a", "b", "c"]) for _ in range(40)} == {"a, b, c", "a, b and c"}
