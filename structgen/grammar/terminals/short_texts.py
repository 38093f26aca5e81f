"""Short sample texts of a terminal, generated lazily from its byte DFA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MAX_CANDIDATES = 64  # texts tried for a terminal
MAX_LENGTH = 8


class Texts:
    """A lazy list of texts, generated as far as somebody iterates; true if it has any.

    Iterations must not be nested.
    """

    def __init__(self, texts: Iterator[bytes]) -> None:
        self._texts = texts
        self._made: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        yield from self._made
        for text in self._texts:
            self._made.append(text)
            yield text

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None


def candidates(nexts: Any, ends: Any, start: int, byte_of: Mapping[int, bytes]) -> Iterator[bytes]:
    """Short texts that lead from a state to accepting ones, breadth first, one byte of each class.

    byte_of: the byte that stands for a class, a printable one where there is one.
    """
    level: list[tuple[int, bytes]] = [(start, b"")]
    count = 0
    seen: dict[int, int] = {}
    listed: dict[int, list[tuple[int, bytes]]] = {}  # where each state leads, by which byte
    for _ in range(MAX_LENGTH * MAX_CANDIDATES):
        following: list[tuple[int, bytes]] = []
        for state, text in level:
            if state not in listed:
                to = enumerate(nexts[state].tolist())
                listed[state] = [(after, byte_of[kind]) for kind, after in to if after >= 0]
            for after, byte in listed[state]:
                if seen.get(after, 0) >= MAX_CANDIDATES // 2:
                    continue
                seen[after] = seen.get(after, 0) + 1
                longer = text + byte
                following.append((after, longer))
                if ends[after]:
                    count += 1
                    yield longer
        level = following[: 4 * MAX_CANDIDATES]
        if count >= MAX_CANDIDATES or not level:
            return
