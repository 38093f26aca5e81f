"""Monitor-guided decoding: a critic that only lets names through which an analysis knows.

Agrawal et al., NeurIPS 2023, arXiv 2306.10763: a monitor reads the text. Where it is triggered an
analysis gives the names that may stand there; until the name is over only those may be written. So
a name is one of them from its first to its last character: with `len` alone `length` is refused at
the `g`, with `length` alone `len` is refused by what follows it. Elsewhere nothing is refused.

The rules are about characters, so it does not matter how names are cut into tokens.

`TokenIndex` says which tokens begin with a text, or write a part of given names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.generation.sampling.context import Context, unfinished_bytes
from structgen.generation.sampling.potentials.potentials import REFUSED, TextCritic
from structgen.masks import bitmask
from structgen.masks.bitmask import Rows
from structgen.util.cached import per_object
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


class Monitor(ABC):
    """What a user writes: where names stand, and which they may be.

    Both are asked about the text before the name, when the first character of a name comes and the
    character before does not belong to a name.
    """

    @abstractmethod
    def triggered(self, text: str) -> bool:
        """Whether the name that begins after `text` is to be one that the analysis knows."""

    @abstractmethod
    def names(self, text: str) -> Collection[str]:
        """The names that may come after `text`: the analysis, asked once for each such place."""

    def begins(self, character: str) -> bool:
        """Whether a name may begin with this character: a letter or underscore."""
        return character == "_" or character.isalpha()

    def continues(self, character: str) -> bool:
        """Whether a name goes on with this character: a letter, mark, digit or underscore."""
        return f"_{character}".isidentifier()

    def ends(self, name: str, character: str) -> bool:
        """Whether a whole name may be followed by a character that does not go on with it."""
        return not (self.continues(name[-1]) and self.continues(character))


class MonitorState(NamedTuple):
    """The state of a monitor in a text. `names` is None outside of a monitored name.

    name: its characters so far. word: whether the last character belongs to a name or number, so
    that none begins here. bytes: those of a character that is not complete.
    """

    names: frozenset[str] | None
    name: str
    word: bool
    refused: bool
    bytes: bytes


_OUTSIDE_NAMES = MonitorState(None, "", word=False, refused=False, bytes=b"")


class Monitored(TextCritic):
    """A monitor as a boolean critic: its rules hold for all names in the text."""

    boolean = True

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self._tokens = per_object(partial(_Tokens.of, monitor))

    def prefix(self, context: Context) -> float:
        """See `TextCritic.prefix`."""
        return REFUSED if self._watch(context).refused else 0.0

    def complete(self, context: Context) -> float:
        """See `TextCritic.complete`; a name that is being written must be one by now."""
        watch = self._watch(context)
        unfinished = watch.names is not None and watch.name not in watch.names
        return REFUSED if watch.refused or unfinished else 0.0

    def narrow(self, context: Context, vocabulary: Vocabulary, row: Rows) -> None:
        """Where a name stands or may begin: leave only tokens that write what is known of names.

        Tokens that end a name and go on are left to be judged, and those that begin with a part of
        a character outside of a name.
        """
        watch = self._watch(context)
        if watch.refused or watch.bytes:
            return
        if watch.names is not None:
            tokens = self._tokens(vocabulary)
            rest = [name[len(watch.name) :] for name in watch.names]
            if watch.name not in watch.names:
                _keep(row, tokens.whole, tokens.index, rest)
            elif self.monitor.continues(watch.name[-1]):
                _keep(row, tokens.continuing, tokens.index, rest)
        elif not watch.word and self.monitor.triggered(context.text):
            tokens = self._tokens(vocabulary)
            _keep(row, tokens.beginning, tokens.index, self.monitor.names(context.text))

    def _watch(self, context: Context) -> MonitorState:
        return context.fold(self, _OUTSIDE_NAMES, self._step)

    def _step(self, watch: MonitorState, context: Context) -> MonitorState:
        """The watch after the last token of `context`."""
        data = watch.bytes + context.piece
        cut = len(data) - unfinished_bytes(data)
        characters = data[:cut].decode(errors="replace")
        before = ""
        for i, character in enumerate(characters):
            if watch.refused:
                break
            watch = self._inside(watch, character)
            if watch.names is None and not watch.refused:
                if self.monitor.begins(character) and not watch.word:
                    if not before and context.parent is not None:
                        before = context.parent.text
                    watch = self._begin(watch, before + characters[:i], character)
                watch = watch._replace(word=self.monitor.continues(character))
        return watch._replace(bytes=data[cut:])

    def _inside(self, watch: MonitorState, character: str) -> MonitorState:
        """The watch when `character` comes; `names` is None where that is outside of names."""
        if watch.names is None:
            return watch
        name = watch.name + character
        left = frozenset(known for known in watch.names if known.startswith(name))
        if left:
            return watch._replace(names=left, name=name)
        over = watch.name in watch.names and self.monitor.ends(watch.name, character)
        return _OUTSIDE_NAMES if over else watch._replace(refused=True)

    def _begin(self, watch: MonitorState, text: str, character: str) -> MonitorState:
        """The watch when a name begins with `character` after `text`."""
        if not self.monitor.triggered(text):
            return watch
        names = frozenset(name for name in self.monitor.names(text) if name.startswith(character))
        return watch._replace(names=names, name=character, refused=not names)


@dataclass(frozen=True, slots=True)
class _Tokens:
    """A vocabulary's tokens, and rows of those whose first character is whole.

    Of these rows, two have those whose first character begins or continues a name.
    """

    index: TokenIndex
    whole: Rows
    beginning: Rows
    continuing: Rows

    @classmethod
    def of(cls, monitor: Monitor, vocabulary: Vocabulary) -> _Tokens:
        """Those of a vocabulary, by what a monitor takes for names."""
        index = TokenIndex(vocabulary)
        return cls(index, *map(index.starting, (lambda _: True, monitor.begins, monitor.continues)))


def _keep(row: Rows, concerned: Rows, index: TokenIndex, names: Iterable[str]) -> None:
    """Of the tokens concerned, leave those in the row that write a part of the names."""
    row &= ~concerned | index.writing(name.encode() for name in names if name)
