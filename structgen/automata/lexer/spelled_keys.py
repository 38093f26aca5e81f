"""In: JSON keys as they are spelled. Out: what they stand for, and which of them are taken."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Text = Callable[[int], bytes]  # of a context: what it remembers

# Characters and escapes that are over: after a high surrogate the low one is waited for.
_OVER = re.compile(
    rb"(?:[^\\]|\\[^u]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*",
    re.DOTALL,
)
_ESCAPES = re.compile(rb"(?:\\u[0-9a-fA-F]{4})+|\\.")


def meant(spelled: bytes) -> bytes:
    """What a key stands for, UTF-8 (lone surrogates as three bytes), from inside its quotes."""
    return _ESCAPES.sub(_character, spelled)


def surely_meant(spelled: bytes) -> bytes:
    """What the beginning of a key stands for, without an escape at its end that may go on."""
    over = _OVER.match(spelled)
    return meant(over[0]) if over else b""


class TakenKeys:
    """The keys that were read before others, by contexts of an engine."""

    def __init__(self, column: int) -> None:
        """column: that of the key taken before, in `contexts`."""
        self._column = column
        self._meant: dict[int, bytes] = {}

    def begin_with(self, contexts: npt.NDArray[np.int32], ctx: int, text: Text) -> bool:
        """Whether a key taken before begins with (or is) what `ctx` remembers, as `text` says."""
        other = int(contexts[ctx, self._column])
        begun = surely_meant(text(ctx)) if other >= 0 else b""
        while other >= 0:
            known = self._meant.get(other)
            if known is None:
                known = self._meant[other] = meant(text(other))
            if known.startswith(begun):
                return True
            other = int(contexts[other, self._column])
        return False


def _character(escapes: re.Match[bytes]) -> bytes:
    character: str = json.loads(b'"' + escapes[0] + b'"')
    return character.encode(errors="surrogatepass")
