"""In: several guessers. Out: one, so that one path may take a token from each.

A value copied from the prompt, the quote and comma that closed the values before, the next key,
which the grammar forces: no single guesser knows such a path, and trees made apart do not have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any

from structgen.errors import GenerationError
from structgen.speculate.drafters.guessing import GuessDrafter, Guesser, Guesses
from structgen.speculate.interfaces import Context, Round

_BROADEST = 16  # most guesses at one place
_CERTAIN = 0.9  # probability of a guess that needs no second opinion


class MixtureDrafter(GuessDrafter):
    """Drafts along paths to which each of several drafters contributes."""

    def __init__(self, drafters: Sequence[Any]) -> None:
        """drafters: those whose sessions are guessers: forced, copy, suffix, recycling, trigram."""
        if not drafters:
            raise GenerationError("there is no drafter", expected="one or more")
        self.drafters = tuple(drafters)
        self.name = "*".join(drafter.name for drafter in drafters)

    def guesser(self, context: Context) -> MixtureGuesser:
        """For a new text."""
        return MixtureGuesser([drafter.guesser(context) for drafter in self.drafters])


@dataclass
class MixtureGuesser:
    """Guesses what one of its parts guesses; its place is the places of all."""

    parts: list[Guesser]

    def start(self, context: Context) -> list[Any]:
        """The places of all after the context."""
        return [part.start(context) for part in self.parts]

    def guesses(self, place: list[Any], state: int) -> Guesses:
        """Each token with the probability that one part is right, as if they erred apart.

        The parts are asked in their order, until one of them is nearly certain.
        """
        wrong: dict[int, float] = {}
        for part, where in zip(self.parts, place, strict=True):
            found = () if where is None else part.guesses(where, state)
            for token, probability in found:
                wrong[token] = wrong.get(token, 1.0) * (1.0 - probability)
            if found and found[0][1] >= _CERTAIN:
                break
        total = max(1.0, sum(1.0 - error for error in wrong.values()))
        guesses = [(token, (1.0 - error) / total) for token, error in wrong.items()]
        return nlargest(_BROADEST, guesses, key=lambda guess: guess[1])

    def follow(self, place: list[Any], token: int) -> list[Any]:
        """All of them one token further."""
        return [
            None if where is None else part.follow(where, token)
            for part, where in zip(self.parts, place, strict=True)
        ]

    def observe(self, context: Context, seen: Round) -> None:
        """Let all of them learn."""
        for part in self.parts:
            part.observe(context, seen)

    def end(self, context: Context) -> None:
        """Tell all of them."""
        for part in self.parts:
            part.end(context)
