"""Monitor-guided decoding: a critic that only lets names through which an analysis knows.

Agrawal et al., NeurIPS 2023, arXiv 2306.10763: a monitor reads the text. Where it is triggered an
analysis gives the names that may stand there; until the name is over only those may be written. So
a name is one of them from its first to its last character: with `len` alone `length` is refused at
the `g`, with `length` alone `len` is refused by what follows it. Elsewhere nothing is refused.

The rules are about characters, so it does not matter how names are cut into tokens.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

from structgen.generation.sampling.context import Context, unfinished_bytes
from structgen.generation.sampling.potentials.potentials import REFUSED, TextCritic
from structgen.generation.sampling.potentials.token_index import TokenIndex
from structgen.masks.bitmask import Rows
from structgen.vocabulary.vocabulary import Vocabulary


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
        self._indices: WeakKeyDictionary[Vocabulary, _Tokens] = WeakKeyDictionary()

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

    def _tokens(self, vocabulary: Vocabulary) -> _Tokens:
        found = self._indices.get(vocabulary)
        if found is None:
            index = TokenIndex(vocabulary)
            wanted = (lambda _: True), self.monitor.begins, self.monitor.continues
            found = _Tokens(index, *map(index.starting, wanted))
            self._indices[vocabulary] = found
        return found


@dataclass(frozen=True, slots=True)
class _Tokens:
    """A vocabulary's tokens, and rows of those whose first character is whole.

    Of these rows, two have those whose first character begins or continues a name.
    """

    index: TokenIndex
    whole: Rows
    beginning: Rows
    continuing: Rows


def _keep(row: Rows, concerned: Rows, index: TokenIndex, names: Iterable[str]) -> None:
    """Of the tokens concerned, leave those in the row that write a part of the names."""
    row &= ~concerned | index.writing(name.encode() for name in names if name)
