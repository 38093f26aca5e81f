"""A naive constraint over a finite set of texts: the whole contract, too simple to be wrong.

A state is the index of a prefix in a sorted list. Everything is decided by looking at all texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.vocabulary.vocabulary import Vocabulary

DEAD = -1
FINAL = -2


@dataclass(frozen=True)
class NaiveSpec:
    """What a naive constraint was made from."""

    texts: tuple[bytes, ...]
    parse: Callable[[str], Any]


class NaiveConstraint:
    """Exactly the given texts fit, however they are cut into tokens."""

    def __init__(
        self,
        texts: Sequence[str | bytes],
        vocabulary: Vocabulary,
        parse: Callable[[str], Any] = str,
    ) -> None:
        found = {text.encode() if isinstance(text, str) else text for text in texts}
        self.texts = sorted(found, key=lambda text: (len(text), text))
        self.vocabulary = vocabulary
        self.spec = NaiveSpec(tuple(self.texts), parse)
        self.prefixes = sorted({text[:i] for text in found for i in range(len(text) + 1)})
        self.index = {prefix: i for i, prefix in enumerate(self.prefixes)}
        self.start = self.index[b""]
        self._allowed: dict[int, npt.NDArray[np.bool_]] = {}

    def advance_bytes(self, state: int, data: bytes) -> int:
        """The state of the longer prefix."""
        if state < 0:
            return DEAD
        return self.index.get(self.prefixes[state] + data, DEAD)

    def advance(self, state: int, token_id: int) -> int:
        """The state after a token."""
        if token_id in self.vocabulary.eos_ids:
            return FINAL if self.is_accepting(state) else DEAD
        if token_id in self.vocabulary.special_ids or not self.vocabulary.tokens[token_id]:
            return DEAD
        return self.advance_bytes(state, self.vocabulary.token_bytes(token_id))

    def allowed(self, state: int) -> npt.NDArray[np.bool_]:
        """bool[V]: the tokens that lead somewhere, each tried."""
        if state not in self._allowed:
            tried = [self.advance(state, t) != DEAD for t in range(self.vocabulary.size)]
            self._allowed[state] = np.array(tried)
        return self._allowed[state]

    def fill_mask(self, state: int, row: npt.NDArray[np.int32]) -> None:
        """Set bit t % 32 of word t // 32 for each allowed token t."""
        row[:] = 0
        for token in np.flatnonzero(self.allowed(state)):
            row.view(np.uint32)[token // 32] |= np.uint32(1 << (int(token) % 32))

    def fill_masks(self, states: Sequence[int], rows: npt.NDArray[np.int32]) -> None:
        """One after the other."""
        for state, row in zip(states, rows, strict=True):
            self.fill_mask(state, row)

    def is_accepting(self, state: int) -> bool:
        """Whether the prefix is one of the texts."""
        return state >= 0 and self.prefixes[state] in self.texts

    def allowed_bytes(self, state: int) -> frozenset[int]:
        """The bytes that some text has next."""
        return frozenset(
            b for b in range(256) if state >= 0 and self.advance_bytes(state, bytes([b])) != DEAD
        )

    def core(self, state: int) -> int:
        """A state is its prefix, which no other has."""
        return state

    def shortest_completion(self, state: int) -> bytes:
        """What the shortest text with this prefix has behind it."""
        prefix = self.prefixes[state]
        text = next(text for text in self.texts if text.startswith(prefix))
        return text[len(prefix) :]

    def forced_bytes(self, state: int) -> bytes:
        """The longest common beginning of all completions."""
        prefix = self.prefixes[state]
        rests = [text[len(prefix) :] for text in self.texts if text.startswith(prefix)]
        common = min(rests)
        while not all(rest.startswith(common) for rest in rests):
            common = common[:-1]
        return common


def json_texts(letters: Sequence[str], longest: int) -> list[str]:
    """Objects such as {"k": "ab"} with a string of up to `longest` letters, and a space or two."""
    strings = [""]
    for _ in range(longest):
        strings += [s + c for s in strings for c in letters if len(s) < longest]
    strings = sorted(set(strings))
    texts = [f'{{"k": "{s}"}}' for s in strings] + [f'{{"k": [true, "{s}"]}}' for s in strings]
    return [text + space for text in texts for space in ("", " ", "  ")]


def read_json(text: str) -> Any:
    """The value, as the JSON specs have it."""
    return json.loads(text)
