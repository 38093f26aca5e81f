"""Specs that are small to write and dear to compile: a constraint, or a BudgetError, soon."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.pushdown import numbering
from structgen.compose.composite import layout
from structgen.compose.composite.scan_table import demanding, search_table
from structgen.compose.tags import _one_within
from structgen.constraint import compiler
from structgen.constraint import constraint as constraints
from structgen.errors import BudgetError
from structgen.grammar.analysis import neighbours
from structgen.grammar.expressions import Choice, Expression, Name, Sequence, Text
from structgen.grammar.readers.lark import reader
from structgen.grammar.transforms.inlining import regular_language
from structgen.regular.lazy_dfa import product
from structgen.regular.regex import literal
from structgen.util.arrays import paged
from structgen.util.cancellation import checkpoint

BYTES = sg.Vocabulary([*(bytes((i,)) for i in range(256)), b"<end>"], eos_ids=[256])


def mask(constraint: sg.Constraint, state: int) -> Any:
    """The mask of a state, made anew."""
    row = np.zeros(constraint.vocabulary.words, np.int32)
    constraint.fill_mask(state, row)
    return row


def accepts(constraint: sg.Constraint, text: str) -> bool:
    """Whether a text fits."""
    return constraint.is_accepting(constraint.advance_bytes(constraint.start, text.encode()))


def test_templates_whose_uses_double_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each template uses the next with two arguments: 2 ** 12 rules."""
    monkeypatch.setattr(reader, "MAX_INSTANCES", 500)
    lines = [f"t{i}{{x}}: t{i + 1}{{a{{x}}}} | t{i + 1}{{b{{x}}}}" for i in range(12)]
    text = "\n".join(['start: t0{"s"}', *lines, "t12{x}: x", 'a{x}: x "a"', 'b{x}: x "b"'])
    with pytest.raises(BudgetError, match="templates of the grammar make"):
        sg.compile(sg.Lark(text), BYTES)


def test_long_chains_of_rules_are_regular() -> None:
    """A rule is looked at once, however many others are being looked at."""
    count = 20_000
    rules: dict[str, Expression] = {f"r{i}": Name(f"r{i + 1}") for i in range(count)}
    rules[f"r{count}"] = Text(literal("a"))
    assert regular_language(rules, "r0") is literal("a")


@given(st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=6, max_size=6))
def test_rules_are_regular_unless_they_use_themselves(uses: list[list[int]]) -> None:
    """As a search for cycles has it."""
    rules: dict[str, Expression] = {
        f"r{i}": Choice((Text(literal("a")), *(Sequence((Name(f"r{j}"),)) for j in used)))
        for i, used in enumerate(uses)
    }
    reached = [0]
    for i in reached:
        reached += [j for j in uses[i] if j not in reached]
    behind = {i: {*uses[i]} for i in range(6)}
    for _ in range(6):
        behind = {i: of.union(*(behind[j] for j in of)) for i, of in behind.items()}
    cyclic = any(i in behind[i] for i in reached)
    assert (regular_language(rules, "r0") is None) == cyclic


def test_what_follows_terminals_is_the_same_for_few_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sets of terminals are looked at in pieces, equal ones once."""
    pieces = [f'"{a}" ("{b}" | "{b}{a}") [start]' for a, b in itertools.permutations("abcde", 2)]
    spec = sg.Lark("start: " + " | ".join(pieces) + "\n%ignore /[ ]+/", lexing="free")
    whole: Any = spec.automaton()
    monkeypatch.setattr(neighbours, "AT_ONCE", 2)
    in_pieces: Any = spec.automaton()
    assert (in_pieces.follow == whole.follow).all()


def test_a_text_with_many_demands_is_found_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each letter must come: there are 2 ** 16 states, of which a few lead to an end."""
    monkeypatch.setattr(product, "MAX_SIDE", 20_000)
    letters = "abcdefghijklmnop"
    spec = sg.Regex("".join(f"(?=.*{letter})" for letter in letters) + ".*")
    constraint = sg.compile(spec, BYTES)
    assert accepts(constraint, letters[::-1])
    assert not accepts(constraint, letters[1:])
    mask(constraint, constraint.start)


def test_the_first_mask_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the error the constraint is whole; in a text that was let in there is no limit."""
    schema = {"type": "object", "properties": {"a": {"pattern": "^a+b"}, "b": {"pattern": "c.d"}}}
    constraint, same = sg.compile(schema, BYTES), sg.compile(schema, BYTES)
    write = constraint._masks.write

    def work(*arguments: Any) -> Any:
        checkpoint(7)
        return write(*arguments)

    monkeypatch.setattr(constraint._masks, "write", work)
    with monkeypatch.context() as patch:
        patch.setattr(constraints, "MAX_WORK", 6)
        with pytest.raises(BudgetError, match="the first mask takes too long"):
            mask(constraint, constraint.start)
        later = constraint.advance_bytes(constraint.start, b'{"b":"')
        other = same.advance_bytes(same.start, b'{"b":"')
        assert (mask(constraint, later) == mask(same, other)).all()
    assert (mask(constraint, constraint.start) == mask(same, same.start)).all()


def test_states_of_a_pattern_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of a million characters is read; of many more the rows would take all memory."""
    monkeypatch.setattr(numbering, "MAX_STATES", 3000)
    constraint = sg.compile(sg.Regex("(?:ab|c){9000}"), BYTES)
    assert constraint.advance_bytes(constraint.start, b"c" * 1000) >= 0
    with pytest.raises(BudgetError, match="more than 3000 states"):
        constraint.advance_bytes(constraint.start, b"abc" * 9000)
    assert constraint.advance_bytes(constraint.start, b"ca" * 10) < 0


def test_compiling_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no schema, too."""
    spec = sg.Lark("start: (A | B)+\nA: /[a-z]+/\nB: /[0-9]+/")
    monkeypatch.setattr(compiler, "MAX_WORK", 1)
    with pytest.raises(BudgetError, match="the spec takes too long to compile"):
        sg.compile(spec, BYTES)
    monkeypatch.undo()
    assert accepts(sg.compile(spec, BYTES), "abc")


def test_deep_compositions_are_an_error() -> None:
    """Sequences of unions of sequences, hundreds deep."""
    spec: Any = sg.Regex("a")
    for i in range(400):
        spec = sg.sequence(sg.any_of(spec, sg.Regex(f"b{i}")), sg.Regex("c?"))
    with pytest.raises(BudgetError, match="nested too deeply"):
        sg.compile(spec, BYTES)


def test_many_different_parts_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal parts share an automaton."""
    monkeypatch.setattr(layout, "MAX_LARGE", 3)
    number = sg.JsonSchema({"type": "integer"})
    sg.compile(sg.sequence(number, sg.Regex(";+"), number, sg.Regex(",+"), number), BYTES)
    with pytest.raises(BudgetError, match="more than 3 different parts"):
        sg.compile(sg.sequence(*(sg.Regex(f"{i}+") for i in range(4))), BYTES)


def test_tables_without_memory_are_an_error() -> None:
    """Larger than all addresses."""
    with pytest.raises(BudgetError, match="there is no memory"):
        paged(1 << 50)


@given(st.text("ab", max_size=8), st.sets(st.text("ab", min_size=1, max_size=3)), st.booleans())
def test_words_within_a_text_are_found(text: str, words: set[str], more: bool) -> None:
    """Whether pieces are looked up or words are looked for."""
    words |= {"c" * i for i in range(1, 100)} if more else set()
    found = _one_within(text, frozenset(words), sorted({*map(len, words)}))
    assert (found is not None) == any(word in text for word in words)
    assert found is None or (found in words and found in text)


def test_thousands_of_triggers_are_checked() -> None:
    """Each tag has its own trigger, and one that can never be written is found."""
    chosen = random.Random(0).sample(range(10**6), 5000)
    tags = [sg.Tag(f"<f{number:06}>", sg.Regex("a"), "</f>") for number in chosen]
    assert len(sg.Tags(tuple(tags)).triggers or ()) == len(tags)
    with pytest.raises(sg.errors.SpecError, match="can never be written"):
        sg.Tags((*tags, sg.Tag(f"x<f{chosen[7]:06}>y", sg.Regex("a"), "</f>")))
    with pytest.raises(sg.errors.SpecError, match="no tag begins with the trigger"):
        sg.Tags(tuple(tags), triggers=("<f", "<g"))
    with pytest.raises(sg.errors.SpecError, match="no trigger leads to"):
        sg.Tags(tuple(tags), triggers=(tags[0].begin,))


@given(st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3, unique=True))
def test_what_leads_to_an_end_is_found(ends: list[str]) -> None:
    """As a search has it that looks at all states again and again."""
    table = search_table([end.encode() for end in ends], [b"bab"])
    alive = np.array([bool(numbers) for numbers in table.labels])
    for _ in range(len(alive)):
        alive |= ((table.rows >= 0) & alive[table.rows]).any(axis=1)
    if not alive[0]:
        with pytest.raises(sg.errors.UnsatisfiableSchemaError):
            demanding(table)
        return
    found = demanding(table).rows
    assert (found == np.where((table.rows >= 0) & alive[table.rows], table.rows, -1)).all()


def test_free_text_up_to_long_ends_is_laid_out_soon() -> None:
    """Each step back from an end is looked at once."""
    ends = ["<" * i + "/" * 200 for i in range(1, 40)]
    tags = sg.Tags(tuple(sg.Tag(f"<t{i}>", None, end) for i, end in enumerate(ends)))
    constraint = sg.compile(tags, BYTES)
    assert accepts(constraint, f"x<t3>ab<<{ends[3]}y")
    assert not accepts(constraint, f"x<t3>ab{ends[2]}y")
