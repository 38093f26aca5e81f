"""In: a text that begins with listed words. Out: the words in the kernels' tables.

From there on kernels read the words by themselves, in all their spellings, beside whatever else may
be read in their place (module `kernels.names`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structgen.automaton.json_lexemes import Key
from structgen.automaton.lexer import End, LexState, Text
from structgen.automaton.origins import NAMED, REST
from structgen.automaton.regex import ANY, EMPTY, EPSILON
from structgen.automaton.regex_nodes import Literal, Words
from structgen.automaton.tables import with_room
from structgen.automaton.words import WordRange

if TYPE_CHECKING:
    from structgen.automaton.numbering import Numbering

_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF


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
        is_open = ANY in state.vector[1:]
        kept = k.KEYS | k.OPEN * is_open | k.GUARDED * (not is_open)
        return Listed(words, table.positions[names.low : names.high], spelled | kept)
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


def others(state: Text) -> Text | None:
    """What reads any other text, whatever the words are; None if there is no other."""
    rest = state.vector[1:]
    return Text((EMPTY, *rest), state.role) if rest else None


def enter(numbers: Numbering, q: int, state: LexState) -> bool:
    """Write down the words that lexer state `q` is listed by; False if there are none."""
    k = numbers.kernel_tables
    found = listed(state, k)
    if found is None or not isinstance(state, Text):
        return False
    letters = [np.frombuffer(w.encode("utf-32-le", "surrogatepass"), np.int32) for w in found.words]
    order = _in_order(letters)
    if not order:
        return False
    rest = others(state)
    free = -1 if rest is None else numbers.state_id(rest, (q << 9) | REST)
    if isinstance(state.role, Key):
        labels = [numbers.label_id(label_of(state, i), (q, NAMED + i)) for i in order]
    else:
        labels = [numbers.label_id(label_of(state, 0), (q, NAMED))] * len(order)
    t = numbers.tables
    first, used = int(t.sizes[5]), int(t.sizes[7])
    ends = used + np.cumsum([0, *(len(letters[i]) for i in order)])
    t = numbers.tables = t._replace(
        order=with_room(t.order, first + len(order)),
        words=with_room(t.words, first + len(order)),
        letters=with_room(t.letters, int(ends[-1])),
    )
    t.order[first : first + len(order)] = [found.positions[i] for i in order]
    t.words[first : first + len(order)] = np.stack([ends[:-1], ends[1:], labels], 1)
    t.letters[used : ends[-1]] = np.concatenate([letters[i] for i in order])
    t.sizes[5] += len(order)
    t.sizes[7] = ends[-1]
    row = t.within[q]
    row[:] = 0
    row[[k.KIND, k.OWNER, k.FIRST, k.LAST]] = k.IN_WORD, -1, first, first + len(order)
    row[[k.REST, k.CAME, k.FLAGS]] = free, -1, found.flags
    if free < 0 and found.flags & k.GUARDED:
        t.guard[q] = first, first + len(order)
    return True


def _in_order(letters: Sequence[Any]) -> list[int]:
    """The words that can be spelled, sorted by their UTF-16 code units."""
    if all(len(word) == 0 or word.max() < _FIRST_SURROGATE for word in letters):
        return list(range(len(letters)))
    texts = {
        i: word.tobytes().decode("utf-32-le", "surrogatepass").encode("utf-16-be", "surrogatepass")
        for i, word in enumerate(letters)
        if not ((word >= _FIRST_SURROGATE) & (word <= _LAST_SURROGATE)).any()
    }
    return sorted(texts, key=texts.__getitem__)
