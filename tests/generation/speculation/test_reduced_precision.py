"""Tests that in bfloat16 drafts change greedy texts only by ties.

A forward pass over several tokens rounds otherwise than one over a single token, so equality bit
for bit is not to be had below float64. What must hold: each token is the best that is allowed
after those before it, or as good as the best within the precision of the logits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import structgen as sg
from structgen import demo
from structgen.generation.interfaces import Constraint
from structgen.generation.prompts import encode_prompt
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.tree import Context, DraftTree
from tests.generation.speculation.toys import allowed

PROMPT = "Ada Lovelace, 36, lives in London and likes tea, chess and trains."
SPEC = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer"},
        "likes": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 3},
    },
    "required": ["name", "age", "likes"],
    "additionalProperties": False,
}


@dataclass
class Oracle:
    """Proposes a text that is known, with a sibling beside each of its tokens."""

    tokens: tuple[int, ...]
    hidden: tuple[int, ...] = ()

    def begin(self, context: Context) -> Oracle:
        """The text is the same for all."""
        return self

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """As long as what was written is the text's beginning."""
        tree, node = DraftTree(context), 0
        written = context.written
        for token in self.tokens[len(written) :][:6] if self._agrees(written) else ():
            others = allowed(context.constraint, tree.states[node])
            parent, node = node, tree.add(node, token)
            if node < 0:
                break
            tree.add(parent, others[0])
        return tree

    def observe(self, context: Context, seen: Round) -> None:
        """It knows all."""

    def end(self, context: Context) -> None:
        """Nothing was kept."""

    def _agrees(self, written: list[int]) -> bool:
        return list(self.tokens[: len(written)]) == written


def gaps(generator: sg.Generator, constraint: Constraint, tokens: tuple[int, ...]) -> list[float]:
    """For each token, read one by one: how far its logit is below the best allowed one's.

    As a share of the largest logit, whose rounding sets the scale.
    """
    prompt = encode_prompt(generator.tokenizer, PROMPT, generator.chat, None)
    cache, logits = generator.target.prefill([prompt])
    state, found = constraint.start, []
    for token in tokens:
        row = logits.numpy()[0]
        below = row[allowed(constraint, state)].max() - row[token]
        found.append(float(below / np.abs(row).max()))
        state = constraint.advance(state, token)
        logits = generator.target.forward(cache, [[token]])
    return found


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 16), ("bfloat16", 7)])
def test_each_token_is_the_best_within_precision(dtype: str, bits: int) -> None:
    """Whatever the widths of the passes; and most passes write several tokens."""
    generator = sg.Generator(demo.model_path(), dtype=dtype)
    constraint, _ = generator.specs.get(SPEC)
    plain = generator.generate(PROMPT, SPEC, temperature=0.0)
    speculate = Speculation(Oracle(plain.tokens))
    fast = generator.generate(PROMPT, SPEC, temperature=0.0, speculate=speculate)
    found = gaps(generator, constraint, fast.tokens)
    assert max(found) <= 2 * 2.0**-bits
    assert fast.stats is not None
    assert fast.stats.tokens_per_forward > 3
