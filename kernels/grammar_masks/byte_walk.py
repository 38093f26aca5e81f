"""Walks a trie node by node from a position of a grammar: the tokens that fit, and the ends."""

from __future__ import annotations

from structgen.kernels.build.decorators import lean
from structgen.kernels.build.language import types
from structgen.kernels.grammar.step import call_is_accepting, call_step
from structgen.kernels.grammar.tables import GRAMMAR, INT
from structgen.kernels.masks.byte_walk import walk_tree
from structgen.kernels.tables import I32, I64
from structgen.kernels.trie.nodes import NODES


@lean(INT(GRAMMAR, NODES, types.int64, I32, I32, I64))
def walk_below(t, nodes, top, row, ends, stack):  # type: ignore[no-untyped-def]
    """See `kernels.masks.byte_walk.walk_below`; `stack` has positions."""
    return walk_tree(t, nodes, top, row, ends, stack, call_step, call_is_accepting)
