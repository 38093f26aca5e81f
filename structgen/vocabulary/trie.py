"""The trie of all text tokens, in depth-first order, in flat arrays.

A walk is one loop without recursion: keep one automaton state per depth; at node `i`, step from
the state at depth `depth[i] - 1` by `byte[i]`; if that is dead, go on at `end[i]`, else at `i + 1`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.errors import ArtifactError, VocabularyError
from structgen.kernels.build.loader import kernels
from structgen.util import container
from structgen.util.cache_dir import cache_dir

_KIND = "trie 1"
_CACHE_FROM = 8192  # fewer tokens are built faster than a file is opened and checked

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class Trie:
    """The trie of all text tokens; nodes in depth-first order, children by ascending byte.

    The root is not a node. All arrays are C-contiguous and read-only; n nodes, k duplicates.
    Tokens with the same bytes share a node: the smallest id is in `token`, the others are extra.
    """

    byte: npt.NDArray[np.uint8]  # uint8[n]: the last byte of the path to the node
    depth: Ints  # int32[n]: bytes on the path to the node, 1 for children of the root
    end: Ints  # int32[n]: index one past the last node of the subtree
    token: Ints  # int32[n]: smallest id of the tokens that end at the node, or -1
    extra_node: Ints  # int32[k]: ascending nodes at which further tokens end
    extra_token: Ints  # int32[k]: the further token, ascending for one node
    root_child: Ints  # int32[256]: the root's child for each first byte, or -1
    max_depth: int  # bytes of the longest token, 0 when there is none

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.byte)

    @property
    def nodes(self) -> Any:
        """The nodes as kernels take them, a `kernels.trie.nodes.Nodes` of its own."""
        at = np.stack([self.byte.astype(np.int32), self.depth, self.end, self.token], axis=1)
        at.flags.writeable = False
        return kernels("trie.nodes").Nodes(at, self.extra_node, self.extra_token, self.root_child)


def build_trie(tokens: Sequence[bytes | None], ids: Ints) -> Trie:
    """The trie of `tokens[i]` for every i in `ids` (ascending, none of them empty or None).

    O(total bytes) numpy work besides one sort of the tokens.
    """
    text_of: Any = tokens.__getitem__
    in_order = sorted(ids.tolist(), key=text_of)  # equal ones stay in the order of their ids
    words: list[bytes] = [*map(text_of, in_order)]
    order = np.array(in_order, np.int32)
    data = np.frombuffer(b"".join(words), np.uint8)
    if len(data) >= 2**31:
        raise VocabularyError(
            f"the tokens have {len(data)} bytes together",
            expected="fewer than 2 GiB",
            hint="check that this is a tokenizer's table",
        )
    length = np.fromiter(map(len, words), np.int64, len(words))
    start = np.cumsum(length) - length
    common = _common_prefixes(data, start, length)

    fresh = common < length  # False: the same bytes as the token before
    grown = (length - common)[fresh]  # nodes that each distinct token adds
    last = np.cumsum(grown) - 1  # the node at which it ends
    node = last[np.cumsum(fresh) - 1]
    owner = np.repeat(np.flatnonzero(fresh), grown)
    depth = np.arange(len(owner)) - (node[owner] - length[owner])
    token = np.full(len(owner), -1, np.int32)
    token[last] = order[fresh]

    byte = data[start[owner] + depth - 1]
    end, top = _subtree_ends(depth)
    root_child = np.full(256, -1, np.int32)
    root_child[byte[top]] = top
    return _frozen(
        {
            "byte": byte,
            "depth": depth.astype(np.int32),
            "end": end.astype(np.int32),
            "token": token,
            "extra_node": node[~fresh].astype(np.int32),
            "extra_token": order[~fresh],
            "root_child": root_child,
        },
        int(length.max(initial=0)),
    )


def cached_trie(
    tokens: Callable[[], Sequence[bytes | None]], size: int, ids: Ints, key: str
) -> Trie:
    """The same as `build_trie`, kept on disk under `key` (the vocabulary's hash) when large.

    tokens: finds the `size` tokens, where they are needed.
    A file that is damaged, foreign or inconsistent is built anew; a directory that cannot be
    written is no error.
    """
    if len(ids) < _CACHE_FROM:
        return build_trie(tokens(), ids)
    path = cache_dir() / "tries" / f"{key}.trie"
    trie = _load(path, key, size, len(ids))
    if trie is None:
        trie = build_trie(tokens(), ids)
        _save(path, key, trie)
    return trie


def _common_prefixes(
    data: npt.NDArray[np.uint8], start: npt.NDArray[np.int64], length: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """int64[tokens]: bytes that each sorted token shares with the one before it."""
    common = np.zeros(len(length), np.int64)
    shorter = np.minimum(length[1:], length[:-1])
    alive = np.arange(1, len(length))
    depth = 0
    while len(alive):
        alive = alive[shorter[alive - 1] > depth]
        alive = alive[data[start[alive] + depth] == data[start[alive - 1] + depth]]
        depth += 1
        common[alive] = depth
    return common


def _subtree_ends(
    depth: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """int64[n] one past each subtree, and the nodes of depth 1.

    Level by level: a subtree ends at the next node of its depth or with its parent's, whichever
    comes first; the parent is the nearest node of the depth above that comes before.
    """
    n = len(depth)
    end = np.full(n, n, np.int64)
    by_depth = np.argsort(depth, kind="stable")
    bounds = np.cumsum(np.bincount(depth, minlength=1))
    above = top = by_depth[: bounds[1] if len(bounds) > 1 else 0]
    for level in range(1, len(bounds)):
        nodes = by_depth[bounds[level - 1] : bounds[level]]
        limit = np.append(nodes[1:], n)
        if level > 1:
            parent = above[np.searchsorted(above, nodes) - 1]
            limit = np.minimum(limit, end[parent])
        end[nodes] = limit
        above = nodes
    return end, top


def _frozen(arrays: dict[str, npt.NDArray[Any]], max_depth: int) -> Trie:
    for name, array in arrays.items():
        arrays[name] = np.ascontiguousarray(array)
        arrays[name].flags.writeable = False
    return Trie(**arrays, max_depth=max_depth)


def _save(path: Path, key: str, trie: Trie) -> None:
    arrays = {name: getattr(trie, name) for name in _ARRAYS}
    with contextlib.suppress(ArtifactError, OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        container.write(path, _KIND, {"vocabulary": key, "max_depth": trie.max_depth}, arrays)


def _load(path: Path, key: str, size: int, count: int) -> Trie | None:
    """The trie in the file, or None when there is no file that holds exactly this one."""
    try:
        header, arrays = container.read(path, _KIND)
    except ArtifactError:
        return None
    max_depth = header.get("max_depth")
    if header.get("vocabulary") != key or not isinstance(max_depth, int):
        return None
    if set(arrays) != set(_ARRAYS):
        return None
    trie = Trie(**arrays, max_depth=max_depth)
    return trie if _is_sound(trie, size, count) else None


def _is_sound(trie: Trie, size: int, count: int) -> bool:
    """Whether a walk stays inside the arrays and meets `count` > 0 ids, all below `size`."""
    n, index = len(trie.byte), np.arange(len(trie.byte), dtype=np.int32)
    shapes = {"extra_node": len(trie.extra_node), "extra_token": len(trie.extra_node)}
    for name in _ARRAYS:
        array = getattr(trie, name)
        wanted = 256 if name == "root_child" else shapes.get(name, n)
        if array.shape != (wanted,) or array.dtype != (np.uint8 if name == "byte" else np.int32):
            return False
    if np.count_nonzero(trie.token >= 0) + len(trie.extra_token) != count:
        return False
    steps = np.diff(trie.depth, prepend=np.int32(0))
    return bool(
        n > 0
        and trie.depth.min() == 1
        and trie.depth.max() == trie.max_depth
        and steps.max() == 1
        and (trie.end > index).all()
        and trie.end.max() == n
        and _within(trie.token, -1, size)
        and _within(trie.extra_token, 0, size)
        and _within(trie.extra_node, 0, n)
        and _within(trie.root_child, -1, n)
    )


def _within(values: Ints, low: int, high: int) -> bool:
    return len(values) == 0 or bool(values.min() >= low and values.max() < high)


_ARRAYS = tuple(field.name for field in fields(Trie) if field.name != "max_depth")
