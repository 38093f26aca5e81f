"""In: literals. Out: proof that their automata, written down at once, are those of any pattern."""

from __future__ import annotations

import pytest

from structgen.automaton.regex import EMPTY, literal
from structgen.grammar.ir import Terminal
from structgen.grammar.lexemes import Automata, automata_of, of_terminal


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("text", ["a", "in", "aa", "h\u00e4\u00df", "select", "abab"])
def test_literals_are_like_patterns(text: str, ordered: bool) -> None:
    """The same states, and watches that cannot be told apart whatever follows."""
    told = of_terminal(Terminal("T", literal(text), text=text), ordered)
    made = automata_of(literal(text), EMPTY, ordered)
    for field in ("next", "accepts", "own", "distance"):
        assert (getattr(told, field) == getattr(made, field)).all()
    pairs = set(zip(told.match.tolist(), made.match.tolist(), strict=True))
    todo = list(pairs)
    for one, other in todo:
        assert _verdict(told, one) == _verdict(made, other)
        after = zip(told.watch[one].tolist(), made.watch[other].tolist(), strict=True)
        new = set(after) - pairs
        pairs |= new
        todo += new


def _verdict(automata: Automata, watch: int) -> tuple[int, bool]:
    """Whether a watch has ended, and how it stands if the text ends."""
    return min(watch, 2), bool(automata.fails[watch])
