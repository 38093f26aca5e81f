"""Reads the vocabulary of a GGUF file, the format of llama.cpp's models: the metadata alone.

The file begins with counts and then has keys with values, of which a few describe the tokens
(https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). No package is needed, and no weights
are read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from structgen.errors import VocabularyError
from structgen.vocabulary.huggingface import byte_level
from structgen.vocabulary.table import TokenTable

_PREFIX = "tokenizer.ggml."
_WANTED = frozenset(
    _PREFIX + name
    for name in ("model", "tokens", "token_type", "eos_token_id", "eot_token_id", "eom_token_id")
)
_STRING, _ARRAY = 8, 9  # types of values
_NUMBERS = dict(zip([0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12], "BbHhIif?Qqd", strict=True))
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = 1, 2, 3, 4, 5, 6  # types of tokens
_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"  # a space in tokens of SentencePiece
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
#: How models spell their tokens: by the byte-level alphabet, or by characters.
_BYTE_LEVEL, _CHARACTERS = ("gpt2",), ("llama", "gemma4", "t5")
#: Tokens that end a turn, which llama.cpp stops at wherever a vocabulary has them as such.
_ENDS = frozenset(
    "<|eot_id|> <|im_end|> <|end|> <end_of_turn> <|endoftext|> <|eom_id|> <EOT> _<EOT> <|return|> "
    "<|call|> <end_of_utterance>".split()
)


def gguf_table(path: Path, size: int | None = None) -> TokenTable:
    """The tokens of a GGUF file.

    size: the model's vocabulary size where it is larger. Control tokens are special; end tokens are
    those that the file names, and control tokens that llama.cpp ends a turn at. VocabularyError for
    what is no such file, and for vocabularies whose tokens do not spell text (WordPiece).
    """
    found = read_metadata(path)
    model, texts = found.get(_PREFIX + "model"), found.get(_PREFIX + "tokens")
    if model not in _BYTE_LEVEL + _CHARACTERS or not texts:
        raise VocabularyError(
            f"the vocabulary is of the kind {model!r}",
            location=str(path),
            expected=", ".join(_BYTE_LEVEL + _CHARACTERS),
        )
    kinds = found.get(_PREFIX + "token_type") or [_NORMAL] * len(texts)
    pairs = list(zip(texts, kinds, strict=True))
    ends = {found.get(f"{_PREFIX}{name}_token_id") for name in ("eos", "eot", "eom")}
    ends |= {i for i, (text, kind) in enumerate(pairs) if kind == _CONTROL and text in _ENDS}
    return TokenTable(
        tokens=[_bytes_of(text, kind, model in _BYTE_LEVEL) for text, kind in pairs],
        eos_ids=sorted(one for one in ends if one is not None),
        special_ids=[i for i, (_, kind) in enumerate(pairs) if kind in (_UNKNOWN, _CONTROL)],
        size=size,
        encode=None,
        check=False,
    )


def _bytes_of(text: str, kind: int, is_byte_level: bool) -> bytes | None:
    """What a token spells."""
    if kind == _UNUSED:
        return None
    if kind in (_UNKNOWN, _CONTROL, _USER_DEFINED):
        return text.encode()
    if is_byte_level:
        return byte_level(text)
    byte = _BYTE_PIECE.fullmatch(text) if kind == _BYTE else None
    return bytes.fromhex(byte[1]) if byte else text.replace(_SPACE, " ").encode()


def read_metadata(path: Path, wanted: Iterable[str] = _WANTED) -> Mapping[str, Any]:
    """The values of some keys. VocabularyError for what is no GGUF file of version 2 or 3."""
    keys = frozenset(wanted)
    try:
        with path.open("rb") as file:
            magic, version, _, count = struct.unpack("<4sIQQ", file.read(24))
            if magic != b"GGUF" or version not in (2, 3):
                raise VocabularyError(
                    "this is no GGUF file", location=str(path), expected="version 2 or 3"
                )
            reader = _Reader(file, path.stat().st_size - file.tell())
            found = {}
            for _ in range(count):
                key = reader.text()
                (kind,) = reader.numbers("I", 1)
                value = reader.value(kind)
                if key in keys:
                    found[key] = value
            return found
    except (OSError, EOFError, struct.error, KeyError) as error:
        raise VocabularyError(f"the file cannot be read: {error}", location=str(path)) from error


class _Reader:
    """Reads values one after the other. EOFError where the file ends before a value does."""

    def __init__(self, file: BinaryIO, left: int) -> None:
        """left: how many bytes the file still has."""
        self._file, self._left = file, left

    def _bytes(self, count: int) -> bytes:
        """The next bytes; a count that is wrong costs no memory."""
        if count > self._left:
            raise EOFError("it ends too early")
        self._left -= count
        return self._file.read(count)

    def numbers(self, letter: str, count: int) -> tuple[Any, ...]:
        """Numbers of a type of `struct`, little-endian."""
        data = self._bytes(count * struct.calcsize(f"<{letter}"))
        return struct.unpack(f"<{count}{letter}", data)

    def text(self) -> str:
        """A string: its length in bytes, and UTF-8; what is no character is replaced."""
        length = int.from_bytes(self._bytes(8), "little")
        return self._bytes(length).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """A value of a type; arrays are lists."""
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            return self.numbers(_NUMBERS[kind], 1)[0]
        (inner,), (count,) = self.numbers("I", 1), self.numbers("Q", 1)
        if inner in _NUMBERS:
            return list(self.numbers(_NUMBERS[inner], count))
        return [self.value(inner) for _ in range(count)]
