"""The minimal DFA of a list of words, from their trie."""

from __future__ import annotations

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.tables import I32, I32_2, INT
from structgen.kernels.masks.byte_walk import ENDS_FULL


@lean(INT(I32, I32, I32_2, I32))
def words_read(letters, starts, nexts, ends):  # type: ignore[no-untyped-def]
    """Set the trie of some words: how many states, or ENDS_FULL without room for it.

    letters: int32, the classes of the bytes of all words; starts: int32[words + 1], where each
    begins. nexts: int32[room, classes], -1 at first. ends: int32[room], 0 at first, set to 1 where
    a word ends. State 0 is the start, and each state has a greater number than the one before it.
    """
    count = numba.int64(1)
    for word in range(starts.shape[0] - 1):
        state = numba.int64(0)
        for i in range(starts[word], starts[word + 1]):
            after = numba.int64(nexts[state, letters[i]])
            if after < 0:
                if count >= nexts.shape[0]:
                    return numba.int64(ENDS_FULL)
                after = count
                nexts[state, letters[i]] = after
                count += 1
            state = after
        ends[state] = 1
    return count


@lean(INT(I32_2, I32, I32, I32))
def merged(nexts, ends, number, slots):  # type: ignore[no-untyped-def]
    """Merge equal states of a DFA without loops, in linear time (D. Revuz, 1992): how many stay.

    nexts: int32[states, classes], -1 dead, all steps to greater numbers; steps of states that stay
    are set to lead to such. ends: int32[states]. number: int32[states], set to the state that
    stands for each, itself if it stays. slots: int32[s], -1 at first, s a power of two, s > 2
    states.
    """
    last = slots.shape[0] - 1
    found = numba.int64(0)
    for state in range(nexts.shape[0] - 1, -1, -1):
        h = numba.int64(ends[state]) * 1000003
        for byte_class in range(nexts.shape[1]):
            after = nexts[state, byte_class]
            if after >= 0:
                nexts[state, byte_class] = number[after]
                h = (h ^ (numba.int64(number[after]) << 8 | byte_class)) * 1099511628211
                h ^= (h >> 31) & 0x1FFFFFFFF
        slot = h & last
        while True:
            other = slots[slot]
            if other < 0:
                slots[slot] = number[state] = state
                found += 1
                break
            same = ends[other] == ends[state]
            byte_class = 0
            while same and byte_class < nexts.shape[1]:
                same = nexts[state, byte_class] == nexts[other, byte_class]
                byte_class += 1
            if same:
                number[state] = other
                break
            slot = (slot + 1) & last
    return found
