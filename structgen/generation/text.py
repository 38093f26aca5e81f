"""The characters of a text as its tokens come in, and which of them may be streamed already.

Tokens may end inside a UTF-8 character, and a stop sequence may begin in one token and end in
another: an unfinished character, and what may be the beginning of a stop sequence, are held back.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from structgen.util.partial_match import partial_match_length


class Text:
    """One text while it is being written."""

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = tuple(stops)
        self._sequences = [stop.encode() for stop in stops]
        self._longest = max(map(len, self._sequences), default=0)
        self._data = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._streamed: list[str] = []
        self._waiting = ""

    def __len__(self) -> int:
        """Bytes written."""
        return len(self._data)

    @property
    def streamed(self) -> str:
        """What `take` has returned so far."""
        return "".join(self._streamed)

    @property
    def whole(self) -> str:
        """All that was written, up to the last whole character."""
        return self.streamed + self._waiting

    def add(self, data: bytes) -> int:
        """Write bytes; returns where the first stop sequence begins that they end, or -1."""
        begin = len(self._data)
        self._data += data
        self._waiting += self._decoder.decode(data)
        begin = max(0, begin - self._longest + 1)
        found = [at for s in self._sequences if (at := self._data.find(s, begin)) >= 0]
        return min(found, default=-1)

    def since(self, offset: int, end: int) -> bytes:
        """The bytes between two offsets."""
        return bytes(self._data[offset:end])

    def cut(self, size: int) -> None:
        """Keep the first `size` bytes only. Nothing after them may have been streamed."""
        del self._data[size:]
        self._waiting = self._data.decode(errors="replace")[len(self.streamed) :]
        self._decoder.reset()

    def end(self) -> None:
        """Nothing more comes: a character that was not finished is a replacement character."""
        self._waiting += self._decoder.decode(b"", final=True)

    def take(self, *, ended: bool) -> str:
        """The new characters that are certain to stay; all of them when the text has ended."""
        size = len(self._waiting) - (
            0 if ended else partial_match_length(self._waiting, self._stops)
        )
        piece, self._waiting = self._waiting[:size], self._waiting[size:]
        if piece:
            self._streamed.append(piece)
        return piece
