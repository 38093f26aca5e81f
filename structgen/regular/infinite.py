"""Whether languages are infinite, how many members they have, and which, where that is plain.

All answers are on the safe side: "no" or None says that it is not evident.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import lru_cache

from structgen.errors import BudgetError
from structgen.regular.charset import ALL, NONE, CharSet, union_all
from structgen.regular.expressions.build import text_of
from structgen.regular.expressions.nodes import (
    Alt,
    And,
    Chars,
    Concat,
    Literal,
    Not,
    Repeat,
    SubAutomaton,
    Words,
    is_length_bound,
    is_vast,
)
from structgen.regular.expressions.required_characters import possible_characters, sequence, unread
from structgen.regular.lazy_dfa.automaton import automaton_of, table_of
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.counters import only_format
from structgen.regular.lazy_dfa.pairs.beside import BesideAutomaton
from structgen.regular.regex import (
    ANY,
    ANY_CHAR,
    EMPTY,
    EPSILON,
    INFINITE,
    Regex,
    alt,
    complement,
    concat,
    intersect,
    readable,
    repeat,
)
from structgen.util.cancellation import checkpoint

FEW_LETTERS = 100  # length up to which words are listed
FEW = 5  # derivatives walked before the automaton of a language is asked
MANY = 30  # derivatives walked where there is no such automaton
MAX_STATES = 3000  # states of an automaton that is explored as a whole
ENOUGH = 1_000_000  # words; counting stops there
PLENTY = 100_000  # words: more than anybody writes


def is_infinite(language: Regex) -> bool:
    """Whether a language plainly has infinitely many words."""
    if isinstance(language, Not):
        return language.body.longest < INFINITE  # all texts but finitely many
    return language.longest >= INFINITE and language.plain and language is not EMPTY


def is_single(language: Regex) -> bool:
    """Whether a language plainly has exactly one word."""
    one = isinstance(language, Chars) and len(language.chars) == 1
    return one or isinstance(language, Literal) or language is EPSILON


def members(language: Regex) -> list[str] | None:
    """All words of a language that is a list of them, None of others."""
    if isinstance(language, Words):
        return language.members()
    if is_single(language):
        return [text_of(language)]  # of one without letters, too
    if isinstance(language, Alt):  # a list with words of a single letter
        lists = [*map(members, language.parts)]
        return None if None in lists else sorted({x for words in lists for x in words or ()})
    return [] if language is EMPTY else None


def least_count(language: Regex) -> int:
    """A lower bound on the number of words of a language; ENOUGH at most."""
    if not language.plain or language is EMPTY:
        return 0
    if isinstance(language, Chars):
        return min(len(language.chars), ENOUGH)
    if isinstance(language, Alt):
        return max(map(least_count, language.parts))
    if isinstance(language, Repeat):
        body = language.body
        times = min(language.high, MANY) if body.shortest == body.longest else 1
        return int(min(least_count(body) ** times, ENOUGH))
    if isinstance(language, Words):
        return language.high - language.low
    found, even = 1, True
    for part in sequence(language) if isinstance(language, Concat) else ():
        # parts of fixed length do not run into those beside them, so their counts multiply
        alike = part.shortest == part.longest
        count = least_count(part)
        found = min(found * count, ENOUGH) if even or alike else max(found, count)
        even = even and alike
    return found


def has_words(language: Regex, wanted: int) -> bool:
    """Whether a language plainly has at least so many words that are read (see `estimates`).

    Of its automaton no state is dead, so each character with which a text leaves a path through it
    begins another word.
    """
    if language.plain:
        return least_count(language) >= wanted
    automaton, found = None, 0
    with contextlib.suppress(TooLargeError, BudgetError):
        automaton = automaton_of(readable(language))
    if automaton is None:
        return False
    with automaton.lock, contextlib.suppress(BudgetError):
        state = 0
        for _ in range(MANY):
            spans = automaton.spans_from(state)
            sizes = spans[:, 1] - spans[:, 0] + 1
            # the text that ends here, and one for each character but that of the path
            found += int(automaton.ends[state] != 0) + max(int(sizes.sum()) - 1, 0)
            if found >= wanted or not len(spans):
                break
            state = int(spans[sizes.argmax(), 2])
        found += len(spans) > 0
    return found >= wanted


Few = set[str] | None  # words, None where they are many or not plain


def few_words(language: Regex, most: int) -> Few:
    """The words of a language, if it plainly has at most `most`; else None."""
    if not language.plain or language.longest > FEW_LETTERS:
        return None
    if isinstance(language, Chars):
        ranges = language.chars.ranges if len(language.chars) <= most else ()
        return {chr(x) for low, high in ranges for x in range(low, high + 1)} or None
    if isinstance(language, Alt):
        return _united((few_words(part, most) for part in language.parts), most)
    if isinstance(language, Concat):
        return _joined(few_words(language.head, most), few_words(language.tail, most), most)
    if isinstance(language, Repeat):
        powers: list[Few] = [{""}]
        words = few_words(language.body, most)
        for _ in range(language.high):
            powers.append(_joined(powers[-1], words, most))
        return _united(powers[language.low :], most)
    return _united([{*(members(language) or ())} or None], most)


def _united(parts: Iterable[Few], most: int) -> Few:
    found: set[str] = set()
    for part in parts:
        if part is None or len(found | part) > most:
            return None
        found |= part
    return found


def _joined(heads: Few, tails: Few, most: int) -> Few:
    if heads is None or tails is None or len(heads) * len(tails) > most:
        return None
    return {head + tail for head in heads for tail in tails}


@lru_cache(maxsize=4096)
def every_prefix_is_infinite(language: Regex) -> bool:
    """Whether every prefix of a word is known to begin infinitely many words of the language.

    This stays true of the language less finitely many words, so these are left out first.
    """
    if any(map(_is_anywhere, language.parts if isinstance(language, Alt) else (language,))):
        return True
    parts = language.parts if isinstance(language, And) else (language,)
    parts = tuple(_without_few(part) for part in parts)
    whole = intersect(*parts)
    if _leaves_some_letter(parts) or _is_filled_up(whole):
        return True
    if _is_about_formats(whole):
        return False  # it has too many states to find out
    todo = [whole]
    seen: set[Regex] = set()
    while todo:
        checkpoint()
        state = todo.pop()
        if state in seen or state is ANY:
            continue
        seen.add(state)
        known = _goes_on(whole) if len(seen) == FEW else None
        if known is not None or len(seen) > MANY:
            return bool(known)
        after = {target for _, target in state.moves()}
        if not after or state.longest < INFINITE:
            return False  # some prefix has finitely many words
        todo.extend(after)
    return True


@lru_cache(maxsize=4096)
def scarce_from(language: Regex) -> int:
    """The length from which on a text that was begun may begin fewer than PLENTY words.

    0 where that is not known. It is for words up to some length that would go on without it: then
    shorter texts have room for as many letters as it takes.
    """
    found = _without_bound(language)
    letters = None if found is None else _letters_for_plenty(found[0])
    return 0 if found is None or letters is None else max(0, found[1] - letters + 1)


def _without_bound(language: Regex) -> tuple[Regex, int] | None:
    """A language without the bound on the length of its words, and that bound."""
    if isinstance(language, And):
        bounds = [part for part in language.parts if is_length_bound(part)]
        others = [part for part in language.parts if part not in bounds]
        if len(bounds) != 1 or bounds[0].longest >= INFINITE:
            return None
        return intersect(*others, repeat(ANY_CHAR, bounds[0].shortest)), bounds[0].longest
    *heads, last = sequence(language) if isinstance(language, Concat) else [language]
    if not isinstance(last, Repeat) or not isinstance(last.body, Chars) or last.high >= INFINITE:
        return None
    if any(part.shortest != part.longest for part in heads):
        return None
    return concat(*heads, repeat(last.body, last.low)), language.longest


def _letters_for_plenty(language: Regex) -> int | None:
    """With how many letters more each text that was begun becomes PLENTY of words."""
    if _is_about_formats(language):
        return None
    moves: dict[Regex, tuple[tuple[CharSet, Regex], ...]] = {}
    todo = [language]
    while todo:
        checkpoint()
        state = todo.pop()
        if state not in moves:
            if len(moves) == MANY:
                return None
            moves[state] = state.moves()
            todo += [target for _, target in moves[state]]
    counts = {state: int(state.nullable) for state in moves}
    for letters in range(1, FEW_LETTERS):
        counts = {
            state: min(
                int(state.nullable) + sum(len(chars) * counts[to] for chars, to in after), PLENTY
            )
            for state, after in moves.items()
        }
        if min(counts.values()) == PLENTY:
            return letters
    return None


def _is_about_formats(node: Regex) -> bool:
    """Whether a language has a format with endless states among its parts."""
    if isinstance(node, And | Alt):
        return not node.plain and any(map(_is_about_formats, node.parts))
    return _is_about_formats(node.body) if isinstance(node, Not) else is_vast(node)


def _is_filled_up(language: Regex) -> bool:
    """Whether texts of a format are plainly filled up to any length, also beside a pattern."""
    if isinstance(language, SubAutomaton):
        return bool(getattr(language.state, "filler", NONE))
    if unread(language):  # any text may follow outside a format
        return True
    found = None
    with contextlib.suppress(TooLargeError, BudgetError):
        found = automaton_of(language) if only_format(language) is not None else None
    return isinstance(found, BesideAutomaton) and found.is_endless


def _is_anywhere(part: Regex) -> bool:
    """Whether a language is plainly that of any text before something."""
    head = part.head if isinstance(part, Concat) and part.plain else EMPTY
    return isinstance(head, Repeat) and head.body is ANY_CHAR and head.high == INFINITE


def _leaves_some_letter(parts: tuple[Regex, ...]) -> bool:
    """Whether some letter may be appended to each word, again and again.

    It may if any text may follow each positive part, and no complement's body has the letter: then
    appending it never makes a word of that body.
    """
    bodies = [part.body for part in parts if isinstance(part, Not)]
    others = [part for part in parts if not isinstance(part, Not)]
    return all(map(_is_opened, others)) and union_all([*map(_read, bodies)]) is not ALL


def _is_opened(part: Regex) -> bool:
    """Whether any text may follow each word of a language."""
    if isinstance(part, Alt):
        return all(map(_is_opened, part.parts))
    return part is ANY or (isinstance(part, Concat) and part.plain and part.ends_in_anything)


def _read(body: Regex) -> CharSet:
    """The letters of a language, without those of an any-text part before or after it."""
    if isinstance(body, Alt | And):
        return union_all([*map(_read, body.parts)])
    if not (isinstance(body, Concat) and body.ends_in_anything):
        return possible_characters(body)
    return union_all([possible_characters(part) for part in sequence(body) if part is not ANY])


def _goes_on(language: Regex) -> bool | None:
    """Whether no state of a language's automaton is without moves; None where it is too large."""
    with contextlib.suppress(TooLargeError, BudgetError):
        table = table_of(language)
        with table.lock:
            table.explore_all(MAX_STATES)
            moves = table.search.moves[: table.made]
            return bool((moves >= 0).any(axis=1).all())
    return None


def _without_few(language: Regex) -> Regex:
    """A language with finitely many words more, so that it is simpler.

    A complement loses the finite parts of its body, and a least length is dropped.
    """
    if is_length_bound(language) and language.longest == INFINITE:
        return ANY
    if not isinstance(language, Not):
        return language
    body = language.body
    parts = body.parts if isinstance(body, Alt) else (body,)
    return complement(alt(*(x for x in parts if not (x.plain and x.longest < INFINITE))))
