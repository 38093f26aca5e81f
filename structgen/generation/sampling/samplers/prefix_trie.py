"""A prefix trie of upper bounds on the probability that a prefix ends in a fitting text (ASAp).

A node is a prefix. For each token that may follow it has log p, the model's, and log theta, an
upper bound on the probability that a text which goes on so fits the constraint: 0 where nothing is
known, -inf where no continuation fits. A node's own theta is the sum of p * theta over its tokens,
summed anew from the children, never by subtracting (ASAp, arXiv 2405.21047).

What is not in the trie counts as unknown, so a trie may be cut back at any time and stays valid.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from structgen.errors import ArtifactError, GenerationError
from structgen.generation.distribution import log_sum_exp
from structgen.generation.sampling.interfaces import Doubles, Tokens
from structgen.util import container

Ids = npt.NDArray[np.int32]
NONE = -1  #: no node
MAX_BYTES = 1 << 28
FILE_KIND = "prefix trie"  # names the kind of file that `save_trie` writes


@dataclass(slots=True)
class Node:
    """What may follow a prefix: token ids int32[k] ascending; log p and log theta float64[k]."""

    parent: int
    token: int  # the last one of the prefix
    ids: Ids
    log_p: Doubles
    log_theta: Doubles

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.ids.nbytes + self.log_p.nbytes + self.log_theta.nbytes

    def at(self, token: int) -> int:
        """Where a token is among `ids`; NONE when it may not follow."""
        index = int(np.searchsorted(self.ids, token))
        return index if index < len(self.ids) and self.ids[index] == token else NONE


class PrefixTrie:
    """The prefixes of one prompt, model and spec.

    Attributes: `nodes`, the root first, parents before their children; `key`, which says what it
    was made for ("" until then); `max_bytes`, the memory at which it is cut back to half;
    `log_theta`, the root's: log of an upper bound on the probability of the constraint.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.nodes: list[Node] = []
        self.key = ""
        self.max_bytes = max_bytes
        self.log_theta = 0.0
        self.nbytes = 0
        self._children: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def made_for(self, key: str) -> None:
        """Say what the trie is for. GenerationError when it was made for something else."""
        if self.key not in {"", key}:
            raise GenerationError(
                "the prefix trie belongs to another prompt, model, spec or budget",
                hint="give each of them a trie of its own",
            )
        self.key = key

    def child(self, node: int, token: int) -> int:
        """The node after one more token; the root is the one after NONE. NONE if it is unknown."""
        return self._children.get((node, token), NONE)

    @property
    def root(self) -> int:
        """The node of the empty prefix, or NONE in an empty trie."""
        return self.child(NONE, NONE)

    def find(self, tokens: Tokens) -> int:
        """The node of a prefix, or NONE."""
        node = self.root
        for token in tokens:
            if node == NONE:
                return NONE
            node = self.child(node, token)
        return node

    def add(self, parent: int, token: int, ids: Ids, log_p: Doubles) -> int:
        """A new node after `token` (the root when `parent` is NONE), or the one there already.

        ids: the tokens that may follow, ascending; log_p: float64[k], theirs. `update` makes the
        theta above it right.
        """
        known = self.child(parent, token)
        if known != NONE:
            return known
        index = len(self.nodes)
        self.nodes.append(Node(parent, token, ids, log_p, np.zeros(len(ids))))
        self.nbytes += self.nodes[-1].nbytes
        self._children[parent, token] = index
        return index

    def refuse(self, node: int, token: int) -> None:
        """Note that no text goes on so: theta is 0."""
        at = self.nodes[node].at(token)
        if at != NONE:
            self.nodes[node].log_theta[at] = -np.inf

    def weights(self, node: int) -> Doubles:
        """float64[k]: log of p * theta of the tokens that may follow."""
        found: Doubles = self.nodes[node].log_p + self.nodes[node].log_theta
        return found

    def update(self, node: int) -> None:
        """Sum up theta from a node to the root."""
        while node != NONE:
            node = self._sum_up(node)

    def update_all(self) -> None:
        """Sum up theta of all nodes, from below."""
        for node in reversed(range(len(self.nodes))):
            self._sum_up(node)

    def _sum_up(self, node: int) -> int:
        """Write a node's theta into its parent, which is returned."""
        log_theta = min(log_sum_exp(self.weights(node)), 0.0)
        entry = self.nodes[node]
        if entry.parent == NONE:
            self.log_theta = log_theta
        else:
            above = self.nodes[entry.parent]
            above.log_theta[above.at(entry.token)] = log_theta
        return entry.parent

    def merge(self, other: PrefixTrie) -> None:
        """Learn what another trie for the same knows. GenerationError when it is for another."""
        if other.key:
            self.made_for(other.key)
        index: dict[int, int] = {NONE: NONE}
        for number, entry in enumerate(other.nodes):
            mine = self.add(index[entry.parent], entry.token, entry.ids, entry.log_p)
            index[number] = mine
            kept = self.nodes[mine].log_theta
            np.minimum(kept, entry.log_theta, out=kept)
        self.update_all()
        self.bound()

    def bound(self) -> None:
        """Cut the trie back to half of `max_bytes` when it is larger than that.

        The nodes kept are those whose corrections matter most: the prefix's probability times what
        its theta is below 1. No node has more of that than its parent, so parents stay.
        """
        if self.nbytes <= self.max_bytes:
            return
        # Keep nodes in the order of their gain while they fill half of the memory. A node's gain is
        # at most its parent's and the sort is stable, so the parent of a kept node is kept.
        order = np.argsort(-self._gains(), kind="stable")
        sizes = np.array([self.nodes[i].nbytes for i in order])
        kept = sorted(order[np.cumsum(sizes) <= self.max_bytes // 2].tolist())
        index: dict[int, int] = {NONE: NONE}
        before, self.nodes, self._children, self.nbytes = self.nodes, [], {}, 0
        dropped = set(range(len(before))).difference(kept)
        for number in kept:
            entry = before[number]
            index[number] = self.add(index[entry.parent], entry.token, entry.ids, entry.log_p)
            self.nodes[-1].log_theta[:] = entry.log_theta
        # What is known of a dropped node is forgotten: its theta in the parent is 1 again.
        for number in dropped:
            entry = before[number]
            if entry.parent in index:
                above = self.nodes[index[entry.parent]]
                above.log_theta[above.at(entry.token)] = 0.0
        self.update_all()

    def prefixes(self) -> Iterator[Tokens]:
        """The prefix of each node, in their order."""
        found: list[Tokens] = []
        for entry in self.nodes:
            found.append(() if entry.parent == NONE else (*found[entry.parent], entry.token))
            yield found[-1]

    def _gains(self) -> Doubles:
        reach = np.zeros(len(self.nodes))
        gain = np.full(len(self.nodes), np.inf)
        for number, entry in enumerate(self.nodes):
            if entry.parent != NONE:
                above = self.nodes[entry.parent]
                at = above.at(entry.token)
                reach[number] = reach[entry.parent] + above.log_p[at]
                own = float(np.exp(reach[number]) * -np.expm1(above.log_theta[at]))
                gain[number] = min(own, gain[entry.parent])  # rounding must not part them
        return gain


def save_trie(trie: PrefixTrie, path: str | os.PathLike[str]) -> None:
    """Write the trie; all or nothing. ArtifactError when the file cannot be written."""
    nodes = trie.nodes

    def joined(name: str, dtype: type) -> container.AnyArray:
        parts = [getattr(node, name) for node in nodes]
        return np.concatenate([np.empty(0, dtype), *parts])

    arrays: dict[str, container.AnyArray] = {
        "parent": np.array([node.parent for node in nodes], np.int32),
        "token": np.array([node.token for node in nodes], np.int32),
        "count": np.array([len(node.ids) for node in nodes], np.int64),
        "ids": joined("ids", np.int32),
        "log_p": joined("log_p", np.float64),
        "log_theta": joined("log_theta", np.float64),
    }
    container.write(path, FILE_KIND, {"key": trie.key}, arrays)


def load_trie(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> PrefixTrie:
    """The trie that `save_trie` wrote. ArtifactError when the file is damaged or something else."""
    header, arrays = container.read(path, FILE_KIND)
    parent, token, count = (arrays[name].tolist() for name in ("parent", "token", "count"))
    edges = np.cumsum([0, *count])
    shapes = {len(arrays[name]) for name in ("ids", "log_p", "log_theta")}
    ordered = all(NONE <= above < number for number, above in enumerate(parent))
    if shapes != {int(edges[-1])} or not len(parent) == len(token) == len(count) or not ordered:
        raise ArtifactError("the trie's nodes do not fit together", location=str(path))
    trie = PrefixTrie(max_bytes)
    trie.key = str(header["key"])
    for number, (above, last) in enumerate(zip(parent, token, strict=True)):
        here = slice(int(edges[number]), int(edges[number + 1]))
        trie.add(above, last, arrays["ids"][here].copy(), arrays["log_p"][here].copy())
        trie.nodes[-1].log_theta[:] = arrays["log_theta"][here]
    trie.update_all()
    trie.bound()
    return trie
