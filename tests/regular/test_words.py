"""A word range reads exactly its words, and says which one was read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from structgen.regular.words import WordRange, word_range

WORDS = st.lists(st.text("abé😀", max_size=5), max_size=12)


def read(state: WordRange | None, text: str) -> WordRange | None:
    """The range after all characters, or None."""
    for char in text:
        if state is None:
            return None
        found = [after for chars, after in state.moves() if ord(char) in chars]
        assert len(found) <= 1
        state = found[0] if found else None
    return state


@given(WORDS, WORDS)
def test_a_range_reads_its_words_and_no_others(words: list[str], others: list[str]) -> None:
    """At the end of a word the range is nullable and names it; other texts do not get there."""
    start = word_range({word: i for i, word in enumerate(words)})
    for text in [*words, *others]:
        end = read(start, text)
        assert (end is not None and end.nullable) == (text in words)
        if end is not None and end.nullable:
            assert end.word == text


@given(WORDS)
def test_no_range_is_a_dead_end(words: list[str]) -> None:
    """Every character that a range offers leads on to one of the words."""
    todo = (
        [] if (start := word_range({word: i for i, word in enumerate(words)})) is None else [start]
    )
    ends = set()
    while todo:
        state = todo.pop()
        moves = state.moves()
        assert moves or state.nullable
        ends |= {state.word} if state.nullable else set()
        todo += [after for _, after in moves]
    assert ends == set(words)
