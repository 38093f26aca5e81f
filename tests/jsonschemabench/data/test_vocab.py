"""Vocabularies are loaded from each kind of tokenizer, and the tokens of a text spell it."""

from __future__ import annotations

import argparse
import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsonschemabench.data import vocab
from jsonschemabench.errors import BenchError
from structgen import Vocabulary, demo
from structgen.errors import StructgenError


def load(*arguments: str, default: str = "demo") -> Vocabulary:
    """The vocabulary of a command line."""
    parser = argparse.ArgumentParser()
    vocab.add_options(parser, default)
    return vocab.load(parser.parse_args(arguments))


def tiktoken_file(folder: Path, tokens: list[bytes]) -> str:
    """A .tiktoken file of these tokens."""
    path = folder / "small.tiktoken"
    lines = [base64.b64encode(token) + f" {i}\n".encode() for i, token in enumerate(tokens)]
    path.write_bytes(b"".join(lines))
    return str(path)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_bytes_spell_every_text(text: str) -> None:
    """The vocabulary of single bytes needs no tokenizer."""
    assert vocab.encode(load("--tokenizer", "bytes"), text) == list(text.encode())


def test_the_default_is_what_a_command_says() -> None:
    """The shipped model's tokenizer, or the bytes."""
    assert load(default="bytes").eos_ids == (256,)
    shipped = load()
    assert shipped.size > 1000
    ids = vocab.encode(shipped, '{"naïve": [1, 2]}')
    assert shipped.decode_bytes(ids).decode() == '{"naïve": [1, 2]}'


def test_a_tokenizer_json_is_read_with_its_usual_end_token() -> None:
    """The same tokens as from the folder that it lies in."""
    path = str(demo.model_path() / "tokenizer.json")
    assert load("--tokenizer", path, "--eos", "2").tokens == load().tokens
    with pytest.raises(BenchError, match="no end token"):
        load("--tokenizer", path, "--eos", "<|no such token|>")


def test_a_small_tiktoken_file_gets_an_end_token(tmp_path: Path) -> None:
    """One behind its ranks, unless --eos names another."""
    pytest.importorskip("tiktoken")
    path = tiktoken_file(tmp_path, [bytes((i,)) for i in range(256)] + [b"ab"])
    found = load("--tokenizer", path)
    assert (found.eos_ids, found.size) == ((257,), 258)
    assert vocab.encode(found, "abc") == [256, 99]
    assert load("--tokenizer", path, "--eos", "300").eos_ids == (300,)


def test_a_text_that_the_tokenizer_does_not_spell_is_cut_greedily() -> None:
    """The longest token at each position; a text that no tokens spell is refused."""
    tokens = Vocabulary([b"a", b"ab", b"abc", b"c"], encode=lambda _: [0])
    assert vocab.encode(tokens, "abcabac") == [2, 1, 0, 3]
    with pytest.raises(BenchError, match="0x64"):
        vocab.encode(tokens, "abcd")


def test_an_unpaired_surrogate_is_refused() -> None:
    """JSON can escape it, UTF-8 cannot write it."""
    with pytest.raises(BenchError, match="no Unicode"):
        vocab.encode(load("--tokenizer", "bytes"), "\ud800")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--tokenizer", "nowhere.tiktoken"],
        ["--tokenizer", "nowhere.model"],
        ["--tokenizer", "nowhere.json"],
        ["--tokenizer", "/nowhere/at/all"],
        ["--pattern", "gpt2"],
        ["--eos", "<end>"],
    ],
)
def test_options_that_lead_nowhere_are_refused(arguments: list[str]) -> None:
    """As an error that prints as a line."""
    with pytest.raises(StructgenError):
        load(*arguments)


@pytest.mark.parametrize(
    ("name", "size", "end"),
    [
        ("llama3.tiktoken", 128_256, 128_001),
        ("gpt2.tiktoken", 50_257, 50_256),
        ("llama2.sentencepiece.model", 32_000, 2),
    ],
)
def test_known_tokenizers_are_recognised(name: str, size: int, end: int, data_dir: Path) -> None:
    """Size with special tokens and end token are those of the model; texts are spelled."""
    pytest.importorskip("sentencepiece" if name.endswith("model") else "tiktoken")
    found = load("--tokenizer", str(data_dir / "tokenizers" / name))
    assert (found.size, found.eos_ids) == (size, (end,))
    text = '{"name": "Zoë", "n": [1.5e3, null]}'
    assert found.decode_bytes(vocab.encode(found, text)).decode() == text


@pytest.mark.parametrize(
    ("pattern", "words"),
    [("llama3", ["CamelCaseHTTPServer", "'t"]), ("o200k", ["Camel", "Case", "HTTPServer't"])],
)
def test_patterns_cut_texts_where_their_tokenizers_do(pattern: str, words: list[str]) -> None:
    """Of o200k's, a word ends before a capital letter, and has what follows an apostrophe."""
    regex = pytest.importorskip("regex")
    found = regex.findall(vocab.PATTERNS[pattern], "CamelCaseHTTPServer't  12345/x/\n")
    assert found == [*words, " ", " ", "123", "45", "/x", "/\n"]
