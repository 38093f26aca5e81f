"""Tests that training of heads for the demo model teaches them, over a few steps."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structgen.demo import model_path
from structgen.demo.training.encoding import batches

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from structgen.demo.training.train_heads import Run, eagle_states, lesson_of, loss_of, train  # noqa: E402
from structgen.generation.speculation.heads.eagle import EagleHeads  # noqa: E402
from structgen.generation.speculation.heads.files import KINDS, load_heads  # noqa: E402

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def model() -> Any:
    """The demo model in float32."""
    from transformers import AutoModelForCausalLM

    found = AutoModelForCausalLM.from_pretrained(model_path(), dtype=torch.float32)
    return found.requires_grad_(requires_grad=False)


@pytest.fixture(scope="module")
def lesson(model: Any) -> Any:
    """A small batch as the model sees it."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_path(), local_files_only=True)
    return lesson_of(model, next(batches(tokenizer, 3, 512)))


@pytest.mark.parametrize("kind", ["medusa", "eagle"])
def test_a_few_steps_lower_the_loss(kind: str, model: Any, tmp_path: Path) -> None:
    """On held-out answers; the file can be loaded, and the same run gives the same file."""
    run = Run(kind, tmp_path / "first", steps=2, tokens=512, rate=2.5e-2)
    rows = train(run, report=lambda _: None)
    assert len(rows) == 2
    assert rows[-1][4] < rows[0][4] - 0.02
    with (run.out / f"{kind}_loss.csv").open() as file:
        written = list(csv.DictReader(file))
    assert [int(row["step"]) for row in written] == [1, 2]
    assert float(written[-1]["held_out_loss"]) == pytest.approx(rows[-1][4], abs=1e-3)
    heads = load_heads(run.out / f"{kind}.safetensors", model)
    assert heads.name == kind
    again = replace(run, out=tmp_path / "again")
    train(again, report=lambda _: None)
    files = [(r.out / f"{kind}.safetensors").read_bytes() for r in (run, again)]
    assert files[0] == files[1]


def test_lessons_are_about_answers(lesson: Any) -> None:
    """A place is followed by a token of the answer, and another one as far as is known."""
    for row in range(len(lesson.ids)):
        positions = lesson.positions[row][lesson.known[row]]
        assert (positions.diff() == 1).all()
        assert (lesson.ids[row, positions + 2] != 0).all()  # no padding
    for depth in (1, 2, 3):
        loss, agreement = loss_of(KINDS["medusa"].of(OneModel(lesson), {"count": depth}), lesson)
        assert loss.item() > 0
        assert len(agreement) == depth


class OneModel:
    """Where heads get their output layer from."""

    def __init__(self, lesson: Any) -> None:
        self.weight = lesson.output

    def get_output_embeddings(self) -> OneModel:
        """Itself."""
        return self

    def get_input_embeddings(self) -> OneModel:
        """The same weights."""
        return self


def test_an_eagle_is_trained_for_what_it_will_do(lesson: Any) -> None:
    """The states of the training are those of a draft along the same tokens."""
    torch.manual_seed(2)
    heads = EagleHeads.of(OneModel(lesson), {})
    with torch.inference_mode():
        taught = eagle_states(heads, lesson)
    for row in range(2):
        for number in (0, 5):
            place = int(lesson.positions[row, number])
            ids = lesson.ids[row].tolist()
            reader = heads.begin()
            logits = [
                reader.read(lesson.states[row, : place + 1, None].float(), ids[: place + 2]),
                reader.extend([0], [ids[place + 2]])[0],
                reader.extend([1], [ids[place + 3]])[0],
            ]
            for states, drafted in zip(taught, logits, strict=True):
                expected = (states[row, number] @ heads.output.T).numpy()
                np.testing.assert_allclose(drafted, expected, rtol=1e-3, atol=1e-3)
