"""Automata found state by state: the moves of formats' states, and the loops they promise."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from structgen.regular import byte_groups
from structgen.regular.charset import CharSet
from structgen.regular.expressions.nodes import SubAutomaton
from structgen.regular.lazy_dfa.automaton import automaton_of
from structgen.regular.lazy_dfa.stepped import MOST_REPEATS, DerivedAutomaton, SteppedSubAutomaton
from structgen.regular.regex import matches, sub_automaton, words
from structgen.schema.formats.formats import format_built

FORMATS = ["regex", "hostname"]
LETTERS = "ab019-.[]{}(),?:<>=!^$\\|xX*+uk}n\u00e9\u4e00\U0001f600"


def start(name: str) -> Any:
    """The state in which a format begins."""
    found = format_built(name)
    assert isinstance(found, SubAutomaton)
    return found.state


def after(state: Any, letter: str) -> Any:
    """The state after a character, None when it may not come."""
    return next((to for chars, to in state.moves() if letter in chars), None)


def walks(name: str, count: int, steps: int) -> Iterator[tuple[Any, str]]:
    """States that random texts lead to, with these texts."""
    rnd = random.Random(7)
    for _ in range(count):
        state, text = start(name), ""
        for _ in range(rnd.randrange(steps)):
            chars, _ = rnd.choice(state.moves())
            likely = [letter for letter in LETTERS if letter in chars]
            letter = rnd.choice(likely) if likely else chr(rnd.choice(chars.ranges)[0])
            state, text = after(state, letter), text + letter
        yield state, text


def spans(automaton: SteppedSubAutomaton, state: int) -> list[tuple[int, int, int]]:
    """What leads on from a state."""
    automaton.explore(state)
    place = automaton.order[: automaton.known].tolist().index(state)
    begin, end = automaton.first[place : place + 2]
    return [tuple(span) for span in automaton.spans[begin:end].tolist()]


@pytest.mark.parametrize("name", FORMATS)
def test_the_automaton_has_the_moves_of_its_states(name: str) -> None:
    """Each character leads where it does from the state, whatever was explored before."""
    automaton = SteppedSubAutomaton(start(name))
    nodes: list[Any] = automaton._nodes
    for _, text in walks(name, 60, 12):
        number = 0
        for letter in text:
            node = nodes[number]
            found = spans(automaton, number)
            assert [low for low, _, _ in found] == sorted({low for low, _, _ in found})
            told = {
                to: CharSet.of((low, high) for low, high, at in found if nodes[at] == to)
                for to in {nodes[at] for _, _, at in found}
            }
            wanted: dict[Any, CharSet] = {}
            for chars, to in node.moves():
                wanted[to] = wanted.get(to, chars) | chars
            assert told == wanted, (text, node)
            (number,) = (at for low, high, at in found if low <= ord(letter) <= high)
        assert bool(automaton.ends[number]) == matches(format_built(name), text)


@pytest.mark.thorough
@pytest.mark.parametrize("name", FORMATS)
def test_what_may_follow_in_any_order_does(name: str) -> None:
    """As many of the characters `again` as a state says may be read from there."""
    rnd = random.Random(8)
    for state, text in walks(name, 300, 14):
        again = getattr(state, "again", None)
        if again is None:
            continue
        chars, often = again
        letters = [x for x in LETTERS if x in chars] + [chr(low) for low, _ in chars.ranges]
        at = state
        for _ in range(min(often, 70)):
            letter = rnd.choice(letters)
            at = after(at, letter)
            assert at is not None, (text, state, letter)


@pytest.mark.parametrize("name", FORMATS)
def test_what_may_follow_again_is_known_before_a_state_is_looked_at(name: str) -> None:
    """As soon as it has a number, and the same when what leads on from it is known as well."""
    automaton = SteppedSubAutomaton(start(name))
    for state in range(20):
        automaton.explore(state)
    told = automaton.often[: automaton.made].copy()
    for number, node in enumerate(automaton._nodes):
        again: Any = getattr(node, "again", None)
        if again is not None and again[1]:
            assert told[number] == (again[1] if again[1] <= MOST_REPEATS else 255)
            assert automaton.loops[number] == byte_groups.whole(again[0].ranges)
    for state in range(20, 30):
        automaton.explore(state)
        assert automaton.often[state] == told[state] or not told[state]


@pytest.mark.thorough
@pytest.mark.parametrize("name", FORMATS)
def test_what_a_state_has_of_another_is_so(name: str) -> None:
    """Beside its own characters, a state with a `base` leads on as that does."""
    for state, text in walks(name, 200, 12):
        base = getattr(state, "base", None)
        if base is None:
            continue
        special = state.special_steps()
        own = {letter: to for chars, to in special for letter in LETTERS if letter in chars}
        for letter in LETTERS:
            wanted = own[letter] if letter in own else after(base, letter)
            assert after(state, letter) == wanted, (text, letter)


def test_far_bounds_make_no_difference() -> None:
    """So many characters may follow as without the bound: the same ones, and texts end alike."""
    names: Any = format_built("hostname")
    bounded = automaton_of(sub_automaton(names.state.halves[1]))
    assert bounded is not None
    rnd = random.Random(9)
    said = 0
    for _, text in walks("hostname", 60, 80):
        state = 0
        for letter in text:
            state = bounded.after(state, letter)
        found = bounded.unbounded(state)
        if found is None:
            assert len(text) >= 253 - 63
            continue
        base, at = found.automaton, found.state
        said += 1
        for _ in range(min(found.free, 12)):
            left, right = bounded.spans_from(state), base.spans_from(at)
            assert left[:, :2].tolist() == right[:, :2].tolist(), text
            assert bounded.ends[state] == base.ends[at]
            k = rnd.randrange(len(left))
            state, at = int(left[k, 2]), int(right[k, 2])
    assert said > 40


def test_a_long_name_counts_what_is_left() -> None:
    """Near the bound it is told what fits, and what does not."""
    bounded = automaton_of(format_built("hostname"))
    assert bounded is not None
    state = 0
    for letter in ".".join(["a" * 63] * 3) + "." + "a" * 60:
        state = bounded.after(state, letter)
    assert bounded.unbounded(state) is None
    assert bounded.spans_from(bounded.after(state, "a")).size == 0


def test_long_word_lists_are_tries() -> None:
    """A state per prefix; each has the letters with which its words go on, and ends at a word."""
    rnd = random.Random(3)
    listed = sorted(
        {"".join(rnd.choices("abcdef\u00e9", k=rnd.randrange(3, 9))) for _ in range(900)}
    )
    found = automaton_of(words(listed))
    assert isinstance(found, DerivedAutomaton)
    for text in {word[:size] for word in listed for size in range(len(word) + 1)}:
        state = 0
        for letter in text:
            state = found.after(state, letter)
        on = sorted({word[len(text)] for word in listed if word.startswith(text) and word != text})
        spans = found.spans_from(state).tolist()
        assert [chr(x) for low, high, _ in spans for x in range(low, high + 1)] == on
        assert bool(found.ends[state]) == (text in listed)
