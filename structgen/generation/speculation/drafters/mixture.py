"""`MixtureDrafter`: one path may take each of its tokens from another drafter.

A value copied from the prompt, the quote and comma that closed the values before, the next key,
which the grammar forces: no single guesser knows such a path, and trees made apart do not have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from structgen.errors import GenerationError
from structgen.generation.speculation.drafters.guessing import (
    GuessDrafter,
    Guesser,
    Guesses,
    GuessSession,
    Rates,
)
from structgen.generation.speculation.interfaces import Round
from structgen.generation.speculation.tree import Context

_BROADEST = 8  # most guesses of a part at one cursor
_RANKS = 3  # from this one on, guesses of a part are trusted alike
_CERTAIN = 0.9  # probability of a guess that needs no second opinion

#: The part, the rank of the guess, and its probability in tenths.
Kind = tuple[int, int, int]


class MixtureDrafter(GuessDrafter):
    """Drafts along paths to which each of several drafters contributes."""

    def __init__(self, drafters: Sequence[Any]) -> None:
        """drafters: those whose sessions are guessers: forced, copy, suffix, recycling, trigram."""
        if not drafters:
            raise GenerationError("there is no drafter", expected="one or more")
        for drafter in drafters:
            if not hasattr(drafter, "guesser"):
                raise GenerationError(
                    f"drafters has {drafter!r:.80}",
                    location="drafters",
                    expected="drafters that guess token by token",
                    hint="HybridDrafter joins any drafters",
                )
        self.drafters = tuple(drafters)
        self.rates = Rates()
        self.name = "*".join(drafter.name for drafter in drafters)

    def guesser(self, context: Context) -> MixtureGuesser:
        """The guesser of a new text."""
        parts = [drafter.guesser(context) for drafter in self.drafters]
        return MixtureGuesser(parts, [drafter.name for drafter in self.drafters], self.rates)

    def begin(self, context: Context) -> MixtureSession:
        """Start on a text."""
        return MixtureSession(self.guesser(context))


@dataclass
class MixtureSession(GuessSession):
    """A session that knows which part guessed what."""

    guesser: MixtureGuesser

    def credits(self, tokens: Sequence[int]) -> list[str]:
        """The names of the parts."""
        return self.guesser.credits(tokens)


@dataclass
class Cursor:
    """The cursors of all parts; what they guessed there, by kind of guess; where tokens led."""

    parts: list[Any]
    guessed: list[tuple[Kind, int]] = field(default_factory=list)
    longer: dict[int, Cursor] = field(default_factory=dict)


@dataclass
class MixtureGuesser:
    """Guesses what its parts guess, each as far as it was right so far."""

    parts: list[Guesser]
    names: list[str]
    rates: Rates
    _root: Cursor | None = None

    def start(self, context: Context) -> Cursor:
        """The cursors of all parts after the context."""
        self._root = Cursor([part.start(context) for part in self.parts])
        return self._root

    def guesses(self, cursor: Cursor, state: int) -> Guesses:
        """Each token with the probability that one part is right, as if they erred apart.

        The parts are asked in their order, until one of them is nearly certain.
        """
        wrong: dict[int, float] = {}
        estimate, note = self.rates.of, cursor.guessed.append
        for number, part in enumerate(self.parts):
            at = cursor.parts[number]
            found = () if at is None else part.guesses(at, state)[:_BROADEST]
            for rank, (token, claimed) in enumerate(found):
                kind = (number, min(rank, _RANKS), int(10 * claimed))
                note((kind, token))
                wrong[token] = wrong.get(token, 1.0) * (1.0 - estimate(kind, claimed))
            if found and found[0][1] >= _CERTAIN:
                break
        total = max(1.0, len(wrong) - sum(wrong.values()))
        guesses = [(token, (1.0 - error) / total) for token, error in wrong.items()]
        guesses.sort(key=itemgetter(1), reverse=True)
        return guesses

    def follow(self, cursor: Cursor, token: int) -> Cursor:
        """The cursors of all parts one token further."""
        longer = cursor.longer[token] = Cursor(
            [
                None if at is None else part.follow(at, token)
                for part, at in zip(self.parts, cursor.parts, strict=True)
            ]
        )
        return longer

    def credits(self, tokens: Sequence[int]) -> list[str]:
        """For each token of a path that was drafted, the first part that guessed it there."""
        found, cursor = [], self._root
        for token in tokens:
            guessed = cursor.guessed if cursor is not None else ()
            found.append(next(self.names[kind[0]] for kind, t in guessed if t == token))
            cursor = cursor.longer.get(token) if cursor is not None else None
        return found

    def observe(self, context: Context, seen: Round) -> None:
        """Learn how often each kind of guess is right, and let all of them learn."""
        cursor = self._root
        for token in seen.written:
            if cursor is None:
                break
            for kind, guess in cursor.guessed:
                self.rates.learn(kind, guess == token)
            cursor = cursor.longer.get(token)
        self._root = None
        for part in self.parts:
            part.observe(context, seen)

    def end(self, context: Context) -> None:
        """End all parts."""
        for part in self.parts:
            part.end(context)
