"""The ways to write a text that `generate` compares, by name: without engine, masked, aligned.

A new one is a function as `Writer` says, and its line in `SAMPLERS`. It may start as many matchers
of the compiled schema as it needs, and call the model through the session's target.
"""

from __future__ import annotations

from collections.abc import Callable

from jsonschemabench.engines.engine import Compiled
from jsonschemabench.generate.aligned import write_aligned
from jsonschemabench.generate.loop import Job, Session, Written, write

Writer = Callable[[Session, Job, Compiled | None], Written]

UNCONSTRAINED = "unconstrained"  # what results call the engine of the arm "off"


def write_off(session: Session, job: Job, compiled: Compiled | None) -> Written:
    """The model alone."""
    del compiled
    return write(session, job, None)


SAMPLERS: dict[str, Writer] = {
    "off": write_off,
    "masked": write,
    "aligned": write_aligned,
}

#: What the names mean, for the tables.
MEANING = {
    "off": "the model alone, without constraint",
    "masked": "tokens that cannot fit are masked, the others renormalised",
    "aligned": "the model's own law, given that the text fits: the best text found at "
    "temperature 0 (beam of 4), else a draw by particles (4)",
}


def label(engine: str, sampler: str) -> str:
    """The name in results files of an engine under a sampler."""
    if sampler == "off":
        return UNCONSTRAINED
    return engine if sampler == "masked" else f"{engine}, {sampler}"


def arms(engines: list[str], samplers: list[str]) -> list[tuple[str, str]]:
    """The pairs (engine, sampler) to run; the arm "off" once, as no engine takes part in it."""
    found = []
    for sampler in samplers:
        found += [("", sampler)] if sampler == "off" else [(name, sampler) for name in engines]
    return found
