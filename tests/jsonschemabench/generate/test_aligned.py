"""The arm "aligned" writes probable texts that fit, with a tiny model and any engine's masks."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import numpy as np
import pytest

import structgen as sg
from jsonschemabench.engines.engine import JSON_SCHEMA, Compiled, Spec
from jsonschemabench.engines.structgen import StructgenEngine
from jsonschemabench.generate.aligned import MatcherConstraint, write_aligned
from jsonschemabench.generate.engines import GeneratingStructgen
from jsonschemabench.generate.loop import Job, Session, Written, write
from structgen.generation.distribution import Sampler
from structgen.generation.models.loading import vocabulary_of
from structgen.generation.models.target import HuggingFaceTarget
from tests.generation.models import build_model, build_tokenizer

SCHEMA = {"enum": ["true", "ab", "aab", True]}
SPEC = sg.JsonSchema(SCHEMA, property_order="any", whitespace="any")  # as it is measured


@pytest.fixture(scope="module")
def session() -> Session:
    """A random model and its vocabulary."""
    tokenizer = build_tokenizer()
    target = HuggingFaceTarget(build_model(tokenizer))
    return Session(target, vocabulary_of(target, tokenizer))


@pytest.fixture(scope="module")
def compiled(session: Session) -> Compiled:
    """The schema, compiled by the engine as it is measured."""
    engine = StructgenEngine()
    engine.prepare(session.vocabulary)
    return engine.compile(Spec(JSON_SCHEMA, json.dumps(SCHEMA)))


def job(temperature: float, seed: int = 0, budget: int = 7) -> Job:
    """A text of `budget` tokens at most."""
    sampler, rng = Sampler(temperature=temperature), np.random.default_rng(seed)
    deadline = time.perf_counter() + 60
    return Job((5, 9), budget, lambda v: sampler.choose(v, rng), deadline, temperature, seed)


def probability(session: Session, written: Written) -> float:
    """Of the tokens written, under the model."""
    from structgen.generation.sampling.language_model import LanguageModel

    model = LanguageModel(session.target, (5, 9))
    tokens = tuple(written.tokens)
    rows = [model.log_probs([tokens[:i]])[0, token] for i, token in enumerate(tokens)]
    return float(sum(rows))


def test_the_matchers_masks_are_the_constraints(session: Session, compiled: Compiled) -> None:
    """Asked for states in any order, which makes the matcher start anew again and again."""
    mine = MatcherConstraint(compiled, session.vocabulary)
    theirs = sg.compile(SPEC, session.vocabulary)
    rng = random.Random(3)
    states: list[tuple[int, int]] = [(mine.start, theirs.start)]
    rows = np.zeros((2, session.vocabulary.words), np.int32)
    for _ in range(60):
        here, there = rng.choice(states)
        mine.fill_mask(here, rows[0])
        theirs.fill_mask(there, rows[1])
        assert (rows[0] == rows[1]).all()
        assert mine.is_accepting(here) == theirs.is_accepting(there)
        for token in range(session.vocabulary.size):
            after = mine.advance(here, token), theirs.advance(there, token)
            assert (after[0] < 0) == (after[1] < 0)
            if after[0] >= 0:
                states.append(after)
    assert mine.steps


def test_greedy_is_a_probable_text(session: Session) -> None:
    """Never less probable than what masking greedily writes, and it fits."""
    engine = GeneratingStructgen()  # little white space, as `generate` measures it
    engine.prepare(session.vocabulary)
    compiled = engine.compile(Spec(JSON_SCHEMA, json.dumps(SCHEMA)))
    plain = write(session, job(0.0), compiled)
    aligned = write_aligned(session, job(0.0), compiled)
    assert aligned.finish == "end"
    sg.check(SPEC, aligned.data)
    if plain.finish == "end":
        assert probability(session, aligned) >= probability(session, plain) - 1e-3
    assert aligned.model > 0
    assert aligned.first_token == pytest.approx(aligned.total, rel=0.2)


def test_a_narrow_beam_can_miss_every_text(session: Session, compiled: Compiled) -> None:
    """A limit: white space of any length fills the beam, though `true` fits in two tokens."""
    assert write_aligned(session, job(0.0), compiled).finish == "token budget"


def test_draws_fit_and_follow_the_seed(session: Session, compiled: Compiled) -> None:
    """At a temperature; equal seeds give equal texts, and some seeds give others."""
    texts: list[Any] = [
        write_aligned(session, job(1.5, seed), compiled).data for seed in (1, 1, 2, 3)
    ]
    for text in texts:
        sg.check(SPEC, text)
    assert texts[0] == texts[1]
    assert len(set(texts)) > 1


def test_what_does_not_end_is_incomplete(session: Session, compiled: Compiled) -> None:
    """A budget that is too small, and a deadline that has passed."""
    assert write_aligned(session, job(1.0, budget=1), compiled).finish == "token budget"
    late = job(0.0)
    late = Job(late.prompt, late.budget, late.choose, time.perf_counter())
    assert write_aligned(session, late, compiled).finish == "time limit"
