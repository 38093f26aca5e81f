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

    O(total bytes) besides one sort of the tokens.
    """
    text_of: Any = tokens.__getitem__
    in_order = sorted(ids.tolist(), key=text_of)  # equal ones stay in the order of their ids
    words: list[bytes] = [*map(text_of, in_order)]
    order = np.array(in_order, np.int32)
    data = np.frombuffer(bytearray().join(words), np.uint8)
    if len(data) >= 2**31:
        raise VocabularyError(
            f"the tokens have {len(data)} bytes together",
            expected="fewer than 2 GiB",
            hint="check that this is a tokenizer's table",
        )
    length = np.fromiter(map(len, words), np.int64, len(words))
    longest = int(length.max(initial=0))
    begins = np.concatenate(([0], np.cumsum(length)))
    byte = np.empty(len(data), np.uint8)
    depth, end, token = np.empty((3, len(data)), np.int32)
    extra_node, path = np.empty(len(order), np.int32), np.empty(longest, np.int32)
    count = kernels("trie.building").lay_out(
        data, begins, order, byte, depth, end, token, extra_node, path
    )
    top = np.flatnonzero(depth[:count] == 1)
    root_child = np.full(256, -1, np.int32)
    root_child[byte[top]] = top
    return _frozen(
        {
            "byte": byte[:count],
            "depth": depth[:count],
            "end": end[:count],
            "token": token[:count],
            "extra_node": extra_node[extra_node >= 0],
            "extra_token": order[extra_node >= 0],
            "root_child": root_child,
        },
        longest,
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
