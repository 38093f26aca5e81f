"""Keep what was read from a tokenizer in the cache folder, so that it is read once on a machine.

A file is named by a hash of all that decides what is read: the tokenizer's own bytes and what the
user says beside. It vouches for the test of the table against the tokenizer, too. It is mapped, so
processes share it. Tokens are copied from it one by one, and a table of them is made only where
somebody asks for the whole.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from structgen.errors import ArtifactError
from structgen.util import container
from structgen.util.cache_dir import cache_dir
from structgen.version import __version__

KIND = "vocabulary 1"
FROM = 8192  # tokens; fewer are read faster than a file is opened and checked


class Stored(NamedTuple):
    """A vocabulary as it lies in a file.

    data: uint8[], the bytes of all tokens, one behind the other. ends: int64[V], where each ends.
    missing: int32[], ids that have no token; eos_ids, special_ids, text_ids: int32[]. hash and
    prefix are the vocabulary's.
    """

    data: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]
    missing: npt.NDArray[np.int32]
    eos_ids: npt.NDArray[np.int32]
    special_ids: npt.NDArray[np.int32]
    text_ids: npt.NDArray[np.int32]
    hash: str
    prefix: bytes

    @property
    def tokens(self) -> tuple[bytes | None, ...]:
        """The bytes of each token, None where there is none."""
        whole, begin = self.data.tobytes(), 0
        found: list[bytes | None] = []
        for end in self.ends.tolist():
            found.append(whole[begin:end])
            begin = end
        for token_id in self.missing.tolist():
            found[token_id] = None
        return tuple(found)


ARRAYS = Stored._fields[:-2]


class StoredTokens(Sequence[bytes | None]):
    """The tokens of a stored vocabulary as they lie in its file: each is copied when asked for."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._data, self._ends = stored.data.data, stored.ends.data
        self._missing = frozenset(stored.missing.tolist())

    def __len__(self) -> int:
        """How many there are, V."""
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[bytes | None, ...]: ...

    def __getitem__(self, index: int | slice) -> bytes | tuple[bytes | None, ...] | None:
        """The bytes of a token, None where there is none."""
        if isinstance(index, slice):
            return self._stored.tokens[index]
        end = self._ends[index]
        begin = self._ends[index - 1] if index % len(self._ends) else 0
        if begin == end and index % len(self._ends) in self._missing:
            return None
        return bytes(self._data[begin:end])

    def __iter__(self) -> Iterator[bytes | None]:
        return iter(self._stored.tokens)


def key_of(kind: str, data: bytes, *said: object) -> str:
    """The name of a file. data: the tokenizer's own bytes; said: what else decides, with a repr."""
    digest = blake2b(repr((__version__, kind, said)).encode(), digest_size=20)
    digest.update(data)
    return digest.hexdigest()


def load(key: str) -> Stored | None:
    """What `save` wrote under a key; None where there is no file, or it is damaged."""
    try:
        header, arrays = container.read(_path(key), KIND)
        return Stored(
            **{name: arrays[name] for name in ARRAYS},
            hash=str(header["hash"]),
            prefix=bytes.fromhex(header["prefix"]),
        )
    except (ArtifactError, KeyError, TypeError, ValueError):
        return None


def save(
    key: str,
    tokens: tuple[bytes | None, ...],
    ids: dict[str, Iterable[int]],
    hash_of_all: str,
    prefix: bytes,
) -> None:
    """Keep a vocabulary under a key; where nothing can be written, that is no error.

    ids: "eos_ids", "special_ids" and "text_ids".
    """
    missing = [i for i, token in enumerate(tokens) if token is None]
    arrays: dict[str, npt.NDArray[Any]] = {
        "data": np.frombuffer(b"".join(filter(None, tokens)), np.uint8),
        "ends": np.cumsum([len(token or b"") for token in tokens], dtype=np.int64),
        "missing": np.array(missing, np.int32),
        **{name: np.array([*found], np.int32) for name, found in ids.items()},
    }
    with contextlib.suppress(ArtifactError, OSError):
        path = _path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        container.write(path, KIND, {"hash": hash_of_all, "prefix": prefix.hex()}, arrays)


def _path(key: str) -> Path:
    return cache_dir() / "vocabularies" / f"{key}.vocabulary"
