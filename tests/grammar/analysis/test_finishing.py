"""Whether stacks can be read to the end is told in few steps, whatever was asked before."""

from __future__ import annotations

import random
from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.grammar.analysis import finishing
from structgen.grammar.analysis.finishing import MAX_STEPS, Finishing
from structgen.grammar.analysis.lexeme_ends import LexemeEnds
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.ir import Grammar
from structgen.grammar.specs import Lark
from structgen.kernels.build.loader import kernels
from tests.grammar.test_automaton import automaton_of, grammars


def _questions(automaton: GrammarAutomaton, most: int = 12) -> list[tuple[int, int]]:
    """Stacks that few terminals lead to, each with lookaheads that a lexeme can leave."""
    scan = kernels("grammar.indentation").scan_laid
    reached = [automaton.threads(automaton.start)[0][1]]
    left = {0}
    for stacks in reached:
        left |= {end for _, end in LexemeEnds(automaton, automaton.items, None).of(
            automaton.first_lexer(stacks), 0)}  # fmt: skip
        for terminal in automaton.allowed_terminals(stacks):
            after = automaton.ask(scan, stacks, terminal)
            if after not in reached and len(reached) < most:
                reached.append(after)
    return [(stacks, lookaheads) for stacks in reached for lookaheads in sorted(left)]


def _finishing(automaton: GrammarAutomaton, *, safe: bool) -> Finishing:
    return Finishing(automaton, LexemeEnds(automaton, automaton.items, None), safe=safe)


@settings(max_examples=60, deadline=None)
@given(grammars() | grammars("viable"), st.integers(0, 1 << 30), st.booleans())
def test_answers_do_not_depend_on_what_was_asked_before(of: Grammar, seed: int, safe: bool) -> None:
    """In any order, with questions given up in between, they are those of a question by itself."""
    automaton = automaton_of(of)
    if automaton is None:
        return
    draw, questions = random.Random(seed), _questions(automaton)
    draw.shuffle(questions)
    shared = _finishing(automaton, safe=safe)
    for stacks, lookaheads in questions:
        alone = _finishing(automaton, safe=safe).can_end(stacks, lookaheads)
        assert shared.can_end(stacks, lookaheads, draw.randrange(6)) in (alone, None)
        assert shared.can_end(stacks, lookaheads) == alone


@settings(max_examples=60, deadline=None)
@given(grammars() | grammars("viable"), st.booleans())
def test_items_that_can_be_read_plainly_change_no_answer(of: Grammar, safe: bool) -> None:
    """Asked before the first question, or never."""
    automaton = automaton_of(of)
    if automaton is None:
        return
    asking, not_asking = (_finishing(automaton, safe=safe) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        for stacks, lookaheads in _questions(automaton):
            patch.setattr(finishing, "FEW_STEPS", MAX_STEPS)
            expected = not_asking.can_end(stacks, lookaheads)
            patch.setattr(finishing, "FEW_STEPS", -1)
            assert asking.can_end(stacks, lookaheads) == expected


def test_behind_plain_items_nothing_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a comment needs a line break, which brackets do not allow, but spaces are ignored."""
    monkeypatch.setattr(finishing, "FEW_STEPS", -1)
    automaton = Lark(
        """start: (sum _NL)+
        sum: product | sum "+" product
        product: atom | product "*" atom
        atom: NAME | "(" sum ")"
        NAME: /[a-z]+/
        _NL: (/\\n/ | COMMENT)+
        COMMENT: /#[^\\n]*/
        %ignore " "
        %ignore COMMENT"""
    ).automaton()
    assert isinstance(automaton, GrammarAutomaton)
    assert automaton.is_checked
    for text, ended in ((b"a + (b ", True), (b"a + (b #", False), (b"a #", True)):
        assert (automaton.run(automaton.start, text)[0] >= 0) == ended
    one = automaton._viability._perhaps
    at, _ = automaton.run(automaton.start, b"a * (b + ((")
    assert automaton.next_bytes(at)
    assert one._steps < 40


def test_a_question_does_not_look_at_what_another_left_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In Lark's grammar of itself, in which lexing can lead to dead ends."""
    made: list[Finishing] = []
    begin = Finishing.__init__

    def noted(self: Finishing, *args: object, **options: object) -> None:
        made.append(self)
        begin(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Finishing, "__init__", noted)
    text = resources.files("lark").joinpath("grammars/lark.lark").read_text()
    automaton = Lark(text).automaton()
    for read in (b"", b"a", b"a:", b"a: b", b'a: "b"'):
        at, _ = automaton.run(automaton.start, read)
        assert automaton.next_bytes(at)
    assert 0 < sum(one._steps for one in made) < 400
