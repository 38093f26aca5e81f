"""Lexer states within listed words read what they should, on random words and machines."""

from __future__ import annotations

from functools import cache
from itertools import product
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from tests.helpers.naive import DEAD, TwinMachine, random_machine, read
from tests.kernels.served import Served, opened

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
SEEDS = st.integers(0, 10**6)
LETTERS = 'ab"\\/\n\x1f!\x7fé߿ࠀ�\U00010000\U0001f600\U0001f602'
WORDS = st.sets(st.text(LETTERS, max_size=3), min_size=1, max_size=6)
SHORT = {
    '"': b'"',
    "\\": b"\\",
    "/": b"/",
    "\b": b"b",
    "\f": b"f",
    "\n": b"n",
    "\r": b"r",
    "\t": b"t",
}
QUOTE = 0x22
FIRST = 20  # label of the first word
FLAGS = st.sampled_from([0, 1, 3])  # plain, quoted, quoted in any spelling


class Place(NamedTuple):
    """Letters read in whole, and bytes of the next one."""

    letters: str
    partial: bytes


def cases(digits: str) -> list[bytes]:
    """Hexadecimal digits in lower and upper case, each by itself."""
    return ["".join(p).encode() for p in product(*({d, d.upper()} for d in digits))]


@cache
def spellings(letter: str, flags: int) -> list[bytes]:
    """All spellings of a letter, that which the rest is followed by first."""
    if not flags & 1:
        return [letter.encode()]
    needed = letter < " " or letter in '"\\'
    short = [b"\\" + byte for byte in [SHORT.get(letter)] if byte]
    first = (short or [f"\\u{ord(letter):04x}".encode()]) if needed else [letter.encode()]
    if not flags & 2:
        return first
    units = letter.encode("utf-16-be").hex()
    halves = [cases(units[i : i + 4]) for i in range(0, len(units), 4)]
    escapes = [b"".join(b"\\u" + half for half in found) for found in product(*halves)]
    return first + [spelled for spelled in escapes + short if spelled not in first]


class Expected:
    """What is read within words, spelled in full."""

    def __init__(self, machine: TwinMachine, words: list[str], free: int, flags: int) -> None:
        self.machine, self.words, self.free, self.flags = machine, words, free, flags

    def rest(self, place: Place) -> int:
        """Where other texts would be."""
        text = b"".join(spellings(letter, self.flags)[0] for letter in place.letters)
        return read(self.machine.rows, self.free, text + place.partial) if self.free >= 0 else DEAD

    def begun(self, place: Place) -> set[str]:
        """The words that begin so."""
        depth = len(place.letters)
        return {
            word
            for word in self.words
            if word.startswith(place.letters)
            and (
                not place.partial
                or any(
                    spelled.startswith(place.partial)
                    for letter in word[depth : depth + 1]
                    for spelled in spellings(letter, self.flags)
                )
            )
        }

    def after(self, place: Place, byte: int) -> Place | int:
        """The place after a byte, or what the row says otherwise."""
        further = place._replace(partial=place.partial + bytes((byte,)))
        for word in self.begun(further):
            letter = word[len(place.letters)]
            if further.partial in spellings(letter, self.flags):
                return Place(place.letters + letter, b"")
        if self.begun(further):
            return further
        if byte == QUOTE and self.flags & 1 and not place.partial and place.letters in self.words:
            return -2 - (FIRST + self.words.index(place.letters))
        return self.rest(further)


def filled(
    machine: TwinMachine, words: list[str], free: int, flags: int, recorded: bool = False
) -> tuple[Served, int]:
    """Tables in which a state before the words has been entered; and its number."""
    served, root, k = Served(machine), len(machine.rows), kernels("tables")
    room, t = root + 500, served.tables
    state_info = np.full((room, k.INFO_COLUMNS), -1, np.int32)
    state_info[:, k.KIND] = 0
    order = sorted(words, key=lambda word: word.encode("utf-16-be"))
    ends = np.cumsum([0, *map(len, order)])
    labels = [FIRST + words.index(word) for word in order]
    served.tables = t._replace(
        rows=np.concatenate((t.rows, np.full((500, 256), 99, np.int32))),
        filled=np.append(t.filled, np.zeros(500, np.uint8)),
        accept=np.append(t.accept, np.full(500, 99, np.int32)),
        recorded=np.append(t.recorded, np.full(500, recorded, np.uint8)),
        guard=np.concatenate((t.guard, np.full((500, 2), 99, np.int32))),
        state_info=state_info,
        order=np.array([words.index(word) for word in order], np.int32),
        words=np.stack([ends[:-1], ends[1:], labels], 1).astype(np.int32),
        letters=np.array([ord(c) for word in order for c in word] or [0], np.int32),
    )
    row = state_info[root]
    row[:] = 0
    row[[k.KIND, k.OWNER, k.FALLBACK, k.FROM_STATE]] = k.IN_WORD, -1, free, -1
    row[[k.LAST, k.FLAGS]] = len(words), flags | k.GUARDED
    served.tables.guard[root] = (-1, -1) if free >= 0 else (0, len(words))
    served.tables.sizes[k.SIZE_STATES] = root + 1
    return served, root


def provided(served: Served, q: int) -> None:
    """Fill the row of a state."""
    while (code := int(opened(kernels("lexer.rows").fill_row)(served.tables, q))) != 0:
        served.fill_on_demand(code)


def machine_of(seed: int) -> TwinMachine:
    """A machine whose lexemes may also end with a quote."""
    machine, rng = random_machine(seed), Random(seed)
    for row in machine.rows:
        row[QUOTE] = rng.choice([DEAD, -2 - rng.randrange(5, FIRST)])
    return machine


def pairs(served: Served, root: int, expected: Expected) -> list[tuple[int, Place]]:
    """The states within words with the places that they stand for, their rows compared."""
    found, k = [(root, Place("", b""))], kernels("tables")
    seen = set(found)
    for q, place in found:
        if not served.tables.filled[q]:
            provided(served, q)
        for byte, target in enumerate(served.tables.rows[q].tolist()):
            after = expected.after(place, byte)
            if isinstance(after, Place):
                assert target >= 0
                assert served.tables.state_info[target, k.KIND]
                if (target, after) not in seen:
                    seen.add((target, after))
                    found.append((target, after))
            else:
                assert target == after
    return found


@pytest.mark.thorough
@given(WORDS, SEEDS, st.integers(-1, 8), FLAGS, st.booleans())
@example({""}, 0, -1, 1, True)
@example({"", "a"}, 0, 3, 3, True)
@example({"\x1f", "!", '"'}, 0, -1, 1, False)
def test_words_are_read_in_all_spellings_and_other_texts_as_without_them(
    words: set[str], seed: int, free: int, flags: int, recorded: bool
) -> None:
    """Behind each start of a word, every byte leads on within words, or where the rest goes."""
    machine, known = machine_of(seed), sorted(words)
    served, root = filled(machine, known, free, flags, recorded)
    expected = Expected(machine, known, free, flags)
    for q, place in pairs(served, root, expected):
        assert served.tables.recorded[q] == recorded
        ended = not place.partial and place.letters in words and not flags & 1
        if ended:
            assert served.tables.accept[q] == FIRST + known.index(place.letters)
        else:
            rest = expected.rest(place)
            assert served.tables.accept[q] == (machine.accept[rest] if rest >= 0 else DEAD)


@pytest.mark.thorough
@given(WORDS, SEEDS, st.integers(-1, 8), FLAGS)
def test_states_are_guarded_by_the_words_that_begin_so_where_nothing_else_may_come(
    words: set[str], seed: int, free: int, flags: int
) -> None:
    """A frame that allows a single word lets through exactly the states that it begins with."""
    machine, known = machine_of(seed), sorted(words)
    served, root = filled(machine, known, free, flags)
    expected, allowed = (
        Expected(machine, known, free, flags),
        opened(kernels("parser.step").has_allowed_key),
    )
    t = served.tables
    t.stack_nodes[0] = 0, -1, -1, 0, -1, -1, -1
    for q, place in pairs(served, root, expected):
        if expected.rest(place) >= 0:
            assert t.guard[q, 0] == -1
            continue
        for i, word in enumerate(known):
            t.frames[t.stack_nodes[0, 0]] = 0, 0, i, i + 1, -1, -1, 0, 0
            assert allowed(t, 0, q) == (word in expected.begun(place))


@pytest.mark.thorough
@given(WORDS, SEEDS, FLAGS)
def test_each_state_says_from_where_it_came(words: set[str], seed: int, flags: int) -> None:
    """By the byte that is named, the state before leads to it; from letter to letter it is made."""
    machine, known = machine_of(seed), sorted(words)
    served, root = filled(machine, known, 3, flags)
    k = kernels("tables")
    found = {q for q, _ in pairs(served, root, Expected(machine, known, 3, flags))}
    for q in found - {root}:
        came, byte = served.tables.state_info[q, [k.FROM_STATE, k.FROM_BYTE]].tolist()
        assert came in found
        if served.tables.state_info[q, k.KIND] == k.IN_WORD:
            assert (
                served.tables.state_info[came, k.DEPTH] + 1 == served.tables.state_info[q, k.DEPTH]
            )
        else:
            assert served.tables.rows[came, byte] == q


def test_room_is_asked_for() -> None:
    """With too little room nothing is made, and the kernel says for how many states it needs it."""
    served, root = filled(machine_of(1), ["a", "b"], -1, 3)
    t, k = served.tables, kernels("tables")
    t = t._replace(filled=t.filled[: root + 1])
    assert opened(kernels("lexer.rows").fill_row)(t, root) == k.NEED_STATES
    assert t.need[k.WANTED] >= 3
    assert t.sizes[k.SIZE_STATES] == root + 1
