"""In: a vocabulary. Out: TokenIndex: which tokens begin with a text, or write a part of names."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from structgen.mask import bitmask
from structgen.mask.bitmask import Rows
from structgen.tokens.vocabulary import Vocabulary


class TokenIndex:
    """The text tokens of a vocabulary, in the order of their bytes. Rows are int32[words]."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """O(V log V), once for each vocabulary."""
        self._size = vocabulary.size
        ids = vocabulary.text_ids.tolist()
        ids.sort(key=vocabulary.token_bytes)
        self._ids = np.array(ids, np.int64)
        self._tokens = [vocabulary.token_bytes(i) for i in ids]
        self.text = self._row(self._ids)  #: all text tokens

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
        """The tokens that write the beginning of one of the texts, or it and more."""
        texts = set(texts)
        parts = {text[:end] for text in texts for end in range(1, len(text))} - texts
        spans = [self._span(text, lambda token, n: token[:n]) for text in texts]
        spans += [self._span(part, lambda token, _: token) for part in parts]
        return self._row(np.concatenate([self._ids[:0], *(self._ids[a:b] for a, b in spans)]))

    def _span(self, text: bytes, seen: Callable[[bytes, int], bytes]) -> tuple[int, int]:
        """The tokens of which `seen`, given len(text) too, is `text`: from, and up to."""

        def key(token: bytes) -> bytes:
            return seen(token, len(text))

        return bisect_left(self._tokens, text, key=key), bisect_right(self._tokens, text, key=key)

    def _row(self, ids: npt.NDArray[np.int64]) -> Rows:
        allowed = np.zeros(self._size, np.bool_)
        allowed[ids] = True
        return bitmask.pack(allowed)


def _width(first: int) -> int:
    """Bytes of the UTF-8 character that begins with this byte."""
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)


def _is_wanted(character: bytes, wanted: Callable[[str], bool]) -> bool:
    try:
        return wanted(character.decode())
    except UnicodeDecodeError:  # the token writes a part of a character
        return False
