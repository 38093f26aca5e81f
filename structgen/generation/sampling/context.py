"""`Context`: a text so far as tokens, bytes and characters, for critics.

A context is immutable and linked to the one it extends, so what a critic has computed for a prefix
is carried on by `fold` instead of computed again: a step costs what the new token costs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar, cast

from structgen.generation.sampling.interfaces import Tokens
from structgen.vocabulary.vocabulary import Vocabulary

S = TypeVar("S")

_REMEMBERED = 1 << 17  # contexts of one vocabulary; all are dropped when there are more


class Context:
    """A text so far. Attributes: `parent`, `token` and `piece`.

    `parent` is the context without the last token, None for the empty text, whose `token` is -1;
    `piece` is the last token's bytes, b"" for a token that is not text.
    """

    __slots__ = ("_folded", "_next", "parent", "piece", "token")

    def __init__(self, parent: Context | None = None, token: int = -1, piece: bytes = b"") -> None:
        self.parent = parent
        self.token = token
        self.piece = piece
        self._next: dict[int, Context] = {}
        self._folded: dict[Hashable, Any] = {}

    @property
    def tokens(self) -> Tokens:
        """The ids of the text, without an end token."""
        return tuple(reversed([context.token for context in self._path()]))

    @property
    def data(self) -> bytes:
        """The bytes of the text."""
        return b"".join(reversed([context.piece for context in self._path()]))

    @property
    def text(self) -> str:
        """The whole characters of the text; bytes that begin another one are left out."""
        data = self.data
        return data[: len(data) - unfinished_bytes(data)].decode(errors="replace")

    def fold(self, key: Hashable, start: S, step: Callable[[S, Context], S]) -> S:
        """`step` applied to the empty text and on, token by token; remembered under `key`.

        `step(value before, context)` looks at what the context's last token adds. Values are shared
        between texts, so they must not be changed in place.
        """
        path: list[Context] = []
        at: Context | None = self
        while at is not None and key not in at._folded:
            path.append(at)
            at = at.parent
        value = start if at is None else cast("S", at._folded[key])
        for context in reversed(path):
            value = context._folded[key] = step(value, context)
        return value

    def _path(self) -> Iterator[Context]:
        """This context and those before it, the empty text left out."""
        at = self
        while at.parent is not None:
            yield at
            at = at.parent


class Contexts:
    """The contexts of token sequences over one vocabulary, kept so that beginnings are shared."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._root = Context()
        self._count = 0

    def of(self, tokens: Tokens) -> Context:
        """The context of `tokens`, O(len(tokens)); tokens that are not text write nothing."""
        if self._count >= _REMEMBERED:
            self._root, self._count = Context(), 0
        at = self._root
        for token in tokens:
            after = at._next.get(token)
            if after is None:
                after = at._next[token] = Context(at, token, self._piece(token))
                self._count += 1
            at = after
        return at

    def _piece(self, token: int) -> bytes:
        if token in self.vocabulary.special_ids:
            return b""
        return self.vocabulary.token_bytes(token)


def unfinished_bytes(data: bytes) -> int:
    """How many bytes at the end of `data` begin a UTF-8 character that is not complete."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte >= 0xC0:
            width = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return back if back < width else 0
        if byte < 0x80:
            return 0
    return 0
