"""Tests that drafts are verified the same where logits stay on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from structgen.generation.generator import Generator
from structgen.generation.models.torch_logits import DeviceLogits, DeviceRows
from structgen.generation.speculation.drafters.ngrams import RecyclingDrafter
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.rules import RecursiveRejection, SampleCompare
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.tree import Scheme
from tests.generation.models import build_model, build_tokenizer
from tests.generation.speculation.models.test_model_drafter import PROMPTS
from tests.generation.speculation.toys import SPEC, RandomDrafter
from tests.generation.test_drawing import assert_same, draw_on_device

SIZES = Fixed(Budget(nodes=9, depth=4, width=2))


@pytest.fixture(scope="module")
def plain() -> Generator:
    """The tiny model, its logits read by the CPU."""
    tokenizer = build_tokenizer()
    return Generator(build_model(tokenizer).double(), tokenizer)


@pytest.fixture(scope="module")
def drawing(plain: Generator) -> Generator:
    """The same model, with tokens drawn where the logits are."""
    return draw_on_device(Generator(plain.target.model, plain.tokenizer))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often all logits were copied to the CPU."""
    found: list[int] = []
    numpy = DeviceLogits.numpy

    def counted(self: Any) -> Any:
        found.append(1)
        return numpy(self)

    monkeypatch.setattr(DeviceLogits, "numpy", counted)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 0.0},
        {"seed": 5},
        {"seed": 1, "top_p": 0.8},
        {"seed": 2, "top_k": 3, "temperature": 2.0, "max_tokens": 9},
        {"seed": 6, "temperature": 3.0, "max_tokens": 12, "stop": "eos"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [None, Scheme.IID, "recycling"])
def test_results_are_those_of_the_cpu(
    plain: Generator, drawing: Generator, kind: Any, options: dict[str, Any], reads: list[int]
) -> None:
    """Drawn children or picked ones, closed in time or not; what is not asked for stays."""
    drafter: Any = RecyclingDrafter() if kind == "recycling" else RandomDrafter(kind)
    speculate = Speculation(drafter, policy=SIZES)
    options = {"max_tokens": 30, **options}
    expected = plain.batch(PROMPTS, SPEC, **options)
    found = drawing.batch(PROMPTS, SPEC, speculate=speculate, **options)
    assert_same(found, expected)
    assert any(result.stats and result.stats.drafted for result in found)
    assert not reads


def test_what_needs_the_distribution_reads_the_logits(
    plain: Generator, drawing: Generator, reads: list[int]
) -> None:
    """A rule that weighs ratios, and weights, are worked out on the CPU as ever."""
    drawn = RandomDrafter(Scheme.WOR)
    rules: list[tuple[Any, dict[str, Any]]] = [
        (RecursiveRejection(), {}),
        (SampleCompare(), {"weight": lambda _, ids: np.where(ids % 2, 0.0, -0.5)}),
    ]
    for rule, options in rules:
        options |= {"seed": 3, "max_tokens": 30}
        results = []
        for generator in (plain, drawing):
            speculate = Speculation(drawn, rule=rule, policy=SIZES)
            results.append(generator.batch(PROMPTS, SPEC, speculate=speculate, **options))
        before = len(reads)
        assert_same(*results)
        assert before > 0
        reads.clear()


def test_rows_are_copied_when_they_are_looked_at() -> None:
    """Indexing gives arrays, slicing rows that still stay."""
    values = torch.arange(12.0).reshape(4, 3)
    rows = DeviceRows(values)
    assert len(rows) == 4
    part = rows[1:3]
    assert isinstance(part, DeviceRows)
    np.testing.assert_array_equal(part[1], [6.0, 7.0, 8.0])
    assert [row.tolist() for row in part] == values[1:3].tolist()
