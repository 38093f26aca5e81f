"""Tests that merged draft trees have what their parts have, the best of it first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.generation.speculation.drafters.retrieval import prune
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.tree import Context, DraftTree, Draws, Scheme
from structgen.generation.speculation.trees.merge import merge
from tests.generation.speculation.toys import allowed, make_context, toy_constraint

CONSTRAINT = toy_constraint("(a|bc?|ca){1,9}")
SEEDS = st.integers(0, 10**6)


def random_tree(context: Context, seed: int, drawn: bool = False) -> DraftTree:
    """Up to ten nodes with estimates that are probabilities; some children drawn."""
    rng = np.random.default_rng(seed)
    tree = DraftTree(context)
    for _ in range(8):
        node = int(rng.integers(len(tree)))
        ids = np.array([t for t in allowed(CONSTRAINT, tree.states[node]) if t], np.int64)
        if not len(ids) or tree.children[node]:
            continue
        distribution = rng.dirichlet(np.ones(len(ids)))
        count = min(2, len(ids))
        if drawn and rng.random() < 0.6:
            tokens = tuple(int(t) for t in rng.choice(ids, count, replace=False, p=distribution))
            shares = [float(distribution[np.searchsorted(ids, t)]) for t in tokens]
            tree.add_draws(node, Draws(Scheme.WOR, ids, distribution, tokens), shares)
        else:
            for at in rng.permutation(len(ids))[:count]:
                tree.add(node, int(ids[at]), float(distribution[at]))
    return tree


def paths(tree: DraftTree) -> dict[tuple[int, ...], float]:
    """Every node's tokens, with its estimate."""
    return {tuple(tree.path(n)): tree.estimates[n] for n in range(1, len(tree))}


@settings(max_examples=100, deadline=None)
@given(seeds=st.lists(SEEDS, min_size=1, max_size=3), drawn=st.booleans())
def test_a_union_has_all_paths(seeds: list[int], drawn: bool) -> None:
    """With room for all, nothing is missing and nothing is new."""
    context = make_context(CONSTRAINT)
    trees = [random_tree(context, seed, drawn) for seed in seeds]
    merged = paths(merge(trees, Budget(nodes=99, depth=99, width=99)))
    assert set(merged) == {path for tree in trees for path in paths(tree)}
    if not drawn:
        for path, estimate in merged.items():
            if len(path) == 1:
                best = max(paths(tree).get(path, 0.0) for tree in trees)
                assert estimate == pytest.approx(best)


@settings(max_examples=100, deadline=None)
@given(seed=SEEDS, nodes=st.integers(0, 8))
def test_of_one_tree_the_most_probable_nodes_are_kept(seed: int, nodes: int) -> None:
    """As many as the budget has; their estimates stay."""
    context = make_context(CONSTRAINT)
    tree = random_tree(context, seed)
    cut = paths(merge([tree], Budget(nodes=nodes, depth=99, width=99)))
    whole = paths(tree)
    best = sorted(whole.values(), reverse=True)[:nodes]
    assert sorted(cut.values(), reverse=True) == pytest.approx(best)


@settings(max_examples=150, deadline=None)
@given(
    seeds=st.lists(SEEDS, min_size=1, max_size=3),
    nodes=st.integers(0, 9),
    depth=st.integers(1, 4),
    width=st.integers(1, 3),
)
def test_draws_stay_together(seeds: list[int], nodes: int, depth: int, width: int) -> None:
    """All drawn children are there, with the distribution they were drawn from; or none are."""
    context = make_context(CONSTRAINT)
    trees = [random_tree(context, seed, drawn=True) for seed in seeds]
    merged = merge(trees, Budget(nodes=nodes, depth=depth, width=width))
    assert len(merged) - 1 <= nodes
    assert max(merged.depths) <= depth
    known = [draws for tree in trees for draws in tree.draws.values()]
    for node, draws in merged.draws.items():
        assert any(draws is one for one in known)
        assert set(draws.tokens) <= set(merged.children[node])
        assert len(set(merged.children[node]) - set(draws.tokens)) <= width


def test_the_distribution_of_a_draft_prunes_what_is_retrieved() -> None:
    """Where the draft leaves nothing for others, others are left out; elsewhere they stay."""
    context = make_context(CONSTRAINT)
    retrieved, drafted = DraftTree(context), DraftTree(context)
    a = retrieved.add(0, 1, 0.5)
    retrieved.add(a, 2, 0.9)
    b = retrieved.add(0, 2, 0.5)
    retrieved.add(b, 1, 0.9)
    twin = drafted.add(0, 1, 0.98)
    kept = paths(prune(retrieved, drafted, 0.05))
    assert set(kept) == {(1,), (1, 2)}
    assert set(paths(prune(retrieved, drafted, 0.01))) == {(1,), (1, 2), (2,), (2, 1)}
    drafted.add(twin, 3, 1.0)
    assert set(paths(prune(retrieved, drafted, 0.05))) == {(1,)}


def test_what_was_drawn_is_not_pruned() -> None:
    """To leave out a draw would change the distribution of the text."""
    context = make_context(CONSTRAINT)
    retrieved, drafted = random_tree(context, 3, drawn=True), DraftTree(context)
    assert retrieved.draws
    drafted.add(0, 1, 1.0)
    assert prune(retrieved, drafted, 0.5) is retrieved
