"""Tests that the automatic drafter drafts where it pays, and not elsewhere.

Times are simulated: whether drafts pay must not depend on the machine that runs the tests.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.demo import model_path
from structgen.errors import GenerationError, ModelError
from structgen.generation.generator import Generator
from structgen.generation.speculation import auto as module
from structgen.generation.speculation.auto import MOST, Account, AutoDrafter, auto
from structgen.generation.speculation.drafters.suffix import SuffixDrafter
from structgen.generation.speculation.drafters.suffix_index import SuffixIndex
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.names import ENTRIES, NAMES, check_speculate
from structgen.generation.speculation.policies.calibration import Calibration
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.speculation import Speculation, Speculations
from structgen.generation.speculation.tree import Context, DraftTree
from tests.generation.speculation.simulation import TOKEN, chain, endless_context, round_of
from tests.generation.speculation.toys import SPEC, toy_vocabulary


class Clock:
    """Stands in for `time` in auto.py."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        """The simulated time."""
        return self.now


@dataclass
class Says:
    """Drafts chains that it takes to be kept with probability `sure`; a draft takes `seconds`."""

    sure: float
    seconds: float
    clock: Clock
    hidden: tuple[int, ...] = ()
    proposals: int = 0

    def begin(self, context: Context) -> Says:
        """It keeps nothing of one text."""
        return self

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """A chain of at most eight."""
        self.proposals += 1
        self.clock.now += self.seconds
        return chain(context, [self.sure] * min(8, budget.nodes, budget.depth))

    def observe(self, context: Context, seen: Round) -> None:
        """Nothing is learned."""

    def end(self, context: Context) -> None:
        """Nothing is learned."""


def speed(
    drafter: Says, share: float, slope: float, monkeypatch: pytest.MonkeyPatch, rounds: int = 400
) -> float:
    """Tokens per time with auto, plain decoding being 1. share: of draft tokens kept in truth."""
    monkeypatch.setattr(module, "time", drafter.clock)
    rng = np.random.default_rng(4)
    context = endless_context()
    session = AutoDrafter(drafter).begin(context)
    session.observe(
        context, Round(DraftTree(context), (), (TOKEN,), np.zeros((1, 6)), None, 0, 0, 1, 0)
    )
    seconds, tokens = 0.0, 0
    for _ in range(rounds):
        start = drafter.clock.now
        tree = session.propose(context, MOST)
        right = int(rng.geometric(1 - share)) - 1 if share < 1 else 99
        cost = 1.0 + slope * (len(tree) - 1)
        seen = round_of(tree, right, cost)
        drafted = drafter.clock.now - start
        session.observe(context, seen)
        tokens += len(seen.written)
        seconds += cost + drafted
    return tokens / seconds


@pytest.mark.parametrize("slope", [0.03, 0.5])
@pytest.mark.parametrize("seconds", [0.001, 0.15])
def test_useless_drafts_cost_little(
    slope: float, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a drafter that is sure and always wrong, learning included; 0.95 is promised."""
    drafter = Says(0.9, seconds, Clock())
    assert speed(drafter, 0.0, slope, monkeypatch) > 0.98
    if seconds > 0.1:
        assert drafter.proposals < 60


@pytest.mark.parametrize("sure", [0.2, 0.95])
def test_good_drafts_are_used_whatever_the_drafter_says(
    sure: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 0.9 each, eight at 0.03: (1 - 0.9^9) / 0.1 / 1.24 = 4.9 times as fast."""
    assert speed(Says(sure, 0.01, Clock()), 0.9, 0.03, monkeypatch) > 4.0


def test_drafts_that_cost_more_than_they_bring_are_not_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half are kept, but a draft takes as long as a pass."""
    assert speed(Says(0.5, 1.0, Clock()), 0.5, 0.03, monkeypatch, 1000) > 0.95


def test_calibration_learns_shares_by_confidence() -> None:
    """Kinds do not mix; a faded copy believes the same, less firmly."""
    calibration = Calibration()
    assert calibration.kept(0.3) == pytest.approx(0.3)
    rng = np.random.default_rng(0)
    for _ in range(500):
        calibration.learn(0.35, bool(rng.random() < 0.9))
        calibration.learn(0.95, bool(rng.random() < 0.2))
    assert calibration.kept(0.35) == pytest.approx(0.9, abs=0.1)
    assert calibration.kept(0.95) == pytest.approx(0.2, abs=0.12)
    faded = calibration.faded(0.05)
    assert 0.35 < faded.kept(0.35) < calibration.kept(0.35)


def test_an_account_pauses_longer_and_longer() -> None:
    """And drafts all the time again once they pay."""
    account = Account()
    opened = []
    for number in range(600):
        if not account.pause(1):
            opened.append(number)
            account.book(-0.2, 4)
        account.passed(1, 1)
    gaps = np.diff(opened)
    assert max(gaps) >= 60
    assert len(opened) < 60
    for _ in range(300):
        if not account.pause(1):
            account.book(2.0, 4)
        account.passed(1, 1)
    assert account.pause(1) == 0


@pytest.mark.parametrize("gain", [-5.0, -0.6, -0.05])
def test_an_account_loses_little(gain: float) -> None:
    """Of n passes at most 1.2 and n hundredths, each loss counted as 0.6 passes at most."""
    account = Account()
    lost = 0.0
    for passes in range(1, 1000):
        if not account.pause(1):
            lost += min(-gain, 0.6)
            account.book(gain, 4)
        account.passed(1, 1)
        assert lost <= 1.2 + 0.01 * passes


def test_an_heir_knows_what_its_kind_knew() -> None:
    """Where drafts did not pay, it has less hope; another kind of spec begins anew."""
    drafter = AutoDrafter(Says(0.5, 0, Clock()))
    vocabulary = toy_vocabulary()
    one, two = (sg.compile(sg.Regex(text), vocabulary) for text in ("a{1,9}", "b{1,9}"))
    first = drafter.account(one)
    for _ in range(200):
        first.calibration.learn(0.5, False)
        if not first.pause(1):
            first.book(-0.5, 0)
        first.passed(1, 1)
    assert drafter.account(one) is first
    assert drafter.account(two).calibration.kept(0.5) < 0.2
    tries = [0, 0]
    for i, account in enumerate((drafter.account(two), Account())):
        for _ in range(30):
            if not account.pause(1):
                tries[i] += 1
                account.book(-0.5, 0)
            account.passed(1, 1)
    assert tries[0] < tries[1]
    assert drafter.account(sg.compile(sg.FreeText(), vocabulary)).calibration.kept(0.5) == 0.5


FOR_DEMO = ("model", "medusa", "eagle")  # these go with the demo model


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in NAMES if name not in FOR_DEMO])
def test_every_name_writes_what_is_written_without_it(double: Generator, name: str) -> None:
    """Token for token, greedy and drawn, in batches of mixed specs, with what was learned."""
    specs = [SPEC, sg.Regex("(ab|true)+"), sg.FreeText()]
    prompts = ["true", "ab ab ab", "k"]
    options: list[dict[str, Any]] = [{"temperature": 0.0}, {"seed": 3}, {"seed": 4, "top_k": 5}]
    for each in options:
        plain = double.batch(prompts, specs, max_tokens=20, n=2, **each)
        fast = double.batch(prompts, specs, max_tokens=20, n=2, speculate=name, **each)
        assert [[r.tokens for r in row] for row in plain] == [
            [r.tokens for r in row] for row in fast
        ]
        for r in (r for row in fast for r in row):
            assert r.stats is not None
            assert sum(r.stats.by_drafter.values()) == r.stats.accepted
            assert all(name in str(r.stats) for name in r.stats.by_drafter)


def test_weights_that_ship_go_with_the_demo_model(double: Generator) -> None:
    """They draft what it writes; for another model they are refused."""
    demo = Generator(str(model_path()), dtype="float64")
    for name in FOR_DEMO:
        result = demo.generate("name: Ada", {"maxLength": 9}, seed=1, speculate=name)
        assert result.stats is not None
        assert result.stats.drafted > 0
    with pytest.raises(ModelError):
        double.generate("ab", SPEC, speculate="medusa")


def test_a_generator_keeps_what_was_learned(double: Generator) -> None:
    """The same speculation for a name each time, another for another Generator; threads share."""
    first = double.speculations.of("auto", double.target)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(double.speculations.of("auto", double.target)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one is first for one in found)
    assert Speculations().of("auto", double.target) is not first
    own = Speculation(AutoDrafter(Says(0.5, 0, Clock())), policy=Fixed(MOST))
    assert double.speculations.of(own, double.target) is own


def test_earlier_texts_may_be_given(double: Generator) -> None:
    """What an index has is drafted in the first text already; new texts are added to it."""
    spec = sg.Regex("(ab|true)+")
    options: dict[str, Any] = {"temperature": 0.0, "max_tokens": 24}
    written = double.generate("ab", spec, **options)
    index = SuffixIndex()
    index.add(written.tokens)
    index.refresh()
    fast = double.generate("ab", spec, speculate=auto(index), **options)
    assert fast.tokens == written.tokens
    assert len(index) == 2


def test_a_text_of_no_tokens_has_stats(double: Generator) -> None:
    """All of them are 0."""
    stats = double.generate("ab", sg.Regex(""), speculate="auto").stats
    assert stats is not None
    assert (stats.tokens, stats.forwards, stats.tokens_per_forward) == (0, 0, 0.0)


def test_unknown_wishes_are_refused(double: Generator) -> None:
    """With the names there are, and the nearest."""
    with pytest.raises(GenerationError) as caught:
        double.generate("ab", SPEC, speculate="sufix")
    assert "suffix" in str(caught.value.hint)
    assert "auto" in str(caught.value.expected)
    for wish in (True, 3, object(), SuffixDrafter):
        with pytest.raises(GenerationError):
            check_speculate(wish)
    for wrong in (
        {"nodes": -1},
        {"nodes": "3"},
        {"nodes": 3, "depth": 1.5},
        {"nodes": 3, "least": 2},
    ):
        with pytest.raises(GenerationError):
            Budget(**wrong)
    assert all(entry.drafts for entry in ENTRIES.values())
