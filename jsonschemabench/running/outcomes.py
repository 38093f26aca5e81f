"""The outcomes that a case can have, ordered from the worst to the best."""

from __future__ import annotations

from collections.abc import Iterable

ACCEPTED_INVALID = "accepted invalid"
CRASH = "crash"
REJECTED_VALID = "rejected valid"
INCOMPLETE = "incomplete"
REFUSED_SATISFIABLE = "refused satisfiable"
REFUSED_UNSATISFIABLE = "refused unsatisfiable"
PASS = "pass"

#: Worst first. A crash is also a hang, a passed limit, or an engine that contradicts itself; a
#: refusal as unsatisfiable is right, and only then called so, where no instance is valid.
#: Only `generate` knows "incomplete": a text that a limit cut off.
OUTCOMES = (
    ACCEPTED_INVALID,
    CRASH,
    REJECTED_VALID,
    INCOMPLETE,
    REFUSED_SATISFIABLE,
    REFUSED_UNSATISFIABLE,
    PASS,
)


def of_instance(*, valid: bool, accepted: bool) -> str:
    """The outcome of one instance that an engine accepted or rejected."""
    if valid == accepted:
        return PASS
    return ACCEPTED_INVALID if accepted else REJECTED_VALID


def of_refusal(kind: str, *, any_valid: bool) -> str:
    """The outcome of a case that was refused when compiled; `kind` is that of `Refused`."""
    if kind == "unsatisfiable" and not any_valid:
        return REFUSED_UNSATISFIABLE
    return REFUSED_SATISFIABLE


def worst(outcomes: Iterable[str]) -> str:
    """The worst of some outcomes; "pass" of none."""
    return min(outcomes, key=OUTCOMES.index, default=PASS)
