"""Tests that each tree builder grows the tree that it describes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from structgen.automata.interface import DEAD
from structgen.constraint.constraint import FINAL
from structgen.errors import GenerationError
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.masked import masked_law
from structgen.generation.speculation.tree import Context, DraftTree, Draws, Scheme
from structgen.generation.speculation.trees import (
    BestFirst,
    Cape,
    Distribution,
    Distributions,
    Dynamic,
    Lattice,
    Pick,
    Planner,
    RankRates,
    Sequoia,
    Shape,
    Static,
    StochasticBeam,
    TreeBuilder,
    merge,
)
from tests.generation.speculation.toys import make_context, toy_constraint, toy_model

MODEL = toy_model(5)
KNOWN: dict[tuple[int, ...], Distribution] = {}  # by path: all texts start alike


def context_of(**changes: object) -> Context:
    """A context at the start of a toy text."""
    context = make_context(toy_constraint())
    for name, value in changes.items():
        setattr(context, name, value)
    return context


def distribution_at(tree: DraftTree, node: int) -> Distribution:
    """The toy model's distribution behind a node."""
    path = tuple(tree.path(node))
    if path not in KNOWN:
        KNOWN[path] = masked_law(tree.context, tree.states[node], MODEL.log_probs([path])[0])
    return KNOWN[path]


def always(distribution: Distribution) -> Distributions:
    """The same distribution everywhere."""
    return lambda tree, nodes: [distribution] * len(nodes)


class Asked:
    """Laws of the toy model; remembers what was asked, and checks that it was asked properly."""

    def __init__(self) -> None:
        self.levels: list[list[int]] = []

    def __call__(self, tree: DraftTree, nodes: Sequence[int]) -> list[Distribution]:
        """See `Distributions`."""
        seen = {node for level in self.levels for node in level}
        assert seen.isdisjoint(nodes)
        assert all(tree.parents[node] in seen for node in nodes if node)
        self.levels.append(list(nodes))
        return [distribution_at(tree, node) for node in nodes]


def continuations(context: Context, depth: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every token sequence that may follow and goes on, with its masked probability."""
    level: list[tuple[tuple[int, ...], int, float]] = [((), context.state, 1.0)]
    for _ in range(depth):
        following = []
        for path, state, mass in level:
            distribution = masked_law(context, state, MODEL.log_probs([path])[0])
            for token, share in zip(*distribution, strict=True):
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


PICKS: list[Pick] = ["top", "iid", "wor", "greedy"]
BUILDERS: list[TreeBuilder] = [
    BestFirst(),
    Cape(),
    Dynamic(),
    StochasticBeam(),
    Sequoia(3),
    *(Static(pick) for pick in PICKS),
]
NAMES = [f"{type(b).__name__}-{getattr(b, 'pick', '')}" for b in BUILDERS]


@pytest.mark.parametrize("builder", BUILDERS, ids=NAMES)
@pytest.mark.parametrize("chain", [False, True])
@pytest.mark.parametrize("remaining", [1, pytest.param(3, marks=pytest.mark.thorough), 20])
def test_trees_keep_to_budget_and_grammar(
    builder: TreeBuilder, chain: bool, remaining: int
) -> None:
    """Nothing is refused or useless; drawn children are there, with their distribution."""
    for seed, nodes, depth, width in itertools.product(range(3), (0, 1, 5, 9), (0, 1, 3), (1, 3)):
        rng = np.random.default_rng(seed)
        context = context_of(chain=chain, remaining=remaining, rng=rng)
        budget = Budget(nodes, depth, 1 if chain else width, least=0.01 * seed)
        tree = builder.grow(context, budget, Asked())
        assert len(tree) <= nodes + 1
        assert max(tree.depths) <= min(depth, remaining - 1)
        assert max(map(len, tree.children)) <= budget.width
        assert min(tree.states) >= 0
        for node in range(1, len(tree)):
            before = tree.states[tree.parents[node]]
            assert tree.states[node] == context.constraint.advance(before, tree.tokens[node])
        for node, draws in tree.draws.items():
            assert set(draws.tokens) <= set(tree.children[node])
            assert draws.law.sum() == pytest.approx(1.0)
            assert set(draws.tokens) <= set(draws.ids.tolist())
            assert draws.scheme is Scheme.IID or len(set(draws.tokens)) == len(draws.tokens)
        if nodes and depth and remaining > 1:
            assert len(tree) > 1


@pytest.mark.parametrize("pick", PICKS)
def test_static_trees_have_the_shape_asked_for(pick: Pick) -> None:
    """Where tokens last and draws differ; best guesses come first."""
    shape = Shape((0, 0, 1, 1, 2, 3))
    for seed in range(20):
        context = context_of(rng=np.random.default_rng(seed))
        tree = Static(pick, shape).grow(context, Budget(9, depth=9), Asked())
        [distribution] = Asked()(tree, [0])
        useful = sorted(zip(distribution[1], distribution[0], strict=True), reverse=True)
        order = [int(token) for _, token in useful if token != 0]
        if pick in {"top", "greedy"}:
            assert next(iter(tree.children[0])) == order[0]
        if pick == "top":
            assert list(tree.children[0]) == order[:2]
        if pick != "iid":
            assert len(tree.children[0]) == 2
            assert max(tree.depths) <= 3
        assert all(len(mine) <= 2 for mine in tree.children)


def test_uniform_shapes_fill_level_by_level() -> None:
    """Every node gets `width` children while there is room, within the depth."""
    assert Shape.uniform(5, 3, 2).parents == (0, 0, 1, 1, 2)
    assert Shape.uniform(9, 2, 2).parents == (0, 0, 1, 1, 2, 2)
    assert Shape.uniform(0, 3, 2).parents == ()
    assert Shape((0, 0, 0, 1, 4, 5)).within(Budget(4, depth=2, width=2)).parents == (0, 0, 1)


def test_dynamic_trees_draw_where_prospects_are_best() -> None:
    """No draw that was made had less of a prospect than one that was not."""
    for seed in range(30):
        context = context_of(rng=np.random.default_rng(seed))
        tree = Dynamic().grow(context, Budget(6, depth=9, width=9), Asked())
        assert len(tree) == 7
        made, others = [], []
        for node in range(len(tree)):
            ids, distribution = distribution_at(tree, node)
            left = dict(zip(ids.tolist(), tree.estimates[node] * distribution, strict=True))
            left.pop(0, None)  # the end token is never drafted
            for token in tree.draws[node].tokens if node in tree.draws else ():
                made.append(sum(left.values()))
                assert left.pop(token) == pytest.approx(tree.estimates[tree.child(node, token)])
            others.append(sum(left.values()))
        # The first draw of all, and of a node, is made on its estimate, end token included.
        assert min(made) >= max(others) * (1 - 1e-9)


def test_stochastic_beams_draw_sequences_without_replacement() -> None:
    """The order of two leaves is distributed as two draws of sequences."""
    context = context_of(remaining=4)
    distributions = dict(continuations(context, 2))
    whole = {path: mass for path, mass in distributions.items() if len(path) == 2}
    total = sum(whole.values())
    found: Counter[tuple[tuple[int, ...], ...]] = Counter()
    runs = 2000
    for seed in range(runs):
        context.rng = np.random.default_rng(seed)
        tree = StochasticBeam(beam=1).grow(context, Budget(2, depth=2), Asked())
        found[tuple(map(tuple, map(tree.path, tree.leaves())))] += 1
    for path, mass in whole.items():
        expected = mass / total * runs
        assert abs(found[(path,)] - expected) < 5 * math.sqrt(expected) + 3
    pairs: Counter[frozenset[tuple[int, ...]]] = Counter()
    for seed in range(runs):
        context.rng = np.random.default_rng(seed)
        tree = StochasticBeam(beam=2).grow(context, Budget(4, depth=2), Asked())
        pairs[frozenset(tuple(tree.path(n)) for n in range(len(tree)) if tree.depths[n] == 2)] += 1
    for (a, p), (b, q) in itertools.combinations(whole.items(), 2):
        p, q = p / total, q / total
        expected = (p * q / (1 - p) + q * p / (1 - q)) * runs
        assert abs(pairs[frozenset([a, b])] - expected) < 5 * math.sqrt(expected) + 3


def shapes(nodes: int) -> list[tuple[int, ...]]:
    """All trees with up to so many nodes, numbered level by level."""
    found: list[tuple[int, ...]] = [()]
    for n in range(1, nodes + 1):
        grown = itertools.product(*(range(i + 1) for i in range(n)))
        found += [parents for parents in grown if list(parents) == sorted(parents)]
    return found


def make_round(tree: DraftTree, path: tuple[int, ...], written: tuple[int, ...]) -> Round:
    """What a drafter is told of a draft."""
    return Round(tree, path, written, np.zeros((len(tree), 1)), None, 0.0, 0.0)


def worth(parents: tuple[int, ...], rates: Sequence[float], depth: int) -> float:
    """Tokens expected to be kept; nothing of a shape that is not possible."""
    values, depths, counts = [1.0], [0], Counter[int]()
    for parent in parents:
        rank = counts[parent]
        counts[parent] += 1
        if rank >= len(rates) or depths[parent] == depth:
            return 0.0
        values.append(values[parent] * rates[rank])
        depths.append(depths[parent] + 1)
    return sum(values) - 1.0


@pytest.mark.parametrize("rates", [[0.7, 0.2, 0.1], [0.3, 0.6], [0.1, 0.8, 0.5], [0.9], [0.0, 0.0]])
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_the_planner_finds_the_best_shape(rates: list[float], depth: int) -> None:
    """Of all that there are; also where later children are kept more often than earlier ones."""
    planner = Planner(rates, 6, depth)
    for nodes in range(7):
        plan = planner.best(nodes)
        assert plan.expected == pytest.approx(worth(plan.shape.parents, rates, depth))
        assert plan.expected == pytest.approx(max(worth(s, rates, depth) for s in shapes(nodes)))
        assert len(plan.shape.parents) <= nodes


def test_the_planner_takes_the_size_that_pays() -> None:
    """Free passes make trees large, costly ones small."""
    planner = Planner([0.8, 0.1], 12, 12)
    assert len(planner.best_size(lambda kept, nodes: kept).shape.parents) == 12
    assert planner.best_size(lambda kept, nodes: (kept + 1) / (1 + nodes)).shape.parents == ()
    assert planner.best_size(lambda kept, nodes: -nodes, least=1).shape.parents == (0,)
    few = planner.best_size(lambda kept, nodes: (kept + 1) / (1 + 0.2 * nodes))
    assert 0 < len(few.shape.parents) < 8


def test_rates_are_counted_by_rank() -> None:
    """Of the nodes on the path, and of none below."""
    tree = DraftTree(context_of())
    a, b = tree.add(0, 2), tree.add(0, 1)
    tree.add(b, 2)
    seen = make_round(tree, (b,), (1, 3))
    ranks = RankRates(2, prior=0.5, trust=1.0)
    assert ranks.rates == [0.5, 0.25]
    ranks.observe(seen)
    assert ranks.rates == pytest.approx([(0 + 0.5) / (2 + 1), (1 + 0.25) / (1 + 1)])
    assert a != b


def test_sequoia_plans_by_what_it_saw() -> None:
    """Second children that are kept make the tree wide, first ones make it long."""
    for kept, wide in ((1, True), (0, False)):
        builder = Sequoia(2, every=50)
        tree = DraftTree(context_of())
        nodes = [tree.add(0, 2), tree.add(0, 1)]
        for _ in range(50):
            builder.observe(make_round(tree, (nodes[kept],), (tree.tokens[nodes[kept]],)))
        grown = builder.grow(context_of(), Budget(4, depth=4), Asked())
        assert (len(grown.children[0]) > 1) == wide


def test_cape_adds_candidates_where_it_is_unsure() -> None:
    """As many as its table says, the chain coming first."""
    counts = {0.9: 1, 0.7: 3, 0.5: 5, 0.26: 5}
    ids = np.arange(1, 6)
    for top, count in counts.items():
        distribution = (ids, np.array([top, *[(1 - top) / 4] * 4]))
        tree = Cape().grow(context_of(), Budget(20, depth=1, width=9), always(distribution))
        advance = tree.context.constraint.advance
        assert len(tree) - 1 == sum(advance(tree.states[0], t) >= 0 for t in range(1, count + 1))
    tree = Cape().grow(context_of(), Budget(3, depth=3, width=9), Asked())
    assert tree.depths == [0, 1, 2, 3]


def test_merged_trees_have_the_paths_of_both() -> None:
    """What was drawn in the first stays drawn; the second's tokens are points beside it."""
    one = Static("wor").grow(context_of(), Budget(4, depth=2, width=2), Asked())
    two = Static("iid").grow(context_of(), Budget(9, depth=3, width=3), Asked())
    merged = merge([one, two], Budget(100, depth=9, width=9))
    assert set(paths(merged)) == set(paths(one)) | set(paths(two))
    assert merged.draws[0] is one.draws[0]


@pytest.mark.parametrize("together", [False, True])
def test_a_lattice_gives_the_best_path_that_fits(together: bool) -> None:
    """Of all paths, by trying them; nothing in the tree is refused by the grammar."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        table = np.log(rng.dirichlet(np.ones(6), 6))
        lattice = [(np.arange(6), rng.dirichlet(np.full(6, 0.6))) for _ in range(3)]
        bond = (lambda last, ids, table=table: table[last, ids]) if together else None
        context = context_of()
        best: tuple[float, tuple[int, ...]] = (-math.inf, ())
        for path in itertools.product(range(1, 6), repeat=3):
            state, score = context.state, 0.0
            for i, token in enumerate(path):
                state = context.constraint.advance(state, token) if state >= 0 else state
                score += math.log(lattice[i][1][token])
                score += table[path[i - 1], token] if together and i else 0.0
            if state >= 0:
                best = max(best, (score, path))
        tree = Lattice(bond).grow(context, Budget(60, depth=9, width=6), lattice)
        deepest = next(n for n in range(len(tree)) if tree.depths[n] == 3)
        assert tuple(tree.path(deepest)) == best[1]
        assert min(tree.states) >= 0
        assert len(Lattice(bond).grow(context, Budget(2), lattice)) <= 3
