"""Tests that training of the demo model is reproducible, over a few steps."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structgen.demo import model_path
from structgen.demo.training.encoding import LONGEST, batches
from structgen.demo.training.train import Settings, causal_products, train

pytestmark = pytest.mark.thorough

pytest.importorskip("transformers")
torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """The shipped tokenizer."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model_path(), local_files_only=True)


def short_run(folder: Path, seed: int = 0) -> list[dict[str, str]]:
    """Train the draft shape for two small steps; the rows of its loss.csv."""
    settings = Settings(
        folder, 2, None, draft=True, seed=seed, tokens=512, tokenizer_from=model_path(), threads=1
    )
    train(settings, report=lambda _: None)
    with (folder / "loss.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, str]]]:
    """The folder and the rows of a run."""
    folder = tmp_path_factory.mktemp("train") / "first"
    return folder, short_run(folder)


def test_a_run_of_given_steps_is_reproducible(
    first: tuple[Path, list[dict[str, str]]], tmp_path: Path
) -> None:
    """The same seed gives the same losses and weights, another seed gives others."""
    folder, rows = first
    again, other = (tmp_path / name for name in ("again", "other"))
    repeated = short_run(again)
    for row in (rows[-1], repeated[-1]):
        row.pop("minutes")
    assert rows == repeated
    weights = [(f / "model.safetensors").read_bytes() for f in (folder, again)]
    assert weights[0] == weights[1]
    assert short_run(other, seed=1)[-1]["loss"] != rows[-1]["loss"]


def test_a_run_leaves_a_loadable_model_and_no_state(
    first: tuple[Path, list[dict[str, str]]],
) -> None:
    """After the last step the folder has the five model files and loss.csv."""
    assert sorted(p.name for p in first[0].iterdir()) == [
        "config.json",
        "generation_config.json",
        "loss.csv",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]


def test_only_answers_carry_labels(tokenizer: Any) -> None:
    """In each row the labels are one run of tokens, from the first brace to the end token."""
    for batch in itertools.islice(batches(tokenizer, 3, 2048), 4):
        assert batch.ids.shape == batch.labels.shape
        assert batch.ids.shape[1] <= LONGEST
        for ids, labels in zip(batch.ids, batch.labels, strict=True):
            positions = np.flatnonzero(labels >= 0)
            assert (np.diff(positions) == 1).all()
            assert (ids[positions] == labels[positions]).all()
            text = tokenizer.decode(labels[positions])
            assert text.startswith("{")
            assert text.endswith("}<|eos|>")
            assert (ids[positions[-1] + 1 :] == tokenizer.pad_token_id).all()


def test_an_example_longer_than_a_batch_is_one_by_itself(tokenizer: Any) -> None:
    """Not all examples at once."""
    for batch in itertools.islice(batches(tokenizer, 3, 1), 4):
        assert len(batch.ids) == 1


def test_the_attention_of_the_training_is_causal_attention() -> None:
    """It agrees with torch's own causal attention, values and gradients alike."""
    generator = torch.Generator().manual_seed(0)
    parts = [torch.randn(2, 3, 7, 8, generator=generator, requires_grad=True) for _ in range(3)]
    query, key, value = parts
    mine, weights = causal_products(None, query, key, value, None, scaling=8**-0.5)
    theirs = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
    assert weights is None
    assert torch.allclose(mine.transpose(1, 2), theirs, atol=1e-5)
    ours = torch.autograd.grad(mine.square().sum(), parts)
    other = torch.autograd.grad(theirs.square().sum(), parts)
    assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(ours, other, strict=True))
