"""`SuffixIndex`: finished texts, indexed by a suffix array, in memory or on disk."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from structgen.errors import ArtifactError, GenerationError
from structgen.generation.speculation.drafters.suffix.suffix_array import Ints, SuffixArray
from structgen.util import container

KIND = "suffix index 1"
MAX_TOKENS = 1 << 18
_REBUILD = 16  # the array is rebuilt when its texts have grown by a sixteenth


class SuffixIndex:
    """Texts of earlier requests, at most `max_tokens` of them; the oldest are given up first.

    Safe to share by threads: `array` is a snapshot that never changes. A new text is found once the
    array is rebuilt, which is when a sixteenth has been added, so the cost per token stays small;
    `refresh` does it now.
    """

    def __init__(self, max_tokens: int = MAX_TOKENS, depth: int = 32) -> None:
        if max_tokens < 1 or depth < 1:
            raise GenerationError(
                f"max_tokens is {max_tokens}, depth {depth}", expected="integers of 1 or more"
            )
        self.max_tokens = max_tokens
        self.depth = depth
        self._lock = threading.Lock()
        self._texts: deque[Ints] = deque()
        self._size = 0
        self._waiting = 0  # tokens that the array does not have
        self.array = SuffixArray([], depth)

    def __len__(self) -> int:
        """How many texts there are."""
        return len(self._texts)

    @property
    def size(self) -> int:
        """How many tokens the texts have, an end for each counted."""
        return self._size

    @property
    def texts(self) -> list[list[int]]:
        """The texts, the oldest first."""
        with self._lock:
            return [text.tolist() for text in self._texts]

    def add(self, tokens: Sequence[int]) -> None:
        """Add a text; only the end of one longer than the index. Empty texts are ignored."""
        text = np.array(tokens[-(self.max_tokens - 1) :] if self.max_tokens > 1 else [], np.int32)
        if not len(text):
            return
        with self._lock:
            self._texts.append(text)
            self._size += len(text) + 1
            self._waiting += len(text) + 1
            while self._size > self.max_tokens:
                self._size -= len(self._texts.popleft()) + 1
            if self._waiting * _REBUILD < self._size:
                return
        self.refresh()

    def refresh(self) -> None:
        """Make all texts findable."""
        with self._lock:
            if self._waiting:
                self.array = SuffixArray(list(self._texts), self.depth)
                self._waiting = 0

    def save(self, path: str | os.PathLike[str], vocabulary: str) -> None:
        """Write the texts to a file, all or nothing. vocabulary: its hash, which `load` checks."""
        with self._lock:
            texts = list(self._texts)
        arrays: dict[str, npt.NDArray[Any]] = {
            "tokens": np.concatenate(texts) if texts else np.zeros(0, np.int32),
            "lengths": np.array([len(text) for text in texts], np.int64),
        }
        header = {"vocabulary": vocabulary, "depth": self.depth}
        container.write(path, KIND, header, arrays)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], vocabulary: str, size: int, max_tokens: int = MAX_TOKENS
    ) -> SuffixIndex:
        """Read what `save` wrote for this vocabulary, which has `size` tokens.

        ArtifactError for a file that is missing, damaged, of another kind or another vocabulary, or
        that holds what `save` does not write. Of more than `max_tokens` the newest are kept.
        """
        header, arrays = container.read(path, KIND)
        depth, tokens, lengths = header.get("depth"), arrays.get("tokens"), arrays.get("lengths")
        if header.get("vocabulary") != vocabulary:
            _refuse(path, "the file was written for another vocabulary")
        if type(depth) is not int or not 1 <= depth <= 1024:
            _refuse(path, f"depth is {depth!r:.40}")
        if tokens is None or tokens.dtype != np.int32 or tokens.ndim != 1:
            _refuse(path, "the tokens are not int32[n]")
        if lengths is None or lengths.dtype != np.int64 or lengths.ndim != 1:
            _refuse(path, "the lengths are not int64[n]")
        if len(tokens) and not 0 <= tokens.min() <= tokens.max() < size:
            _refuse(path, "there are tokens that the vocabulary does not have")
        if len(lengths) and (lengths.min() < 1 or lengths.max() > len(tokens)):
            _refuse(path, "the lengths do not fit the tokens")
        if sum(lengths.tolist()) != len(tokens):
            _refuse(path, "the lengths do not fit the tokens")
        index = cls(max_tokens, depth)
        ends = np.cumsum(lengths)
        for length, end in zip(lengths.tolist(), ends.tolist(), strict=True):
            text = np.array(tokens[max(end - length, end - max_tokens + 1) : end], np.int32)
            if len(text):
                index._texts.append(text)
                index._size += len(text) + 1
        while index._size > max_tokens:
            index._size -= len(index._texts.popleft()) + 1
        index._waiting = index._size
        index.refresh()
        return index


def _refuse(path: str | os.PathLike[str], problem: str) -> NoReturn:
    raise ArtifactError(
        problem,
        location=os.fspath(path),
        expected="a suffix index saved for this vocabulary",
        hint="remove the file; the index fills again as texts are written",
    )
