"""Trains the demo models; writes a folder with model, tokenizer and loss.csv.

`python -m structgen.demo.training.train --minutes 60 --out DIR` trains the main model, `--draft`
the small draft model. With `--steps` a run is reproducible on the same machine. A usable model is
saved every few minutes.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structgen.demo.training.encoding import (
    CONTEXT,
    Batch,
    batches,
    build_tokenizer,
    save_tokenizer,
)

MAIN_SHAPE = {
    "hidden_size": 256,
    "intermediate_size": 640,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
}
DRAFT_SHAPE = {
    "hidden_size": 128,
    "intermediate_size": 320,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
}
WARMUP_STEPS = 60
DECAY_FROM = 0.7
"""The learning rate falls linearly to zero over the rest of the budget."""
RECORDS_FIRST = 0.12
SHORT = 128
"""In that first share the examples have at most so many tokens and mostly random fields."""


@dataclass
class Settings:
    """A training run: folder, budget (steps or minutes), batch size in tokens, peak rate, ...

    threads: of the processor; another number may give other weights.
    """

    out: Path
    steps: int | None
    minutes: float | None
    draft: bool = False
    seed: int = 0
    tokens: int = 4096
    rate: float = 2.5e-3
    save_every: float = 3.0
    tokenizer_from: Path | None = None
    resume: bool = False
    threads: int = 2


def build_model(tokenizer: Any, draft: bool, seed: int) -> Any:
    """A freshly initialised Llama model of the main or the draft shape."""
    import torch
    from transformers import AttentionInterface, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    AttentionInterface.register("causal_products", causal_products)
    shape = DRAFT_SHAPE if draft else MAIN_SHAPE
    make_config: Any = LlamaConfig
    config = make_config(
        vocab_size=len(tokenizer),
        num_key_value_heads=shape["num_attention_heads"],
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **shape,
    )
    make: Any = LlamaForCausalLM._from_config
    return make(config, attn_implementation="causal_products")


def causal_products(
    _module: Any, query: Any, key: Any, value: Any, _mask: Any, scaling: float, **_: Any
) -> tuple[Any, None]:
    """Causal attention as two batched products; on a CPU with bfloat16 this is four times as fast.

    `query`, `key`, `value` are [rows, heads, length, size]; returns [rows, length, heads, size] and
    no weights. The padding is on the right, so no other mask is needed.
    """
    import torch

    rows, heads, length, size = query.shape
    hidden = torch.full((length, length), float("-inf"), dtype=query.dtype).triu(1)
    queries, keys, values = (x.reshape(rows * heads, length, size) for x in (query, key, value))
    scores = torch.baddbmm(
        hidden.expand(rows * heads, -1, -1), queries, keys.transpose(1, 2), alpha=scaling
    )
    mixed = torch.bmm(torch.softmax(scores, -1).to(values.dtype), values)
    return mixed.view(rows, heads, length, size).transpose(1, 2), None


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write weights as float16 safetensors, configuration and tokenizer to `folder`."""
    import copy

    import torch
    from transformers import GenerationConfig

    half = copy.deepcopy(model).to(torch.float16)
    make: Any = GenerationConfig
    half.generation_config = make(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        do_sample=False,
    )
    half.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)


def loss_of(model: Any, batch: Batch) -> tuple[Any, Any]:
    """Mean cross-entropy over the answer tokens, and the share of rows with all of them right."""
    import torch

    labels = torch.from_numpy(batch.labels[:, 1:]).flatten()
    wanted = torch.nonzero(labels >= 0).squeeze(1)
    padded = torch.nn.functional.pad(wanted, (0, -len(wanted) % 256))
    targets = labels[padded].clone()
    targets[len(wanted) :] = -100
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = model.model(
            input_ids=torch.from_numpy(batch.ids), use_cache=False
        ).last_hidden_state[:, :-1]
        logits = model.lm_head(hidden.flatten(0, 1)[padded]).float()
    loss = torch.nn.functional.cross_entropy(logits, targets)
    wrong = torch.zeros(labels.shape, dtype=torch.bool)
    wrong[wanted] = (logits.argmax(-1) != targets)[: len(wanted)]
    return loss, 1 - wrong.view(batch.ids.shape[0], -1).any(1).float().mean()


def train(settings: Settings, report: Callable[[str], None] = print) -> None:
    """Train; reports the loss, saves the model every `save_every` minutes and at the end."""
    import torch

    torch.set_num_threads(settings.threads)
    settings.out.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(settings)
    model = build_model(tokenizer, settings.draft, settings.seed)
    optimizers = optimizers_of(model, settings.rate)
    state = settings.out / "training.pt"
    step, tokens, spent, history = 0, 0, 0.0, list[list[float]]()
    if settings.resume and state.exists():
        step, tokens, spent, history = _restore(state, model, optimizers)
    held_out = batches(tokenizer, 1, settings.tokens, "eval")
    test = [batch for batch, _ in zip(held_out, range(4), strict=False)]
    early = batches(
        tokenizer, settings.seed + 1000 + step, settings.tokens, record_share=0.8, longest=SHORT
    )
    later = batches(tokenizer, settings.seed + 2000 + step, settings.tokens, record_share=0.25)
    begun, saved, window = time.monotonic() - spent, time.monotonic(), list[float]()
    report(
        f"{sum(p.numel() for p in model.parameters())} parameters, vocabulary of {len(tokenizer)}"
    )
    done = False
    while not done:
        spent = time.monotonic() - begun
        share = step / settings.steps if settings.steps else spent / 60 / (settings.minutes or 1.0)
        done = share >= 1
        if done or time.monotonic() - saved > settings.save_every * 60:
            saved = time.monotonic()
            history.append(
                _measure(model, test, [step, tokens, spent / 60, sum(window) / max(1, len(window))])
            )
            report(_line(history[-1]))
            save(model, tokenizer, settings.out)
            _write_csv(settings.out / "loss.csv", history)
            torch.save(_progress(model, optimizers, (step, tokens, spent, history)), state)
            window.clear()
            if done:
                break
        factor = rate_factor(step, share)
        batch = next(early if share < RECORDS_FIRST else later)
        loss, _ = loss_of(model, batch)
        window.append(update(model, optimizers, loss, factor * settings.rate))
        step, tokens = step + 1, tokens + int((batch.ids != tokenizer.pad_token_id).sum())
        if step % 50 == 0:
            report(
                f"step {step}, {tokens / 1e6:.2f}M tokens, {spent / 60:.1f} min: "
                f"loss {sum(window[-50:]) / len(window[-50:]):.4f}"
            )
    state.unlink()


def _tokenizer(settings: Settings) -> Any:
    if settings.tokenizer_from is None:
        return build_tokenizer(settings.seed)
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(settings.tokenizer_from, local_files_only=True)


def optimizers_of(model: Any, rate: float) -> list[Any]:
    """Muon for the matrices inside the layers, AdamW for the embedding and the norms."""
    import torch

    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    others = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    return [
        torch.optim.Muon(matrices, lr=rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def rate_factor(step: int, share: float) -> float:
    """What the peak rate is multiplied by: warm up, stay, fall to zero."""
    return min(1.0, (step + 1) / WARMUP_STEPS, max(0.0, (1 - share) / (1 - DECAY_FROM)))


def update(model: Any, optimizers: list[Any], loss: Any, rate: float) -> float:
    """One step down the gradient of a loss at a rate, the gradient's norm clipped; the loss."""
    import torch

    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return float(loss.detach())


def _measure(model: Any, test: list[Batch], row: list[float]) -> list[float]:
    import torch

    model.eval()
    with torch.no_grad():
        pairs = [loss_of(model, batch) for batch in test]
    model.train()
    return [*row, *(sum(float(p[i]) for p in pairs) / len(pairs) for i in (0, 1))]


def _line(row: list[float]) -> str:
    return (
        f"== step {row[0]:.0f}, {row[1] / 1e6:.2f}M tokens, {row[2]:.1f} min: loss {row[3]:.4f}, "
        f"held-out loss {row[4]:.4f}, held-out answers all right {row[5]:.3f}"
    )


def _write_csv(path: Path, history: list[list[float]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["step", "tokens", "minutes", "loss", "held_out_loss", "held_out_answers_right"]
        )
        for row in history:
            writer.writerow(
                [int(row[0]), int(row[1]), f"{row[2]:.1f}", *(f"{v:.4f}" for v in row[3:])]
            )


def _progress(model: Any, optimizers: list[Any], counts: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "model": model.state_dict(),
        "optimizers": [o.state_dict() for o in optimizers],
        "counts": counts,
    }


def _restore(
    state: Path, model: Any, optimizers: list[Any]
) -> tuple[int, int, float, list[list[float]]]:
    import torch

    saved = torch.load(state, weights_only=True)
    model.load_state_dict(saved["model"])
    for optimizer, content in zip(optimizers, saved["optimizers"], strict=True):
        optimizer.load_state_dict(content)
    step, tokens, spent, history = saved["counts"]
    return step, tokens, spent, history


def main(arguments: list[str] | None = None) -> None:
    """Command line of the training."""
    parser = argparse.ArgumentParser(
        prog="python -m structgen.demo.training.train", description=main.__doc__
    )
    parser.add_argument("--out", type=Path, default=Path("demo-model"), help="folder for the model")
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--steps", type=int, help="number of steps (reproducible)")
    budget.add_argument("--minutes", type=float, help="wall-clock budget")
    parser.add_argument("--draft", action="store_true", help="train the small draft model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=4096, help="tokens per batch")
    parser.add_argument("--rate", type=float, default=2.5e-3, help="peak learning rate")
    parser.add_argument(
        "--tokenizer-from", type=Path, help="folder with a tokenizer to reuse (for --draft)"
    )
    parser.add_argument("--resume", action="store_true", help="go on from OUT/training.pt")
    given = parser.parse_args(arguments)
    train(Settings(**vars(given)))


if __name__ == "__main__":
    main()
