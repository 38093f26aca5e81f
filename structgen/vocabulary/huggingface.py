"""Read the bytes of every token from the JSON of a `tokenizers` tokenizer.

Which bytes a token stands for is what the tokenizer's *decoder* makes of it in the middle of a
text. The decoder is read, not guessed from the name of a class; one whose output is not the
tokens' bytes in a row (WordPiece, word suffixes, CTC) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from structgen.errors import VocabularyError

Json = dict[str, Any]
Step = Callable[[str], str | bytes]
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True)
class TokenTable:
    """`tokens[id]` is the token's bytes or None; `special` never match text.

    `prefix` is what encoding puts before a text. A text whose encoding has one of the `unclear`
    ids need not be what the tokens spell: added tokens that eat the spaces around them, start a
    new prefix behind them, or are decoded to something else than they are encoded from.
    """

    tokens: list[bytes | None]
    special: frozenset[int]
    prefix: bytes
    unclear: frozenset[int]


def read_table(content: Json) -> TokenTable:
    """The table of the tokenizer that `content` (the parsed `tokenizer.json`) describes.

    VocabularyError when its model or decoder is of a kind whose tokens have no bytes of their own.
    """
    model = content["model"]
    vocabulary = _model_vocabulary(model)
    to_bytes = _token_reader(content)
    table: dict[int, bytes] = {}
    for text, token_id in vocabulary.items():
        table[token_id] = to_bytes(text)
    special = _unknown_ids(model, vocabulary)
    prefix = _prefix(content, to_bytes)
    unclear: set[int] = set()
    for added in content.get("added_tokens") or ():
        token_id, text = added["id"], added["content"]
        literal, decoded = text.encode(), to_bytes(text)
        if literal != decoded or prefix or added.get("lstrip") or added.get("rstrip"):
            unclear.add(token_id)
        if literal == decoded or vocabulary.get(text) == token_id:
            table[token_id] = decoded
        else:  # nothing says which of the two texts is meant, so the token is never text
            table[token_id] = literal
            special.add(token_id)
        if added.get("special"):
            table[token_id] = literal
            special.add(token_id)
    tokens = [table.get(i) for i in range(max(table, default=-1) + 1)]
    return TokenTable(tokens, frozenset(special), prefix, frozenset(unclear))


def _model_vocabulary(model: Json) -> dict[str, int]:
    kind = model.get("type")
    if kind not in {"BPE", "Unigram"}:
        raise VocabularyError(
            f"the tokenizer's model is {kind}",
            expected="BPE or Unigram, whose tokens spell the text they stand for",
            hint="use a tokenizer made for generating text",
        )
    for setting in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(setting):
            raise VocabularyError(
                f"the tokenizer marks words by {setting} {model[setting]!r}",
                expected="tokens that carry their own spaces",
                hint="use a tokenizer made for generating text",
            )
    pieces = model["vocab"]
    if isinstance(pieces, dict):
        return pieces
    return {piece: i for i, (piece, _) in enumerate(pieces)}


def _unknown_ids(model: Json, vocabulary: dict[str, int]) -> set[int]:
    """The model's own unknown token, which stands for no text."""
    if isinstance(model.get("unk_id"), int):
        return {model["unk_id"]}
    return {vocabulary[t] for t in [model.get("unk_token")] if t in vocabulary}


def _flat(part: Json | None, key: str) -> Iterator[Json]:
    """The parts of a possibly nested Sequence, in order."""
    if part is None:
        return
    if part["type"] == "Sequence":
        for inner in part[key]:
            yield from _flat(inner, key)
    else:
        yield part


def _token_reader(content: Json) -> Callable[[str], bytes]:
    """Token string -> bytes in the middle of a text."""
    decoders = list(_flat(content.get("decoder"), "decoders"))
    if not decoders:
        decoders = _implied_decoders(content)
    steps: list[Step] = []
    fused = False
    for decoder in decoders:
        step = _step(decoder, fused)
        fused = fused or decoder["type"] == "Fuse"
        if step is not None:
            steps.append(step)

    def to_bytes(token: str) -> bytes:
        value: str | bytes = token
        for step in steps:
            if isinstance(value, bytes):
                break
            value = step(value)
        return value if isinstance(value, bytes) else value.encode()

    return to_bytes


def _implied_decoders(content: Json) -> list[Json]:
    """What would undo the pre-tokenizer and normalizer of a tokenizer without a decoder."""
    implied: list[Json] = []
    for part in _flat(content.get("normalizer"), "normalizers"):
        if part["type"] == "Replace" and part["pattern"].get("String") == " ":
            back = {"type": "Replace", "pattern": {"String": part["content"]}, "content": " "}
            implied.append(back)
    implied += [
        part
        for part in _flat(content.get("pre_tokenizer"), "pretokenizers")
        if part["type"] in {"ByteLevel", "Metaspace"}
    ]
    if content["model"].get("byte_fallback"):
        implied.append({"type": "ByteFallback"})
    return implied


def _step(decoder: Json, fused: bool) -> Step | None:
    """What `decoder` does to one token in the middle of a text; None for nothing."""
    kind = decoder["type"]
    if kind == "Fuse":
        return None
    if kind == "Strip" and fused and not decoder["stop"]:
        return None  # takes the dummy prefix off the start of the whole text
    if kind == "ByteLevel" and not fused:
        return byte_level
    if kind == "ByteFallback" and not fused:
        return _byte_fallback
    if kind == "Metaspace" and not fused:
        return _replacing(decoder["replacement"], " ")
    if kind == "Replace":
        pattern, content = decoder["pattern"].get("String"), decoder["content"]
        if pattern and (not fused or len(pattern) == 1):
            return _replacing(pattern, content)
    raise VocabularyError(
        f"the tokenizer's decoder has a {kind} step that does not work token by token",
        expected="ByteLevel, Metaspace, ByteFallback, Replace of a text, Fuse",
        hint="use a tokenizer made for generating text",
    )


def _replacing(old: str, new: str) -> Step:
    return lambda token: token.replace(old, new)


def _byte_fallback(token: str) -> str | bytes:
    found = _BYTE_PIECE.fullmatch(token)
    return bytes([int(found[1], 16)]) if found else token


class _ForeignCharacterError(Exception):
    """A character that stands for no byte."""


class _ByteTable(dict[int, str]):
    def __missing__(self, key: int) -> str:
        raise _ForeignCharacterError


def _byte_alphabet() -> _ByteTable:
    """The byte-level alphabet: visible Latin-1 characters stand for themselves, the others in
    ascending order for U+0100 and up."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    table = {byte: chr(byte) for byte in visible}
    return _ByteTable(table | {0x100 + i: chr(byte) for i, byte in enumerate(hidden)})


_BYTE_TABLE = _byte_alphabet()


def byte_level(token: str) -> bytes:
    """One byte for each character; a token with any other character is its own text."""
    try:
        return token.translate(_BYTE_TABLE).encode("latin-1")
    except _ForeignCharacterError:
        return token.encode()


def _prefix(content: Json, to_bytes: Callable[[str], bytes]) -> bytes:
    """The bytes that encoding puts before a text."""
    for part in _flat(content.get("normalizer"), "normalizers"):
        if part["type"] == "Prepend":
            return to_bytes(part["prepend"])
    for part in _flat(content.get("pre_tokenizer"), "pretokenizers"):
        if part["type"] == "Metaspace" and part["prepend_scheme"] != "never":
            return b" "
        if part["type"] == "ByteLevel" and part["add_prefix_space"]:
            return b" "
    return b""
