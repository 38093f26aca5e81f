"""Trains Medusa or EAGLE heads that draft for the demo model.

`python -m structgen.demo.training.train_heads eagle --steps 600 --out DIR` writes
DIR/eagle.safetensors and DIR/eagle_loss.csv. The demo model stays as it is: the heads learn its
distributions on answers of the corpus (the cross-entropy of theirs under the model's own), at each
depth that they will be asked for.
"""

from __future__ import annotations

import argparse
import csv
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy, smooth_l1_loss

from structgen.demo import model_path
from structgen.demo.training.encoding import Batch, batches
from structgen.demo.training.train import causal_products, optimizers_of, rate_factor, update
from structgen.generation.speculation.heads.eagle import EagleHeads
from structgen.generation.speculation.heads.files import KINDS, save_heads
from structgen.generation.speculation.heads.medusa import MedusaHeads

DEPTH_WEIGHT = 0.8
"""What each depth counts in the loss, relative to the one before (as for Medusa)."""
UNROLLED = 3
"""Tokens in a row that an EAGLE is trained to draft on its own predictions."""
PASSES = 3
"""How often each batch is gone through; the model reads it once."""


@dataclass(frozen=True)
class Run:
    """A training run: which heads, how many steps, batch size in tokens, peak rate, folder."""

    kind: str
    out: Path
    steps: int
    seed: int = 0
    tokens: int = 4096
    rate: float = 2.5e-3


@dataclass(frozen=True)
class Lesson:
    """A batch as the model sees it.

    ids: int64[rows, length]. states: float[rows, length, d], the model's last. positions:
    int64[rows, n], of the token before each answer token but the last, padded at the end. known:
    bool[rows, n].
    output: float[V, d], which makes distributions of states.
    """

    ids: torch.Tensor
    states: torch.Tensor
    positions: torch.Tensor
    known: torch.Tensor
    output: torch.Tensor

    def at(self, ahead: int) -> torch.Tensor:
        """[rows, n, d]: the states `ahead` tokens after the positions."""
        where = (self.positions + ahead).clamp(max=self.ids.shape[1] - 1)
        return self.states.float().take_along_dim(where[..., None], 1)

    def tokens(self, ahead: int) -> torch.Tensor:
        """int64[rows, n]: the tokens there."""
        return self.ids.take_along_dim((self.positions + ahead).clamp(max=self.ids.shape[1] - 1), 1)


def lesson_of(model: Any, batch: Batch) -> Lesson:
    """What the model makes of a batch."""
    ids = torch.from_numpy(batch.ids)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        states = model.model(input_ids=ids, use_cache=False).last_hidden_state.half()
    answers = torch.from_numpy(batch.labels >= 0)
    first, count = answers.int().argmax(1, keepdim=True), answers.sum(1, keepdim=True)
    steps = torch.arange(int(count.max()) - 1)
    return Lesson(
        ids, states, first - 1 + steps, steps < count - 1, model.get_output_embeddings().weight
    )


def medusa_states(heads: MedusaHeads, lesson: Lesson) -> list[torch.Tensor]:
    """For each depth, [rows, n, d]: the predicted state that many tokens after each position."""
    return heads.forward(lesson.at(0))


def eagle_states(heads: EagleHeads, lesson: Lesson) -> list[torch.Tensor]:
    """The same for an EAGLE that goes on from its own predictions.

    It sees true states up to the position, and its own since (as HASS trains, Zhang et al. 2025,
    section 3.2).
    """
    every = torch.arange(lesson.ids.shape[1] - 1)
    entered = heads.join_inputs(
        lesson.states[:, :-1].float(), lesson.ids[:, :-1], lesson.ids[:, 1:]
    )
    keys, values = heads.keys_and_values(entered, every)
    hidden = (every > lesson.positions[..., None])[:, None]
    states, own, found = lesson.at(0), list[tuple[torch.Tensor, torch.Tensor]](), []
    for depth in range(UNROLLED):
        here = heads.join_inputs(states, lesson.tokens(depth), lesson.tokens(depth + 1))
        if depth:
            own.append(heads.keys_and_values(here, lesson.positions + depth))
        queries = heads.scaled_queries(here, lesson.positions + depth).transpose(1, 2)
        scores = queries @ keys.permute(0, 2, 3, 1)
        mine = [(queries * key.transpose(1, 2)).sum(-1, keepdim=True) for key, _ in own]
        scores = torch.cat([scores.masked_fill(hidden, -torch.inf), *mine], -1).float()
        weights = scores.softmax(-1).to(values.dtype)
        seen = weights[..., : len(every)] @ values.transpose(1, 2)
        for i, (_, value) in enumerate(own, len(every)):
            seen = seen + weights[..., i : i + 1] * value.transpose(1, 2)
        states = heads.output_states(here, seen.transpose(1, 2))
        found.append(states)
    return found


def loss_of(heads: MedusaHeads | EagleHeads, lesson: Lesson) -> tuple[torch.Tensor, list[float]]:
    """The loss, and for each depth how often heads and model think the same token likeliest."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        learn = eagle_states if isinstance(heads, EagleHeads) else medusa_states
        predicted = learn(heads, lesson)  # type: ignore[arg-type]  # each for its own
    total = torch.zeros(())
    agreement = []
    for depth, states in enumerate(predicted, 1):
        known = lesson.known[:, depth - 1 :]  # whether there is an answer token so far on
        wanted = torch.nn.functional.pad(known, (0, lesson.known.shape[1] - known.shape[1]))
        mine, theirs = states[wanted].float(), lesson.at(depth)[wanted]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits, distribution = (part @ lesson.output.T for part in (mine, theirs))
        logits, distribution = logits.float(), distribution.float().softmax(-1)
        loss = cross_entropy(logits, distribution)
        if isinstance(heads, EagleHeads):  # it goes on from what it predicted
            loss = loss + smooth_l1_loss(mine, theirs)
        total = total + DEPTH_WEIGHT ** (depth - 1) * loss
        agreement.append(float((logits.argmax(-1) == distribution.argmax(-1)).float().mean()))
    return total, agreement


def train(run: Run, report: Callable[[str], None] = print) -> list[list[float]]:
    """Train and save; returns the rows of the loss file."""
    from transformers import AttentionInterface, AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(run.seed)
    AttentionInterface.register("causal_products", causal_products)
    tokenizer = AutoTokenizer.from_pretrained(model_path(), local_files_only=True)
    model: Any = AutoModelForCausalLM.from_pretrained(
        model_path(), dtype=torch.float32, attn_implementation="causal_products"
    )
    model.requires_grad_(requires_grad=False)
    heads = KINDS[run.kind].of(model, {})
    report(f"{sum(p.numel() for p in heads.parameters())} parameters")
    optimizers = optimizers_of(heads, run.rate)
    lessons = _lessons(run, model, tokenizer)
    test = [
        lesson_of(model, batch)
        for batch, _ in zip(batches(tokenizer, 1, run.tokens, "eval"), range(4), strict=False)
    ]
    begun, window, rows, tokens = time.monotonic(), list[float](), list[list[float]](), 0
    for step in range(1, run.steps + 1):
        lesson = next(lessons)
        tokens += int((lesson.ids != tokenizer.pad_token_id).sum())
        rate = run.rate * rate_factor(step - 1, (step - 1) / run.steps)
        window.append(update(heads, optimizers, loss_of(heads, lesson)[0], rate))
        if step % max(1, run.steps // 10) == 0 or step == run.steps:
            minutes = (time.monotonic() - begun) / 60
            rows.append([step, tokens, minutes, sum(window) / len(window), *_measure(heads, test)])
            report(" ".join(f"{value:.4g}" for value in rows[-1]))
            window.clear()
    run.out.mkdir(parents=True, exist_ok=True)
    save_heads(heads, run.out / f"{run.kind}.safetensors")
    _write_csv(run.out / f"{run.kind}_loss.csv", rows)
    return rows


def _lessons(run: Run, model: Any, tokenizer: Any) -> Iterator[Lesson]:
    """The lessons of a run: new ones at first, then the same in another order, for each pass."""
    rng = random.Random(run.seed)  # noqa: S311
    kept = []
    for batch in islice(batches(tokenizer, run.seed + 3000, run.tokens), -(-run.steps // PASSES)):
        kept.append(lesson_of(model, batch))
        yield kept[-1]
    while True:
        rng.shuffle(kept)
        yield from kept


def _measure(heads: MedusaHeads | EagleHeads, test: list[Lesson]) -> list[float]:
    """Held-out loss, and agreement by depth."""
    with torch.no_grad():
        pairs = [loss_of(heads, lesson) for lesson in test]
    columns = zip(*([float(loss), *agreement] for loss, agreement in pairs), strict=True)
    return [sum(column) / len(column) for column in columns]


def _write_csv(path: Path, rows: list[list[float]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        depths = [f"held_out_agreement_{depth}" for depth in range(1, len(rows[0]) - 4)]
        writer.writerow(["step", "tokens", "minutes", "loss", "held_out_loss", *depths])
        for row in rows:
            writer.writerow(
                [int(row[0]), int(row[1]), f"{row[2]:.1f}", *(f"{v:.4f}" for v in row[3:])]
            )


def main(arguments: list[str] | None = None) -> None:
    """Command line of the training."""
    parser = argparse.ArgumentParser(
        prog="python -m structgen.demo.training.train_heads", description=main.__doc__
    )
    parser.add_argument("kind", choices=sorted(KINDS), help="which heads")
    parser.add_argument("--out", type=Path, default=Path("heads"), help="folder for the weights")
    parser.add_argument("--steps", type=int, required=True, help="number of steps")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=4096, help="tokens per batch")
    parser.add_argument("--rate", type=float, default=2.5e-3, help="peak learning rate")
    train(Run(**vars(parser.parse_args(arguments))))


if __name__ == "__main__":
    main()
