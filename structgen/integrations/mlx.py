"""Makes a logits processor for mlx-lm: masks are made by numpy, and applied by MLX.

from structgen.integrations.mlx import LogitsProcessor
generate(model, tokenizer, prompt, logits_processors=[LogitsProcessor(spec, tokenizer)])
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from structgen.constraint.compiler import compile as compile_spec
from structgen.integrations.huggingface import vocabulary_for
from structgen.integrations.matcher import Follower
from structgen.masks import bitmask
from structgen.schema.coerce import is_constraint
from structgen.util.versions import warn_of_host


class LogitsProcessor:
    """Masks the logits of one text at a time; for a batch, one for each text.

    spec: what `structgen.compile` takes, or a constraint. tokenizer: of mlx-lm or transformers, not
    needed for a constraint. eos_ids: what ends a text, where it is not the tokenizer's own.
    """

    def __init__(
        self, spec: Any, tokenizer: Any = None, *, eos_ids: Iterable[int] | None = None
    ) -> None:
        import mlx.core

        warn_of_host("mlx", getattr(mlx.core, "__version__", ""))
        self._mx = mlx.core
        self._spec = spec
        # mlx-lm's wrapper names the end tokens, and has the tokenizer of transformers inside.
        is_wrapper = hasattr(tokenizer, "detokenizer")
        self._tokenizer = tokenizer._tokenizer if is_wrapper else tokenizer
        known = tokenizer.eos_token_ids if is_wrapper and eos_ids is None else eos_ids
        self._eos_ids = tuple(sorted(known)) if known else None
        self._follower: Follower | None = Follower(spec) if is_constraint(spec) else None

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """logits: mx.array[1, V], with -inf where a token would break the text.

        tokens: those of the prompt and of the text so far.
        """
        mx, size = self._mx, logits.shape[-1]
        if self._follower is None:
            vocabulary = vocabulary_for(self._tokenizer, size, self._eos_ids)
            self._follower = Follower(compile_spec(self._spec, vocabulary))
        row = self._follower.row(np.asarray(tokens).tolist())
        allowed = bitmask.unpack(row, min(size, 32 * len(row)))
        if len(allowed) < size:
            allowed = np.pad(allowed, (0, size - len(allowed)))
        return mx.where(mx.array(allowed), logits, mx.array(-np.inf, logits.dtype))

    def reset(self) -> None:
        """Begin a new text, whose prompt may begin with all of the last one."""
        if self._follower is not None:
            self._follower.reset()
