"""The tables of one grammar: their numba type, and the records that are interned in them.

Everything that a grammar's automaton meets is a *record*: a short list of ints with a number; equal
lists of one kind are stored once. Kernels make records themselves. Where an array is full they stop
with NEED_SPACE, Python makes it larger, and the kernel is called again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.decorators import called, folded, inlined, lean
from structgen.kernels.build.language import numba, reference, types
from structgen.kernels.grammar.records import REC_KIND, REC_SIZE, REC_START
from structgen.kernels.tables import find, slot_of

NEED_SPACE = -4  #: `info[NEED]` says which array is full
NEED_VIABLE = -6  #: whether the thread info[NEED:NEED + 3] can be finished is not known yet
NEED_SURE = -10  #: nor is it whether all with that lexer state and stacks, info[NEED:NEED + 2], can

# Kinds of records, and what they hold in the heap; for their fields see `records`.
ITEM_SET = 1  # items (dotted rules), ascending
TERMINALS = 2  # terminals, ascending
STACKS = 3  # pairs (item set, stacks below)
LEXER = 4  # DFA states of terminals, ascending; behind a -1 where no lexeme has begun yet
LOOKAHEADS = 5  # states of the lookahead DFA, ascending
THREADS = 6  # triples (lexer state, stacks, lookaheads)
LAID = 7  # stacks, INDENTS, open brackets, width of the line so far; fields as those of STACKS
INDENTS = 8  # widths of the open blocks, from the outermost on
PAIRED = 9  # a lexer state, lookaheads
LALR = 10  # a state of an LALR parser, LALR below
GUIDED = 11  # stacks, LALR; fields as those of STACKS

# Constants that kernels pass to each other are numpy ints: numba compiles a function anew for each
# literal that is passed to it.
# Indices into `info`: how far arrays are filled, what is needed, ...
RECORDS, HEAP, MEMO, NAMES, ROWS, STAMP = np.arange(6)
NEED, ORDERED, CHECKED = 6, 9, 10
TERMINAL_COUNT, REGION, END_ITEM_SET, MANY_GROUPS = np.arange(11, 15)
NEWLINE, INDENT, DEDENT = 15, 16, 17  # terminals of a layout, -1 without one
FIRST_STATE, LAST_STATE, CHOICE = 18, 19, 20  # of an LALR parser, -1 without; if it may err
FINAL = 21  #: the terminal that the end of the text stands for where it is missing, or -1
# ... and where the addresses of kernels stand that others call by them.
(
    AT_UNION_ITEMS, AT_CLOSED, AT_SCAN, AT_LAID, AT_SCAN_LAID, AT_SCAN_ANY, AT_NEXT_LEXER,
    AT_ENDINGS, AT_NEXT_LOOKAHEADS, AT_STEP, AT_IS_ACCEPTING, AT_WALK_PLAIN, AT_BUILD, AT_INTERN,
    AT_SETTLES, AT_SCAN_GUIDED, AT_ITEMS, AT_CLOSURE, AT_UNION_CLOSED, AT_LEXER_BESIDE,
    AT_LOOKAHEADS, AT_UNION_LOOKAHEADS, AT_WANTS, AT_LOOPING, AT_FLOWS, AT_CLUSTERS, AT_SEGMENTS,
    INFO_SIZE,
) = range(22, 50)  # fmt: skip

# Memo tables, all in one: key = tag << 60 | a << 30 | b.
BESIDE, GOTO, ENTER, SCAN, SCANS, UNION_ITEMS, UNION_STACKS, VIABLE = np.arange(8)

# Indices into `offsets`: the constant arrays in `fixed`. Items: the first symbol, the item behind
# it, cost, epsilon moves (CSR), entries of called names (CSR). Then the class of each byte; T_ of
# terminals, RENAME and WITHIN (CSR, see `grammar.terminals.literals`); S_ of DFA states; L_ of
# lookahead states; C_ of byte classes; COMPETING terminals (CSR); LR_ the LALR tables (CSR).
(
    FIRST, AFTER, COST, SKIP_START, SKIP, CALL_START, CALL_TERMINAL, CALL_ITEM,
    CLASS, T_START, T_IGNORED, RENAME_START, RENAME, WITHIN_START, WITHIN,
    S_TERMINAL, S_ENDS, S_NO_LONGER, S_NO_MATCH, S_DISTANCE, L_VIOLATED, T_BRACKET,
    C_COLUMNS, T_EMBEDDED, T_SHADOW, COMPETING_START, COMPETING,
    LR_START, LR_SYMBOL, LR_STEP, LR_SIZE, LR_NAME, S_WIDTH, FIXED_COUNT,
) = np.arange(34)  # fmt: skip

# Regions of `work`, each info[REGION] ints long.
(
    IN, STACK, OUT, GOTO_OUT, GROUPS, PAIRS, BOTH, SETS, LEX, ENDINGS, LOOKAHEAD, BEFORE, BEHIND,
    VISITED, READ, REACHED, LAYOUT, WIDTHS, SEARCH, MISSING,
) = np.arange(20)  # fmt: skip
REGIONS = 20
#: by index into `info` (AT_...): the kernel whose address stands there
CALLED = {
    AT_WANTS: "grammar.embedded.wants",
    AT_LAID: "grammar.indentation.laid",
    AT_SCAN_LAID: "grammar.indentation.scan_laid",
    AT_SCAN_ANY: "grammar.indentation.scan_any",
    AT_ITEMS: "grammar.items.items_of",
    AT_CLOSURE: "grammar.items.closure",
    AT_UNION_ITEMS: "grammar.items.union_items",
    AT_LEXER_BESIDE: "grammar.lalr_guided.lexer_beside",
    AT_SCAN_GUIDED: "grammar.lalr_guided.scan_guided",
    AT_NEXT_LEXER: "grammar.lexer.next_lexer",
    AT_LOOKAHEADS: "grammar.lexer.lookaheads_of",
    AT_ENDINGS: "grammar.lexer.endings",
    AT_NEXT_LOOKAHEADS: "grammar.lexer.next_lookaheads",
    AT_UNION_LOOKAHEADS: "grammar.lexer.union_lookaheads",
    AT_CLOSED: "grammar.stacks.closed",
    AT_SCAN: "grammar.stacks.scan",
    AT_UNION_CLOSED: "grammar.stacks.union_closed",
    AT_STEP: "grammar.step.step",
    AT_IS_ACCEPTING: "grammar.step.is_accepting",
    AT_INTERN: "grammar.tables.intern",
    AT_SETTLES: "grammar.viability.cached_settles",
    AT_CLUSTERS: "grammar_masks.clusters.clusters",
    AT_LOOPING: "grammar_masks.loops.looping",
    AT_FLOWS: "grammar_masks.loops.flows",
    AT_WALK_PLAIN: "grammar_masks.masks.walk_plain",
    AT_BUILD: "grammar_masks.parts.build",
    AT_SEGMENTS: "grammar_masks.segments.segments_of",
}


class Tables(NamedTuple):
    """The arrays that kernels read and fill.

    fixed: int32, the constants of the grammar, each array from `offsets[name]` on. next:
    int32[states, classes], transitions of the byte DFAs of all terminals, -1 dead. watch: int32[w,
    classes], transitions of the lookahead DFA: 0 satisfied, 1 violated. rec: int32[n, 8], records:
    start in heap, size, kind, five more fields (see `records`). heap: int32, what records hold.
    rows: int32[m, classes], next lexer state or lookaheads, -1 dead, -2 not known yet. memo:
    int64[H, 2], hash table of results. names: int64[H, 2], hash table: hash -> record. info:
    int64[INFO_SIZE], scalars. work: int32, scratch in regions. mark: int32[items + terminals],
    scratch: stamps for sets.
    """

    fixed: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    next: npt.NDArray[np.int32]
    watch: npt.NDArray[np.int32]
    rec: npt.NDArray[np.int32]
    heap: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int32]
    memo: npt.NDArray[np.int64]
    names: npt.NDArray[np.int64]
    info: npt.NDArray[np.int64]
    work: npt.NDArray[np.int32]
    mark: npt.NDArray[np.int32]


I32 = types.int32[::1]
I32_2 = types.int32[:, ::1]
I64 = types.int64[::1]
I64_2 = types.int64[:, ::1]
GRAMMAR = reference(
    types.NamedTuple(
        [I32, I64, I32_2, I32_2, I32_2, I32, I32_2, I64_2, I64_2, I64, I32, I32], Tables
    )
)
INT = types.int64
FAR = 1 << 28  #: bytes; more than any text needs


@inlined
def key_of(tag, a, b):  # type: ignore[no-untyped-def]
    """The key of (a, b) in `memo`, for one of the tags."""
    return (numba.int64(tag) << 60) | (numba.int64(a) << 30) | numba.int64(b)


@inlined
def recall(t, key):  # type: ignore[no-untyped-def]
    """The memoised value of a key, or UNKNOWN."""
    return find(t.memo, key)


@inlined
def needs_space(t, what):  # type: ignore[no-untyped-def]
    """Note which array is full: the code NEED_SPACE."""
    t.info[NEED] = what
    return numba.int64(NEED_SPACE)


@folded(INT(GRAMMAR, INT, INT))
def remember(t, key, value):  # type: ignore[no-untyped-def]
    """Memoise a value, which is returned; or NEED_SPACE."""
    i = slot_of(t.memo, key)
    if t.memo[i, 0] != key:
        if 2 * t.info[MEMO] >= t.memo.shape[0]:
            return needs_space(t, MEMO)
        t.info[MEMO] += 1
        t.memo[i, 0] = key
    t.memo[i, 1] = value
    return numba.int64(value)


@folded(INT(GRAMMAR, INT, INT))
def reserve(t, size, _):  # type: ignore[no-untyped-def]
    """The start of `size` new ints in the heap, or NEED_SPACE."""
    start = t.info[HEAP]
    if start + size > t.heap.shape[0]:
        return needs_space(t, HEAP)
    t.info[HEAP] += size
    return start


@lean(INT(GRAMMAR, INT, INT, INT))
def intern(t, kind, base, count):  # type: ignore[no-untyped-def]
    """The number of the record of a kind that holds work[base:base + count], or NEED_SPACE.

    A new record gets -1 in all fields that depend on its kind.
    """
    h = numba.int64(kind) * 1000003 + count
    for i in range(base, base + count):
        h = (h ^ t.work[i]) * 1099511628211
        h ^= h >> 31
    h &= 0x3FFFFFFFFFFFFFFF
    last = t.names.shape[0] - 1
    slot = (h ^ (h >> 20)) & last
    while t.names[slot, 0] != -1:
        if t.names[slot, 0] == h:
            found = t.names[slot, 1]
            start = numba.int64(t.rec[found, REC_START])
            if t.rec[found, REC_SIZE] == count and t.rec[found, REC_KIND] == kind:
                same = True
                for i in range(count):
                    if t.heap[start + i] != t.work[base + i]:
                        same = False
                        break
                if same:
                    return found
        slot = (slot + 1) & last
    new = t.info[RECORDS]
    if 2 * t.info[NAMES] >= t.names.shape[0]:
        return needs_space(t, NAMES)
    if new >= t.rec.shape[0]:
        return needs_space(t, RECORDS)
    start = reserve(t, count, 0)
    if start < 0:
        return start
    for i in range(count):
        t.heap[start + i] = t.work[base + i]
    t.rec[new, REC_START] = start
    t.rec[new, REC_SIZE] = count
    t.rec[new, REC_KIND] = kind
    for i in range(3, 8):
        t.rec[new, i] = -1
    t.info[RECORDS] += 1
    t.info[NAMES] += 1
    t.names[slot, 0] = h
    t.names[slot, 1] = new
    return new


call_intern = called(intern, AT_INTERN)


@lean(types.void(I64_2, I64_2))
def rename(old, new):  # type: ignore[no-untyped-def]
    """Rehash: insert every entry of the names `old` into the larger, empty table `new`."""
    last = new.shape[0] - 1
    for k in range(old.shape[0]):
        h = old[k, 0]
        if h != -1:
            slot = (h ^ (h >> 20)) & last
            while new[slot, 0] != -1:
                slot = (slot + 1) & last
            new[slot, 0] = h
            new[slot, 1] = old[k, 1]


@inlined
def fixed(t, name, i):  # type: ignore[no-untyped-def]
    """Entry i of a constant array."""
    return numba.int64(t.fixed[t.offsets[name] + i])


@inlined
def region(t, name):  # type: ignore[no-untyped-def]
    """The start of a region of `work`."""
    return name * t.info[REGION]


@folded(types.void(I32, INT, INT))
def sort(work, base, count):  # type: ignore[no-untyped-def]
    """Sort work[base:base + count] in place, by D. Shell's method: most are short, many sorted."""
    gap = numba.int64(1)
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(base + gap, base + count):
            x = work[i]
            j = i - gap
            while j >= base and work[j] > x:
                work[j + gap] = work[j]
                j -= gap
            work[j + gap] = x
        gap //= 3
