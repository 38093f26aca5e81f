"""In: a prefix trie. Out: a file that holds it, and the trie again."""

from __future__ import annotations

import os

import numpy as np

from structgen.errors import ArtifactError
from structgen.generation.sampling.samplers.prefix_trie import MAX_BYTES, NONE, PrefixTrie
from structgen.util import container

KIND = "prefix trie"


def save(trie: PrefixTrie, path: str | os.PathLike[str]) -> None:
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
    container.write(path, KIND, {"key": trie.key}, arrays)


def load(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> PrefixTrie:
    """The trie that `save` wrote. ArtifactError when the file is damaged or something else."""
    header, arrays = container.read(path, KIND)
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
