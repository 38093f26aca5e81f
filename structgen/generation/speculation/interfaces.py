"""The protocols of speculative decoding: drafters, acceptance rules, length policies.

    policy ── budget ──▶ drafter ── DraftTree ──▶ target.forward ── logits ──▶ rule ──▶ tokens
       ▲                    ▲                                                   │
       └────────────────────┴─────────────────── Round ◀────────────────────────┘

A drafter guesses, the target decides: whatever is drafted, the tokens written have the distribution
that they have without drafts (the masked distribution at each step; `weight` is there for others).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from structgen.generation.checks import check, is_integer
from structgen.generation.speculation.tree import Context, Doubles, DraftTree, Ids, Scheme


@dataclass(frozen=True, slots=True)
class Fork:
    """What an acceptance rule decides on: the k tokens that may come next at a node.

    p: float64[k], the target's distribution, after mask, weights, temperature and truncation. q:
    float64[k], the distribution that the drawn children come from; None when none were drawn.
    drawn: positions of the drawn children, in the order drawn. points: positions of the children
    that were chosen without chance. scheme: how `drawn` were obtained. ids: int64[k], the tokens
    themselves, and prefix, all
    tokens before them, prompt included: for rules that ask another model.
    """

    p: Doubles
    q: Doubles | None
    drawn: tuple[int, ...]
    points: tuple[int, ...]
    scheme: Scheme | None
    ids: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    prefix: tuple[int, ...] = ()

    @property
    def children(self) -> tuple[int, ...]:
        """Positions of all children, in the order of `Plan.accept`."""
        return self.drawn + self.points


class Plan(NamedTuple):
    """The probabilities of what happens at a fork; they sum to 1.

    accept: float64[len(drawn) + len(points)], that this child is taken; residual: float64[k], that
    this token is written instead. The distribution of the token written is the sum of both, by
    token.
    """

    accept: Doubles
    residual: Doubles


class AcceptRule(Protocol):
    """Decides which child of a node is kept, as a plan: nothing here draws random numbers."""

    @property
    def schemes(self) -> frozenset[Scheme]:
        """The schemes of drawn children that it is correct for; the loop refuses others."""

    @property
    def lossless(self) -> bool:
        """Whether the token written is distributed as `p` at every fork, averaged over draws."""

    def plan(self, fork: Fork) -> Plan:
        """The probabilities of each outcome."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a draft.

    nodes: most draft tokens. depth: most of them in a row. width: most children of a node.
    least: smallest estimated probability of reaching a node that is still worth a token.
    """

    nodes: int
    depth: int = 16
    width: int = 4
    least: float = 0.0

    def __post_init__(self) -> None:
        """GenerationError for what is no size."""
        for name in ("nodes", "depth", "width"):
            size = getattr(self, name)
            check(f"{name} of a Budget", size, is_integer(size, 0), "an integer of 0 or more")
        check("least of a Budget", self.least, 0.0 <= self.least <= 1.0, "a number in [0, 1]")


@dataclass(frozen=True, slots=True)
class Round:
    """The outcome of one draft.

    tree: what was proposed (the root alone after the prompt was read, and where nothing was).
    path: the nodes kept, from the root's child on. written: the tokens written, len(path) of them
    and, unless the text ended, one more. logits: float[n, V], the target's, a row for each node,
    masked by no constraint; on an accelerator a row is copied when it is looked at. hidden: what
    was asked of the target's hidden states: [n, layers, d]; after the prompt was read, a row for
    each of its tokens. draft_seconds, verify_seconds: spent on the tree, and on the forward pass
    and forgetting what was refused. rows, width: what that pass read: texts, and tokens of the
    longest of them (the prompt's round has width 0).
    """

    tree: DraftTree
    path: tuple[int, ...]
    written: tuple[int, ...]
    logits: npt.NDArray[Any]
    hidden: Any
    draft_seconds: float
    verify_seconds: float
    rows: int = 1
    width: int = 1


class Session(Protocol):
    """A drafter at work on one text."""

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """A tree with `context.tokens[-1]` at its root; a root alone proposes nothing."""

    def observe(self, context: Context, seen: Round) -> None:
        """Learn from a round; `context` is as after it. Called for the prompt, too."""

    def end(self, context: Context) -> None:
        """The text is finished, or was given up."""


class LearnsNothing:
    """The part of a Session, or of what serves one, that learns nothing."""

    def observe(self, context: Context, seen: Round) -> None:
        """Nothing is learned from a round."""

    def end(self, context: Context) -> None:
        """Nothing is learned from a text."""


@runtime_checkable
class CreditingSession(Session, Protocol):
    """A session of several drafters, which knows which of them drafted a token."""

    def credits(self, tokens: Sequence[int]) -> Sequence[str]:
        """For each of the tokens kept of the last draft, the name of the drafter that it is from.

        Asked before `observe`. Of several that guessed a token the first one counts.
        """


class Drafter(Protocol):
    """Makes drafts. What it learns across texts is its own; what belongs to one, its Session's."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """Layers whose hidden states it needs (0: the embeddings, -1: the last); often none."""

    def begin(self, context: Context) -> Session:
        """Start on a text. May be called by several threads."""


@runtime_checkable
class JointDrafter(Drafter, Protocol):
    """A drafter that makes the drafts of all texts together that are read in one pass."""

    def propose_together(
        self,
        sessions: Sequence[Session],
        contexts: Sequence[Context],
        budgets: Sequence[Budget],
    ) -> Sequence[DraftTree]:
        """A tree for each text, as `Session.propose` would make one."""

    def rest(self, sessions: Sequence[Session]) -> int:
        """For how many passes from now on it has no draft and need not see what comes of them.

        The plain loop makes these passes; `rested` reports them.
        """

    def rested(self, sessions: Sequence[Session], seconds: Sequence[float]) -> None:
        """The plain passes that were made during `rest`, with the seconds of each."""


class LengthPolicy(Protocol):
    """Decides how much to draft; it may be shared by all texts."""

    def budget(self, context: Context) -> Budget:
        """The size of the next draft. No nodes: none."""

    def observe(self, context: Context, seen: Round) -> None:
        """Learn from a round."""


@runtime_checkable
class StoppingPolicy(LengthPolicy, Protocol):
    """A length policy that is asked while the draft is being made, too."""

    def keep_going(self, tree: DraftTree, node: int) -> bool:
        """Whether children of `node` shall be drafted; asked before any of them is drawn.

        It may use the path to `node`, never what its children would be: to leave out a drawn child
        for what it is would change the distribution of the text (EAGLE-2's ranking does, with drawn
        ones).
        """
