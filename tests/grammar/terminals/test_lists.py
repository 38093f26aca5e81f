"""Lists of words, and of words in any case, have their automata at once."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.terminals.automata import minimised
from structgen.grammar.terminals.byte_dfa import explored
from structgen.grammar.terminals.lists import LONG_LIST, dfa_of_list, has_few_states
from structgen.grammar.terminals.patterns import matches_of
from structgen.grammar.terminals.python_language import in_any_case
from structgen.regular.charset import CharSet
from structgen.regular.regex import Regex, alt, chars, concat, literal, repeat

SETS = [CharSet.chars(text) for text in ("a", "bB", "cC1", "dDé", "e漢😀")]
WORDS = st.lists(st.sampled_from(range(len(SETS))), min_size=1, max_size=5)


def _minimal(language: Regex) -> tuple[list[list[int]], list[bool]]:
    """The minimal DFA of a language, found state by state."""
    table, ends, _ = explored((language,), 20_000)
    least, _, first = minimised(table, ends[:, 0].astype(np.int64))
    return least.tolist(), ends[first, 0].tolist()


@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS, min_size=LONG_LIST, max_size=40))
def test_the_automaton_of_a_list_is_the_minimal_one_of_its_language(texts: list[list[int]]) -> None:
    """Of texts with one of some characters at each place; what begins alike is joined."""
    language = alt(*(concat(*(chars(SETS[i]) for i in text)) for text in texts))
    found = dfa_of_list(language)
    if found is not None:  # else few texts differ
        table, ends = found
        least, _, first = minimised(table, ends.astype(np.int64))
        assert (least.tolist(), ends[first].tolist()) == _minimal(language)
        assert has_few_states(language)


@pytest.mark.parametrize("more", [repeat(chars(SETS[1]), 0), chars(CharSet.chars("ab"))])
def test_no_list_has_loops_or_sets_that_overlap(more: Regex) -> None:
    """What is read at a place then does not say which text it is."""
    words = [in_any_case(f"b{i}c") for i in range(10, 40)]
    assert has_few_states(alt(*words))
    assert dfa_of_list(alt(*words, concat(more, literal("x")))) is None


def _any_case_words(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return sorted({"".join(draw.choices("abckst", k=draw.randint(2, 5))) for _ in range(count)})


@pytest.mark.parametrize("seed", range(3))
def test_a_pattern_that_lists_words_in_any_case_matches_as_re_does(seed: int) -> None:
    """Earlier words win over longer ones that begin with them."""
    words = _any_case_words(60, seed)
    random.Random(seed).shuffle(words)
    pattern = f"(?i:{'|'.join(words)})"
    found = matches_of(pattern)
    assert has_few_states(found.language)
    draw = random.Random(seed)
    texts = [*words, *("".join(draw.choices("abckstABCKSTſK", k=4)) for _ in range(300))]
    for text in texts:
        match = re.match(pattern, text)
        whole = match is not None and match.end() == len(text)
        state = found.language
        for char in text:
            state = state.after(ord(char))
        assert state.nullable == whole


@pytest.mark.parametrize(
    "text",
    [
        'start: w (" " w)*\nw: {listed}',
        'start: W (" " W)*\nW: {listed}',
        "start: W (/ / W)*\nW: /(?i:{joined})/",
    ],
)
def test_words_in_any_case_are_no_language_that_is_read_lazily(text: str) -> None:
    """Hundreds of them are a terminal, as hundreds of plain words are; masks are those of `re`."""
    words = sorted(_any_case_words(400, 5), key=len, reverse=True)
    listed, joined = " | ".join(f'"{word}"i' for word in words), "|".join(words)
    spec = sg.Lark(text.format(listed=listed, joined=joined))
    assert isinstance(spec.automaton(), GrammarAutomaton)
    tokens = [b"<end>", b" ", *(f"{a}{b}".encode() for a in "aBkſK" for b in ("", "s", "T"))]
    vocabulary = sg.Vocabulary(tokens, eos_ids=[0])
    constraint = sg.compile(spec, vocabulary)
    fits = re.compile(f"({joined})( ({joined}))*", re.IGNORECASE)
    starts = {word[:size] for word in words for size in range(1, len(word) + 1)}
    at, read = constraint.start, ""
    for token in (5, 6, 8, 1, 14):
        row = constraint.mask_view(at)
        for i, bytes_of in enumerate(tokens):
            allowed = bool(row[i // 32] >> (i % 32) & 1)
            if i == 0:
                assert allowed == bool(fits.fullmatch(read))
                continue
            *done, last = (read + bytes_of.decode()).split(" ")
            folded = last.lower().replace("ſ", "s").replace("\u212a", "k")
            expected = all(re.fullmatch(joined, one, re.IGNORECASE) for one in done)
            assert allowed == (expected and (folded in starts or (not last and bool(done))))
        if not row[token // 32] >> (token % 32) & 1:
            break
        at, read = constraint.advance(at, token), read + tokens[token].decode()
