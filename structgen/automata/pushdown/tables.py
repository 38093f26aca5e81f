"""The tables that kernels work on: fresh ones, larger copies of full ones, and key sets in them.

All arrays are fields of `kernels.tables.Tables`, which says what each holds.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache, lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.automata.pushdown.machine import KeySet, Machine, Prepared
from structgen.errors import ArtifactError
from structgen.kernels.build.loader import kernels
from structgen.util.arrays import paged, with_room

Int64s = npt.NDArray[np.int64]

ASKED = 4  # words of the largest key set that fresh tables have room for
# Room at first, and after growing once: pages that are not written to cost nothing.
BLOCK = 1 << 20  # int32s that fresh tables take in one piece; what is left of it is for rows
ROWS = 1 << 17
CONTEXTS, MANY_CONTEXTS = 4096, 1 << 20  # stack nodes
SPANS = 1 << 15
MOST_ALIKE = 4  # load of the hash table in which kernels find equal lexer states
_OUTSIDE = 0, *[-1] * 13  # the row of `state_info` of states that Python describes
ALIGNED = 64  # bytes of which the place of each array in a block is a multiple
STATES = 192  # lexer states that fresh tables have room for, apart from those of the lexicon
_KINDS = "uint8", "int32", "int64"  # types of the tables


class Layout(NamedTuple):
    """How fresh tables lie in one block of memory, and what they begin with.

    image: int32[], what stands at the beginning of the block. arrays: where each array lies; those
    behind the image begin undefined. size: int32s in all.
    """

    image: npt.NDArray[np.int32]
    arrays: tuple[Placed, ...]
    size: int


class Placed(NamedTuple):
    """Where an array lies in a block of memory: entries `begin` to `end` - 1 of all of its type."""

    name: str
    kind: str  # of `_KINDS`
    begin: int
    end: int
    shape: tuple[int, ...]

    @classmethod
    def at(cls, name: str, shape: tuple[int, ...], kind: Any, offset: int) -> Placed:
        """An array that begins at an offset in bytes."""
        begin = offset // np.dtype(kind).itemsize
        return cls(name, np.dtype(kind).name, begin, begin + prod(shape), shape)


def fresh_tables(machine: Machine[Any]) -> Any:
    """The `kernels.tables.Tables` that begin with what the lexicon of a machine has."""
    image, arrays, size = _layout(machine.prepared, type(machine))
    block = paged(size)
    block[: len(image)] = image
    views = {kind: block.view(kind) for kind in _KINDS}
    made = {
        # slices take a third of the time of arrays that are made from a buffer
        name: views[kind][begin:end] if len(shape) == 1 else views[kind][begin:end].reshape(shape)
        for name, kind, begin, end, shape in arrays
    }
    return kernels("tables").Tables(
        info=addresses(), shared_rows=machine.prepared.lexicon.rows, **made
    )


@lru_cache(maxsize=64)
def _layout(prepared: Prepared, kind: type[Machine[Any]]) -> Layout:
    """The layout of fresh tables for a kind of machine."""
    template = _template(prepared, kind)
    arrays: list[Placed] = []
    end = 0
    for name, array in template.items():
        arrays.append(Placed.at(name, array.shape, array.dtype, end))
        end += -(-array.nbytes // ALIGNED) * ALIGNED
    image = np.zeros(end // 4, np.int32)
    for name, of, begin, until, shape in arrays:
        image.view(of)[begin:until].reshape(shape)[...] = template[name]
    arrays.append(Placed.at("capture_links", (CONTEXTS,), np.int64, end))
    end += 8 * CONTEXTS
    for name, shape in (("stack_nodes", (CONTEXTS, 7)), ("spans", (SPANS, 3))):
        arrays.append(Placed.at(name, shape, np.int32, end))
        end += 4 * prod(shape)
    rows = max(len(prepared.lexicon.states) + STATES, BLOCK // 256 - end // 1024 - 1)
    arrays.append(Placed.at("rows", (rows, 256), np.int32, end))
    return Layout(image, tuple(arrays), end // 4 + 256 * rows)


def _template(prepared: Prepared, kind: type[Machine[Any]]) -> dict[str, npt.NDArray[Any]]:
    """What fresh tables for a kind of machine begin with."""
    lexicon, preset = prepared
    k, states = kernels("tables"), len(lexicon.states)
    room = states + STATES
    tables: dict[str, npt.NDArray[Any]] = {
        "filled": np.zeros(room, np.uint8),
        "accept": np.full(room, -1, np.int32),
        "recorded": np.zeros(room, np.uint8),
        "needs_text": np.zeros(max(64, 2 * len(lexicon.terminals)), np.uint8),
        "guard": np.full((room, 2), -1, np.int32),
        "order": np.zeros(64, np.int32),
        "state_info": np.full((room, k.INFO_COLUMNS), -1, np.int32),
        "words": np.zeros((64, 3), np.int32),
        "letters": np.zeros(256, np.int32),
        "allowed": np.zeros(64, np.uint8),
        "span_slots": np.full(512, -1, np.int32),
        "frames": np.full((128, k.FRAME_COLUMNS), -1, np.int32),
        "actions": hash_table(512),
        "key_sets": np.full((64, k.KEY_SET_COLUMNS), -1, np.int32),
        "bit_sets": np.zeros(256, np.int64),
        "bit_set_slots": np.full(128, -1, np.int32),
        "node_slots": np.full(1024, -1, np.int32),
        "capture_slots": np.full(1024, -1, np.int32),
        "events": hash_table(16),
        "signatures": hash_table(256),
        "lookups": lookups(ASKED),
        "sizes": np.zeros(k.SIZES, np.int64),
        "need": np.zeros(8, np.int64),
    }
    for name in ("accept", "recorded"):
        tables[name][:states] = getattr(lexicon, name)
    tables["needs_text"][: len(lexicon.terminals)] = [*map(kind.needs_text, lexicon.terminals)]
    tables["state_info"][:, k.KIND] = 0
    tables["sizes"][k.SIZE_STATES] = states
    tables |= preset.tables
    for place, size in preset.sizes.items():
        tables["sizes"][place] = size
    return tables


@cache
def addresses() -> Int64s:
    """Addresses of the kernels that others call by pointer; read only."""
    k = kernels("tables")
    info = np.zeros(k.INFO_SIZE, np.int64)
    for place, address in kernels("build.decorators").addresses(k.CALLED):
        info[place] = address
    return info


@lru_cache(maxsize=64)
def _room_type(words: int) -> type[ctypes.Array[ctypes.c_int64]]:
    """The ctypes array type of so many words, cached as making it takes longer than its use."""
    return ctypes.c_int64 * words


class PackedArrays:
    """Memory for a tuple of so many arrays in the kernels' layout. address: where it is."""

    def __init__(self, arrays: int) -> None:
        self._room = _room_type(arrays * kernels("build.decorators").WORDS)()
        self.address = ctypes.addressof(self._room)


def hash_table(size: int) -> Int64s:
    """int64[size, 2]: an empty hash table of the kernels (key -1); size is a power of two."""
    table = np.zeros((size, 2), np.int64)
    table[:, 0] = -1
    return table


def rehashed(table: Int64s, times: int = 2) -> Int64s:
    """A copy of a hash table with so many times the room."""
    larger = hash_table(times * len(table))
    kernels("tables").rehash(table, larger)
    return larger


def with_contexts(t: Any) -> Any:
    """Tables with room for more stack nodes, captures and stack signatures."""
    k = kernels("tables")
    times = 4 if t.sizes[k.SIZE_STACK_NODES] <= CONTEXTS else 2
    if 4 * t.sizes[k.SIZE_SIGNATURES] >= len(t.signatures):
        t = t._replace(signatures=rehashed(t.signatures, times))
    if 2 * t.sizes[k.SIZE_STACK_NODES] >= len(t.stack_nodes):
        room, used = max(MANY_CONTEXTS, 2 * len(t.stack_nodes)), int(t.sizes[k.SIZE_STACK_NODES])
        stack_nodes, capture_links = paged(room, 7), paged(2 * room).view(np.int64)
        stack_nodes[:used], capture_links[:used] = t.stack_nodes[:used], t.capture_links[:used]
        t = t._replace(stack_nodes=stack_nodes, capture_links=capture_links)
    if 4 * t.sizes[k.SIZE_CAPTURES] >= len(t.capture_slots):
        capture_slots = _empty_slots(times * len(t.capture_slots))
        k.rehash_captures(t.capture_links, t.capture_slots, capture_slots)
        t = t._replace(capture_slots=capture_slots)
    if 4 * t.sizes[k.SIZE_INTERNED] >= len(t.node_slots):
        node_slots = _empty_slots(times * len(t.node_slots))
        k.rehash_nodes(t.stack_nodes, t.node_slots, node_slots)
        t = t._replace(node_slots=node_slots)
    return t


def _empty_slots(count: int) -> npt.NDArray[np.int32]:
    """An empty hash table over stack nodes, where possible in recycled memory."""
    slots = paged(count)
    slots.fill(-1)
    return slots


def lookups(words: int) -> Int64s:
    """The array in which walks note what they look up of the stack, for key sets of `words`."""
    k = kernels("tables")
    found = np.zeros(k.LOOKUP_KEYS + words, np.int64)
    found[k.LOOKUP_NODE] = -1
    return found


def largest(bit_sets: Int64s, key_sets: npt.NDArray[np.int32]) -> int:
    """How many words the largest key set has."""
    k = kernels("tables")
    empty = key_sets[key_sets[:, k.NO_KEYS] >= 0, k.NO_KEYS]
    return int((bit_sets[empty[empty < len(bit_sets)]] & 0xFFFF).max(initial=0))


def fixed_bytes(t: Any) -> int:
    """Bytes of the tables that stay as they are until an array takes another's place.

    Without the rows that all constraints share, and what grows within its room: rows, spans, stack
    nodes and their captures.
    """
    growing = t.shared_rows, t.rows, t.spans, t.stack_nodes, t.capture_links
    return int(sum(array.nbytes for array in t) - sum(array.nbytes for array in growing))


def inconsistent_tables() -> ArtifactError:
    """The error of saved tables that the spec beside them does not lead to."""
    return ArtifactError(
        "the saved tables do not belong to the saved spec", hint="compile the spec again"
    )


def with_states(t: Any, count: int) -> Any:
    """Tables with room for so many lexer states (the length of `filled` is what kernels check)."""
    if count <= len(t.filled):
        return t
    filled = with_room(t.filled, count)
    t = t._replace(
        rows=_larger_rows(t, len(filled)),
        filled=filled,
        accept=with_room(t.accept, count, -1),
        recorded=with_room(t.recorded, count),
        guard=with_room(t.guard, count, -1),
        state_info=with_room(t.state_info, count, _OUTSIDE),
    )
    if count > MOST_ALIKE * len(t.span_slots):
        t = t._replace(span_slots=np.full(1 << count.bit_length(), -1, np.int32))
        kernels("lexer.spans").rehash_states(t)
    return t


def _larger_rows(tables: Any, count: int) -> npt.NDArray[np.int32]:
    """The table of rows, or a copy with room for at least `count`."""
    found: npt.NDArray[np.int32] = tables.rows
    if count <= len(found):
        return found
    rows = paged(max(count, ROWS), 256)
    filled = np.flatnonzero(tables.filled)  # others are written before they are read
    rows[filled] = tables.rows[filled]
    return rows


def keys_in(bit_sets: npt.NDArray[np.int64], at: int) -> list[int]:
    """The keys in the bit set that begins at `at`, ascending."""
    size = int(bit_sets[at]) & 0xFFFFFFFF
    bits = np.unpackbits(bit_sets[at + 1 : at + 1 + size].view(np.uint8), bitorder="little")
    found: list[int] = np.flatnonzero(bits).tolist()
    return found


def with_sets(t: Any, words: int = 0, count: int = 0) -> Any:
    """Tables with room for `count` more bit sets of `words` in all, by default one of any size."""
    k = kernels("tables")
    used, bit_sets = int(t.sizes[k.SIZE_BIT_SET_WORDS]), int(t.sizes[k.SIZE_BIT_SETS])
    if not words:  # for one more of any size
        empty = t.key_sets[: t.sizes[k.SIZE_KEY_SETS], k.NO_KEYS]
        words = int((t.bit_sets[empty] & 0xFFFFFFFF).max(initial=0)) + 1
        count = 1
    if used + words > len(t.bit_sets):
        t = t._replace(bit_sets=with_room(t.bit_sets, used + words))
    if 2 * (bit_sets + count) > len(t.bit_set_slots):
        size = len(t.bit_set_slots)
        while 2 * (bit_sets + count) > size:
            size *= 2
        t = t._replace(bit_set_slots=np.full(size, -1, np.int32))
        kernels("parser.key_sets").rehash_sets(t)
    return t


def with_key_set(t: Any, number: int, key_set: KeySet) -> Any:
    """Tables with room for one more key set, with the next number."""
    size = _words(key_set)
    t = with_sets(t, 3 * (size + 1), 3)
    lookups = kernels("tables").LOOKUP_KEYS + size
    if number >= len(t.key_sets) or lookups > len(t.lookups):
        key_sets = with_room(t.key_sets, number + 1, -1)
        t = t._replace(key_sets=key_sets, lookups=with_room(t.lookups, lookups))
    return t


def write_key_set(address: int, number: int, key_set: KeySet) -> None:
    """Write a key set into the tables at an address."""
    size, full = _words(key_set), len(key_set.possible) == key_set.size
    possible = (1 << key_set.size) - 1 if full else _bits(key_set.possible)
    both = (_bits(key_set.required) | possible << 64 * size).to_bytes(16 * size, "little")
    bits = np.frombuffer(both, np.int64)
    kernels("parser.key_sets").store_key_set(address, number, size, bits, key_set.endless)


def _bits(chosen: Iterable[int]) -> int:
    """The bits of some keys."""
    return sum([1 << position for position in chosen])


def _words(key_set: KeySet) -> int:
    """How many 64-bit words the keys of a key set take."""
    return -(-key_set.size // 64)
