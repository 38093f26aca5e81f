"""Drafters that guess at random, and a table model under a small grammar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import structgen as sg
from structgen.generation.closing import Closer, Speller
from structgen.generation.distribution import Sampler, row_rng
from structgen.generation.row import Request, Row
from structgen.generation.sampling.table import TableModel
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.tree import Context, DraftTree, Draws, Scheme
from structgen.masks import bitmask

LETTERS = [b"<end>", b"a", b"b", b"c", b"ab", b"ca"]
SIZE = len(LETTERS)

#: Objects that the tiny tokenizer of tests/generation/models.py writes in several ways.
SPEC = sg.JsonSchema(
    {
        "type": "object",
        "properties": {"k": {"enum": ["ab", "abab", "true"]}, "n": {"type": "array"}},
        "required": ["k"],
    },
    whitespace="indented",
    escapes="any",
)


def toy_vocabulary() -> sg.Vocabulary:
    """An end token, three letters, and two tokens of two letters."""
    return sg.Vocabulary(LETTERS, eos_ids=[0])


def toy_constraint(pattern: str = "(a|bc?|ca){1,4}") -> sg.Constraint:
    """A regular language over the letters, in which some letters cannot follow others."""
    return sg.compile(sg.Regex(pattern), toy_vocabulary())


def allowed(constraint: Any, state: int) -> list[int]:
    """The tokens that the mask of a state allows."""
    row = bitmask.allocate(1, constraint.vocabulary.size)
    constraint.fill_mask(state, row[0])
    return [int(t) for t in np.flatnonzero(bitmask.unpack(row[0], constraint.vocabulary.size))]


def make_row(constraint: Any, seed: int, sample: int = 0, budget: int = 8, **settings: Any) -> Row:
    """A row for a toy, which ends where the model says so."""
    closer = Closer(constraint, Speller(constraint.vocabulary))
    sampler = Sampler(**settings)
    request = Request((1,), constraint, closer, sampler, budget, stop="eos")
    return Row(request, row_rng(seed, sample))


def toy_model(seed: int = 1) -> TableModel:
    """A distribution of its own after every prefix."""
    return TableModel.random(SIZE, seed, concentration=0.7)


@dataclass
class RandomDrafter:
    """Draws children from its own distribution, by a scheme; or picks them, with scheme None."""

    scheme: Scheme | None
    seed: int = 7
    hidden: tuple[int, ...] = ()

    def begin(self, context: Context) -> RandomDrafter:
        """It keeps nothing of one text."""
        return self

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """Breadth first, up to the budget."""
        tree = DraftTree(context)
        waiting = [0]
        while waiting and len(tree) < budget.nodes:
            node = waiting.pop(0)
            waiting += self._grow(tree, node, context, budget)
        return tree

    def observe(self, context: Context, seen: Round) -> None:
        """Check what the loop tells."""
        assert len(seen.logits) == len(seen.tree)
        assert context.tokens[-len(seen.written) :] == list(seen.written) or not seen.written

    def end(self, context: Context) -> None:
        """There is nothing to end."""

    def _grow(self, tree: DraftTree, node: int, context: Context, budget: Budget) -> Sequence[int]:
        ids = np.array(allowed(context.constraint, tree.states[node]), np.int64)
        if not len(ids) or not tree.may_go_on(node):
            return []
        path = tree.path(node)
        distribution = np.random.default_rng([self.seed, *path]).dirichlet(np.ones(len(ids)))
        width = min(budget.width, len(ids))
        if self.scheme is None:
            picked = context.rng.choice(ids, width, replace=False)
            added = [tree.add(node, int(t)) for t in picked]
            return [n for n in added if n > 0]
        drawn = context.rng.choice(ids, width, replace=self.scheme is Scheme.IID, p=distribution)
        tokens = tuple(int(t) for t in drawn)
        draws = Draws(self.scheme, ids, distribution, tokens)
        return list(dict.fromkeys(tree.add_draws(node, draws, [1.0] * width)))


def make_context(constraint: Any, prompt: Sequence[int] = (1,), remaining: int = 20) -> Context:
    """A context at the start of a text that ends where the model says so."""
    return Context(
        prompt=tuple(prompt),
        tokens=list(prompt),
        state=constraint.start,
        remaining=remaining,
        constraint=constraint,
        sampler=Sampler(),
        rng=np.random.default_rng(0),
        chain=False,
        ends=lambda state: False,
    )
