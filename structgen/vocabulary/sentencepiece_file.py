"""Read the pieces of a SentencePiece `.model` file, and the settings that decide their bytes.

The file is one protocol buffer message (`ModelProto`); this reads the few fields that matter, so
that no package is needed for it. Field numbers are those of `sentencepiece_model.proto`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from structgen.errors import VocabularyError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
SPACE = "\u2581"  # how pieces spell a space


@dataclass(frozen=True)
class SentencePieceFile:
    """What a model file says about its tokens."""

    pieces: tuple[tuple[str, int], ...]  # (piece, type) of each id
    eos_piece: str
    dummy_prefix: bool  # whether encoding puts a space before a text
    space_is_suffix: bool  # whether it goes behind words instead
    rewrites_output: bool  # whether decoding changes the text once more


def parse_model(data: bytes, place: str) -> SentencePieceFile:
    """What the file at `place` with the content `data` says; VocabularyError if it is no model."""
    try:
        return _parse(memoryview(data))
    except (ValueError, IndexError, TypeError) as error:
        raise VocabularyError(
            f"this is not a SentencePiece model: {error}",
            location=place,
            expected="the .model file of a SentencePiece tokenizer",
        ) from error


def _parse(data: memoryview) -> SentencePieceFile:
    pieces: list[tuple[str, int]] = []
    eos_piece, dummy, suffix, rewrites = "</s>", True, False, False
    seen = set()
    for number, value in _fields(data):
        seen.add(number)
        if number == 1:  # SentencePiece: 1 piece, 3 type
            piece = dict(_fields(_message(value)))
            pieces.append((_text(piece.get(1, b"")), _int(piece.get(3, NORMAL))))
        elif number == 2:  # TrainerSpec: 24 treat_whitespace_as_suffix, 47 eos_piece
            trainer = dict(_fields(_message(value)))
            suffix = bool(trainer.get(24, False))
            eos_piece = _text(trainer.get(47, b"</s>"))
        elif number == 3:  # NormalizerSpec: 3 add_dummy_prefix
            dummy = bool(dict(_fields(_message(value))).get(3, True))
        elif number == 5:  # denormalizer: 2 precompiled_charsmap
            rewrites = bool(dict(_fields(_message(value))).get(2, b""))
    if not seen.issuperset((1, 2, 3)):
        raise ValueError("pieces, trainer or normalizer are missing; the file may be cut")
    return SentencePieceFile(tuple(pieces), eos_piece, dummy, suffix, rewrites)


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """(field number, value) in file order: varints as int, everything else as its bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            number, at = _varint(data, at)
            yield key >> 3, number
            continue
        if wire == 2:
            size, at = _varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire} at byte {at}")
        if size > len(data) - at:
            raise ValueError(f"a field of {size} bytes goes beyond the end")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError(f"a number does not end at byte {at}")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at


def _message(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise TypeError("a number stands where a message should")
    return value


def _text(value: int | bytes | memoryview) -> str:
    if isinstance(value, int):
        raise TypeError("a number stands where a text should")
    return bytes(value).decode()


def _int(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise TypeError("a text stands where a number should")
    return value
