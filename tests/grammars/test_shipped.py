"""The shipped grammars describe their languages.

Each is asked about its examples, about random texts of its own and about texts that are nearly
right, beside a parser that is not ours (`oracles`). A random text that such a parser refuses would
mean that the grammar is too wide. Where the two mean to differ, `LENIENT` and `GAPS` say why.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen
from structgen.automata.interface import DEAD, Automaton
from structgen.errors import SpecError
from structgen.grammar.shipped import NAMES, examples, shipped
from structgen.spec.registry import spec_of
from structgen.vocabulary.vocabulary import Vocabulary
from tests.grammars.oracles import ORACLES
from tests.grammars.walks import accepts, cut, mutants, pieces_of, walks

FOLDER = Path(structgen.__file__).parent / "grammars"

# Rejecting examples that the independent parser lets through, and why.
LENIENT = {
    "c": {
        "an assignment to a sum": "pycparser takes any conditional on the left",
        "a declaration behind a label": "pycparser follows C23 there",
        "types that do not go together": "pycparser takes any specifiers",
    },
    "chess": {
        "a pawn on the last rank": "python-chess asks the position",
        "promotion to a king": "python-chess asks the position",
        "promotion too early": "python-chess asks the position",
        "a king that is told apart": "python-chess asks the position",
    },
    "graphql": {"nothing is selected": "graphql-core reads a later draft"},
    "html": {
        "an unknown element": "the two parsers know no elements",
        "text in a list": "content models are no syntax to the two parsers",
    },
    "lark": {"keywords run into names": "Lark's lexer needs no blank there"},
}

# What the independent parser sees and no context-free grammar does; such texts are left out.
GAPS = {"smiles": r"^([^\[]|\[[^\]]*\])*?[0-9%]"}  # ring bonds come in pairs, between two atoms


def judged(name: str, texts: Iterable[str]) -> list[str]:
    """The texts that the independent parser can judge."""
    return [text for text in texts if name not in GAPS or not re.match(GAPS[name], text)]


@cache
def automaton_of(name: str) -> Automaton:
    """The automaton of a shipped grammar, made once."""
    return shipped(name).automaton()


def test_all_files_are_named() -> None:
    """Each grammar file has a name, examples, a row in the table, and an oracle."""
    table = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(path.stem for path in FOLDER.glob("*.lark")) == sorted(NAMES)
    assert set(ORACLES) == set(NAMES)
    for name in NAMES:
        assert (FOLDER / f"{name}.examples.txt").exists()
        assert f"\n| `{name}` |" in table


def test_other_names_are_refused() -> None:
    """A name that is not shipped is an error that lists those that are."""
    with pytest.raises(SpecError, match=r"'cobol'.*python_lines"):
        shipped("cobol")


@pytest.mark.parametrize("name", NAMES)
def test_examples(name: str) -> None:
    """Structgen accepts what is to be accepted, and nothing that is to be rejected."""
    automaton, shown = automaton_of(name), examples(name)
    assert len(shown.accept) >= 5
    assert len(shown.reject) >= 5
    assert [key for key, text in shown.accept.items() if not accepts(automaton, text)] == []
    assert [key for key, text in shown.reject.items() if accepts(automaton, text)] == []


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_what_the_independent_parser_says(name: str) -> None:
    """So does the independent parser, but for what `LENIENT` lists."""
    oracle, shown = ORACLES[name], examples(name)
    assert [key for key, text in shown.accept.items() if not oracle(text)] == []
    assert {key for key, text in shown.reject.items() if oracle(text)} == set(LENIENT.get(name, {}))


@pytest.mark.parametrize("name", NAMES)
def test_random_texts_are_accepted_by_the_independent_parser(name: str) -> None:
    """The grammar is not too wide: words in any order that it allows, finished anyhow."""
    draw = random.Random(1)
    lengths = [draw.choice([4, 12, 30]) for _ in range(40)]
    texts = walks(automaton_of(name), judged(name, pieces_of(name)), lengths, draw)
    assert [text for text in texts if not ORACLES[name](text)] == []


@pytest.mark.parametrize("name", NAMES)
def test_texts_that_are_nearly_right(name: str) -> None:
    """Examples with a word deleted, doubled, swapped or replaced: never accepted wrongly."""
    draw = random.Random(2)
    automaton, pieces = automaton_of(name), pieces_of(name)
    tried = [
        text
        for example in examples(name).accept.values()
        for _ in range(4)
        for text in mutants(example, pieces, draw)
    ]
    accepted = [text for text in judged(name, tried) if accepts(automaton, text)]
    assert 0 < len(accepted) < len(tried)
    assert [text for text in accepted if not ORACLES[name](text)] == []


@pytest.mark.parametrize("name", ["arithmetic", "json", "lark", "regex"])
@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_lark_itself_reads_the_files_alike(name: str, seed: int) -> None:
    """Lark's LALR parser with its contextual lexer takes the same texts, of nearly right ones."""
    draw = random.Random(seed)
    parser = _lark(name)
    example = draw.choice(list(examples(name).accept.values()))
    for text in mutants(example, pieces_of(name), draw):
        assert accepts(automaton_of(name), text) == parser(text), text


@cache
def _lark(name: str):  # type: ignore[no-untyped-def]
    import lark

    text = (FOLDER / f"{name}.lark").read_text(encoding="utf-8")
    parser = lark.Lark(text, parser="lalr", lexer="contextual")

    def reads(text: str) -> bool:
        try:
            parser.parse(text)
        except lark.UnexpectedInput:
            return False
        return True

    return reads


@pytest.mark.parametrize("name", NAMES)
def test_masks_are_what_may_come_next(name: str) -> None:
    """Along an example, a mask has exactly the tokens that lead somewhere."""
    pieces = [piece.encode() for piece in pieces_of(name)]
    vocabulary = Vocabulary([b"<end>", *pieces], eos_ids=[0])
    constraint = structgen.compile(shipped(name), vocabulary)
    row = np.zeros(vocabulary.words, np.int32)
    text = max(examples(name).accept.values(), key=len)
    state = constraint.start
    for piece in cut(text)[:12]:
        constraint.fill_mask(state, row)
        for token in range(len(pieces) + 1):
            allowed = constraint.advance(state, token) != DEAD
            assert bool(row[token // 32] >> (token % 32) & 1) == allowed, (piece, token)
        state = constraint.advance(state, pieces.index(piece.encode()) + 1)


@pytest.mark.parametrize("name", ["python_lines", "python"])
def test_specs_carry_all_that_they_import(name: str) -> None:
    """A spec written as JSON is read again without the files."""
    spec = shipped(name)
    again = spec_of({"kind": spec.kind, **spec.to_json()})
    automaton = again.automaton()
    text = examples(name).accept["decorators" if name == "python_lines" else "a class"]
    assert accepts(automaton, text)
    assert not accepts(automaton, f" {text}")


def test_moves_of_random_games() -> None:
    """Every legal game that python-chess plays is a text of the grammar."""
    chess = pytest.importorskip("chess", reason="chess is not installed: make test installs it")
    draw = random.Random(3)
    for _ in range(5):
        board, text = chess.Board(), ""
        while not board.is_game_over() and len(board.move_stack) < 120:
            move = draw.choice(list(board.legal_moves))
            number = f"{board.fullmove_number}. " if board.turn else ""
            text += f"{number}{board.san(move)} "
            board.push(move)
        assert accepts(automaton_of("chess"), text + board.result(claim_draw=False)), text
