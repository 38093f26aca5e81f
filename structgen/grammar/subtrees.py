"""In: a vocabulary. Out: what the subtrees of its trie hold, made once for all grammars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.jit import kernels
from structgen.tokens.per_vocabulary import per_vocabulary

if TYPE_CHECKING:
    from structgen.tokens.vocabulary import Vocabulary


class Subtrees(NamedTuple):
    """The subtrees of a trie of n nodes (see `kernels.grammar_loops.fill_subtrees`).

    beneath: int64[n], the groups of bytes below each node; before: int32[n + 1], how many tokens
    come before it; order: int32[tokens], the tokens in the order of their nodes.
    """

    beneath: npt.NDArray[np.int64]
    before: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]


def nodes_of(vocabulary: Vocabulary) -> Any:
    """The trie as kernels take it."""
    of = kernels("walk").Nodes
    return of(*(getattr(vocabulary.trie, name) for name in of._fields))


@per_vocabulary
def subtrees_of(vocabulary: Vocabulary) -> Subtrees:
    """The subtrees of a vocabulary's trie."""
    nodes = nodes_of(vocabulary)
    n, tokens = len(nodes.byte), int((nodes.token >= 0).sum())
    found = Subtrees(np.zeros(n, np.int64), np.zeros(n + 1, np.int32), np.zeros(tokens, np.int32))
    kernels("grammar_loops").fill_subtrees(nodes, *found)
    for array in found:
        array.flags.writeable = False
    return found
