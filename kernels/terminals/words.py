"""DFAs of lists of words, from their trie, and of texts with some characters at each place."""

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


@lean(INT(I32, I32, I32, I32_2, I32))
def places_read(letters, sizes, counts, nexts, distance):  # type: ignore[no-untyped-def]
    """Set the DFA of the texts with one of some characters at each place: how many states.

    letters: int32, the bytes of the characters of all places; sizes: int32, of each character;
    counts: int32[places], of characters. nexts: int32[states, 256], -1 at first. distance:
    int32[states], set to the fewest bytes to the end. State 0 is the start, the last one the end,
    and each has a greater number than the ones before it.
    """
    state, char, at = numba.int64(0), numba.int64(0), numba.int64(0)
    for place in range(counts.shape[0]):
        begin, begun = state, at
        for size in sizes[char : char + counts[place]]:  # the states within characters
            inside = begin
            for letter in letters[at : at + size - 1]:
                if nexts[inside, letter] < 0:
                    state += 1
                    nexts[inside, letter] = state
                inside = numba.int64(nexts[inside, letter])
            at += size
        state += 1
        for size in sizes[char : char + counts[place]]:
            inside = begin
            for letter in letters[begun : begun + size - 1]:
                inside = numba.int64(nexts[inside, letter])
            nexts[inside, letters[begun + size - 1]] = state
            begun += size
        char += counts[place]
    distance[state] = 0
    for before in range(state - 1, -1, -1):
        least = state
        for letter in range(nexts.shape[1]):
            after = nexts[before, letter]
            if after >= 0:
                least = min(least, numba.int64(distance[after]))
        distance[before] = least + 1
    return state + 1
