"""DFAs of texts of which each place has a few characters, whatever stands at the others."""

from __future__ import annotations

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import numba
from structgen.kernels.grammar.tables import I32, I32_2, INT


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
