"""The protocols of trained heads: `Heads`, shared by all texts, and `Reader`, one text's state.

    target ── hidden states of the path kept ──▶ Reader.read ──▶ logits after the root
                                                 Reader.extend ▶ logits after nodes of the draft

Parallel heads (Medusa) give all nodes of a depth the same logits. Sequential ones (Hydra, EAGLE)
and early exits (Kangaroo) compute what each node adds; whatever they keep of a text is in their
Reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy.typing as npt


class Reader(Protocol):
    """Heads at work on one text. Not for several threads.

    The nodes of a draft are numbered: 0 is its root, the last token that is certain; those of each
    call of `extend` get the next numbers.
    """

    def read(self, hidden: Any, tokens: Sequence[int]) -> npt.NDArray[Any]:
        """float[V]: logits of the token after the root. What was drafted before is forgotten.

        hidden: a tensor [m, layers, d], the target's states of the m tokens that it has read for
        good since the last call (at first: of the whole prompt). tokens: these, and then the root,
        which the target has not read yet.
        """

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> npt.NDArray[Any]:
        """float[n, V]: logits of what follows each of n new nodes, a token below each parent.

        The parents are of earlier calls, or the root. No node is deeper than `Heads.depth` - 1.
        """


class Heads(Protocol):
    """Trained heads, shared by all texts and threads."""

    @property
    def name(self) -> str:
        """What they are called in tables."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """Layers of the target whose states they read (0: the embeddings, -1: the last)."""

    @property
    def depth(self) -> int | None:
        """Most tokens in a row that they can draft; None when there is no limit."""

    def begin(self) -> Reader:
        """Start on a text."""
