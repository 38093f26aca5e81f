"""Byte DFAs of terminals, with lookahead DFAs that say whether a lexeme may end where it did.

Whether a lexeme may end can depend on the bytes to come: a longer match may follow, or a terminal
that goes before in Lark's order may match after all. That is a regular condition on the bytes to
come, so it is kept as the state of a *lookahead DFA*: state `SATISFIED` means that the condition
holds whatever follows, `VIOLATED` that it fails whatever follows, and each other state says whether
it fails if the text ends now (`violated_at_end`). Every state of a terminal's DFA names the
lookahead states in which it leaves the two conditions (`no_longer`, `no_match`).

All DFAs are minimised (E. Moore, "Gedanken-experiments on sequential machines", 1956), by a kernel
over classes of bytes. Keywords and texts of fixed length, by far the most terminals, have direct
construction (`_of_places`) that needs no minimisation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.grammar.terminals.byte_dfa import explored, too_large
from structgen.grammar.terminals.lists import MAX_STATES, dfa_of_list
from structgen.grammar.terminals.position_sets import empty_slots
from structgen.kernels.build.loader import kernels
from structgen.regular.charset import CharSet, one_character
from structgen.regular.expressions.nodes import Chars, Concat, Literal, Repeat
from structgen.regular.regex import EMPTY, Regex

FAR = 1 << 28  # bytes to an end where there is none
MANY_CHARACTERS = 128  # at one place of a text; from here on the general construction is used

Ints = npt.NDArray[np.int32]
SATISFIED, VIOLATED = 0, 1  # lookahead states from which nothing that follows leads away


class Automata(NamedTuple):
    """The byte DFA of one terminal and its lookahead DFA; n and w are their numbers of states.

    next: int32[n, 256], the state behind a byte, -1 dead; state 0 is the start.
    accepts: bool[n], whether the text so far is one of the terminal.
    no_longer: int32[n], the lookahead state of "no longer match of this terminal follows".
    no_match: int32[n], the lookahead state of "this terminal does not match at all", for terminals
    behind it in Lark's order; 0 where terminals have no order.
    lookahead: int32[w, 256], the lookahead state behind a byte (0 `SATISFIED`, 1 `VIOLATED`).
    violated_at_end: bool[w], whether the condition fails if the text ends here.
    distance: int32[n], the fewest bytes to an accepting state, 1 << 28 where there is none.
    classes: int32[256], the class of each byte; no state tells bytes of one class apart.
    """

    next: Ints
    accepts: npt.NDArray[np.bool_]
    no_longer: Ints
    no_match: Ints
    lookahead: Ints
    violated_at_end: npt.NDArray[np.bool_]
    distance: Ints
    classes: Ints

    @property
    def width(self) -> int:
        """Bytes of the shortest text."""
        return int(self.distance[0])


@lru_cache(maxsize=4096)
def automata_of(language: Regex, longer: Regex, ordered: bool) -> Automata:
    """The automata of a terminal by its two languages. ordered: whether `no_match` is needed.

    Raises BudgetError past MAX_STATES states.
    """
    k = kernels("terminals.automata")
    whole, ends, longers = _read(language, longer)
    columns, classes = distinct_columns(whole)
    table, n = whole.take(columns, axis=1), len(whole)
    kinds = np.empty((3, n), np.int32)
    kinds[0], kinds[1], kinds[2] = ends, longers, np.where(ends, 0, FAR)
    kernels("grammar.terminals").distances(table, kinds[2])
    most = 2 * n if ordered else 0
    of = np.zeros((k.OF_ROWS, max(n, most)), np.int32)
    if longer is EMPTY and not ordered:
        of[k.ACCEPTS], of[k.DISTANCE] = kinds[0], kinds[2]
        return assembled(table, of, _sinks(len(columns)), np.arange(2) > 0, classes)
    size = 2 + n + most
    pairs, product = np.full((2, most), -1, np.int32), np.empty((most, len(columns)), np.int32)
    lookahead, firsts = np.empty((size, len(columns)), np.int32), np.empty((2, size), np.int32)
    counts = k.look_ahead(
        table,
        kinds,
        pairs,
        product,
        of,
        lookahead,
        np.empty((2, size), np.int64),
        firsts,
        empty_slots(size),
    )
    count, states = counts >> 32, counts & 0x7FFFFFFF
    if ordered:
        table, of = product[:states], np.ascontiguousarray(of[:, :states])
    return assembled(table, of, lookahead[:count], firsts[1, :count] > 0, classes)


def assembled(
    table: Ints, of: Ints, lookahead: Ints, violated_at_end: Any, columns: Ints
) -> Automata:
    """The minimal `Automata` for states, to which some bytes lead, of which all columns are known.

    table, of: see the kernel, which changes both. columns: int32[256], that of each byte in `table`
    and `lookahead`.
    """
    k, (n, width) = kernels("terminals.automata"), table.shape
    classes, first = np.empty(width, np.int32), np.empty(n, np.int32)
    numbers, hashes = np.empty((3, n), np.int64), np.empty((2, width), np.int64)
    count = k.put_together(table, of, lookahead, numbers, first, empty_slots(n), classes, hashes)
    return Automata(
        next=table[:count].take(columns, axis=1),
        accepts=of[k.ACCEPTS, :count] > 0,
        no_longer=of[k.NO_LONGER, :count].copy(),
        no_match=of[k.NO_MATCH, :count].copy(),
        lookahead=lookahead.take(columns, axis=1),
        violated_at_end=violated_at_end,
        distance=of[k.DISTANCE, :count].copy(),
        classes=classes[columns],
    )


@lru_cache(maxsize=4096)
def of_languages(language: Regex, longer: Regex, ordered: bool) -> Automata:
    """The automata of a terminal without lookaheads; see `automata_of`.

    ordered: whether terminals have an order (not free lexing).
    """
    if language.shortest == language.longest:  # so that no longer text is one of the same terminal
        places = _places(language)
        if longer is language or longer is EMPTY:
            if places is None:
                return automata_of(language, EMPTY, ordered)
            return _of_places(places, ordered)
        behind = _behind(longer, language)
        if isinstance(behind, Chars) and places is not None:
            return _of_places(places, ordered, behind)
    return automata_of(language, longer, ordered)


def _behind(longer: Regex, language: Regex) -> Regex | None:
    """The language B if `longer` is `language` followed by B, else None."""
    while isinstance(longer, Concat):
        if longer.head is language:
            return longer.tail
        if not isinstance(language, Concat) or longer.head is not language.head:
            return None
        longer, language = longer.tail, language.tail
    return None


class _Place(NamedTuple):
    """The characters that may stand at one place of a text: their bytes, and of each how many.

    states: how many lead to the next place, the one before them among these.
    """

    letters: bytes
    sizes: tuple[int, ...]
    states: int


def _places(language: Regex) -> list[_Place] | None:
    """The characters of each place of a text if these are few and do not depend on one another."""
    if isinstance(language, Literal):
        found = [_place(one_character(char)) for char in language.text]
        return [place for place in found if place is not None]
    if isinstance(language, Chars):
        place = _place(language.chars)
        return None if place is None else [place]
    if isinstance(language, Repeat):
        body = _places(language.body)
        if body is not None and len(body) * language.low > MAX_STATES:
            raise too_large(MAX_STATES)
        return body if body is None else body * language.low
    if isinstance(language, Concat):
        places: list[_Place] = []
        for part in language.parts_in_order:
            more = _places(part)
            if more is None:
                return None
            places += more
        return places
    return None


@lru_cache(maxsize=4096)
def _place(chars: CharSet) -> _Place | None:
    """The characters of a set at a place, None for many."""
    if len(chars) > MANY_CHARACTERS:
        return None
    listed = [chr(code).encode() for low, high in chars.ranges for code in range(low, high + 1)]
    begins = {char[:size] for char in listed for size in range(len(char))}
    return _Place(b"".join(listed), (*map(len, listed),), len(begins))


class _Behind(NamedTuple):
    """What no longer text may follow: one character, by k states of its DFA; 0 is the first.

    states: int32[3 k, 256], see the kernel. classes: int32[256], the class of each byte.
    """

    states: Ints
    classes: Ints


@lru_cache(maxsize=64)
def _character(of: Regex) -> _Behind:
    table, ends, _ = _read(of, EMPTY)
    order = np.argsort(ends, kind="stable")
    count = int((~ends).sum())
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    inner = table[order[:count]]
    after = np.where(inner < 0, 0, place[inner])
    whole = after >= count
    after[whole] = 0
    goes_on = [np.where(after > 0, after + 2, ends) for ends in (whole, inner < 0)]
    return _Behind(np.concatenate([after, *goes_on], dtype=np.int32), distinct_columns(table)[1])


_NOTHING_BEHIND = _Behind(np.zeros((0, 256), np.int32), np.zeros(256, np.int32))


def _of_places(places: list[_Place], ordered: bool, behind: Regex | None = None) -> Automata:
    r"""`automata_of` by the characters of each place: a state is a place, or within a character.

    The state of `no_match` advances with the text and is violated where the last place is reached.
    behind: None, or a character that must not follow (`if\b`). That is the same for all keywords of
    a grammar, so its states are found once and appended. With it the text has matched as soon as it
    is known that no such character follows.
    """
    k = kernels("terminals.automata")
    count = sum([place.states for place in places])  # the number of the state at the end
    no = _NOTHING_BEHIND if behind is None else _character(behind)
    more = len(no.states) // 3
    size = count + 1 + (more - 1 if more and ordered else 0)
    table, of = np.full((size, 256), -1, np.int32), np.full((k.OF_ROWS, size), FAR, np.int32)
    _read_places(places, table, of[k.DISTANCE])
    classes = distinct_columns(table[:count])[1]
    lookahead = np.empty((2 + more + (count + more if ordered else 0), 256), np.int32)
    k.text_ends(count, no.states, table, lookahead, of)
    violated_at_end = np.zeros(len(lookahead), np.bool_)
    violated_at_end[VIOLATED] = True
    if more and ordered:
        violated_at_end[-more:] = True
    return Automata(
        next=table,
        accepts=of[k.ACCEPTS] > 0,
        no_longer=of[k.NO_LONGER],
        no_match=of[k.NO_MATCH],
        lookahead=lookahead,
        violated_at_end=violated_at_end,
        distance=of[k.DISTANCE],
        classes=classes if behind is None else 256 * no.classes + classes,
    )


def _read_places(places: list[_Place], table: Ints, distance: Ints) -> None:
    """Set the next states of all places, and how far it is to the end."""
    letters = np.frombuffer(b"".join([place.letters for place in places]), np.uint8)
    sizes = np.array([size for place in places for size in place.sizes], np.int32)
    counts = np.array([len(place.sizes) for place in places], np.int32)
    k = kernels("terminals.words")
    k.places_read(letters.astype(np.int32), sizes, counts, table, distance)


def _read(language: Regex, longer: Regex) -> tuple[Ints, npt.NDArray[np.bool_], Any]:
    """The product DFA of both languages: next states, which accept `language`, which `longer`."""
    if longer is language or longer is EMPTY:
        table, ends = _read_alone(language)
        return table, ends, ends if longer is language else np.zeros_like(ends)
    table, held, _ = explored((language, longer), MAX_STATES)
    return table, held[:, 0], held[:, 1]


@lru_cache(maxsize=64)
def _read_alone(language: Regex) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The DFA of a language; a literal in front is read by a state for each of its bytes.

    What comes behind the literal is often the same: `"a": ` and `"b": ` stand before a number.
    """
    if (listed := dfa_of_list(language)) is not None:
        return listed
    if not isinstance(language, Concat) or not isinstance(language.head, Literal):
        table, held, _ = explored((language,), MAX_STATES)
        return table, held[:, 0]
    table, ends = _read_alone(language.tail)
    read = language.head.text.encode()
    count = len(read)
    chain = np.full((count, 256), -1, np.int32)
    chain[np.arange(count), [*read]] = np.arange(1, count + 1)
    behind = np.where(table < 0, -1, table + count)
    return np.concatenate([chain, behind]), np.concatenate([np.zeros(count, np.bool_), ends])


def minimised(table: Ints, labels: npt.NDArray[np.int64]) -> tuple[Ints, Ints, Ints]:
    """The minimal DFA that tells states with different labels apart (E. Moore, 1956).

    Returns int32[m, classes], -1 dead, in the order in which states were found, so state 0 stays
    first; the new number of each old state; and the first old state of each new one.
    """
    size = len(table)
    number, fresh, first = labels.copy(), np.empty(size, np.int64), np.empty(size, np.int32)
    slots = np.empty(1 << (2 * size).bit_length(), np.int32)
    count = kernels("terminals.minimal").refined(table, number, fresh, first, slots)
    numbers, first = number.astype(np.int32), first[:count]
    least = table[first]
    return np.where(least < 0, -1, numbers[least]).astype(np.int32), numbers, first


def distinct_columns(table: Ints) -> tuple[Ints, Ints]:
    """Equivalence classes of equal columns: the first of each class, the class of each."""
    size = table.shape[1]
    classes, first = np.empty(size, np.int32), np.empty(size, np.int32)
    hashes = np.empty(size, np.int64)
    count = kernels("terminals.minimal").column_classes(table, classes, first, hashes)
    return first[:count], classes


def _sinks(columns: int) -> Ints:
    """int32[2, columns]: the rows of SATISFIED and VIOLATED."""
    return np.repeat(np.array([[SATISFIED], [VIOLATED]], np.int32), columns, axis=1)


def distances(table: Ints, ends: Any) -> Ints:
    """The fewest bytes from each state to an accepting one, -1 without any."""
    found = np.where(ends, 0, FAR).astype(np.int32)
    kernels("grammar.terminals").distances(np.ascontiguousarray(table, np.int32), found)
    return np.where(found < FAR, found, -1).astype(np.int32)
