"""The vocabulary as a trie in arrays, and what is known of its subtrees.

Tokens are sorted by bytes, and nodes stand in depth-first order, so a walk is one loop: go to the
next node, or jump to the end of the subtree where a byte is refused. What a walk asks of a node
stands side by side in one row, since each cache line that it has not seen takes longer than all it
does there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.language import reference, types
from structgen.kernels.tables import I32, INTS

NODE_BYTE, NODE_DEPTH, NODE_END, NODE_TOKEN = range(4)  # columns of `Nodes.at`
WHOLE, BELOW, HEIGHT, OWN = range(4)  # columns of `Subtrees.at`
IN_CHARACTER = 255
MANY = 255  #: characters: of more the same is said


class Nodes(NamedTuple):
    """A trie's nodes in depth-first order, children by ascending byte.

    at: int32[n, 4], columns NODE_BYTE; NODE_DEPTH, 1 for first bytes; NODE_END, one past its
    subtree; NODE_TOKEN, the id of the token that ends here, or -1. extra_node, extra_token:
    int32[k], further ids for nodes whose bytes several tokens share. root_child: int32[256], the
    node of depth 1 with each byte, or -1.
    """

    at: npt.NDArray[np.int32]
    extra_node: npt.NDArray[np.int32]
    extra_token: npt.NDArray[np.int32]
    root_child: npt.NDArray[np.int32]


class Subtrees(NamedTuple):
    """What is at and below each node of a trie.

    at: int64[n, 4], in columns. WHOLE: bits of the byte groups (`regular.byte_groups`) of all
    characters that begin at the node or below, and of the broken ones where the node is within a
    character; BELOW: the same for those below, with the broken ones also where a character goes on
    below. HEIGHT: how many characters begin at the node and below at most, MANY for more. OWN: the
    group of the character that begins at the node, IN_CHARACTER within one. first: int32[n + 1],
    the place in `order` of the first token at it or below; order: int32[m], the tokens in the order
    of nodes.
    """

    at: npt.NDArray[np.int64]
    first: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]


_READ = types.Array(types.int32, 2, "C", readonly=True)
NODES = reference(types.NamedTuple([_READ, INTS, INTS, INTS], Nodes))
SUBTREES = reference(types.NamedTuple([types.int64[:, ::1], I32, I32], Subtrees))
