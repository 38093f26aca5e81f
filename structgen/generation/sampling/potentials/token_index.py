"""`TokenIndex`: which tokens begin with a text, or write a part of given names."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from structgen.masks import bitmask
from structgen.masks.bitmask import Rows
from structgen.vocabulary.vocabulary import Vocabulary

_REMEMBERED = 256  # rows


class TokenIndex:
    """The text tokens of a vocabulary, in the order of their bytes. Rows are int32[words]."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """O(V log V), once for each vocabulary."""
        self._size = vocabulary.size
        ids = vocabulary.text_ids.tolist()
        ids.sort(key=vocabulary.token_bytes)
        self._ids = np.array(ids, np.int64)
        self._tokens = [vocabulary.token_bytes(i) for i in ids]
        self._equal: dict[bytes, tuple[int, int]] = {}  # which tokens are these bytes: from, to
        for i, token in enumerate(self._tokens):
            self._equal[token] = self._equal.get(token, (i, i))[0], i + 1
        self._written: dict[frozenset[bytes], Rows] = {}

    def starting(self, wanted: Callable[[str], bool]) -> Rows:
        """The tokens whose first character, which they write wholly, is wanted."""
        verdicts: dict[bytes, bool] = {}
        found = np.zeros(len(self._ids), np.bool_)
        for i, token in enumerate(self._tokens):
            first = token[: _width(token[0])]
            if first not in verdicts:
                verdicts[first] = _is_wanted(first, wanted)
            found[i] = verdicts[first]
        return self._row(self._ids[found])

    def writing(self, texts: Iterable[bytes]) -> Rows:
        """The tokens that write the beginning of one of the texts, or it and more. Read-only."""
        key = frozenset(texts)
        row = self._written.get(key)
        if row is None:
            if len(self._written) >= _REMEMBERED:
                self._written.clear()
            row = self._written[key] = self._writing(key)
        return row

    def _writing(self, texts: frozenset[bytes]) -> Rows:
        parts = {text[:end] for text in texts for end in range(1, len(text))}
        spans = [self._equal[part] for part in parts.intersection(self._equal)]
        spans += [(self._from(text), self._from(_behind(text))) for text in texts]
        return self._row(np.concatenate([self._ids[:0], *(self._ids[a:b] for a, b in spans)]))

    def _from(self, text: bytes | None) -> int:
        """Index of the first token that is not before `text`; None comes after all."""
        return len(self._tokens) if text is None else bisect_left(self._tokens, text)

    def _row(self, ids: npt.NDArray[np.int64]) -> Rows:
        allowed = np.zeros(self._size, np.bool_)
        allowed[ids] = True
        return bitmask.pack(allowed)


def _behind(text: bytes) -> bytes | None:
    """The first bytes in order after all that begin with `text`; None if there are none."""
    start = text.rstrip(b"\xff")
    return start[:-1] + bytes([start[-1] + 1]) if start else None


def _width(first: int) -> int:
    """Bytes of the UTF-8 character that begins with this byte."""
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)


def _is_wanted(character: bytes, wanted: Callable[[str], bool]) -> bool:
    try:
        return wanted(character.decode())
    except UnicodeDecodeError:  # the token writes a part of a character
        return False
