"""Registers structgen as a grammar backend of SGLang; an entry point that SGLang calls.

python -m sglang.launch_server --model-path MODEL --grammar-backend structgen
"""

from __future__ import annotations

from typing import Any

from structgen.integrations.interfaces import check_methods
from structgen.util.versions import warn_of_host

NAME = "structgen"
#: Methods of SGLang's base classes that structgen's replace, with their parameters.
GRAMMAR = {
    "accept_token": ("self", "token"),
    "rollback": ("self", "k"),
    "is_terminated": ("self",),
    "allocate_vocab_mask": ("self", "vocab_size", "batch_size", "device"),
    "fill_vocab_mask": ("self", "vocab_mask", "idx"),
    "fill_vocab_mask_batched": ("entries", "vocab_mask"),
    "reset_vocab_mask": ("vocab_mask",),
    "move_vocab_mask": ("vocab_mask", "device"),
    "apply_vocab_mask": ("logits", "vocab_mask"),
    "copy": ("self",),
}
BACKEND = {
    "dispatch_json": ("self", "key_string"),
    "dispatch_regex": ("self", "key_string"),
    "dispatch_ebnf": ("self", "key_string"),
    "dispatch_structural_tag": ("self", "key_string"),
    "set_cache": ("self", "key", "value"),
    "initialize_vocab_mask_buffer": ("self", "name", "vocab_size", "max_rows", "device"),
}


def register() -> None:
    """The entry point `sglang.srt.plugins`. HostError for an SGLang with another interface."""
    import sglang
    from sglang.srt.constrained import base_grammar_backend
    from sglang.srt.server_args import add_grammar_backend_choices

    warn_of_host("sglang", sglang.__version__)
    verify(base_grammar_backend)
    from structgen.integrations.sglang.backend import create

    base_grammar_backend.register_grammar_backend(NAME, create)
    add_grammar_backend_choices([NAME])


def verify(module: Any) -> None:
    """Raise HostError unless SGLang's base classes are those that `backend` was written for."""
    for name, methods in (("BaseGrammarObject", GRAMMAR), ("BaseGrammarBackend", BACKEND)):
        check_methods("sglang", module, name, methods)
