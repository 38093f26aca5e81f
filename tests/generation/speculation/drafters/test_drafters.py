"""Tests that model-free drafters change nothing but the number of forward passes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.automata.interface import DEAD
from structgen.generation.generator import Generator
from structgen.generation.loop import decode as decode_plainly
from structgen.generation.speculation.drafters.copy import CopyDrafter
from structgen.generation.speculation.drafters.forced import ForcedDrafter
from structgen.generation.speculation.drafters.guessing import GuessDrafter
from structgen.generation.speculation.drafters.hybrid import HybridDrafter
from structgen.generation.speculation.drafters.jacobi import JacobiDrafter, LookaheadDrafter
from structgen.generation.speculation.drafters.mixture import MixtureDrafter
from structgen.generation.speculation.drafters.ngrams import (
    RecyclingDrafter,
    StandDrafter,
    TrigramDrafter,
)
from structgen.generation.speculation.drafters.retrieval import RetrievalDrafter
from structgen.generation.speculation.drafters.suffix import SuffixDrafter
from structgen.generation.speculation.drafters.suffix_index import SuffixIndex
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.loop import decode
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.table_target import TableTarget
from structgen.generation.speculation.tree import Context, DraftTree
from tests.generation.speculation.toys import (
    SPEC,
    make_context,
    make_row,
    toy_constraint,
    toy_model,
)

DRAFTERS: dict[str, Callable[[], Any]] = {
    "forced": ForcedDrafter,
    "suffix": SuffixDrafter,
    "suffix, tree": lambda: SuffixDrafter(SuffixIndex(), mode="tree", classes=()),
    "suffix, path": lambda: SuffixDrafter(SuffixIndex(), mode="path", across=False),
    "copy": CopyDrafter,
    "copy, tokens": lambda: CopyDrafter("tokens"),
    "recycling": RecyclingDrafter,
    "recycling, by token": lambda: RecyclingDrafter(classes=None),
    "trigram": TrigramDrafter,
    "stand": StandDrafter,
    "lookahead": LookaheadDrafter,
    "jacobi": JacobiDrafter,
    "best": lambda: HybridDrafter([SuffixDrafter(), CopyDrafter()], "best", ForcedDrafter()),
    "merge": lambda: HybridDrafter(
        [SuffixDrafter(), StandDrafter(), JacobiDrafter()], forced=ForcedDrafter()
    ),
    "mixture": lambda: MixtureDrafter(
        [ForcedDrafter(), CopyDrafter(), SuffixDrafter(SuffixIndex()), RecyclingDrafter()]
    ),
    "retrieval": lambda: RetrievalDrafter(SuffixDrafter(), StandDrafter()),
}

CONSTRAINT, MODEL = toy_constraint(), toy_model()

every = pytest.mark.parametrize("name", DRAFTERS)


@dataclass
class Watched:
    """A drafter whose every draft is checked and kept."""

    inner: Any
    drafts: list[tuple[Context, DraftTree]] = field(default_factory=list)

    @property
    def hidden(self) -> tuple[int, ...]:
        """The inner drafter's."""
        layers: tuple[int, ...] = self.inner.hidden
        return layers

    def begin(self, context: Context) -> WatchedSession:
        """Watch a text."""
        return WatchedSession(self.inner.begin(context), self.drafts)


@dataclass
class WatchedSession:
    """A session whose every draft is checked and kept."""

    inner: Any
    drafts: list[tuple[Context, DraftTree]]

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """The draft; it must be within the budget, and legal all through."""
        tree: DraftTree = self.inner.propose(context, budget)
        check(tree, context, budget)
        self.drafts.append((replace(context, tokens=list(context.tokens)), tree))
        return tree

    def observe(self, context: Context, seen: Round) -> None:
        """Pass it on."""
        self.inner.observe(context, seen)

    def end(self, context: Context) -> None:
        """Pass it on."""
        self.inner.end(context)


def check(tree: DraftTree, context: Context, budget: Budget) -> None:
    """What must be so for every draft."""
    assert len(tree) - 1 <= budget.nodes
    assert max(tree.depths) <= budget.depth
    assert tree.tokens[0] == context.tokens[-1]
    for node in range(1, len(tree)):
        parent, token = tree.parents[node], tree.tokens[node]
        assert parent < node
        assert tree.states[node] == context.constraint.advance(tree.states[parent], token)
        assert tree.states[node] != DEAD
        assert tree.depths[node] < context.remaining
        assert 0.0 < tree.estimates[node] <= tree.estimates[parent] + 1e-12
    for node, children in enumerate(tree.children):
        drawn = tree.draws[node].tokens if node in tree.draws else ()
        if context.chain:
            assert len(children) <= 1
        assert len(set(children) - set(drawn)) <= budget.width


def texts(rows: list[Any]) -> list[tuple[Any, ...]]:
    """What became of each row."""
    return [(row.text, tuple(row.tokens), row.finish) for row in rows]


@every
@settings(max_examples=10, deadline=None)
@given(
    nodes=st.integers(0, 12),
    depth=st.integers(1, 6),
    width=st.integers(1, 4),
    least=st.sampled_from([0.0, 0.2]),
    seed=st.integers(0, 1000),
    greedy=st.booleans(),
    chain=st.booleans(),
)
def test_the_same_is_written_within_any_budget(
    name: str,
    nodes: int,
    depth: int,
    width: int,
    least: float,
    seed: int,
    greedy: bool,
    chain: bool,
) -> None:
    """Token for token; drafts are legal and small enough, also where they are chains."""
    constraint, target = CONSTRAINT, TableTarget(MODEL)
    sampler: dict[str, Any] = {"temperature": 0.0 if greedy else 0.8}
    plain = [make_row(constraint, seed, i, **sampler) for i in range(6)]
    list(decode_plainly(target, plain))
    target.takes_trees = not chain
    fast = [make_row(constraint, seed, i, **sampler) for i in range(6)]
    policy = Fixed(Budget(nodes, depth, width, least))
    list(decode(target, fast, Speculation(Watched(DRAFTERS[name]()), policy=policy)))
    assert texts(fast) == texts(plain)


PROMPTS = ["true", '{"k": "ab"} {"k": "abab"}', "k ab ab ab"]
OPTIONS: list[Any] = [{"temperature": 0.0}, {"seed": 1, "top_p": 0.8}]


@pytest.fixture(scope="module")
def plainly(double: Generator) -> list[Any]:
    """What it writes without drafts."""
    return [double.batch(PROMPTS, SPEC, max_tokens=24, **options) for options in OPTIONS]


@every
def test_a_transformers_model_writes_the_same(
    double: Generator, plainly: list[Any], name: str
) -> None:
    """Token for token, text after text with one drafter, in a batch, closed in time."""
    watched = Watched(DRAFTERS[name]())
    speculate = Speculation(watched, policy=Fixed(Budget(nodes=9, depth=5)))
    for options, plain in zip(OPTIONS, plainly, strict=True):
        fast = double.batch(PROMPTS, SPEC, max_tokens=24, speculate=speculate, **options)
        assert [r.tokens for r in fast] == [r.tokens for r in plain]
        assert [r.text for r in fast] == [r.text for r in plain]
    assert any(len(tree) > 1 for _, tree in watched.drafts)


@pytest.mark.parametrize(
    "drafter",
    [CopyDrafter(), CopyDrafter("tokens"), LookaheadDrafter(), SuffixDrafter(across=False)],
    ids=["copy", "copy, tokens", "lookahead", "suffix"],
)
def test_nothing_of_one_text_is_drafted_in_another(drafter: Any) -> None:
    """Two texts are written side by side, then a third; each sees its own letters only."""
    vocabulary = sg.Vocabulary([b"<end>", *(bytes([c]) for c in b"abcdefgh")], eos_ids=[0])
    constraint = sg.compile(sg.Regex("[a-h]{1,30}"), vocabulary)
    own = [(1, 2, 1, 2), (3, 4, 3, 4), (5, 6, 5, 6)]  # ab, cd, ef

    class Alternating:
        """Goes on with the letters of the prompt."""

        def __init__(self, prompt: tuple[int, ...]) -> None:
            self.prompt = prompt

        def row(self, tokens: list[int]) -> Any:
            """Logits float64[V]: the letter that is not the last one."""
            logits = np.full(9, -50.0)
            logits[self.prompt[0] if tokens[-1] == self.prompt[1] else self.prompt[1]] = 0.0
            return logits

    def context_of(prompt: tuple[int, ...]) -> Context:
        return make_context(constraint, prompt)

    def turn(session: Any, context: Context, model: Alternating) -> None:
        tree = session.propose(context, Budget(nodes=8, depth=4))
        assert set(tree.tokens) <= set(model.prompt), tree.tokens
        logits = np.stack([model.row([*context.tokens, *tree.path(n)]) for n in range(len(tree))])
        token = int(logits[0].argmax())
        context.tokens.append(token)
        context.state = constraint.advance(context.state, token)
        session.observe(context, Round(tree, (), (token,), logits, None, 0.0, 0.0))

    first, second, third = (context_of(prompt) for prompt in own)
    models = [Alternating(prompt) for prompt in own]
    sessions = [drafter.begin(first), drafter.begin(second)]
    for _ in range(5):
        turn(sessions[0], first, models[0])
        turn(sessions[1], second, models[1])
    sessions[0].end(first)
    last = drafter.begin(third)
    for _ in range(5):
        turn(sessions[1], second, models[1])
        turn(last, third, models[2])
    sessions[1].end(second)
    last.end(third)


def test_a_mixture_follows_paths_that_no_part_knows() -> None:
    """A value copied from the prompt, then what the grammar forces, then a value again."""
    vocabulary = sg.Vocabulary([b"<end>", *(bytes([c]) for c in b"abcdxyz-=;")], eos_ids=[0])
    constraint = sg.compile(sg.Regex("[a-d]{3}-=;[a-d]{3}"), vocabulary)
    prompt = [1, 2, 3]  # abc
    context = make_context(constraint, [*prompt, 10])
    context.tokens += [1, 2]  # ab, of which c, then -=; comes next
    for token in (1, 2):
        context.state = constraint.advance(context.state, token)
    mixture = MixtureDrafter([ForcedDrafter(few=1), CopyDrafter()])
    session = mixture.begin(context)
    tree = session.propose(context, Budget(nodes=4))
    path = tree.path(tree.leaves()[0])
    assert vocabulary.decode_bytes(path) == b"c-=;"
    assert session.credits(path) == ["copy", "forced", "forced", "forced"]
    assert session.credits(path[:2]) == ["copy", "forced"]
    for part in mixture.drafters:
        alone = part.begin(context).propose(context, Budget(nodes=4))
        assert len(alone) < len(tree)


def test_a_hybrid_tells_who_drafted_what() -> None:
    """Whoever has the token in a tree of its own; what was added to these is forced."""
    vocabulary = sg.Vocabulary([b"<end>", *(bytes([c]) for c in b"abcd-=;")], eos_ids=[0])
    constraint = sg.compile(sg.Regex("[a-d]{3}-=;[a-d]{3}"), vocabulary)
    context = make_context(constraint, [1, 2, 3, 7])
    context.tokens += [1, 2]
    for token in (1, 2):
        context.state = constraint.advance(context.state, token)
    hybrid = HybridDrafter([TrigramDrafter(), CopyDrafter("tokens")], forced=ForcedDrafter(few=1))
    session = hybrid.begin(context)
    tree = session.propose(context, Budget(nodes=4))
    path = tree.path(tree.leaves()[0])
    assert vocabulary.decode_bytes(path) == b"c-=;"
    assert session.credits(path) == ["copy", "forced", "forced", "forced"]


def test_states_of_a_class_go_on_alike() -> None:
    """By the state's class, what stood behind another value is drafted."""
    vocabulary = sg.Vocabulary([b"<end>", *(bytes([c]) for c in b"abcdefg-=;")], eos_ids=[0])
    constraint = sg.compile(sg.Regex("([a-g]{2}(-|=)){9}"), vocabulary)
    dash = 8
    text = [1, 2, dash, 3, 4, dash, 5, 6]  # ab-cd-ef
    for classes, wanted in (("core", "mask"), True), ((), False):
        context = make_context(constraint, (10,))
        session = SuffixDrafter(classes=classes).begin(context)
        context.tokens += text
        for token in text:
            context.state = constraint.advance(context.state, token)
        tree = session.propose(context, Budget(nodes=1))
        assert (dash in tree.tokens) == wanted


def test_each_part_of_a_hybrid_sees_its_own_hidden_states() -> None:
    """Of the layers that all ask for together."""

    @dataclass
    class Listening:
        """Keeps what it was shown."""

        hidden: tuple[int, ...]
        shown: list[Any] = field(default_factory=list)

        def begin(self, context: Context) -> Listening:
            """It is its own session."""
            return self

        def propose(self, context: Context, budget: Budget) -> DraftTree:
            """Nothing."""
            return DraftTree(context)

        def observe(self, context: Context, seen: Round) -> None:
            """Keep it."""
            self.shown.append(seen.hidden)

        def end(self, context: Context) -> None:
            """Nothing."""

    parts = [Listening((0, 7)), Listening(()), Listening((-1,))]
    hybrid = HybridDrafter(parts)
    assert hybrid.hidden == (-1, 0, 7)
    context = make_context(CONSTRAINT)
    session = hybrid.begin(context)
    states = np.arange(3 * 2.0).reshape(1, 3, 2)
    tree = session.propose(context, Budget(nodes=3))
    session.observe(context, Round(tree, (), (), np.zeros((1, 6)), states, 0.0, 0.0))
    assert [part.shown[0].tolist() for part in parts] == [
        states[:, [1, 2]].tolist(),
        states[:, []].tolist(),
        states[:, [0]].tolist(),
    ]


@pytest.mark.parametrize("name", ["mixture", "merge", "trigram", "copy, tokens"])
def test_threads_share_a_drafter(name: str) -> None:
    """Each writes what it writes alone."""
    drafter = Watched(DRAFTERS[name]())

    def work(number: int) -> None:
        for turn in range(6):
            rows = [make_row(CONSTRAINT, 100 * number + turn, i) for i in range(3)]
            plain = [make_row(CONSTRAINT, 100 * number + turn, i) for i in range(3)]
            list(decode(TableTarget(toy_model()), rows, Speculation(drafter)))
            list(decode_plainly(TableTarget(toy_model()), plain))
            assert texts(rows) == texts(plain)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_what_is_learned_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are full begin anew, and texts go on."""
    most = 6
    for table in ("ROWS", "PAIRS", "GRAMS"):
        monkeypatch.setattr(f"structgen.generation.speculation.drafters.ngrams._MOST_{table}", most)
    monkeypatch.setattr("structgen.generation.speculation.drafters.jacobi._MOST_TOKENS", 2)
    monkeypatch.setattr("structgen.generation.speculation.drafters.suffix._SHARED", 40)
    monkeypatch.setattr("structgen.generation.speculation.drafters.forced._REMEMBERED", 3)
    monkeypatch.setattr("structgen.generation.speculation.drafters.state_classes._REMEMBERED", 3)
    recycling, trigram, stand = RecyclingDrafter(), TrigramDrafter(), StandDrafter()
    suffix = SuffixDrafter(SuffixIndex(max_tokens=50))
    for drafter in (recycling, trigram, stand, suffix, LookaheadDrafter(), ForcedDrafter()):
        rows = [make_row(CONSTRAINT, 5, i) for i in range(20)]
        plain = [make_row(CONSTRAINT, 5, i) for i in range(20)]
        for row in rows:
            list(decode(TableTarget(MODEL), [row], Speculation(Watched(drafter))))
        list(decode_plainly(TableTarget(MODEL), plain))
        assert texts(rows) == texts(plain)
    assert suffix.index is not None
    assert suffix.index.size <= 50
    assert len(suffix.shared) <= 40
    per_node = 2 * stand.order  # rows that one node may add before it is looked at again
    assert len(recycling.matrix) <= most + 2 * 17
    assert len(trigram.table) <= most
    assert len(stand.table) <= most + per_node


def test_a_mixture_learns_whom_to_trust() -> None:
    """One that is always sure of the wrong token comes second before long."""

    class Sure(GuessDrafter):
        """Guesses the same token everywhere."""

        def __init__(self, token: int, claimed: float) -> None:
            self.name = f"sure of {token}"
            self.token, self.claimed = token, claimed

        def guesser(self, context: Context) -> Any:
            """Keeps nothing of a text."""
            return self

        def start(self, context: Context) -> bool:
            """One place is like another."""
            return True

        def guesses(self, place: bool, state: int) -> list[tuple[int, float]]:
            """The token."""
            return [(self.token, self.claimed)]

        def follow(self, place: bool, token: int) -> bool:
            """One place is like another."""
            return True

        def observe(self, context: Context, seen: Round) -> None:
            """Nothing."""

        def end(self, context: Context) -> None:
            """Nothing."""

    vocabulary = sg.Vocabulary([b"<end>", b"a", b"b"], eos_ids=[0])
    constraint = sg.compile(sg.Regex("[ab]{1,90}"), vocabulary)
    drafter = MixtureDrafter([Sure(1, 0.8), Sure(2, 0.3)])
    firsts = []
    for _ in range(12):
        context = make_context(constraint, (1,))
        session = drafter.begin(context)
        tree = session.propose(context, Budget(nodes=1))
        firsts.append(tree.tokens[1])
        context.tokens.append(2)
        session.observe(context, Round(tree, (), (2,), np.zeros((2, 3)), None, 0.0, 0.0))
    assert firsts[0] == 1
    assert firsts[-1] == 2
