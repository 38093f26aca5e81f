"""The command `device` measures every way to mask and draw, and all ways to mask agree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from jsonschemabench.gpu.model import DecodeStep, Shape
from jsonschemabench.gpu.steps import POOL, Pool, ways
from jsonschemabench.main import main
from structgen.masks import bitmask

TINY = Shape(layers=2, hidden=16, heads=4, kv_heads=2, mlp=24, vocab=40)


def test_the_command_prints_a_table_for_each_batch_size(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """And writes the same figures to a file."""
    out = tmp_path / "device.json"
    options = ["--batches", "1,3", "--vocab-size", "300", "--steps", "3", "--no-model"]
    assert main(["device", *options, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "batch 1\n" in printed
    assert "batch 3\n" in printed
    found = json.loads(out.read_text())
    assert [part["batch"] for part in found["batches"]] == [1, 3]
    for part in found["batches"]:
        assert len(part["ways"]) >= 6
        for name, times in part["ways"].items():
            assert 0 < times["p50"] <= times["p99"]
            assert f"| {name} | {times['p50']:.1f} |" in printed


@pytest.mark.parametrize("value", ["0", "x", "1,,2"])
def test_sizes_that_are_none_are_refused(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line."""
    assert main(["device", "--batches", value]) == 2
    assert "a size is not a positive number" in capsys.readouterr().err


def test_all_ways_to_mask_agree() -> None:
    """Each leaves the same logits, so that equal work is compared."""
    pool = Pool(300)
    logits, masked = torch.randn(2, 300), torch.empty(2, 300)
    states = np.array([[3, POOL - 2]])
    expected = logits.clone()
    bitmask.apply(expected, pool.rows[states[0]])
    masking = {
        name: way.step
        for name, way in ways(pool, logits, masked, states).items()
        if "draw" not in name and "argmax" not in name
    }
    assert len(masking) >= 3
    for name, step in masking.items():
        masked.copy_(logits)
        step(0)
        scale = 0.7 if "temperature" in name else 1.0
        torch.testing.assert_close(masked, expected / scale)


def test_a_decode_step_reads_the_cache_and_keeps_sequences_apart() -> None:
    """Its logits change with the cached keys of their own sequence, and with nothing of others."""
    torch.manual_seed(0)
    step = DecodeStep(TINY, 3, 5, "cpu", torch.float32)
    before = step.run()
    assert before.shape == (3, 40)
    assert torch.isfinite(before).all()
    assert torch.equal(step.run(), before)
    step._layers[0]["V"][1, :, 0] += 100.0
    changed = (step.run() != before).any(1)
    assert changed.tolist() == [False, True, False]
    assert step.captured()() is not None
