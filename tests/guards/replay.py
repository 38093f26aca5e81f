"""Reads texts token by token and notes the mask at every prefix, as short digests.

A note is a string with seven characters for each prefix of a text: six hex digits of the mask's
digest, then `+` where the text may end there and `.` where it may not. It ends in `!` after a token
that was refused. How a text is cut depends only on the vocabulary: the longest token comes first.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

import structgen as sg
from structgen import errors
from tests.guards import vocabularies

GOLDEN = Path(__file__).parent / "masks.json"
WIDTH = 7  # characters of a note for each prefix
MOST_BYTES = 260  # of a text that is drawn, if it can be kept that short
Record = dict[str, Any]


@cache
def spelled(vocabulary: str) -> tuple[dict[bytes, list[int]], int]:
    """The ids of a vocabulary by their bytes, special ones first; and the length of the longest."""
    table: dict[bytes, list[int]] = {}
    made = vocabularies.named(vocabulary)
    marks = sorted(made.special_ids.difference(made.eos_ids))
    for number in [*marks, *made.text_ids.tolist()]:
        table.setdefault(made.token_bytes(number), []).append(number)
    table.pop(b"", None)
    return table, max(map(len, table))


def step(c: sg.Constraint, name: str, state: int, rest: bytes) -> tuple[int, int]:
    """The longest token that `rest` begins with, and the state after it.

    A special token counts only where it is allowed.
    """
    table, longest = spelled(name)
    for length in range(min(longest, len(rest)), 0, -1):
        for token in table.get(rest[:length], ())[:2]:
            after = c.advance(state, token)
            if after >= 0 or token not in c.vocabulary.special_ids:
                return token, after
    raise AssertionError(f"no token of {name} is a beginning of {rest!r}")


def read(c: sg.Constraint, name: str, text: bytes) -> tuple[str, list[bytes]]:
    """The note of a text, and its tokens."""
    state, tokens, states, rest, refused = c.start, [], [c.start], text, ""
    while rest:
        token, state = step(c, name, state, rest)
        if state < 0:
            refused = "!"
            break
        tokens.append(c.vocabulary.token_bytes(token))
        states.append(state)
        rest = rest[len(tokens[-1]) :]
    rows = [row_of(c, state) for state in states]
    together = np.full((len(states), c.vocabulary.words), -1, np.int32)
    c.fill_masks(states, together)
    assert np.array_equal(together, rows), "fill_masks and fill_mask differ"
    return "".join(map(noted, rows, map(c.is_accepting, states))) + refused, tokens


def row_of(c: sg.Constraint, state: int) -> npt.NDArray[np.int32]:
    """The mask of a state; the end tokens in it say the same as `is_accepting`."""
    row = np.full(c.vocabulary.words, -1, np.int32)
    c.fill_mask(state, row)
    for end in c.vocabulary.eos_ids:
        allowed, ends = bool(row[end // 32] >> end % 32 & 1), c.is_accepting(state)
        assert allowed == ends, "the end token in the mask and is_accepting differ"
        assert c.advance(state, end) == (sg.FINAL if ends else sg.DEAD), "the end token's state"
    return row


def noted(row: npt.NDArray[np.int32], ends: bool) -> str:
    """A mask as it stands in a note."""
    digest = blake2b(row.astype("<i4").tobytes(), digest_size=WIDTH // 2).hexdigest()
    return digest + (".+"[ends])


def refusal(error: errors.StructgenError) -> Record:
    """What is kept of an error: its class, and the place that it names."""
    return {"error": f"{type(error).__name__} at {error.location}"}


def replayed(made: Any, texts: list[str], names: list[str]) -> Record:
    """The record of a spec, or of what makes one: the notes of some texts, by vocabulary."""
    try:
        spec = made()
        record: Record = {"texts": texts, "rows": {}}
        for name in names:
            c = sg.compile(spec, vocabularies.named(name))
            if "shortest" not in record:
                record |= {"shortest": shown(c.shortest_completion(c.start))}
                record |= {"forced": shown(c.forced_bytes(c.start))}
            record["rows"][name] = [read(c, name, stored(text))[0] for text in texts]
    except errors.StructgenError as error:
        return refusal(error)
    return record


def shown(data: bytes) -> str:
    """Bytes as a text for a JSON file, from which `stored` makes them again."""
    return data.decode(errors="surrogateescape")


def stored(text: str) -> bytes:
    """The bytes that `shown` has shown."""
    return text.encode(errors="surrogateescape")


def walked(c: sg.Constraint, rng: Random) -> bytes:
    """A text drawn at random, token by token, and then finished the shortest way.

    Marks that end a value come more often than they would by chance, and white space less often.
    """
    for steps in (rng.randint(8, 30), 12, 5, 2, 0):
        state, text = c.start, b""
        for _ in range(steps):
            token = drawn(c, state, rng)
            if token < 0:
                break
            state, text = c.advance(state, token), text + c.vocabulary.token_bytes(token)
        text += c.shortest_completion(state)
        if len(text) <= MOST_BYTES:
            break
    return text


def drawn(c: sg.Constraint, state: int, rng: Random) -> int:
    """An allowed token that is no end token; -1 where there is none, or a text may well end."""
    bits = np.unpackbits(row_of(c, state).view(np.uint8), bitorder="little")
    allowed = [int(t) for t in np.flatnonzero(bits) if int(t) not in c.vocabulary.eos_ids]
    if not allowed or (c.is_accepting(state) and rng.random() < 0.1):
        return -1
    texts = {t: c.vocabulary.token_bytes(t) for t in allowed}
    if rng.random() < 0.45:
        allowed = [t for t in allowed if any(mark in texts[t] for mark in b'"}]>')] or allowed
    if rng.random() < 0.8:
        allowed = [t for t in allowed if texts[t].strip()] or allowed
    return rng.choice(allowed)


def golden() -> dict[str, Any]:
    """What was recorded: the hashes of the vocabularies, and the record of each spec."""
    found: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return found


def differences(name: str, made: Any, kept: Record, got: Record) -> list[str]:
    """What differs between two records of a spec, in words: at which prefix, and behind what."""
    out = [
        f"{name}: {what} was {kept.get(what)!r} and is {got.get(what)!r}"
        for what in ("error", "shortest", "forced", "texts")
        if kept.get(what) != got.get(what)
    ]
    if "error" in kept or "error" in got:
        return out
    for vocabulary in got["rows"]:
        before, now = kept["rows"].get(vocabulary, []), got["rows"][vocabulary]
        for number, (one, two) in enumerate(zip(before, now, strict=True)):
            if one != two:
                text = stored(kept["texts"][number])
                where = f"{name}, vocabulary {vocabulary}, text {number}"
                out.append(f"{where}: {_first(made, vocabulary, text, one, two)}")
    return out


def _first(made: Any, vocabulary: str, text: bytes, one: str, two: str) -> str:
    """The first prefix at which two notes differ."""
    c = sg.compile(made(), vocabularies.named(vocabulary))
    _, tokens = read(c, vocabulary, text)
    pairs = [[s[i : i + WIDTH] for i in range(0, len(s) + 1, WIDTH)] for s in (one, two)]
    at, (was, now) = next(
        (i, pair) for i, pair in enumerate(zip(*pairs, strict=False)) if pair[0] != pair[1]
    )
    before = b"".join(tokens[:at])
    return f"the mask at prefix {at} of {len(tokens)} was {was} and is {now}, behind {before!r}"
