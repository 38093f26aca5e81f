"""The command `acceptance`: how often each rule of speculative sampling keeps a draft.

    structgen bench acceptance
    structgen bench acceptance --demo --json

A rule is given a target distribution p, a draft distribution q and k children drawn from q, and is
measured by the probability that it keeps one of them. For a pair (p, q) that probability is exact,
by enumeration of all draws; only the pairs are a sample, of random distributions or of those of
the demo models.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from structgen.generation.speculation.rules import (
    KSeq,
    OptimalTransport,
    RecursiveRejection,
    optimal_acceptance,
)
from structgen.generation.speculation.rules.exact import exactly
from structgen.generation.speculation.tree import Doubles, Scheme

INSTANCES = 100  # random pairs
TOKENS = 7  # of a random distribution, at most
TOP = 8  # tokens that the draft model's distribution keeps; the target keeps all of its own
TEXTS = ("person", "ticket")  # examples of the demo
CHILDREN = (1, 2, 3)

#: (p, q, number of children) -> probability that one of them is kept; p, q: float64[tokens].
Accepts = Callable[[Doubles, Doubles, int], float]


def best_guesses(p: Doubles, q: Doubles, count: int) -> float:
    """Acceptance of the drafter's best guesses as they are: what the target gives to them."""
    return float(p[np.argsort(-q, kind="stable")[:count]].sum())


def greedy(p: Doubles, q: Doubles, count: int) -> float:
    """Acceptance of count - 1 best guesses, and of one draw from what q leaves beside them."""
    order = np.argsort(-q, kind="stable")
    others = q.copy()
    others[order[: count - 1]] = 0.0
    if not others.any():
        return best_guesses(p, q, count)
    points = tuple(order[: count - 1].tolist())
    others /= others.sum()
    return exactly(RecursiveRejection(), p, others, Scheme.IID, 1, points).acceptance


#: What is compared: SampleCompare on best guesses; rules on drawn children; and the most that any
#: lossless rule can accept of these. OptimalTransport reaches its bound where it is used.
RULES: dict[str, Accepts] = {
    "compare, best": best_guesses,
    "recursive, iid": lambda p, q, k: exactly(RecursiveRejection(), p, q, Scheme.IID, k).acceptance,
    "k-seq, iid": lambda p, q, k: exactly(KSeq(), p, q, Scheme.IID, k).acceptance,
    "bound, iid": lambda p, q, k: optimal_acceptance(p, q, Scheme.IID, k),
    "recursive, wor": lambda p, q, k: exactly(RecursiveRejection(), p, q, Scheme.WOR, k).acceptance,
    "transport, wor": lambda p, q, k: exactly(OptimalTransport(), p, q, Scheme.WOR, k).acceptance,
    "bound, wor": lambda p, q, k: optimal_acceptance(p, q, Scheme.WOR, k),
    "greedy": greedy,
}


def random_pairs(count: int, seed: int = 0) -> Iterator[tuple[Doubles, Doubles]]:
    """Pairs of random distributions over the few tokens that a mask allows, at least two.

    Their logits are normal: a common part with standard deviation 2, plus one of each with 1.
    """
    rng = np.random.default_rng(seed)
    for _ in range(count):
        common = 2.0 * rng.normal(size=rng.integers(2, TOKENS + 1))
        p, q = (np.exp(common + rng.normal(size=len(common))) for _ in range(2))
        yield p / p.sum(), q / q.sum()


def demo_pairs() -> Iterator[tuple[Doubles, Doubles]]:
    """Pairs of masked distributions of the demo model and its draft model, in texts of the former.

    The temperature is 1; there is a pair for each token where the mask leaves a choice. All tokens
    that the draft model's distribution leaves out become one.
    """
    import structgen
    from structgen import demo
    from structgen.generation.distribution import Sampler
    from structgen.generation.prompts import encode_prompt
    from structgen.generation.speculation.models.reader import load_draft_model
    from structgen.masks import bitmask

    generator = structgen.Generator(demo.model_path())
    small, _ = load_draft_model(None, None, "cpu", None)
    for name in TEXTS:
        prompt, schema = demo.EXAMPLES[name]
        constraint = structgen.compile(structgen.JsonSchema(schema), generator.vocabulary)
        tokens = generator.generate(prompt, constraint, seed=0).tokens
        ids = encode_prompt(generator.tokenizer, prompt)
        rows = [_logits(target, ids, tokens) for target in (generator.target, small)]
        state, mask = constraint.start, bitmask.allocate(1, generator.vocabulary.size)
        for token, *logits in zip(tokens, *rows, strict=True):
            constraint.fill_mask(state, mask[0])
            allowed = np.flatnonzero(bitmask.unpack(mask[0], generator.vocabulary.size))
            if len(allowed) > 1:
                p, q = (Sampler().distribution(row[allowed].astype(np.float64)) for row in logits)
                yield _lump_rest(p, q)
            state = constraint.advance(state, token)


def _logits(target: Any, prompt: Any, tokens: Any) -> Any:
    """float[n, V]: a model's logits before each token."""
    cache, first = target.prefill([prompt])
    head = first.numpy().copy()
    return np.concatenate([head, target.forward(cache, [list(tokens[:-1])]).numpy()])


def _lump_rest(p: Doubles, q: Doubles) -> tuple[Doubles, Doubles]:
    """Both over the drafter's best tokens, and a last one that stands for all others."""
    top = np.argsort(-q, kind="stable")[:TOP]
    return np.append(p[top], max(1.0 - p[top].sum(), 0.0)), np.append(q[top] / q[top].sum(), 0.0)


def table(pairs: list[tuple[Doubles, Doubles]]) -> dict[str, dict[str, float]]:
    """Mean acceptance by rule and number of children."""
    return {
        name: {
            str(k): float(
                np.mean([accepts(p, q, min(k, int(np.count_nonzero(q)))) for p, q in pairs])
            )
            for k in CHILDREN
        }
        for name, accepts in RULES.items()
    }


def add_parser(commands: Any) -> None:
    """Add the command `acceptance`."""
    parser = commands.add_parser(
        "acceptance",
        help="work out how often acceptance rules keep a draft",
        description="The probability that one of k children is kept, averaged over pairs of "
        "distributions.",
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="distributions of the demo models instead of random ones",
    )
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    pairs = list(demo_pairs() if args.demo else random_pairs(INSTANCES))
    found = table(pairs)
    if args.json:
        json.dump({"pairs": len(pairs), "acceptance": found}, sys.stdout)
        print()
        return 0
    print(f"{len(pairs)} pairs of laws; children:" + "".join(f"{k:>8}" for k in CHILDREN))
    for name, row in found.items():
        print(f"{name:<32}" + "".join(f"{row[str(k)]:>8.3f}" for k in CHILDREN))
    return 0
