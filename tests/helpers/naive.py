"""Plain Python references for the kernels; nothing here is imported from structgen.

A naive machine has the same parts as the kernels' tables, as lists and functions. A place is
`(q, stack, text)`: a lexer state, the levels that are open, the innermost last, and the bytes
remembered since the innermost level began or changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

DEAD = -1
END, SKIP = 0, 1  # labels: of the end of the text, and of the end of what is read before a lexeme
EARLY = (2, 3, 4)  # labels that may also end a lexeme before the next byte
LABELS = 11
TOP = len(EARLY)  # the level of states in which no lexeme ends early
ALPHABET = b"abc\\\xff"
NAMES = 5  # how many names guards speak of
Text = Literal["unused", "looked at", "compared"]


class Level(NamedTuple):
    """A frame, and the texts taken in its place so far, each with the frame that read it."""

    frame: int
    taken: tuple[tuple[int, bytes], ...] = ()


class Place(NamedTuple):
    """See the module."""

    q: int
    stack: tuple[Level, ...]
    text: bytes = b""


class Move(NamedTuple):
    """What a label does in a frame.

    goto: the frame becomes `target`. once: the same, and the text is taken, unless it was before.
    push: `target` opens and `waiting` is what is below it. pop: the frame closes, and the label
    `target` happens in the one below.
    """

    kind: Literal["goto", "once", "push", "pop"]
    target: int
    waiting: int = -1


class TwinFrame(NamedTuple):
    """Where a frame begins, where its lexeme does, and which names it lets through.

    inner: whether there is always a frame below, so that this one may close. allowed: of the names
    from `low` to `high` those that count, None for all.
    """

    entry: int
    lexeme: int
    low: int
    high: int
    inner: bool
    allowed: frozenset[int] | None = None


@dataclass(frozen=True)
class TwinMachine:
    """rows[q][byte]: next state, DEAD, or -2 - label. accept[q]: label, 0 for the end, or -1.

    recorded[q]: whether bytes read there are remembered. guard[q]: the names that the bytes before
    begin, or None. needs_text[label]: what the remembered bytes are for. levels[q]: lexemes end
    before a byte only for others of a higher level. plain: how many of the first states lead to no
    guarded one within a lexeme.
    """

    seed: int
    rows: list[list[int]]
    accept: list[int]
    recorded: list[bool]
    guard: list[tuple[int, ...] | None]
    needs_text: list[Text]
    levels: list[int]
    plain: int
    frames: list[TwinFrame]

    def _frame(self, rng: Random, inner: bool, least: int) -> int:
        """A frame that begins at that level at least."""
        return rng.choice(
            [
                number
                for number, frame in enumerate(self.frames)
                if frame.inner == inner and self.levels[frame.entry] >= least
            ]
        )

    def move(self, frame: int, label: int) -> Move | None:
        """What a label does in a frame, where the text does not matter or is compared."""
        rng = Random(f"{self.seed} {frame} {label}")
        inner, least = self.frames[frame].inner, least_level(label)
        if rng.random() < 0.15:
            return None
        if self.needs_text[label] == "compared":
            return Move("once", self._frame(rng, inner, least))
        kind = rng.choice(["goto", "push", "pop"])
        if kind == "pop" and inner:
            labels = EARLY[EARLY.index(label) :] if label in EARLY else range(2, LABELS)
            return Move("pop", rng.choice([x for x in labels if self.needs_text[x] != "compared"]))
        if kind == "push":
            waiting = rng.choice([frame, self._frame(rng, inner, 0)])
            return Move("push", self._frame(rng, True, least), waiting)
        return Move("goto", self._frame(rng, inner, least))

    def looked(self, frame: int, label: int, text: bytes) -> int | None:
        """The frame that a label leads to whose text is looked at."""
        rng = Random(f"{self.seed} {frame} {label} {text!r}")
        if rng.random() < 0.15:
            return None
        return self._frame(rng, self.frames[frame].inner, least_level(label))

    def begin(self, *stack: Level) -> Place:
        """The place where the innermost frame begins."""
        return Place(self.frames[stack[-1].frame].entry, stack)

    def event(self, place: Place, label: int) -> Place | None:
        """Where the end of a lexeme leads."""
        _, (*below, (frame, taken)), text = place
        if label == SKIP:
            return place._replace(q=self.frames[frame].lexeme)
        if self.needs_text[label] == "looked at":
            after = self.looked(frame, label, text)
            return None if after is None else self.begin(*below, Level(after, taken))
        move = self.move(frame, label)
        if move is None:
            return None
        if move.kind == "pop":
            return self.event(Place(DEAD, tuple(below)), move.target)
        if move.kind == "push":
            return self.begin(*below, Level(move.waiting, taken), Level(move.target))
        if move.kind == "once":
            if decoded(text) in {decoded(before) for _, before in taken}:
                return None
            taken = (*taken, (frame, text))
        return self.begin(*below, Level(move.target, taken))

    def step(self, place: Place, byte: int) -> Place | None:
        """The place after one byte, or None."""
        while (target := self.rows[place.q][byte]) == DEAD:
            if self.accept[place.q] <= END:
                return None
            after = self.event(place, self.accept[place.q])
            if after is None:
                return None
            place = after
        if self.recorded[place.q]:
            place = place._replace(text=place.text + bytes((byte,)))
        if target < 0:
            return self.event(place, -target - 2)
        return place._replace(q=target) if self.lets_through(place, target) else None

    def lets_through(self, place: Place, q: int) -> bool:
        """Whether one of the names that lead to a state may come in the innermost frame."""
        names, frame = self.guard[q], self.frames[place.stack[-1].frame]
        if names is None:
            return True
        chosen = range(NAMES) if frame.allowed is None else frame.allowed
        return any(frame.low <= name < frame.high for name in names if name in chosen)

    def run(self, place: Place | None, data: bytes) -> Place | None:
        """The place after all bytes, or None."""
        for byte in data:
            place = None if place is None else self.step(place, byte)
        return place

    def ends(self, place: Place) -> bool:
        """Whether the text may end here."""
        while (label := self.accept[place.q]) > END:
            after = self.event(place, label)
            if after is None:
                return False
            place = after
        return label == END

    def next_bytes(self, place: Place) -> list[int]:
        """The bytes that can follow."""
        return [byte for byte in range(256) if self.step(place, byte) is not None]

    def walk(self, place: Place, rng: Random, length: int) -> bytes:
        """Bytes that can be read from a place, and perhaps one that cannot."""
        text = b""
        while len(text) < length:
            after = {byte: found for byte in ALPHABET if (found := self.step(place, byte))}
            if not after or rng.random() < 0.03:
                return text + bytes((rng.choice(ALPHABET),))
            byte = rng.choice(sorted(after))
            text, place = text + bytes((byte,)), after[byte]
        return text

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
            elif target == DEAD and self.accept[at] > END:
                found[start] = (self.accept[at], True, text)
        return {
            start: (label, before, b"" if self.needs_text[label] == "unused" else text)
            for start, (label, before, text) in found.items()
        }


def least_level(label: int) -> int:
    """The level at which reading goes on at least after a label."""
    return EARLY.index(label) + 1 if label in EARLY else 0


def random_machine(seed: int) -> TwinMachine:
    """A machine over five bytes whose lexemes often end.

    Its states are those that read what comes before a lexeme (nothing is remembered, SKIP ends
    them), then plain ones, then guarded ones. Texts are compared only where the byte that ends the
    lexeme is remembered too, as the closing quote of a key is.
    """
    rng = Random(seed)
    entries, plain, states = range(3), range(3, 9), range(12)
    levels = [rng.randrange(2) for _ in entries] + [rng.randrange(TOP + 1) for _ in plain]
    levels += [rng.randrange(2, TOP + 1) for _ in states[len(levels) :]]
    levels[plain[0]] = TOP
    recorded = [q not in entries and rng.random() < 0.7 for q in states]
    texts: list[Text] = ["unused", "looked at", "compared", "compared"]
    needs_text: list[Text] = ["unused", "unused"]
    needs_text += [rng.choice(texts[:2]) for _ in EARLY]
    needs_text += ["unused", *rng.choices(texts, k=LABELS - 6)]
    rows, accept = [], []
    for q in states:
        inside = entries if q in entries else plain if q in plain else states[plain[0] :]
        ends = [x for x in range(5, LABELS) if recorded[q] or needs_text[x] != "compared"]
        row = [DEAD] * 256
        for byte in ALPHABET:
            row[byte] = rng.choice([DEAD, -2 - rng.choice(ends), *rng.choices(inside, k=2)])
        rows.append(row)
        early = [label for label in EARLY if least_level(label) > levels[q]]
        accept.append(rng.choice([-1, END, *early, *[SKIP] * (4 if q in entries else 0)]))
    guard: list[tuple[int, ...] | None] = [None] * len(states)
    for q in states[plain[-1] + 1 :]:
        guard[q] = tuple(rng.sample(range(NAMES), rng.randrange(1, 4)))
    frames = []
    for number in range(8):
        lexeme = plain[0]
        if number % 4:
            lexeme = rng.choice([q for q in states if q not in entries and levels[q] > 1])
        entry = rng.choice([lexeme, *entries, rng.choice(plain)]) if number % 4 else lexeme
        low = rng.randrange(NAMES)
        high, inner = rng.randint(low, NAMES), number >= 4
        allowed = frozenset(rng.sample(range(NAMES), rng.randrange(NAMES)))
        frames.append(TwinFrame(entry, lexeme, low, high, inner, allowed if number % 2 else None))
    return TwinMachine(
        seed, rows, accept, recorded, guard, needs_text, levels, plain[-1] + 1, frames
    )


def random_stack(machine: TwinMachine, rng: Random) -> tuple[Level, ...]:
    """Some open frames in which nothing was taken."""
    outer = [n for n, frame in enumerate(machine.frames) if not frame.inner]
    inner = [n for n, frame in enumerate(machine.frames) if frame.inner]
    return (
        Level(rng.choice(outer)),
        *(Level(frame) for frame in rng.choices(inner, k=rng.randrange(4))),
    )


def random_words(rng: Random, count: int) -> list[bytes]:
    """Words over the bytes that the machines know, and one that they do not."""
    return [
        bytes(rng.choices([*ALPHABET, *ALPHABET, 0x7A], k=rng.choice((1, 1, 2, 3, 4, 6))))
        for _ in range(count)
    ]


def starts_of(words: Iterable[bytes]) -> list[bytes]:
    """All non-empty starts of the words, sorted: the nodes of a trie in depth-first order."""
    return sorted({word[: i + 1] for word in words for i in range(len(word))})


ESCAPE = re.compile(rb"\\u([dD][89abAB]..)\\u([dD][c-fC-F]..)|\\u([0-9a-fA-F]{4})|\\(.)", re.DOTALL)
SHORT = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def decoded(text: bytes) -> bytes:
    """What a JSON string spells, as UTF-8; unpaired surrogates become three bytes each."""

    def character(match: re.Match[bytes]) -> bytes:
        high, low, alone, short = match.groups()
        if short is not None:
            return SHORT.get(short, short)
        code = int(alone or high, 16)
        if low is not None:
            code = 0x10000 + (code - 0xD800) * 0x400 + int(low, 16) - 0xDC00
        return chr(code).encode("utf-8", "surrogatepass")

    return ESCAPE.sub(character, text)


def read(rows: Sequence[Sequence[int]], q: int, data: bytes) -> int:
    """The target of the last byte, or DEAD where the lexeme ended or died before it."""
    for byte in data:
        q = rows[q][byte] if q >= 0 else DEAD
    return q


def bits(tokens: Iterable[int], words: int) -> list[int]:
    """A mask row, as unsigned 32-bit words, of these tokens."""
    row = [0] * words
    for token in tokens:
        row[token // 32] |= 1 << token % 32
    return row


def blocked(logits: Sequence[float], row: Sequence[int], refused: float) -> list[float]:
    """Logits with `refused` wherever the bit in the row is clear."""
    return [x if row[t // 32] >> t % 32 & 1 else refused for t, x in enumerate(logits)]
