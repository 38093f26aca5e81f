"""In: laws from a table. Out: proof that each tree builder grows the tree that it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from structgen.automaton.automaton import DEAD
from structgen.constraint import FINAL
from structgen.errors import GenerationError
from structgen.speculate.interfaces import Budget, Context, Draws, Scheme
from structgen.speculate.laws import masked_law
from structgen.speculate.tree import DraftTree
from structgen.speculate.trees import BestFirst, Law
from tests.speculate.toys import make_context, toy_constraint, toy_model

MODEL = toy_model(5)


def context_of(**changes: object) -> Context:
    """A context at the start of a toy text."""
    context = make_context(toy_constraint())
    for name, value in changes.items():
        setattr(context, name, value)
    return context


class Asked:
    """Laws of the toy model; remembers what was asked, and checks that it was asked properly."""

    def __init__(self) -> None:
        self.levels: list[list[int]] = []

    def __call__(self, tree: DraftTree, nodes: Sequence[int]) -> list[Law]:
        """See `Laws`."""
        seen = {node for level in self.levels for node in level}
        assert seen.isdisjoint(nodes)
        assert all(tree.parents[node] in seen for node in nodes if node)
        self.levels.append(list(nodes))
        rows = MODEL.log_probs([tuple(tree.path(node)) for node in nodes])
        context = tree.context
        return [masked_law(context, tree.states[n], r) for n, r in zip(nodes, rows, strict=True)]


def continuations(context: Context, depth: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every token sequence that may follow and goes on, with its masked probability."""
    level: list[tuple[tuple[int, ...], int, float]] = [((), context.state, 1.0)]
    for _ in range(depth):
        following = []
        for path, state, mass in level:
            law = masked_law(context, state, MODEL.log_probs([path])[0])
            for token, share in zip(*law, strict=True):
                after = context.constraint.advance(state, int(token))
                if after not in {DEAD, FINAL}:
                    following.append(((*path, int(token)), after, mass * float(share)))
        yield from ((path, mass) for path, _, mass in following)
        level = following


def paths(tree: DraftTree) -> dict[tuple[int, ...], float]:
    """The paths of a tree, and their estimates."""
    return {tuple(tree.path(n)): tree.estimates[n] for n in range(1, len(tree))}


@pytest.mark.parametrize("count", [1, 2, 5, 12, 200])
def test_best_first_keeps_the_most_probable_continuations(count: int) -> None:
    """Those that are found by trying all of them."""
    context = context_of()
    tree = BestFirst().grow(context, Budget(count, depth=4, width=9), Asked())
    everything = sorted(continuations(context, 4), key=lambda entry: -entry[1])
    assert paths(tree) == pytest.approx(dict(everything[:count]))
    assert tree.draws == {}


@pytest.mark.parametrize("beam", [None, 1, 2])
def test_best_first_asks_once_for_each_level(beam: int | None) -> None:
    """A drafter reads a level in one pass; a beam bounds how many nodes that are."""
    asked = Asked()
    tree = BestFirst(beam).grow(context_of(), Budget(10, depth=4, width=2), asked)
    assert len(asked.levels) <= 4
    assert all(len(level) <= (beam or 10) for level in asked.levels)
    assert max(map(len, tree.children)) <= 2
    assert max(tree.depths) == 4


def test_what_is_too_improbable_is_left_out() -> None:
    """`least` bounds every estimate."""
    context = context_of()
    tree = BestFirst().grow(context, Budget(100, depth=3, width=9, least=0.05), Asked())
    everything = {path: mass for path, mass in continuations(context, 3) if mass >= 0.05}
    assert paths(tree) == pytest.approx(everything)


@pytest.mark.parametrize(
    ("changes", "budget", "size"),
    [
        ({"chain": True}, Budget(6, depth=3, width=1), 4),
        ({"remaining": 2}, Budget(6, depth=3), None),
        ({"remaining": 1}, Budget(6), 1),
        ({}, Budget(0), 1),
        ({}, Budget(6, depth=0), 1),
        ({"state": DEAD}, Budget(6), 1),
    ],
)
def test_the_edges_of_a_budget(changes: dict[str, object], budget: Budget, size: int) -> None:
    """Chains, the end of the text, nothing to draft."""
    tree = BestFirst().grow(context_of(**changes), budget, Asked())
    assert size is None or len(tree) == size
    assert max(tree.depths) <= 3
    assert len(tree) <= budget.nodes + 1


def test_a_part_of_a_tree_keeps_what_was_drawn() -> None:
    """Whole draws go along, and a part of them is refused."""
    tree = DraftTree(context_of())
    draws = Draws(Scheme.WOR, np.array([1, 2, 4]), np.array([0.5, 0.3, 0.2]), (2, 1))
    b, a = tree.add_draws(0, draws, [0.3, 0.5])
    below = tree.add(b, 3)
    assert paths(tree.part([a, b])) == pytest.approx({(2,): 0.3, (1,): 0.5})
    assert tree.part([a, b]).draws == {0: draws}
    assert paths(tree.part([a, b, below])) == pytest.approx(paths(tree))
    for some in ([a], [b, below], []):
        with pytest.raises(GenerationError, match="drawn at random"):
            tree.part(some)
