"""GGUF files: tokens spell the texts that llama.cpp cuts into them.

With `STRUCTGEN_GGUF` naming a folder of llama.cpp's `ggml-vocab-*.gguf` files (they are in the
sources of llama-cpp-python), the vocabularies of real models are read, and the texts beside them
are the oracle: `.inp` has texts, `.out` the ids that llama.cpp cuts each into.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import pytest

import structgen as sg
from structgen.errors import VocabularyError
from structgen.vocabulary.gguf import read_metadata

FOLDER = os.environ.get("STRUCTGEN_GGUF")
FILES = sorted(Path(FOLDER).glob("ggml-vocab-*.gguf")) if FOLDER else []
SEPARATOR = "\n__ggml_vocab_test__\n"
NO_TEXT = ("bert",)  # kinds whose tokens do not spell text


def written(values: dict[str, Any], version: int = 3) -> bytes:
    """A file with these values, as the format's description has it."""

    def text(value: str) -> bytes:
        data = value.encode()
        return struct.pack("<Q", len(data)) + data

    def value(given: Any) -> bytes:
        if isinstance(given, str):
            return struct.pack("<I", 8) + text(given)
        if isinstance(given, bool):
            return struct.pack("<I?", 7, given)
        if isinstance(given, int):
            return struct.pack("<II", 4, given)
        if isinstance(given[0], str):
            return struct.pack("<IIQ", 9, 8, len(given)) + b"".join(map(text, given))
        return struct.pack(f"<IIQ{len(given)}i", 9, 5, len(given), *given)

    body = b"".join(text(key) + value(given) for key, given in values.items())
    return struct.pack("<4sIQQ", b"GGUF", version, 0, len(values)) + body


def vocabulary(tmp_path: Path, model: str, tokens: list[str], kinds: list[int]) -> sg.Vocabulary:
    """The vocabulary of a small file."""
    path = tmp_path / "small.gguf"
    values = {
        "general.name": "small",
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.model": model,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.eos_token_id": 0,
    }
    path.write_bytes(written(values))
    return sg.Vocabulary.from_gguf(path)


def test_tokens_of_each_kind_have_their_bytes(tmp_path: Path) -> None:
    """Bytes, spaces, control tokens, what users defined, and what is not used."""
    found = vocabulary(
        tmp_path,
        "llama",
        ["</s>", "<unk>", "▁ab", "<0xE9>", "▁", "[PAD]", "<|im_end|>", "é"],
        [3, 2, 1, 6, 4, 5, 3, 1],
    )
    assert list(found.tokens)[2:6] == [b" ab", b"\xe9", "▁".encode(), None]
    assert list(found.eos_ids) == [0, 6]
    assert found.special_ids == {0, 1, 6}
    assert found.tokens[7] == "é".encode()
    other = vocabulary(tmp_path, "gpt2", ["<|endoftext|>", "Ġab", "Ã©", "Ċ"], [3, 1, 1, 1])
    assert list(other.tokens)[1:] == [b" ab", "é".encode(), b"\n"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    """Another kind of vocabulary, another format, a file that is too short, none at all."""
    with pytest.raises(VocabularyError, match="of the kind 'bert'"):
        vocabulary(tmp_path, "bert", ["a"], [1])
    path = tmp_path / "other.gguf"
    for data, words in [
        (b"PK" + bytes(30), "no GGUF file"),
        (written({}, version=1), "no GGUF file"),
        (written({"tokenizer.ggml.model": "gpt2"})[:40], "cannot be read"),
        (written({"tokenizer.ggml.model": "gpt2"})[:-12] + b"\xff" * 12, "ends too early"),
        (written({"x": [1, 2]})[:-16] + b"\xff" * 16, "ends too early"),
        (b"GG", "cannot be read"),
    ]:
        path.write_bytes(data)
        with pytest.raises(VocabularyError, match=words):
            sg.Vocabulary.from_gguf(path)
    with pytest.raises(VocabularyError, match="cannot be read"):
        sg.Vocabulary.from_gguf(tmp_path / "nothing.gguf")


def test_some_values_are_read_and_the_others_passed_over(tmp_path: Path) -> None:
    """Numbers, truths, texts and arrays of both."""
    values = {"a": 7, "b": True, "c": "text", "d": ["x", "yz"], "e": [1, -2]}
    path = tmp_path / "values.gguf"
    path.write_bytes(written(values))
    assert read_metadata(path, values) == values
    assert read_metadata(path, ["d"]) == {"d": ["x", "yz"]}


@pytest.mark.skipif(not FILES, reason="STRUCTGEN_GGUF names no folder of vocabularies")
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_tokens_of_real_vocabularies_spell_their_texts(path: Path) -> None:
    """As llama.cpp cuts them; a space may stand in front, as some models write it."""
    model = read_metadata(path)["tokenizer.ggml.model"]
    if model in NO_TEXT:
        with pytest.raises(VocabularyError):
            sg.Vocabulary.from_gguf(path)
        return
    found = sg.Vocabulary.from_gguf(path)
    assert found.eos_ids
    assert not set(found.eos_ids) - found.special_ids
    texts = path.with_suffix(".gguf.inp")
    if not texts.exists():
        pytest.skip("there are no texts beside it")
    given = texts.read_text(encoding="utf-8").split(SEPARATOR)
    cut = path.with_suffix(".gguf.out").read_text().splitlines()
    assert len(given) >= len(cut) > 40
    for text, ids in zip(given, cut, strict=False):
        spelled = b"".join(found.tokens[int(one)] or b"" for one in ids.split())
        assert spelled.decode() in {text, " " + text}
