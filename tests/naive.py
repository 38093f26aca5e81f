"""In: nothing from structgen. Out: plain Python twins of the kernels.

A twin machine has the same parts as the kernels' tables, as lists and a function. A place is
`(q, base, text)`: a lexer state, a context, and the bytes remembered since that context began.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

Place = tuple[int, int, bytes]
DEAD = -1
LEVELS = 3  # how many lexemes in a row may end before one and the same byte


@dataclass(frozen=True)
class TwinMachine:
    """rows[q][byte]: next state, DEAD, or -2 - label. accept[q]: label, 0 for the end, or -1."""

    seed: int
    rows: list[list[int]]
    accept: list[int]
    recorded: list[bool]
    needs_text: list[bool]
    levels: list[int]
    contexts: int

    def event(self, base: int, text: bytes, label: int) -> Place | None:
        """Where the end of a lexeme leads; remembered bytes count where the label needs them."""
        seen = text if self.needs_text[label] else b""
        rng = Random(f"{self.seed} {base} {seen!r} {label}")
        if rng.random() < 0.2:
            return None
        least = label if label < LEVELS else 0  # an early end leads to a higher level
        states = [q for q, level in enumerate(self.levels) if level >= least]
        return rng.choice(states), rng.randrange(self.contexts), b""

    def step(self, place: Place, byte: int) -> Place | None:
        """The place after one byte, or None."""
        q, base, text = place
        while (target := self.rows[q][byte]) == DEAD:
            if self.accept[q] <= 0:
                return None
            after = self.event(base, text, self.accept[q])
            if after is None:
                return None
            q, base, text = after
        if self.recorded[q]:
            text += bytes((byte,))
        return (target, base, text) if target >= 0 else self.event(base, text, -target - 2)

    def run(self, place: Place | None, data: bytes) -> Place | None:
        """The place after all bytes, or None."""
        for byte in data:
            place = None if place is None else self.step(place, byte)
        return place

    def ends(self, place: Place) -> bool:
        """Whether the text may end here."""
        q, base, text = place
        while (label := self.accept[q]) > 0:
            after = self.event(base, text, label)
            if after is None:
                return False
            q, base, text = after
        return label == 0

    def next_bytes(self, place: Place) -> list[int]:
        """The bytes that can follow."""
        return [byte for byte in range(256) if self.step(place, byte) is not None]

    def inside(self, q: int, data: bytes) -> bool:
        """Whether all bytes stay within the lexeme that state `q` is in."""
        for byte in data:
            q = self.rows[q][byte]
            if q < 0:
                return False
        return True

    def crossings(self, q: int, starts: Iterable[bytes]) -> dict[bytes, tuple[int, bool, bytes]]:
        """The starts with whose last byte the lexeme ends: label, whether before it, remembered."""
        found = {}
        for start in starts:
            at, text = q, b""
            for byte in start[:-1]:
                text += bytes((byte,)) * self.recorded[at]
                at = self.rows[at][byte]
                if at < 0:
                    break
            if at < 0:
                continue
            target = self.rows[at][start[-1]]
            if target < DEAD:
                text += start[-1:] * self.recorded[at]
                found[start] = (-target - 2, False, text)
            elif target == DEAD and self.accept[at] > 0:
                found[start] = (self.accept[at], True, text)
        return {
            start: (label, before, text if self.needs_text[label] else b"")
            for start, (label, before, text) in found.items()
        }


def random_machine(seed: int, states: int = 8, contexts: int = 3) -> TwinMachine:
    """A machine over the bytes a..h and 0xFF whose lexemes often end.

    Labels below LEVELS end a lexeme before a byte, and lead to a state of at least that level;
    states of the highest level never end so.
    """
    rng = Random(seed)
    levels = [rng.randrange(LEVELS) for _ in range(states - 1)] + [LEVELS - 1]
    labels = LEVELS + 4
    rows = [[DEAD] * 256 for _ in range(states)]
    for row in rows:
        for byte in [*b"abcdefgh", 0xFF]:
            row[byte] = rng.choice(
                [DEAD, -2 - rng.randrange(LEVELS, labels), *rng.choices(range(states), k=4)]
            )
    accept = [
        rng.choice([-1, 0, level + 1, level + 1]) if level + 1 < LEVELS else rng.choice([-1, 0])
        for level in levels
    ]
    recorded = [rng.random() < 0.7 for _ in range(states)]
    needs_text = [False] + [rng.random() < 0.5 for _ in range(labels - 1)]
    return TwinMachine(seed, rows, accept, recorded, needs_text, levels, contexts)


def random_words(rng: Random, count: int) -> list[bytes]:
    """Words over the bytes that the machines know, and one that they do not."""
    return [
        bytes(rng.choices([*b"abcdefgh", 0xFF, 0x7A], k=rng.choice((1, 1, 2, 3, 4, 6))))
        for _ in range(count)
    ]


def starts_of(words: Iterable[bytes]) -> list[bytes]:
    """All non-empty starts of the words, sorted: the nodes of a trie in depth-first order."""
    return sorted({word[: i + 1] for word in words for i in range(len(word))})


def bits(tokens: Iterable[int], words: int) -> list[int]:
    """A mask row, as unsigned 32-bit words, of these tokens."""
    row = [0] * words
    for token in tokens:
        row[token // 32] |= 1 << token % 32
    return row


def blocked(logits: Sequence[float], row: Sequence[int], refused: float) -> list[float]:
    """Logits with `refused` wherever the bit in the row is clear."""
    return [x if row[t // 32] >> t % 32 & 1 else refused for t, x in enumerate(logits)]
