"""Relations between the terminals around each rule, as rows of bits (see `analysis.relations`).

n terminals, and number n - 1 among them the start and the end of the text. The relation of a rule
has for each terminal before it a row (uint64[words]), the terminals with which the rule can end
then. Parts of alternatives are terminals, or -1 - r for rule r. `before` has for each terminal
those that it can follow.
"""

from __future__ import annotations

from structgen.kernels.build.decorators import inlined, lean
from structgen.kernels.build.language import numba, types
from structgen.kernels.grammar.tables import I32, I64, INT
from structgen.kernels.regular.bit_rows import add_rows, has, meet, put, put_one

BITS_2 = types.uint64[:, ::1]
RULES = (I32, I32, I32)  # where the alternatives of each rule begin, the parts of each; the parts


@inlined
def join_behind(relation, row, out):  # type: ignore[no-untyped-def]
    """Set `out` to what a relation, given by its rows, has for any of the terminals in `row`."""
    out[:] = 0
    for word in range(row.shape[0]):
        add_rows(relation, row[word], word << 6, out)


@inlined
def add(rows, terminal, row):  # type: ignore[no-untyped-def]
    """Add a row to the one of a terminal; whether that has grown."""
    grown = False
    for k in range(row.shape[0]):
        more = rows[terminal, k] | row[k]
        grown = grown or more != rows[terminal, k]
        rows[terminal, k] = more
    return grown


@inlined
def read_on(parts, at, end, before, found, row, other):  # type: ignore[no-untyped-def]
    """Set `row` to the terminals with which a sequence can end that begins with a terminal."""
    put_one(row, parts[at])
    for i in range(at + 1, end):
        part = numba.int64(parts[i])
        if part < 0:
            base = (-1 - part) * before.shape[0]
            put(other, row)
            join_behind(found[base : base + before.shape[0]], other, row)
        elif meet(row, before[part]):
            put_one(row, part)
        else:
            row[:] = 0


@lean(INT(*RULES, BITS_2, BITS_2, BITS_2, I64, I64))
def relate(rules, alternatives, parts, before, found, scratch, grown, seen):  # type: ignore[no-untyped-def]
    """Set the relations of all rules, a least fixed point: 0.

    before: uint64[n, words]. found: uint64[rules * n, words], 0 at first. scratch: uint64[n + 2,
    words]. grown, seen: int64[rules], 0 at first; when each has grown, and was last looked at.
    """
    count = before.shape[0]
    row, other = scratch[count], scratch[count + 1]
    clock, changed = numba.int64(0), True
    while changed:
        changed = False
        for rule in range(rules.shape[0] - 1):
            first, last = rules[rule], rules[rule + 1]
            stale = seen[rule] == 0
            for at in range(alternatives[first], alternatives[last]):
                stale = stale or (parts[at] < 0 and grown[-1 - parts[at]] > seen[rule])
            if not stale:
                continue
            clock += 1
            seen[rule] = clock
            relation = found[rule * count : (rule + 1) * count]
            more = False
            for alternative in range(first, last):
                at, end = numba.int64(alternatives[alternative]), alternatives[alternative + 1]
                # The rules before the first terminal, all as one: the identity without any.
                begins = at
                while at < end and parts[at] < 0:
                    base = numba.int64(-1 - parts[at]) * count
                    inner = found[base : base + count]
                    for terminal in range(count):
                        if at == begins:
                            put(scratch[terminal], inner[terminal])
                        else:
                            put(row, scratch[terminal])
                            join_behind(inner, row, scratch[terminal])
                    at += 1
                if at == end:
                    for terminal in range(count):
                        if at == begins:
                            put_one(row, terminal)
                        else:
                            put(row, scratch[terminal])
                        more = add(relation, terminal, row) or more
                    continue
                # From the first terminal on that alone matters.
                read = numba.int64(parts[at])
                read_on(parts, at, end, before, found, row, other)
                for terminal in range(count):
                    can = has(before[read], terminal)
                    if at > begins:
                        can = meet(scratch[terminal], before[read])
                    if can:
                        more = add(relation, terminal, row) or more
            if more:
                grown[rule] = clock
                changed = True
    return numba.int64(0)


@lean(INT(*RULES, BITS_2, BITS_2, BITS_2, I32, BITS_2))
def all_lead_on(rules, alternatives, parts, before, found, last, empty, scratch):  # type: ignore[no-untyped-def]
    """Whether what is left at every place of every rule can be read in some way: 1 or 0.

    found: see `relate`. last: uint64[rules + 1, words], the terminals with which each rule may end,
    and those that are ignored. empty: int32[rules], 1 for rules that may be empty. scratch:
    uint64[s, words], s the greatest number of parts and 3 more.
    """
    count, words = before.shape[0], before.shape[1]
    ignored = last[rules.shape[0] - 1]
    behind, reached = scratch[0], scratch[1]
    for rule in range(rules.shape[0] - 1):
        for alternative in range(rules[rule], rules[rule + 1]):
            at, end = numba.int64(alternatives[alternative]), alternatives[alternative + 1]
            # Behind which terminals the rest can be read, for each place, from the end on.
            scratch[2 + end - at][:] = ~numba.uint64(0)
            for i in range(end - 1, at - 1, -1):
                part, rest, ways = parts[i], scratch[3 + i - at], scratch[2 + i - at]
                ways[:] = 0
                if part >= 0:
                    if has(rest, part):
                        put(ways, before[part])
                    continue
                base = numba.int64(-1 - part) * count
                for terminal in range(count):
                    if meet(found[base + terminal], rest):
                        ways[terminal >> 6] |= numba.uint64(1) << numba.uint64(terminal & 63)
            behind[:] = 0
            for i in range(at, end):
                part = parts[i]
                if part >= 0:
                    put_one(behind, part)
                elif empty[-1 - part] == 1:
                    for k in range(words):
                        behind[k] |= last[-1 - part, k]
                else:
                    put(behind, last[-1 - part])
                if i == at and part == -1 - rule:
                    continue  # behind its own name: where it may go on it may end, too
                for k in range(words):
                    reached[k] = (behind[k] | ignored[k]) & ~scratch[3 + i - at, k]
                for k in range(words):
                    if reached[k] != 0:
                        return numba.int64(0)
    return numba.int64(1)
