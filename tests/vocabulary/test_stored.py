"""A vocabulary that is kept in the cache folder is the one that was read from the tokenizer."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import structgen as sg
from structgen.errors import VocabularyError
from structgen.vocabulary import huggingface, sources, stored, trie
from structgen.vocabulary import vocabulary as vocabulary_module
from structgen.vocabulary.vocabulary import Vocabulary
from tests.vocabulary.test_sources import BYTES, rank_file

PATTERN = r"[\s\S]"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, in which even small vocabularies are kept."""
    monkeypatch.setenv("STRUCTGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(stored, "FROM", 1)
    return tmp_path / "cache"


@pytest.fixture
def never_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """From when it is called, no table is read from a tokenizer, and none tested."""

    def forbid() -> None:
        for kind in (sources.Tiktoken, sources.SentencePiece):
            monkeypatch.setattr(kind, "table", None)
        monkeypatch.setattr(huggingface, "read_table", None)
        monkeypatch.setattr(vocabulary_module, "self_test", None)

    return forbid


def facts(found: Vocabulary) -> tuple[Any, ...]:
    """All that a vocabulary says."""
    ids = found.eos_ids, found.special_ids, found.text_ids.tolist(), found.text_ids.dtype
    return found.size, found.words, found.tokens, *ids, found.hash, found.prefix


def read_ranks(folder: Path, **options: Any) -> Vocabulary:
    """A vocabulary of a tiktoken file, with one id that has no token."""
    path = rank_file(folder / "ranks", [*BYTES, b"ab", b"abc"], [*range(256), 257, 258])
    return Vocabulary.from_tiktoken(
        path, pattern=PATTERN, special_tokens={"<end>": 259}, eos_ids=["<end>"], **options
    )


def fill_start(found: Vocabulary) -> sg.Constraint:
    """A constraint over a vocabulary, which has made its first mask."""
    constraint = sg.compile({"type": "integer"}, found)
    row = np.zeros(found.words, np.int32)
    constraint.fill_mask(constraint.start, row)
    assert row.any()
    return constraint


def test_what_is_kept_is_what_was_read(tmp_path: Path, never_read: Any) -> None:
    """Tokens, ids, hash, encoder; and nothing is read or tested again."""
    first = read_ranks(tmp_path)
    never_read()
    second = read_ranks(tmp_path)
    assert facts(second) == facts(first)
    assert second.encode is not None
    assert second.encode("ab") == [*b"ab"]
    copy = pickle.loads(pickle.dumps(second))
    assert facts(copy) == facts(first)
    assert copy.encode("b") == [*b"b"]


def test_a_tokenizer_is_recognized(never_read: Any) -> None:
    """One of the tokenizers package by what it writes of itself, and its own encoder is used."""
    letters = pre_tokenizers.ByteLevel.alphabet()
    model = models.BPE(vocab={letter: i for i, letter in enumerate(sorted(letters))}, merges=[])
    made = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    first = Vocabulary.from_transformers(made)
    never_read()
    second = Vocabulary.from_transformers(made)
    assert facts(second) == facts(first)
    assert second.encode is not None
    assert first.encode is not None
    assert second.encode("a b") == first.encode("a b")
    with pytest.raises(TypeError):  # another number of ids: not the one that is kept
        Vocabulary.from_transformers(made, 300)


@pytest.mark.parametrize(
    "change",
    [{"size": 300}, {"check": False}, {"bytes": b"x"}],
    ids=lambda given: next(iter(given)),
)
def test_another_vocabulary_is_read(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """The file of tokens and whatever is said beside it tell vocabularies apart."""
    read_ranks(tmp_path)
    seen: list[object] = []
    original = sources.Tiktoken.table

    def counting(*given: Any, **options: Any) -> Any:
        seen.append(given)
        return original(*given, **options)

    monkeypatch.setattr(sources.Tiktoken, "table", counting)
    read_ranks(tmp_path)
    assert seen == []
    if "bytes" in change:
        with (tmp_path / "ranks").open("ab") as file:
            file.write(b"\n")
        Vocabulary.from_tiktoken(
            tmp_path / "ranks",
            pattern=PATTERN, special_tokens={"<end>": 259}, eos_ids=["<end>"],
        )  # fmt: skip
    else:
        read_ranks(tmp_path, **change)
    assert len(seen) == 1
    assert cache.is_dir()


@pytest.mark.parametrize("at", [3, 100, -1])
def test_a_damaged_file_is_made_anew(at: int, tmp_path: Path, cache: Path) -> None:
    """Whichever byte is wrong."""
    first = read_ranks(tmp_path)
    (path,) = (cache / "vocabularies").iterdir()
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    assert facts(read_ranks(tmp_path)) == facts(first)
    assert path.read_bytes() != data


def test_a_table_that_fails_its_test_is_not_kept(tmp_path: Path, cache: Path) -> None:
    """What is kept has passed its test, so the test is not run again."""
    path = rank_file(tmp_path / "ranks", BYTES)
    for _ in range(2):
        with pytest.raises(VocabularyError, match="do not spell it"):
            Vocabulary.from_tiktoken(path, pattern=r"\w+")
    assert not cache.exists()


def test_a_mask_needs_no_table_of_tokens(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trie is kept as well; a token's bytes are copied from the file when one is read."""
    monkeypatch.setattr(trie, "_CACHE_FROM", 1)
    fill_start(read_ranks(tmp_path))
    assert {path.name for path in cache.iterdir()} >= {"vocabularies", "tries"}
    kept = read_ranks(tmp_path)
    constraint = fill_start(kept)
    assert kept._tokens is None
    after = constraint.advance(constraint.start, ord("1"))
    assert constraint.state_of([ord("1")]) == after
    assert kept.decode_bytes([ord("1"), ord("2")]) == b"12"
    assert kept._tokens is None


@given(
    st.lists(st.one_of(st.none(), st.binary(max_size=5)), min_size=1, max_size=30),
    st.binary(max_size=2),
)
def test_tokens_come_back_as_they_were(tokens: list[bytes | None], prefix: bytes) -> None:
    """Empty ones and missing ones are told apart."""
    ids: dict[str, Any] = {"eos_ids": (1,), "special_ids": [1, 2], "text_ids": [0]}
    stored.save("tokens", tuple(tokens), ids, "hash", prefix)
    found = stored.load("tokens")
    assert found is not None
    assert (found.tokens, found.prefix, found.hash) == (tuple(tokens), prefix, "hash")
    table = stored.StoredTokens(found)
    assert [table[i] for i in range(len(tokens))] == [*table] == tokens
    assert [table[~i] for i in range(len(tokens))] == tokens[::-1]
    assert (len(table), table[1:]) == (len(tokens), tuple(tokens[1:]))
    for wrong in (len(tokens), ~len(tokens)):
        with pytest.raises(IndexError):
            table[wrong]
    with pytest.raises(TypeError):
        table[0.0]  # type: ignore[call-overload]
    assert {name: getattr(found, name).tolist() for name in ids} == {
        name: [*given] for name, given in ids.items()
    }
