"""Penalties: transforms of the next token's distribution, for `generate(transforms=[...])`.

    generator.generate(prompt, spec, transforms=[penalties.LoopGuard(), penalties.GrammarDecay()])

Repetition      presence, frequency and repetition penalties, by what was written
NoRepeatNgram   no n-gram of tokens is written twice
GrammarDecay    what the grammar lets repeat without end gets less likely the longer it repeats
LoopGuard       a text that repeats itself in a cycle is led to the end of the current structure
MinTokens       the model does not end the text too early
Bias            some tokens are more or less likely

Required keys and other forced text are not penalised, and some token is always left. Drafts are
verified against the distribution of their own path, so all of these work with speculation.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from structgen.errors import GenerationError
from structgen.generation.checks import check, check_count
from structgen.generation.distribution import log_sum_exp
from structgen.generation.interfaces import Constraint, Doubles
from structgen.generation.state_kinds import Ids, state_kinds

__all__ = ["Bias", "GrammarDecay", "LoopGuard", "MinTokens", "NoRepeatNgram", "Repetition"]

Where = Literal["text", "all"]


@dataclass(frozen=True)
class Repetition:
    """Makes tokens that were written already less likely.

    presence is subtracted from the logit of such a token, frequency as often as it was written (as
    the OpenAI API has them). factor divides its logit if that is positive, else multiplies it
    (CTRL, Keskar et al. 2019, section 4.1; `repetition_penalty` elsewhere). where: with "text" only
    tokens inside free text count and are penalised, not those that end it, so keys, numbers and
    structure are spared; with "all" every token. prompt: count the prompt's tokens, too.
    """

    presence: float = 0.0
    frequency: float = 0.0
    factor: float = 1.0
    where: Where = "text"
    prompt: bool = False

    def __post_init__(self) -> None:
        _check_where(self.where)
        check("factor", self.factor, self.factor > 0, "a number above 0")

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> RepetitionPath:
        """The state for a new text."""
        return RepetitionPath(self, prompt, constraint)


class RepetitionPath:
    """Counts of the tokens written in one text."""

    def __init__(self, settings: Repetition, prompt: Sequence[int], constraint: Constraint) -> None:
        self._settings = settings
        self._kinds = state_kinds(constraint)
        self._counts = np.zeros(constraint.vocabulary.size, np.int32)
        if settings.prompt:
            inside = [token for token in prompt if token < len(self._counts)]
            np.add.at(self._counts, inside, 1)

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See Repetition."""
        settings = self._settings
        if settings.where == "text" and not self._kinds.is_text(state):
            return np.zeros(len(ids))
        counts = self._counts[ids]
        seen = counts > 0
        changed = np.where(logits > 0, logits / settings.factor, logits * settings.factor) - logits
        weights: Doubles = (
            np.where(seen, changed - settings.presence, 0.0) - settings.frequency * counts
        )
        return weights

    def wrote(self, state: int, token: int) -> None:
        """Count a token."""
        if self._settings.where == "all" or self._kinds.stays_text(state, token):
            self._counts[token] += 1


@dataclass(frozen=True)
class NoRepeatNgram:
    """Refuses a token that would complete an n-gram of `size` tokens that was written before.

    where: as for Repetition. With "text" an n-gram never spans structure.
    """

    size: int
    where: Where = "text"

    def __post_init__(self) -> None:
        _check_where(self.where)
        check_count("size", self.size)

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> NgramPath:
        """The state for a new text."""
        return NgramPath(self, constraint)


class NgramPath:
    """The n-grams of one text."""

    def __init__(self, settings: NoRepeatNgram, constraint: Constraint) -> None:
        self._size = settings.size
        self._all = settings.where == "all"
        self._kinds = state_kinds(constraint)
        self._last: deque[int] = deque(maxlen=settings.size - 1)
        self._followers: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See NoRepeatNgram."""
        banned: npt.NDArray[np.bool_] = np.zeros(len(ids), np.bool_)
        full = len(self._last) == self._size - 1
        if full and (self._all or self._kinds.is_text(state)):
            banned = np.isin(ids, list(self._followers.get(tuple(self._last), ())))
        return np.where(banned, -np.inf, 0.0)

    def wrote(self, state: int, token: int) -> None:
        """Remember the n-gram that this token ends."""
        if not self._all and not self._kinds.stays_text(state, token):
            self._last.clear()
            return
        if len(self._last) == self._size - 1:
            self._followers[tuple(self._last)].add(token)
        self._last.append(token)


def _check_where(where: str) -> None:
    check("where", where, where in {"text", "all"}, '"text" or "all"')


@dataclass(frozen=True)
class GrammarDecay:
    """Makes a transition of the grammar less likely each time that it is repeated in a row.

    Runaway text repeats something that the grammar allows any number of times: digits, items,
    members, white space. The automaton then takes the same transition between the same classes of
    states again and again, whatever the tokens are. So transitions are counted, not tokens; where
    only one transition is possible, as with required keys and other structure, a penalty on it
    changes nothing.

    The first `free` repeats cost nothing; then the probability is multiplied by `decay` once more
    each time, before it is normalised (after RPG, Dong et al. 2025, which decays in code what
    repeats grammatically). Transitions are of two kinds, counted separately: to stay in a class
    (the next digit; in free text, the same token once more), until it is left: the more it decays,
    the more likely is leaving. And to leave it towards another (a comma after an item), until it is
    left towards a third (the bracket): what decays goes to the other ways out, and none to staying.
    GenerationError when a number is out of range.
    """

    decay: float = 0.8
    free: int = 16

    def __post_init__(self) -> None:
        check("decay", self.decay, 0 < self.decay <= 1, "a number in (0, 1]")
        check("free", self.free, self.free >= 0, "an integer of 0 or more")

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> DecayPath:
        """The state for a new text."""
        return DecayPath(self, constraint)


class DecayPath:
    """The transitions that one text has repeated."""

    def __init__(self, settings: GrammarDecay, constraint: Constraint) -> None:
        self._free = settings.free
        self._rate = math.log(settings.decay)
        self._constraint = constraint
        self._kinds = state_kinds(constraint)
        # How often in a row the text stayed in a class of states, and which class; in free text:
        # how often a token was repeated, and ~token.
        self._stays = 0
        self._last: int | None = None
        # For each class, the class that it was last left for, and how often in a row.
        self._left: dict[int, tuple[int, int]] = {}

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See GrammarDecay."""
        weights = np.zeros(len(ids))
        if not self._kinds.is_choice(state):
            return weights
        if self._kinds.is_text(state):
            again = ~ids == (0 if self._last is None else self._last)
            return np.where(again, self._weight(self._stays), weights)
        here = self._kinds.class_of(state)
        stays = self._stays if here == self._last else 0
        towards, times = self._left.get(here, (-1, 0))
        if max(stays, times) <= self._free:
            return weights
        after = self._kinds.classes_after(state, ids)
        leaves = after != here
        weights[~leaves] = self._weight(stays)
        if times > self._free:
            weights[after == towards] = self._weight(times)
            out, decayed = logits[leaves], (logits + weights)[leaves]
            weights[leaves] += log_sum_exp(out) - log_sum_exp(decayed)
        return weights

    def wrote(self, state: int, token: int) -> None:
        """Count the transition that was taken."""
        if not self._kinds.is_choice(state):
            return
        if self._kinds.is_text(state):
            self._stay(~token)
            return
        here = self._kinds.class_of(state)
        after = self._kinds.class_of(self._constraint.advance(state, token))
        if after == here:
            self._stay(here)
            return
        if self._last == here:
            self._last, self._stays = None, 0
        towards, times = self._left.get(here, (-1, 0))
        self._left[here] = (after, times + 1 if after == towards else 1)

    def _stay(self, what: int) -> None:
        self._stays = self._stays + 1 if self._last == what else 1
        self._last = what

    def _weight(self, times: int) -> float:
        return self._rate * max(0, times - self._free)


@dataclass(frozen=True)
class LoopGuard:
    """When the text repeats itself in a cycle, only tokens that close the structure are allowed.

    A cycle is `repeats` times the same at most `longest` tokens, and at least `least` tokens that
    repeat what came before them. Then the next token must begin the shortest way to a valid end
    (end the string, the list, the number, or the whole text); the model chooses among the tokens
    that do. That ends the cycle, and the model goes on freely, until it is caught more than
    `patience` times: then the text is led to its end.
    """

    repeats: int = 4
    least: int = 24
    longest: int = 64
    patience: int = 2

    def __post_init__(self) -> None:
        for name, lowest in (("repeats", 2), ("least", 1), ("longest", 1), ("patience", 0)):
            value = getattr(self, name)
            check(name, value, value >= lowest, f"an integer of {lowest} or more")

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> LoopPath:
        """The state for a new text."""
        return LoopPath(self, constraint)


class LoopPath:
    """For every period, how many tokens in a row one text has repeated it."""

    def __init__(self, settings: LoopGuard, constraint: Constraint) -> None:
        self._constraint = constraint
        self._patience = settings.patience
        periods = np.arange(1, settings.longest + 1)
        self._enough = np.maximum(settings.least, periods * (settings.repeats - 1))
        self._recent = np.full(settings.longest, -1, np.int64)  # the last tokens, newest first
        # For each period, how many tokens in a row equalled the one a period before them.
        self._same = np.zeros(settings.longest, np.int64)
        self._caught = 0

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See LoopGuard."""
        if not self._circling and self._caught <= self._patience:
            return np.zeros(len(ids))
        closing = closing_tokens(self._constraint, state, ids)
        return np.where(closing, 0.0, -np.inf) if closing.any() else np.zeros(len(ids))

    def wrote(self, state: int, token: int) -> None:
        """Update the run length of every period, and count new cycles."""
        circled = self._circling
        self._same = np.where(self._recent == token, self._same + 1, 0)
        self._recent = np.concatenate([[token], self._recent[:-1]])
        self._caught += self._circling and not circled

    @property
    def _circling(self) -> bool:
        return bool((self._same >= self._enough).any())


def closing_tokens(constraint: Constraint, state: int, ids: Ids) -> npt.NDArray[np.bool_]:
    """bool[k]: which of the allowed tokens int64[k] begin the shortest way to an end.

    Where the text may end, that is an end token. Special tokens write no text and are not among
    them.
    """
    vocabulary = constraint.vocabulary
    if constraint.is_accepting(state):
        return np.isin(ids, list(vocabulary.eos_ids))
    rest = constraint.shortest_completion(state)
    begins = {rest[:length] for length in range(1, len(rest) + 1)}
    specials = vocabulary.special_ids
    fits = [vocabulary.token_bytes(int(t)) in begins and int(t) not in specials for t in ids]
    return np.array(fits, np.bool_)


@dataclass(frozen=True, eq=False)
class Bias:
    """Adds to the logits of some tokens, wherever the constraint allows them.

    weights: by token id, or by the exact text of a token; -inf refuses it as long as anything else
    is allowed. GenerationError for a text that no token has.
    """

    weights: Mapping[int | str, float]

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> BiasPath:
        """The state for a new text."""
        vocabulary = constraint.vocabulary
        dense = np.zeros(vocabulary.size)
        for key, weight in self.weights.items():
            if isinstance(key, str):
                data = key.encode()
                ids = [t for t in range(vocabulary.size) if vocabulary.token_bytes(t) == data]
            else:
                ids = [key] if 0 <= key < vocabulary.size else []
            if not ids:
                raise GenerationError(
                    f"no token of the vocabulary is {key!r}",
                    expected="an id, or the text of one token",
                )
            dense[ids] += weight
        return BiasPath(dense)


class BiasPath:
    """A bias needs no state: it is the same in every text."""

    def __init__(self, dense: Doubles) -> None:
        """`dense`: float64[V], what is added."""
        self._dense = dense

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See Bias."""
        return self._dense[ids]

    def wrote(self, state: int, token: int) -> None:
        """The bias does not depend on the text."""


@dataclass(frozen=True)
class MinTokens:
    """Refuses the model's end token until `count` tokens are written, if anything else is allowed.

    A text that is complete ends all the same, unless `stop="eos"` waits for the end token.
    """

    count: int

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> MinTokensPath:
        """The state for a new text."""
        return MinTokensPath(self.count, constraint)


class MinTokensPath:
    """The number of tokens that one text still needs."""

    def __init__(self, count: int, constraint: Constraint) -> None:
        self._missing = count
        self._ends = list(constraint.vocabulary.eos_ids)

    def log_weights(self, state: int, ids: Ids, logits: Doubles) -> Doubles:
        """See MinTokens."""
        if self._missing <= 0:
            return np.zeros(len(ids))
        return np.where(np.isin(ids, self._ends), -np.inf, 0.0)

    def wrote(self, state: int, token: int) -> None:
        """Count a token."""
        self._missing -= 1
