"""Outcomes on record are read as they were written, and whatever is worse than them is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsonschemabench.errors import BenchError
from jsonschemabench.ratchet.record import SECTIONS, Comparison, Entry, Measured, read, write
from jsonschemabench.running.outcomes import (
    ACCEPTED_INVALID,
    CRASH,
    OUTCOMES,
    PASS,
    REFUSED_SATISFIABLE,
    REJECTED_VALID,
)

OUTCOMES_BY_NAME = st.dictionaries(st.text(min_size=1), st.sampled_from(OUTCOMES), max_size=9)


def compared(before: dict[str, str], after: dict[str, str]) -> Comparison:
    """The comparison of two measurements of the same tests."""
    comparison = Comparison()
    comparison.add("group", Entry.of(Measured("digest", before)), Measured("digest", after))
    return comparison


@given(st.dictionaries(st.sampled_from(SECTIONS), st.dictionaries(st.text(), OUTCOMES_BY_NAME)))
def test_the_record_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, outcomes: dict[str, dict[str, dict[str, str]]]
) -> None:
    """Digests, counts and each name that did not pass."""
    path = tmp_path_factory.mktemp("ratchet") / "ratchet.json"
    ratchet = {
        section: {
            group: Entry.of(Measured(f"digest of {group}", found))
            for group, found in outcomes.get(section, {}).items()
        }
        for section in SECTIONS
    }
    write(ratchet, path)
    assert read(path) == ratchet


@given(st.dictionaries(st.text(), st.tuples(*[st.sampled_from(OUTCOMES)] * 2)))
def test_each_that_moves_is_named_once_and_only_then(pairs: dict[str, tuple[str, str]]) -> None:
    """Worse is what stands earlier among the outcomes."""
    found = compared({k: a for k, (a, _) in pairs.items()}, {k: b for k, (_, b) in pairs.items()})
    rank = OUTCOMES.index
    worse = {f"group {k}: {a} -> {b}" for k, (a, b) in pairs.items() if rank(b) < rank(a)}
    better = {f"group {k}: {a} -> {b}" for k, (a, b) in pairs.items() if rank(b) > rank(a)}
    assert (set(found.worse), set(found.better)) == (worse, better)
    assert len(found.worse) + len(found.better) == len(worse) + len(better)


def test_a_loss_is_seen_behind_a_gain() -> None:
    """One test is lost and one won: the counts are the same."""
    found = compared({"a": PASS, "b": REFUSED_SATISFIABLE}, {"a": REFUSED_SATISFIABLE, "b": PASS})
    assert found.worse == ["group a: pass -> refused satisfiable"]
    assert found.better == ["group b: refused satisfiable -> pass"]


def test_what_is_worse_says_why_if_the_engine_did() -> None:
    """A wrong verdict has no reason, a crash or a refusal has."""
    comparison = Comparison()
    known = Entry.of(Measured("digest", {"a": PASS, "b": PASS, "c": CRASH}))
    now = {"a": CRASH, "b": REJECTED_VALID, "c": PASS}
    comparison.add("group", known, Measured("digest", now, {"a": "too long", "b": "", "c": "no"}))
    assert comparison.worse == [
        "group a: pass -> crash: too long",
        "group b: pass -> rejected valid",
    ]
    assert comparison.better == ["group c: crash -> pass"]


def test_a_wrong_verdict_is_worse_than_a_refusal() -> None:
    """And the acceptance of what is invalid is the worst of all."""
    assert compared({"a": REFUSED_SATISFIABLE}, {"a": REJECTED_VALID}).worse
    assert compared({"a": REJECTED_VALID}, {"a": ACCEPTED_INVALID}).worse


def test_a_part_can_be_compared_with_the_whole() -> None:
    """What is not measured now has not become worse."""
    assert compared({"a": PASS, "b": PASS, "c": ACCEPTED_INVALID}, {"b": PASS}) == Comparison()


def test_what_is_new_or_has_changed_is_named_and_not_compared() -> None:
    """Outcomes of other tests say nothing about those on record."""
    comparison = Comparison()
    comparison.add("new", None, Measured("digest", {"a": ACCEPTED_INVALID}))
    entry = Entry.of(Measured("digest", {"a": PASS}))
    comparison.add("changed", entry, Measured("other", {"a": ACCEPTED_INVALID}))
    assert comparison == Comparison(new=["new"], changed=["changed"])


def test_an_entry_has_counts_worst_first_and_the_names_of_the_rest() -> None:
    """This is what a reader of the file sees."""
    measured = Measured("d", {"0/0": PASS, "0/1": ACCEPTED_INVALID, "1/0": PASS})
    assert list(Entry.of(measured).to_json().items()) == [
        ("digest", "d"),
        ("counts", {"accepted invalid": 1, "pass": 2}),
        ("names", {"accepted invalid": ["0/1"]}),
    ]


def test_where_nothing_is_on_record_everything_is_new(tmp_path: Path) -> None:
    """A record that is not there is empty."""
    assert read(tmp_path / "none.json") == {section: {} for section in SECTIONS}


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"suite": {}, "maskbench": []}', '{"suite": {"a": 1}}']
)
def test_a_damaged_record_is_one_clear_error(text: str, tmp_path: Path) -> None:
    """It names the file."""
    path = tmp_path / "ratchet.json"
    path.write_text(text)
    with pytest.raises(BenchError, match="no outcomes on record") as caught:
        read(path)
    assert caught.value.location == str(path)
