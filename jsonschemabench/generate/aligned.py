"""Writes a text by the model's own distribution, given that it fits the spec of any engine.

This is the arm "aligned" of the question of quality. At temperature 0 it is the most probable text
that fits, as beam search finds it; else a draw from a population of particles. The engine's matcher
is asked for masks alone, so that what differs from the arm "masked" is the sampler.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from jsonschemabench.engines.engine import Compiled, Row, has
from jsonschemabench.generate.loop import Job, Session, Written
from structgen.automata.interface import DEAD
from structgen.constraint.constraint import FINAL
from structgen.errors import TruncatedError
from structgen.generation.sampling.interfaces import Doubles, Tokens
from structgen.generation.sampling.language_model import LanguageModel
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.samplers.smc import Smc
from structgen.generation.sampling.search.beam import Beam
from structgen.masks import bitmask
from structgen.spec.regular import Regex
from structgen.vocabulary.vocabulary import Vocabulary

PARTICLES = 4  # of SMC; also the width of the beam


class OutOfTimeError(Exception):
    """The deadline of a text has passed."""


class MatcherConstraint:
    """A compiled spec of any engine as a constraint: states are the sequences of tokens read.

    An engine keeps one matcher at a time, so a mask costs reading its tokens again; where the
    matcher is at the tokens' beginning already, it goes on from there. Attribute: `steps`, seconds
    that the engine took for each mask.
    """

    exact_masks = True
    start = 0

    def __init__(self, compiled: Compiled, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.spec = Regex("")  # its values are the texts
        self.steps: list[float] = []
        self._compiled = compiled
        self._row: Row = bitmask.allocate(1, vocabulary.size)[0]
        self._matcher = compiled.start(self._row)
        self._read: Tokens = ()
        self._tokens: list[Tokens] = [()]
        self._state_of: dict[Tokens, int] = {(): 0}
        self._masks: dict[int, Row] = {}

    def advance(self, state: int, token_id: int) -> int:
        """See `structgen.generation.interfaces.Constraint`."""
        if state < 0 or not has(self._mask(state), token_id):
            return DEAD
        if token_id in self.vocabulary.eos_ids:
            return FINAL
        tokens = (*self._tokens[state], token_id)
        if tokens not in self._state_of:
            self._state_of[tokens] = len(self._tokens)
            self._tokens.append(tokens)
        return self._state_of[tokens]

    def fill_mask(self, state: int, row: npt.NDArray[np.int32]) -> None:
        """See `structgen.generation.interfaces.Constraint`."""
        row[:] = self._mask(state) if state >= 0 else 0

    def fill_masks(self, states: Sequence[int], rows: npt.NDArray[np.int32]) -> None:
        """See `structgen.generation.interfaces.Constraint`."""
        for state, row in zip(states, rows, strict=True):
            self.fill_mask(state, row)

    def is_accepting(self, state: int) -> bool:
        """See `structgen.generation.interfaces.Constraint`."""
        return state >= 0 and any(has(self._mask(state), t) for t in self.vocabulary.eos_ids)

    def advance_bytes(self, state: int, data: bytes) -> int:
        """Not supported: engines take tokens only."""
        raise NotImplementedError

    def allowed_bytes(self, state: int) -> frozenset[int]:
        """All: engines do not say."""
        del state
        return frozenset(range(256))

    def forced_bytes(self, state: int) -> bytes:
        """None known: engines do not say."""
        del state
        return b""

    def shortest_completion(self, state: int) -> bytes:
        """A lower bound, b"": engines do not say."""
        del state
        return b""

    def core(self, state: int) -> int:
        """The state itself: no two states are known to have the same masks."""
        return state

    def _mask(self, state: int) -> Row:
        if state not in self._masks:
            begun = time.perf_counter()
            tokens = self._tokens[state]
            known = len(self._read)
            if tokens[:known] != self._read:
                self._matcher, known = self._compiled.start(self._row), 0
            alive = all(self._matcher.accept(token) for token in tokens[known:])
            self._read = tokens
            if alive:
                self._matcher.mask()
            self._masks[state] = self._row.copy() if alive else np.zeros_like(self._row)
            self.steps.append(time.perf_counter() - begun)
        return self._masks[state]


class TimedModel(LanguageModel):
    """A language model that says how long it took. Attribute: `seconds`. OutOfTimeError."""

    seconds = 0.0
    deadline = float("inf")

    def log_probs(self, prefixes: Sequence[Tokens]) -> Doubles:
        """See `LanguageModel.log_probs`."""
        begun = time.perf_counter()
        if begun > self.deadline:
            raise OutOfTimeError
        found = super().log_probs(prefixes)
        self.seconds += time.perf_counter() - begun
        return found


def write_aligned(session: Session, job: Job, compiled: Compiled | None) -> Written:
    """Write one text; its first token is there when all are."""
    if compiled is None:
        raise ValueError("the arm needs an engine")
    begun = time.perf_counter()
    model = TimedModel(session.target, job.prompt, temperature=job.temperature or 1.0)
    model.log_probs([()])
    model.deadline = job.deadline  # the prompt is read even when it has passed
    written = Written(prompt=model.seconds)
    constraint = MatcherConstraint(compiled, session.vocabulary)
    posterior = Posterior(model, constraint, max_tokens=job.budget, stop="eos")
    sampler = Smc(PARTICLES, max_attempts=4) if job.temperature else Beam(PARTICLES)
    try:
        [sample] = sampler.draw(posterior, 1, job.seed)
        written.finish = "end"
        written.tokens = list(sample.tokens)
        written.data = session.vocabulary.decode_bytes(sample.tokens[:-1])
    except TruncatedError:
        written.finish = "token budget"
    except OutOfTimeError:
        written.finish = "time limit"
    written.engine_steps = constraint.steps
    written.engine = sum(constraint.steps)
    written.model = model.seconds - written.prompt
    written.first_token = time.perf_counter() - begun
    written.other = max(written.first_token - model.seconds - written.engine, 0.0)
    return written
