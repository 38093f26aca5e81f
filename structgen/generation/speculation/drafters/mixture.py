"""In: several guessers. Out: one, so that one path may take a token from each.

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
)
from structgen.generation.speculation.drafters.rates import Rates
from structgen.generation.speculation.interfaces import Context, Round

_BROADEST = 8  # most guesses of a part at one place
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
        """For a new text."""
        parts = [drafter.guesser(context) for drafter in self.drafters]
        return MixtureGuesser(parts, [drafter.name for drafter in self.drafters], self.rates)

    def begin(self, context: Context) -> MixtureSession:
        """Start on a text."""
        return MixtureSession(self.guesser(context))


@dataclass
class MixtureSession(GuessSession):
    """A session that tells which part guessed what."""

    guesser: MixtureGuesser

    def credits(self, tokens: Sequence[int]) -> list[str]:
        """The names of the parts."""
        return self.guesser.credits(tokens)


@dataclass
class Place:
    """The places of all parts; what they guessed there, by kind of guess; where tokens led."""

    parts: list[Any]
    guessed: list[tuple[Kind, int]] = field(default_factory=list)
    longer: dict[int, Place] = field(default_factory=dict)


@dataclass
class MixtureGuesser:
    """Guesses what its parts guess, each as far as it was right so far."""

    parts: list[Guesser]
    names: list[str]
    rates: Rates
    _root: Place | None = None

    def start(self, context: Context) -> Place:
        """The places of all after the context."""
        self._root = Place([part.start(context) for part in self.parts])
        return self._root

    def guesses(self, place: Place, state: int) -> Guesses:
        """Each token with the probability that one part is right, as if they erred apart.

        The parts are asked in their order, until one of them is nearly certain.
        """
        wrong: dict[int, float] = {}
        estimate, note = self.rates.of, place.guessed.append
        for number, part in enumerate(self.parts):
            where = place.parts[number]
            found = () if where is None else part.guesses(where, state)[:_BROADEST]
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

    def follow(self, place: Place, token: int) -> Place:
        """All of them one token further."""
        longer = place.longer[token] = Place(
            [
                None if where is None else part.follow(where, token)
                for part, where in zip(self.parts, place.parts, strict=True)
            ]
        )
        return longer

    def credits(self, tokens: Sequence[int]) -> list[str]:
        """For each token of a path that was drafted, the first part that guessed it there."""
        found, place = [], self._root
        for token in tokens:
            guessed = place.guessed if place is not None else ()
            found.append(next(self.names[kind[0]] for kind, t in guessed if t == token))
            place = place.longer.get(token) if place is not None else None
        return found

    def observe(self, context: Context, seen: Round) -> None:
        """Learn how often each kind of guess is right, and let all of them learn."""
        place = self._root
        for token in seen.written:
            if place is None:
                break
            for kind, guess in place.guessed:
                self.rates.learn(kind, guess == token)
            place = place.longer.get(token)
        self._root = None
        for part in self.parts:
            part.observe(context, seen)

    def end(self, context: Context) -> None:
        """Tell all of them."""
        for part in self.parts:
            part.end(context)
