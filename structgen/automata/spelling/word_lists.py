"""Word lists as kernel tables: listed keys and constants, read by kernels in all their spellings.

Beside the words a state may have a fallback that reads any other text (module
`kernels.lexer.words`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automata.lexer.json_lexemes import KeyStart, Scalar
from structgen.automata.lexer.lexer import End, LexState, Role, Text, Vector
from structgen.automata.pushdown.numbering import Numbering
from structgen.automata.pushdown.provenance import NAMED, PLACE_BITS, REST
from structgen.kernels.build.loader import kernels
from structgen.regular.expressions.nodes import Chars, texts_of
from structgen.regular.lone_surrogates import has_stand_in
from structgen.regular.regex import ANY, EMPTY, EPSILON
from structgen.regular.words import WordRange, is_spellable
from structgen.util.arrays import with_room

FEW_CHARACTERS = 10  # that a language may have to be a word list, as listed digits have
_FIRST_SURROGATE = "\ud800"


class WordList(NamedTuple):
    """Words that may come next.

    keys: the number of each word for frames. terminals: those that words end with; which: for
    each word the index of its terminal.
    """

    words: Sequence[str]
    keys: Sequence[int]
    terminals: Sequence[Hashable]
    which: Sequence[int]
    flags: int


def word_list(state: LexState, k: Any) -> WordList | None:
    """The word list of a lexer state, None for other states. k: the module of the tables."""
    if not isinstance(state, Text):
        return None
    names, role = state.vector[0], state.role
    spelled = k.QUOTED * role.quoted | k.ESCAPES * role.escapes
    if isinstance(names, WordRange):
        table, depth = names.table, names.depth
        known = words = table.words[names.low : names.high]
        if depth:
            words = tuple([word[depth:] for word in words])
        keys = table.keys[names.low : names.high]
        terminals = [("key", word) for word in known]
        return WordList(words, keys, terminals, range(len(words)), spelled | _kept(state.vector, k))
    found = _word_list_of_vector(state)
    if found is not None and role.surrogates and any(map(has_stand_in, found[0])):
        return None  # an unpaired surrogate is spelled another way
    return None if found is None else WordList(found[0], range(len(found[0])), *found[1:], spelled)


def _word_list_of_vector(state: Text) -> tuple[list[str], list[Hashable], list[int]] | None:
    """The words of finite languages, their terminals, and the index of each word's terminal.

    A terminal says which of the languages the word is in. None where a language is no list, and for
    keys in several languages.
    """
    vector, role = state.vector, state.role
    if len(vector) == 1:
        words = texts_of(vector[0])
        return None if words is None else (words, [_terminal(role, (EPSILON,))], [0] * len(words))
    if not isinstance(role, Scalar):
        return None
    having: dict[str, int] = {}  # for each word, bits of the languages it is in
    for place, language in enumerate(vector):
        words = _texts_of(language)
        if words is None:
            return None
        for word in words:
            having[word] = having.get(word, 0) | 1 << place
    places: dict[int, int] = {}
    known = sorted(having)
    which = [places.setdefault(having[word], len(places)) for word in known]
    return known, [role.terminal(bits) for bits in places], which


def _texts_of(language: Any) -> list[str] | None:
    """The texts of a list of words, or of few single characters; None of other languages."""
    if isinstance(language, Chars) and len(language.chars) <= FEW_CHARACTERS:
        return [chr(c) for lo, hi in language.chars.ranges for c in range(lo, hi + 1)]
    return texts_of(language)


def _terminal(role: Role, read: Vector) -> Hashable:
    end = role.end(read)
    return end.terminal if isinstance(end, End) else None


def terminal_of(state: Text, place: int) -> Hashable:
    """The terminal with that index of a state's word list."""
    names = state.vector[0]
    if isinstance(names, WordRange):
        return ("key", names.table.words[names.low + place])
    found = _word_list_of_vector(state)
    terminals = [] if found is None else found[1]
    return terminals[place] if place < len(terminals) else None


def fallback(state: LexState) -> LexState | None:
    """The fallback that reads any text that is not listed; None if there is none."""
    if isinstance(state, KeyStart):
        return state.rest
    if not isinstance(state, Text) or not isinstance(state.vector[0], WordRange):
        return None
    return None if len(state.vector) == 1 else _unlisted(state.vector[1:], state.role)  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def _unlisted(languages: Vector, role: Any) -> Text:
    return Text((EMPTY, *languages), role)


def write_key_start(numbers: Numbering, q: int, state: KeyStart) -> None:
    """Write the fallback and flags of lexer state `q`, where a listed key may begin."""
    k, rest, within = numbers.kernel_tables, state.rest, numbers.tables.state_info
    within[q, k.FALLBACK] = (
        -1 if rest is None else numbers.shared_state_id(rest, (q << PLACE_BITS) | REST)
    )
    within[q, k.FLAGS] = _kept(state.vector, k)


def _kept(languages: Vector, k: Any) -> int:
    """The flags of listed keys."""
    kept: int = k.KEYS | (k.OPEN if ANY in languages[1:] else k.GUARDED)
    return kept


def write_state(numbers: Numbering, q: int, state: LexState) -> bool:
    """Write the word list of lexer state `q`; False if it has none."""
    k = numbers.kernel_tables
    found = word_list(state, k)
    if found is None or not isinstance(state, Text):
        return False
    words, keys, which = found.words, found.keys, found.which
    order = _in_order(words)
    if not order:
        return False
    rest = fallback(state)
    free = -1 if rest is None else numbers.shared_state_id(rest, (q << PLACE_BITS) | REST)
    ids = numbers.terminal_ids(found.terminals, q, NAMED)
    if not isinstance(order, range):
        words, keys = [words[i] for i in order], [keys[i] for i in order]
        which = [which[i] for i in order]
    terminals = ids if isinstance(which, range) else [ids[i] for i in which]
    t = numbers.tables
    last, used = int(t.sizes[k.SIZE_WORDS]) + len(words), int(t.sizes[k.SIZE_LETTERS])
    ends = [*accumulate(map(len, words), initial=used)]
    if last > len(t.words) or ends[-1] > len(t.letters):
        grown = t._replace(
            order=with_room(t.order, last),
            words=with_room(t.words, last),
            letters=with_room(t.letters, ends[-1]),
        )
        t = numbers.use(grown)
    said = np.array([*ends, *terminals, *keys], np.int32)
    letters = _code_points("".join(words))
    kernels("lexer.word_lists").list_words(numbers.tables_at, q, said, letters, free, found.flags)
    return True


def _code_points(text: str) -> npt.NDArray[np.int32]:
    """int32[n]: the code points of a text; ASCII needs no slow codec."""
    if text.isascii():
        return np.frombuffer(text.encode(), np.uint8).astype(np.int32)
    return np.frombuffer(text.encode("utf-32-le"), np.int32)


def _in_order(words: Sequence[str]) -> Sequence[int]:
    """The indices of the words that can be spelled, sorted by UTF-16 code units."""
    text = "".join(words)
    if text.isascii() or max(text) < _FIRST_SURROGATE:
        return range(len(words))
    texts = {i: word.encode("utf-16-be") for i, word in enumerate(words) if is_spellable(word)}
    return sorted(texts, key=texts.__getitem__)
