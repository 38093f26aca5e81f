"""The direct constructions for literals and keywords agree with the general one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import BudgetError
from structgen.grammar.ir import Terminal
from structgen.grammar.lookaround.lookahead import of_terminal
from structgen.grammar.terminals.automata import Automata, automata_of
from structgen.grammar.terminals.patterns import matches_of
from structgen.regular.regex import EMPTY, literal, words


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("text", ["a", "in", "aa", "h\u00e4\u00df", "select", "abab"])
def test_literals_are_like_patterns(text: str, ordered: bool) -> None:
    """The same states, and lookahead states that cannot be told apart whatever follows."""
    told = of_terminal(Terminal("T", literal(text), text=text), ordered)
    made = automata_of(literal(text), EMPTY, ordered)
    for field in ("next", "accepts", "no_longer", "distance"):
        assert (getattr(told, field) == getattr(made, field)).all()
    assert_alike(told, made)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "pattern",
    [
        r"in\b", r"h\u00e4(?![a-z])", r"[ab][bc](?![c\u00e9\u20ac])",
        r"(?i:is)\b", r"(?i:kiss)(?![0-9A-Za-z_])",
    ],
)  # fmt: skip
def test_keywords_are_like_patterns(pattern: str, ordered: bool) -> None:
    """What must not follow decides as it does when all is read as one."""
    language, longer, *_ = matches_of(pattern)
    told = of_terminal(Terminal("T", language, longer=longer), ordered)
    assert_alike(told, automata_of(language, longer, ordered))


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("pattern", [r"(?i:sk\u00df)", r"[a\u00e9\u20ac\U0001f600]x[\u00e8\u00e9]"])
def test_words_of_a_few_characters_are_like_patterns(pattern: str, ordered: bool) -> None:
    """With characters of several lengths at one place, too."""
    language, longer, *_ = matches_of(pattern)
    told = of_terminal(Terminal("T", language, longer=longer), ordered)
    assert_alike(told, automata_of(language, longer, ordered))


def accepts(found: Automata, text: str) -> bool:
    """Whether a text is one of the terminal."""
    state = 0
    for byte in text.encode():
        state = int(found.next[state, byte]) if state >= 0 else -1
    return state >= 0 and bool(found.accepts[state])


@given(
    st.sets(st.text("ab\u00e9\u20ac\U0001f600", min_size=1, max_size=4), min_size=2, max_size=20)
)
def test_a_list_of_words_has_one_state_for_what_can_follow(listed: set[str]) -> None:
    """The trie is merged to the least automaton: by right languages, one by one."""
    found = automata_of(words(listed), EMPTY, False)
    data = {word.encode() for word in listed}
    begins = {word[:size] for word in data for size in range(len(word) + 1)}
    behind = {frozenset(w[len(b) :] for w in data if w.startswith(b)) for b in begins}
    assert len(found.next) == len(behind)
    for text in (*listed, *(a + b for a in listed for b in listed)):
        assert accepts(found, text) == (text in listed)


def assert_alike(told: Automata, made: Automata) -> None:
    """No bytes tell the automata or their lookahead states apart."""
    states = {(0, 0)}
    queue = list(states)
    for one, other in queue:
        assert (one < 0) == (other < 0)
        if one < 0:
            continue
        assert told.accepts[one] == made.accepts[other]
        assert told.distance[one] == made.distance[other]
        if told.accepts[one]:
            assert_same_lookahead(told, made, int(told.no_longer[one]), int(made.no_longer[other]))
        assert_same_lookahead(told, made, int(told.no_match[one]), int(made.no_match[other]))
        after = zip(told.next[one].tolist(), made.next[other].tolist(), strict=True)
        new = set(after) - states
        states |= new
        queue += new


def assert_same_lookahead(told: Automata, made: Automata, one: int, other: int) -> None:
    """No bytes tell two lookahead states apart."""
    pairs = {(one, other)}
    todo = list(pairs)
    for a, b in todo:
        assert _status(told, a) == _status(made, b)
        after = zip(told.lookahead[a].tolist(), made.lookahead[b].tolist(), strict=True)
        new = set(after) - pairs
        pairs |= new
        todo += new


def _status(automata: Automata, lookahead: int) -> tuple[int, bool]:
    """Whether a lookahead is settled, and how it stands if the text ends."""
    return min(lookahead, 2), bool(automata.violated_at_end[lookahead])


def test_too_many_places_are_a_budget_error() -> None:
    """They are counted before there are states for them."""
    language, longer, *_ = matches_of("[ab]{30000}")
    for ordered in (False, True):
        with pytest.raises(BudgetError, match="byte states"):
            of_terminal(Terminal("T", language, longer=longer), ordered)
