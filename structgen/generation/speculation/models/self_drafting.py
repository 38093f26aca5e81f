"""Self-drafting by name: SWIFT, CLaSp and early exit, with their defaults."""

from __future__ import annotations

from structgen.errors import ModelError
from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.models.layer_skip import LayerSkipDrafter
from structgen.generation.speculation.models.layers import Layered
from structgen.generation.speculation.models.selectors import Clasp, EarlyExit, Swift
from structgen.generation.speculation.policies.exit_layer import Del
from structgen.generation.speculation.speculation import Speculation


def swift(target: HuggingFaceTarget) -> LayerSkipDrafter:
    """Layers found by search."""
    return LayerSkipDrafter(target, Swift(), name="swift")


def clasp(target: HuggingFaceTarget) -> LayerSkipDrafter:
    """Layers found by dynamic programming over hidden states."""
    return LayerSkipDrafter(target, Clasp(), name="clasp")


def early_exit(target: HuggingFaceTarget) -> Speculation:
    """The first layers, as many as pay, and drafts as long as pay: DEL decides on both.

    ModelError for a model of one layer.
    """
    model = Layered(target)
    if model.depth < 2:
        raise ModelError("the model has one layer", expected="two or more, to leave early")
    policy = Del(range(1, model.depth), model.depth, model.logits)
    drafter = LayerSkipDrafter(target, EarlyExit(policy), name="early-exit")
    return Speculation(drafter, policy=policy)
