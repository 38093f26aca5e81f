"""Shipped grammars become cases, and other engines get them without lookaheads and priorities."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jsonschemabench.data.shipped_cases import plain, read
from jsonschemabench.engines.engine import LARK, SHIPPED
from jsonschemabench.main import main
from jsonschemabench.running.results import read as read_results
from structgen import Lark, check
from structgen.grammar.shipped import NAMES, examples


def test_each_shipped_grammar_is_a_case_with_its_accepting_examples() -> None:
    """By name for structgen, as text for the others."""
    cases, digest = read(NAMES)
    assert [case.texts[SHIPPED] for case in cases] == list(NAMES)
    for case in cases:
        assert [i.text for i in case.instances] == list(examples(case.id).accept.values())
        assert all(instance.valid for instance in case.instances)
    assert digest != read(NAMES[:1])[1]


@pytest.mark.parametrize(
    ("pattern", "less"),
    [
        (r"/in(?![0-9A-Za-z_])/i", "/in/i"),
        (r"/(?!(a|b(?=c))[)(])x[(?!]*/", "/x[(?!]*/"),
        (r"/\(?=a|\\(?!\))/", r"/\(?=a|\\/"),
        (r"/\/(?:a)(?=\n|[\]])b/s", r"/\/(?:a)b/s"),
    ],
)
def test_lookaheads_are_left_out(pattern: str, less: str) -> None:
    """Nothing else is, in patterns that both can read."""
    assert plain(f"start: A\nA: {pattern}") == f"start: A\nA: {less}"
    re.compile(less.strip("/is"))


def test_priorities_of_terminals_are_left_out_and_strings_stay() -> None:
    """A string may hold what looks like a lookahead."""
    text = 'start.2: A "(?!x)"  // /(?=b)/\nA.-1 : "a"'
    assert plain(text) == 'start.2: A "(?!x)"  // /(?=b)/\nA : "a"'


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["c", "sql", "chess"])
def test_what_is_left_still_takes_the_examples(name: str) -> None:
    """As a grammar in Lark's language."""
    (case,), _ = read([name])
    spec = Lark(case.texts[LARK])
    for instance in case.instances:
        check(spec, instance.text)


def test_the_command_measures_shipped_grammars(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All examples pass, each token has a time, and each grammar a line."""
    out = tmp_path / "shipped.jsonl"
    arguments = ["--engines", "structgen", "--tokenizer", "bytes", "--out", str(out)]
    assert main(["masks", "--shipped", "arithmetic", "csv", *arguments]) == 0
    records = read_results(out).records
    assert [record["case"] for record in records] == ["arithmetic", "csv"]
    assert {record["outcome"] for record in records} == {"pass"}
    assert all(record["first_use"]["count"] > 50 for record in records)
    lines = capsys.readouterr().out.splitlines()
    for name in ("arithmetic", "csv"):
        (line,) = [line for line in lines if line.startswith(f"| {name} | structgen | pass |")]
        assert all(float(cell.replace(",", "")) > 0 for cell in line.split(" | ")[3:-1])
