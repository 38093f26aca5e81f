"""In: a text that begins with listed words. Out: the words in the kernels' tables.

From there on kernels read the words by themselves, in all their spellings, beside whatever else may
be read in their place (module `kernels.names`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structgen.automaton.json_lexemes import Key, key_start
from structgen.automaton.lexer import End, LexState, Text, Vector
from structgen.automaton.lexer_joints import Fork
from structgen.automaton.origins import NAMED, REST
from structgen.automaton.regex import ANY, EMPTY, EPSILON
from structgen.automaton.regex_nodes import Literal, Words
from structgen.automaton.tables import with_room
from structgen.automaton.words import WordRange, is_spellable

if TYPE_CHECKING:
    from structgen.automaton.numbering import Numbering

_FIRST_SURROGATE = "\ud800"


class Listed(NamedTuple):
    """Words that may come next. positions: what frames know them by."""

    words: Sequence[str]
    positions: Sequence[int]
    flags: int


def listed(state: LexState, k: Any) -> Listed | None:
    """The words that a state is listed by, None for other states. k: the module of the tables."""
    if not isinstance(state, Text):
        return None
    names, role = state.vector[0], state.role
    spelled = k.QUOTED * role.quoted | k.ESCAPES * role.escapes
    if isinstance(names, WordRange):
        table, depth = names.table, names.depth
        words = [word[depth:] for word in table.words[names.low : names.high]]
        return Listed(
            words, table.positions[names.low : names.high], spelled | _kept(state.vector, k)
        )
    if len(state.vector) > 1:
        return None
    if isinstance(names, Words):
        words = names.members()
    elif isinstance(names, Literal):
        words = [names.text]
    else:
        return None
    return Listed(words, range(len(words)), spelled)


def label_of(state: Text, word: int) -> Hashable:
    """The label with which a lexeme ends behind one of the words that a state is listed by."""
    names = state.vector[0]
    if isinstance(names, WordRange):
        return ("key", names.table.words[names.low + word])
    end = state.role.end((EPSILON,))
    return end.label if isinstance(end, End) else None


def others(state: LexState) -> LexState | None:
    """What reads any other text, whatever the words are; None if there is no other."""
    if isinstance(state, Fork):
        languages, role = _key_at(state)
        closing = len(state.targets) > 1
        if role is None or len(languages) < 2:
            return None
        return key_start(None, languages[1:], role.layout, closing, role.takes)
    if not isinstance(state, Text) or len(state.vector) < 2:
        return None
    return _unlisted(state.vector[1:], state.role)  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def _unlisted(languages: Vector, role: Any) -> Text:
    return Text((EMPTY, *languages), role)


def _key_at(state: Fork) -> tuple[Vector, Key | None]:
    """What a key that may be a listed one is read by, if it can begin at a state."""
    key = state.targets[0][1] if state.targets else None
    if isinstance(key, Text) and isinstance(key.vector[0], WordRange) and isinstance(key.role, Key):
        return key.vector, key.role
    return (), None


def announce(numbers: Numbering, q: int, state: Fork) -> None:
    """Say of lexer state `q`, if a listed key may begin there, what is said of those within it."""
    languages, role = _key_at(state)
    if role is not None:
        k, rest = numbers.kernel_tables, others(state)
        free = -1 if rest is None else numbers.same_id(rest, (q << 9) | REST)
        numbers.tables.within[q, [k.REST, k.FLAGS]] = free, _kept(languages, k)


def _kept(languages: Vector, k: Any) -> int:
    """The flags of listed keys."""
    kept: int = k.KEYS | (k.OPEN if ANY in languages[1:] else k.GUARDED)
    return kept


def enter(numbers: Numbering, q: int, state: LexState) -> bool:
    """Write down the words that lexer state `q` is listed by; False if there are none."""
    k = numbers.kernel_tables
    found = listed(state, k)
    if found is None or not isinstance(state, Text):
        return False
    order = _in_order(found.words)
    if not order:
        return False
    rest = others(state)
    free = -1 if rest is None else numbers.same_id(rest, (q << 9) | REST)
    if isinstance(state.role, Key):
        labels = numbers.label_ids([(label_of(state, i), (q, NAMED + i)) for i in order])
    else:
        labels = [numbers.label_id(label_of(state, 0), (q, NAMED))] * len(order)
    texts = [found.words[i] for i in order]
    t = numbers.tables
    first, used = int(t.sizes[5]), int(t.sizes[7])
    last = first + len(order)
    ends = [*accumulate(map(len, texts), initial=used)]
    if last > len(t.words) or ends[-1] > len(t.letters):
        t = numbers.tables = t._replace(
            order=with_room(t.order, last),
            words=with_room(t.words, last),
            letters=with_room(t.letters, ends[-1]),
        )
    t.order[first:last] = [found.positions[i] for i in order]
    words = t.words[first:last]
    words[:, k.BEGIN], words[:, k.END], words[:, k.LABEL] = ends[:-1], ends[1:], labels
    t.letters[used : ends[-1]] = np.frombuffer("".join(texts).encode("utf-32-le"), np.int32)
    t.sizes[5], t.sizes[7] = last, ends[-1]
    row = [0] * k.COLUMNS
    row[k.KIND], row[k.FIRST], row[k.LAST] = k.IN_WORD, first, last
    row[k.REST], row[k.FLAGS] = free, found.flags
    row[k.OWNER] = row[k.CAME] = -1
    t.within[q] = row
    if free < 0 and found.flags & k.GUARDED:
        t.guard[q] = first, last
    return True


def _in_order(words: Sequence[str]) -> list[int]:
    """The words that can be spelled, sorted by their UTF-16 code units. They come sorted."""
    if all(word.isascii() or max(word) < _FIRST_SURROGATE for word in words):
        return list(range(len(words)))
    texts = {i: word.encode("utf-16-be") for i, word in enumerate(words) if is_spellable(word)}
    return sorted(texts, key=texts.__getitem__)
