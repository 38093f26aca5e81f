"""`Posterior`: the distribution that samplers draw from.

It is over the sequences of at most `budget` tokens that the constraint accepts, proportional to the
model's probability times the factors of the potentials. A sequence ends with an end token, whose
probability counts, or, with stop="complete", as soon as nothing but JSON whitespace could follow.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD
from structgen.constraint.constraint import FINAL
from structgen.constraint.enforced import Enforced
from structgen.errors import GenerationError, VocabularyError
from structgen.generation.closing import Closer, Speller
from structgen.generation.interfaces import Constraint
from structgen.generation.sampling.interfaces import Doubles, Model, Place, Potential, Tokens
from structgen.generation.sampling.results import Sample
from structgen.generation.sampling.samplers.plausible import plausible_tokens
from structgen.masks import bitmask

Ids = npt.NDArray[np.int32]

# So near to the end of the budget, in tokens, `allowed` leaves out tokens after which no text can
# end in time.
_LAST = 4
_REMEMBERED = 512  # masks kept as token ids, 4 bytes for each allowed token


class Posterior:
    """The distribution to sample, as samplers see it.

    Attributes: `model`, `constraint`, `potentials`, `budget`; `start`, the place before any token;
    `ends`, the end tokens; `exact_masks`, False for a constraint whose masks let more through than
    its `advance` does (its attribute of that name says so).

    It counts as it is used: `model_calls` batches of `model_rows` prefixes, and `checks`, the
    tokens whose membership was tested one by one. Not safe for concurrent use.
    """

    def __init__(
        self,
        model: Model,
        constraint: Constraint,
        *,
        max_tokens: int = 512,
        stop: Literal["complete", "eos"] = "complete",
        potentials: Sequence[Potential] = (),
        speller: Speller | None = None,
    ) -> None:
        """`max_tokens` counts the end token; the model may have room for fewer.

        speller: one that was made for the constraint's vocabulary already. VocabularyError when
        model and constraint count tokens differently; GenerationError when no text could end.
        """
        vocabulary = constraint.vocabulary
        if model.vocab_size != vocabulary.size:
            raise VocabularyError(
                f"the constraint has {vocabulary.size} tokens and the model {model.vocab_size}",
                expected="a constraint compiled for the model's vocabulary",
            )
        if stop == "eos" and not vocabulary.eos_ids:
            raise GenerationError(
                'stop is "eos", and the vocabulary names no end token', hint='give stop="complete"'
            )
        self.model = model
        self.constraint = constraint
        self.potentials = tuple(potentials)
        self.budget = max_tokens if model.room is None else min(max_tokens, model.room)
        self.start = Place(constraint.start, ())
        self.model_calls = self.model_rows = self.checks = 0
        self.ends = frozenset(vocabulary.eos_ids)
        self.exact_masks: bool = getattr(constraint, "exact_masks", True)
        self._whole = stop == "complete"
        self._closer = Closer(constraint, speller or Speller(vocabulary))
        self._longest = max((len(t) for t in vocabulary.tokens if t), default=1)
        self._mask = lru_cache(_REMEMBERED)(partial(_mask, constraint))
        self._plausible = plausible_tokens(vocabulary)

    @property
    def key(self) -> str:
        """A digest of everything that the distribution depends on, potentials aside."""
        vocabulary, spec = self.constraint.vocabulary, self.constraint.spec
        parts = [
            self.model.identity,
            getattr(self.constraint, "identity", "" if self.exact_masks else id(self.constraint)),
            vocabulary.hash,
            json.dumps(spec.to_json(), default=repr),
            [self.budget, self._whole],
        ]
        return blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()

    # -- the model ------------------------------------------------------------------------------

    def log_probs(self, places: Sequence[Place]) -> Doubles:
        """float64[len(places), V]: the model's distribution of the next token at each context."""
        self.model_calls += 1
        self.model_rows += len({place.tokens for place in places})
        return self.model.log_probs([place.tokens for place in places])

    # -- the constraint -------------------------------------------------------------------------

    def ended(self, place: Place) -> bool:
        """Whether the sequence ends here."""
        return place.state == FINAL or (self._whole and self._closer.complete(place.state))

    def remaining(self, place: Place) -> int:
        """Tokens that may still be written."""
        return self.budget - len(place.tokens)

    def after(self, place: Place, token: int) -> Place:
        """The context after one more token; its state is DEAD where the constraint refuses it."""
        return Place(self.constraint.advance(place.state, token), (*place.tokens, token))

    def allowed(self, place: Place) -> Ids:
        """int32[k], ascending and read-only: the tokens that the mask lets through, in budget."""
        remaining = self.remaining(place)
        if remaining <= 0 or place.state < 0:
            return np.empty(0, np.int32)
        ids = self._mask(place.state)
        if remaining > _LAST:
            return ids
        kept = [self._possible(self.after(place, t), remaining - 1) for t in ids.tolist()]
        return ids[np.array(kept, np.bool_)]

    def plausible(self, place: Place) -> Ids:
        """int32[k], ascending: the tokens whose first byte may come next, and the special ones.

        All that are allowed are among them, and no mask is made.
        """
        return self._plausible.after(self.constraint.allowed_bytes(place.state))

    def accepts(self, place: Place, token: int) -> bool:
        """Whether this token may come next: no mask is made for it."""
        self.checks += 1
        remaining = self.remaining(place)
        after = self.after(place, token)
        if remaining <= 0 or after.state == DEAD:
            return False
        return remaining > _LAST or self._possible(after, remaining - 1)

    def log_factors(self, places: Sequence[Place]) -> Doubles:
        """float64[len(places)]: log of the product of the potentials."""
        total = np.zeros(len(places))
        if not self.potentials:
            return total
        for ended in (False, True):
            rows = [i for i, place in enumerate(places) if self.ended(place) == ended]
            texts = [self.text_tokens(places[i]) for i in rows]
            for potential in self.potentials if rows else ():
                asked = potential.log_complete if ended else potential.log_prefix
                total[rows] += asked(texts)
        return total

    def sample(
        self, place: Place, logp_model: float, logp_proposal: float, log_weight: float
    ) -> Sample:
        """The Sample of a place where the sequence has ended; its text is parsed for the value."""
        text = self.text_tokens(place)
        written = self.constraint.vocabulary.decode_bytes(text).decode(errors="replace")
        value = self.constraint.spec.parse(written)
        enforced = Enforced(self.constraint.spec)
        return Sample(written, value, place.tokens, logp_model, logp_proposal, log_weight, enforced)

    def text_tokens(self, place: Place) -> Tokens:
        """The tokens written, without the end token."""
        ended = place.tokens and place.tokens[-1] in self.ends
        return place.tokens[:-1] if ended else place.tokens

    def _possible(self, place: Place, remaining: int) -> bool:
        """False only where no text can end within `remaining` more tokens."""
        if self.ended(place):
            return True
        if remaining <= 0 or place.state == DEAD:
            return False
        needed = len(self.constraint.shortest_completion(place.state))
        if needed == 0 or self._whole:
            return needed <= remaining * self._longest
        return needed <= (remaining - 1) * self._longest  # the end token takes one


def _mask(constraint: Constraint, state: int) -> Ids:
    """int32[k], read-only: the tokens that the mask of a state lets through."""
    ids = bitmask.ids_of(constraint, state).astype(np.int32)
    ids.flags.writeable = False
    return ids


class UsageMeter:
    """Counts what a posterior was asked for since the meter was made."""

    def __init__(self, posterior: Posterior) -> None:
        self._posterior = posterior
        self._before = self._now()

    def read(self) -> dict[str, Any]:
        """The counts, under the names that they have in Samples."""
        return {name: count - self._before[name] for name, count in self._now().items()}

    def _now(self) -> dict[str, int]:
        seen = self._posterior
        return {
            "model_calls": seen.model_calls,
            "model_rows": seen.model_rows,
            "checks": seen.checks,
        }
