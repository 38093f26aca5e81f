"""In: tokenizer files and objects. Out: a Vocabulary with the bytes of every token."""

from __future__ import annotations

import binascii
import importlib.util
import operator
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from structgen.errors import ModelError, VocabularyError
from structgen.tokens.vocabulary import Vocabulary

_USUAL_ENDS = ("<|endoftext|>", "<|end_of_text|>")


def from_tiktoken(
    path: str | os.PathLike[str],
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    eos_ids: Iterable[int | str] | None = None,
    size: int | None = None,
) -> Vocabulary:
    """Read a tiktoken file: lines of `<base64 of the token's bytes> <rank>`, rank = token id.

    `special_tokens` maps names to ids beside the ranks. `eos_ids` are ids or names of special
    tokens; without them `<|endoftext|>` or `<|end_of_text|>` ends a text if it is a special token.
    `size` defaults to the largest id mentioned anywhere plus one. With `pattern`, the
    pre-tokenizer's regular expression, `encode` is there; it needs the `tiktoken` package.

    VocabularyError when the file or an id is not as described, with line or id.
    """
    ranks = _read_ranks(Path(path))
    special = dict(special_tokens or {})
    tokens: dict[int, bytes] = {rank: token for token, rank in ranks.items()}
    for name, token_id in special.items():
        if token_id in tokens:
            raise VocabularyError(
                f"special token {name!r} has the id {token_id} of {tokens[token_id]!r}",
                token_id=token_id,
                expected="an id of its own",
            )
        tokens[token_id] = name.encode()
    ends = _end_ids(special, eos_ids)
    count = max(tokens) + 1
    if size is None:
        size = max(count, max(ends, default=-1) + 1)
    return Vocabulary(
        [tokens.get(i) for i in range(count)],
        eos_ids=ends,
        special_ids=special.values(),
        size=size,
        encode=None if pattern is None else TiktokenEncoder(ranks, pattern),
    )


class TiktokenEncoder:
    """Text -> ids by byte-pair merges of `ranks`, after a split by `pattern`; specials unknown."""

    def __init__(self, ranks: dict[bytes, int], pattern: str) -> None:
        self._ranks = ranks
        self._pattern = pattern
        self._lock = threading.Lock()
        self._encoding: Any = None

    def __call__(self, text: str) -> list[int]:
        """The ids of `text`. ModelError when the tiktoken package is not installed."""
        if self._encoding is None:
            with self._lock:
                if self._encoding is None:
                    self._encoding = self._build()
        return list(self._encoding.encode_ordinary(text))

    def __reduce__(self) -> tuple[Any, ...]:
        return (TiktokenEncoder, (self._ranks, self._pattern))

    def _build(self) -> Any:
        if importlib.util.find_spec("tiktoken") is None:
            raise ModelError(
                "encoding text with a tiktoken file needs the tiktoken package",
                hint="run: pip install tiktoken",
            )
        import tiktoken

        return tiktoken.Encoding(
            "structgen", pat_str=self._pattern, mergeable_ranks=self._ranks, special_tokens={}
        )


def _read_ranks(path: Path) -> dict[bytes, int]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise VocabularyError(
            f"the file cannot be read: {error.strerror or error}", location=str(path)
        ) from error
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            encoded, rank = line.split()
            ranks[binascii.a2b_base64(encoded, strict_mode=True)] = int(rank)
        except ValueError as error:
            raise VocabularyError(
                f"{line[:60]!r} is not a token and its rank: {error}",
                location=f"{path}:{number}",
                expected="base64, a space and a number",
                hint="check that this is a tiktoken file",
            ) from None
    if not ranks:
        raise VocabularyError("the file holds no token", location=str(path))
    return ranks


def _end_ids(special: Mapping[str, int], eos_ids: Iterable[int | str] | None) -> list[int]:
    if eos_ids is None:
        return [special[name] for name in _USUAL_ENDS if name in special]
    ends = []
    for value in eos_ids:
        if isinstance(value, str) and value not in special:
            raise VocabularyError(
                f"eos_ids names {value!r}",
                expected=f"an id or one of {sorted(special)[:8]}",
            )
        ends.append(special[value] if isinstance(value, str) else operator.index(value))
    return ends
