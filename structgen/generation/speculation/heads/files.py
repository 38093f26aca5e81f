"""Saves and loads trained heads, and makes drafters of the shipped ones.

A file is safetensors in half precision; its metadata say which heads they are and their sizes. The
target's embedding and output layer are not in it: they are taken from the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from structgen.demo import heads_path, model_path
from structgen.errors import ModelError
from structgen.generation.models.target import HuggingFaceTarget
from structgen.generation.speculation.heads.drafter import HeadDrafter
from structgen.generation.speculation.heads.eagle import EagleHeads
from structgen.generation.speculation.heads.medusa import MedusaHeads

KINDS: dict[str, type[MedusaHeads | EagleHeads]] = {
    "medusa": MedusaHeads,
    "eagle": EagleHeads,
}


def save_heads(heads: MedusaHeads | EagleHeads, path: Path) -> None:
    """Write the weights in float16."""
    from safetensors.torch import save_file

    weights = {name: value.half().contiguous() for name, value in heads.state_dict().items()}
    save_file(weights, path, metadata={"heads": json.dumps({"kind": heads.name, **heads.config})})


def load_heads(path: Path, model: Any) -> MedusaHeads | EagleHeads:
    """Heads of a file that `save_heads` wrote, for the transformers model they were trained on.

    ModelError when the file is none of these, or its sizes are not those of the model.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            config = json.loads((file.metadata() or {}).get("heads", "{}"))
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise ModelError(f"heads cannot be read: {error}", location=str(path)) from None
    kind = KINDS.get(config.pop("kind", ""))
    if kind is None:
        raise ModelError(
            "the file has no heads",
            location=str(path),
            expected="a file that save_heads wrote, of " + " or ".join(KINDS),
        )
    heads = kind.of(model, config)
    wanted = {name: tuple(value.shape) for name, value in heads.state_dict().items()}
    found = {name: tuple(value.shape) for name, value in weights.items()}
    if wanted != found:
        width = model.get_output_embeddings().weight.shape[1]
        raise ModelError(
            f"the heads were trained for another model than one of width {width}",
            location=str(path),
            hint="give the model that they were trained on",
        )
    heads.load_state_dict({name: value.float() for name, value in weights.items()})
    return heads.to(model.get_output_embeddings().weight.device).eval()


def head_drafter(name: str, model: Any = None) -> HeadDrafter:
    """The heads "medusa" or "eagle" that ship for the demo model, as a drafter.

    model: the demo model where it is loaded already; else its embedding is read from its folder.
    """
    if name not in KINDS:
        raise ModelError(f"there are no heads named {name!r}", expected=" or ".join(KINDS))
    if model is None:
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(model_path())
    return HeadDrafter(load_heads(heads_path(name), model))


def medusa(target: HuggingFaceTarget) -> HeadDrafter:
    """The Medusa heads that ship for the demo model, which the target must be."""
    return head_drafter("medusa", target.model)


def eagle(target: HuggingFaceTarget) -> HeadDrafter:
    """The EAGLE that ships for the demo model, which the target must be."""
    return head_drafter("eagle", target.model)
