"""The bytes of tokens are read right, of tokenizers small and real.

The oracles are the tokenizer packages themselves, and the texts: what a tokenizer cuts up, put
together again, must be the text.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import pickle
import re
import socket
import threading
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tiktoken
import tiktoken.load
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from structgen.errors import ModelError, VocabularyError
from structgen.vocabulary import sources
from structgen.vocabulary.vocabulary import Vocabulary

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = [bytes([b]) for b in range(256)]
ANYTHING = r"[\s\S]+"
TEXTS = ["Hello, world. The cat is in the hat.", '{"a": [1, 2, 3], "b": "é  ü"}', "  x\n\ty"] * 4


def rank_file(path: Path, tokens: Iterable[bytes], ranks: Iterable[int] | None = None) -> Path:
    """A tiktoken file with these tokens."""
    pairs = zip(tokens, ranks, strict=True) if ranks else ((t, i) for i, t in enumerate(tokens))
    lines = (base64.b64encode(token) + b" %d\n" % rank for token, rank in pairs)
    path.write_bytes(b"".join(lines))
    return path


@pytest.fixture
def without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """No optional package can be found."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)


# ---------------------------------------------------------------- tiktoken


def test_a_tiktoken_file_gives_bytes_specials_and_ends(tmp_path: Path) -> None:
    """Names of special tokens serve as end ids, gaps stay empty, size follows the largest id."""
    path = rank_file(tmp_path / "f", [*BYTES, b"ab"], [*range(256), 258])
    vocabulary = Vocabulary.from_tiktoken(
        path, special_tokens={"<end>": 260, "<pad>": 259}, eos_ids=["<end>", 3]
    )
    assert vocabulary.size == 261
    assert vocabulary.tokens[256:] == (None, None, b"ab", b"<pad>", b"<end>")
    assert vocabulary.eos_ids == (260, 3)
    assert vocabulary.special_ids == {260, 259, 3}
    assert vocabulary.encode is None


def test_the_usual_end_of_text_is_found(tmp_path: Path) -> None:
    """Without eos_ids a special token of the usual name ends a text; with them it does not."""
    path = rank_file(tmp_path / "f", BYTES)
    special = {"<|endoftext|>": 256, "<|other|>": 257}
    assert Vocabulary.from_tiktoken(path, special_tokens=special).eos_ids == (256,)
    named = Vocabulary.from_tiktoken(path, special_tokens=special, eos_ids=["<|other|>"])
    assert named.eos_ids == (257,)
    assert Vocabulary.from_tiktoken(path, special_tokens=special, eos_ids=[]).eos_ids == ()


def test_an_end_id_beyond_the_table_makes_room_for_itself(tmp_path: Path) -> None:
    """Unless a size is given, which then must be right."""
    path = rank_file(tmp_path / "f", BYTES)
    assert Vocabulary.from_tiktoken(path, eos_ids=[300]).size == 301
    assert Vocabulary.from_tiktoken(path, eos_ids=[300], size=512).size == 512
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_tiktoken(path, eos_ids=[300], size=300)
    assert caught.value.token_id == 300


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"YQ==", "not enough values"),
        (b"YQ== 1 2", "too many values"),
        (b"Y 1", "base64|padding|character"),
        (b"Y%== 1", "base64|[Pp]adding|characters"),
        (b"YQ== one", "int"),
        (b"YQ== 0", "twice"),
        (b"YQ== -1", "out of range"),
        (b"YQ== 99999999999", "out of range"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: bytes, problem: str) -> None:
    """The error gives file and line."""
    path = rank_file(tmp_path / "f", BYTES[:2])
    path.write_bytes(path.read_bytes() + b"\n" + line)
    with pytest.raises(VocabularyError, match=problem) as caught:
        Vocabulary.from_tiktoken(path)
    assert caught.value.location == f"{path}:4"


def test_a_file_without_tokens_is_refused(tmp_path: Path) -> None:
    """Empty, absent, or a directory."""
    (tmp_path / "empty").write_bytes(b"\n\n")
    with pytest.raises(VocabularyError, match="no token"):
        Vocabulary.from_tiktoken(tmp_path / "empty")
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(VocabularyError, match="cannot be read") as caught:
            Vocabulary.from_tiktoken(path)
        assert caught.value.location == str(path)


BAD_IDS: dict[str, dict[str, Any]] = {
    "special id taken": {"special_tokens": {"<x>": 5}},
    "two specials, one id": {"special_tokens": {"<x>": 300, "<y>": 300}},
    "special id no number": {"special_tokens": {"<x>": "300"}},
    "special id immense": {"special_tokens": {"<x>": 10**12}},
    "unknown name": {"eos_ids": ["<x>"]},
    "a bare name": {"special_tokens": {"<x>": 300}, "eos_ids": "<x>"},
    "a bare id": {"eos_ids": 5},
    "no id at all": {"eos_ids": [None]},
    "immense end": {"eos_ids": [10**12]},
    "size too small": {"size": 255},
}


@pytest.mark.parametrize("options", BAD_IDS.values(), ids=BAD_IDS.keys())
def test_wrong_tiktoken_ids_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    """With an error of ours that says what was expected."""
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_tiktoken(rank_file(tmp_path / "f", BYTES), **options)
    assert caught.value.expected


def test_a_pattern_gives_an_encoder(tmp_path: Path) -> None:
    """Merges follow the ranks, special tokens are plain text, and a pickled copy does the same."""
    path = rank_file(tmp_path / "f", [*BYTES, b"ab", b"abc"])
    vocabulary = Vocabulary.from_tiktoken(path, pattern=ANYTHING, special_tokens={"<x>": 300})
    assert vocabulary.encode is not None
    assert vocabulary.encode("abcab<x>") == [257, 256, *b"<x>"]
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy.encode("abcab") == [257, 256]


@pytest.mark.parametrize("pattern", ["(", ".*"])
def test_a_pattern_that_tiktoken_cannot_use_is_refused(tmp_path: Path, pattern: str) -> None:
    """One that is no regular expression; one that finds empty pieces, at which tiktoken panics."""
    path = rank_file(tmp_path / "f", BYTES)
    with pytest.raises(VocabularyError, match=re.escape(repr(pattern))) as caught:
        Vocabulary.from_tiktoken(path, pattern=pattern)
    assert caught.value.expected


def test_a_pattern_that_loses_text_is_refused(tmp_path: Path) -> None:
    """The self-test finds it; without the check the table stands."""
    path = rank_file(tmp_path / "f", BYTES)
    with pytest.raises(VocabularyError, match="do not spell it"):
        Vocabulary.from_tiktoken(path, pattern=r"\w+")
    assert Vocabulary.from_tiktoken(path, pattern=r"\w+", check=False).size == 256


def test_a_broken_pattern_is_an_error_of_ours(tmp_path: Path) -> None:
    """The package's complaint is passed on with the pattern."""
    with pytest.raises(VocabularyError, match=r"\(\(a"):
        Vocabulary.from_tiktoken(rank_file(tmp_path / "f", BYTES), pattern="((a")


@pytest.mark.usefixtures("without_packages")
def test_a_missing_tiktoken_package_is_named_on_use(tmp_path: Path) -> None:
    """The table is there without it; encoding says what to install."""
    vocabulary = Vocabulary.from_tiktoken(rank_file(tmp_path / "f", BYTES), pattern=ANYTHING)
    assert vocabulary.encode is not None
    with pytest.raises(ModelError, match="pip install tiktoken"):
        vocabulary.encode("a")


@pytest.mark.parametrize(
    ("name", "pattern"), [("gpt2", GPT2), ("llama3", LLAMA3)], ids=["gpt2", "llama3"]
)
def test_a_real_tiktoken_file_is_read_as_tiktoken_reads_it(
    data_dir: Path, name: str, pattern: str
) -> None:
    """Every token of the file, and the encoder."""
    path = data_dir / "tokenizers" / f"{name}.tiktoken"
    wanted = tiktoken.load.load_tiktoken_bpe(str(path))
    vocabulary = Vocabulary.from_tiktoken(path, pattern=pattern)
    assert {token: i for i, token in enumerate(vocabulary.tokens)} == wanted
    oracle = tiktoken.Encoding("oracle", pat_str=pattern, mergeable_ranks=wanted, special_tokens={})
    assert vocabulary.encode is not None
    for text in TEXTS:
        ids = vocabulary.encode(text)
        assert ids == oracle.encode_ordinary(text)
        assert vocabulary.decode_bytes(ids) == oracle.decode_bytes(ids)


# ---------------------------------------------------------------- SentencePiece


def varint(number: int) -> bytes:
    """A protocol buffer integer."""
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number: int, value: int | bytes) -> bytes:
    """A protocol buffer field."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def model_file(
    path: Path,
    pieces: Iterable[tuple[str, int]],
    *,
    trainer: bytes = b"",
    normalizer: bytes = b"",
    more: bytes = b"",
) -> Path:
    """A SentencePiece file: pieces with scores (32-bit floats) and types, and settings."""
    parts = (
        field(1, field(1, piece.encode()) + b"\x15\0\0\x80\xbf" + field(3, kind))
        for piece, kind in pieces
    )
    path.write_bytes(b"".join(parts) + field(2, trainer) + field(3, normalizer) + more)
    return path


PIECES = [
    ("<unk>", 2), ("<s>", 3), ("</s>", 3), ("<0x00>", 6), ("<0xfF>", 6), ("▁the", 1),
    ("▁", 1), ("a▁▁b", 1), ("<0x41>", 1), ("unused", 5), ("<user▁symbol>", 4), ("é", 1),
]  # fmt: skip


@pytest.mark.usefixtures("without_packages")
def test_a_sentencepiece_file_is_read_without_the_package(tmp_path: Path) -> None:
    """Spaces, bytes, user symbols and silent pieces; encoding says what to install."""
    vocabulary = Vocabulary.from_sentencepiece(model_file(tmp_path / "f", PIECES), size=13)
    assert vocabulary.tokens == (
        b"<unk>", b"<s>", b"</s>", b"\0", b"\xff", b" the", b" ", b"a  b", b"<0x41>", b"unused",
        b"<user symbol>", "é".encode(), None,
    )  # fmt: skip
    assert vocabulary.special_ids == {0, 1, 2, 9}
    assert vocabulary.eos_ids == (2,)
    assert vocabulary.prefix == b" "
    assert vocabulary.encode is not None
    with pytest.raises(ModelError, match="pip install sentencepiece"):
        vocabulary.encode("a")


@pytest.mark.usefixtures("without_packages")
def test_sentencepiece_settings_are_followed(tmp_path: Path) -> None:
    """The end piece may have another name, or not be a control piece; there may be no prefix."""
    path = model_file(tmp_path / "f", PIECES, trainer=field(47, b"<s>"), normalizer=field(3, 0))
    vocabulary = Vocabulary.from_sentencepiece(path)
    assert (vocabulary.eos_ids, vocabulary.prefix) == ((1,), b"")
    path = model_file(tmp_path / "f", PIECES, trainer=field(47, "é".encode()))
    assert Vocabulary.from_sentencepiece(path).eos_ids == ()
    chosen = Vocabulary.from_sentencepiece(path, eos_ids=[1, 2], special_ids=[5])
    assert chosen.eos_ids == (1, 2)
    assert chosen.special_ids == {0, 1, 2, 5, 9}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"trainer": field(24, 1)}, "behind words"),
        ({"more": field(5, field(2, b"map"))}, "rewrites"),
    ],
)
@pytest.mark.usefixtures("without_packages")
def test_sentencepiece_settings_that_move_text_are_refused(
    tmp_path: Path, options: dict[str, bytes], problem: str
) -> None:
    """Tokens of such a tokenizer do not spell the text it writes."""
    path = model_file(tmp_path / "f", PIECES, **options)
    with pytest.raises(VocabularyError, match=problem):
        Vocabulary.from_sentencepiece(path)


@pytest.mark.parametrize("piece", ["0x41", "<0x4>", "<0xGG>", "<0x041>", ""])
def test_a_byte_piece_that_names_no_byte_is_refused(tmp_path: Path, piece: str) -> None:
    """The id of the piece is given."""
    with pytest.raises(VocabularyError, match="byte piece") as caught:
        Vocabulary.from_sentencepiece(model_file(tmp_path / "f", [*PIECES, (piece, 6)]))
    assert caught.value.token_id == len(PIECES)


@pytest.mark.usefixtures("without_packages")
def test_every_cut_of_a_sentencepiece_file_is_refused(tmp_path: Path) -> None:
    """Even between two pieces, where what is left would parse."""
    whole = model_file(tmp_path / "f", PIECES, normalizer=field(3, 0)).read_bytes()
    for size in range(len(whole)):
        (tmp_path / "f").write_bytes(whole[:size])
        with pytest.raises(VocabularyError, match="not a SentencePiece model"):
            Vocabulary.from_sentencepiece(tmp_path / "f")


@pytest.mark.parametrize(
    "content",
    [
        field(1, 5),
        field(1, field(1, 5)),
        field(1, field(3, b"x")),
        field(1, field(1, b"\xff")),
        field(2, 1),
        field(2, field(47, 1)),
        field(3, 1),
        varint(1 << 3 | 3),
        b"\xff" * 12,
    ],
    ids=bytes.hex,
)
def test_fields_of_a_wrong_type_are_refused(tmp_path: Path, content: bytes) -> None:
    """A message that is well-formed but not of this kind is no model."""
    path = model_file(tmp_path / "f", PIECES, more=content)
    with pytest.raises(VocabularyError, match="not a SentencePiece model"):
        Vocabulary.from_sentencepiece(path)


def test_a_file_that_the_package_refuses_is_an_error_of_ours(tmp_path: Path) -> None:
    """Two unknown pieces: the reader does not mind, the package does."""
    path = model_file(tmp_path / "f", [*PIECES, ("<unk2>", 2)])
    with pytest.raises(VocabularyError, match="package refuses"):
        Vocabulary.from_sentencepiece(path)


@given(data=st.binary(max_size=60))
def test_noise_is_not_a_sentencepiece_file(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """Whatever the bytes, the error is ours."""
    path = tmp_path_factory.mktemp("noise") / "f"
    path.write_bytes(data)
    with pytest.raises(VocabularyError):
        Vocabulary.from_sentencepiece(path)


def trained(folder: Path, **options: Any) -> Path:
    """A small model trained by the package itself."""
    settings: dict[str, Any] = {
        "model_type": "bpe",
        "vocab_size": 330,
        "byte_fallback": True,
    } | options
    (folder / "texts").write_text("\n".join(TEXTS), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "texts"),
        model_prefix=str(folder / "model"),
        minloglevel=3,
        hard_vocab_limit=False,
        **settings,
    )
    return folder / "model.model"


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
@pytest.mark.parametrize("dummy", [True, False])
def test_a_trained_sentencepiece_model_spells_texts(
    tmp_path: Path, model_type: str, dummy: bool
) -> None:
    """Identity normalisation, with and without dummy prefix; bytes as the package decodes them."""
    path = trained(
        tmp_path,
        model_type=model_type,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=dummy,
        user_defined_symbols=["<tool>"],
    )
    vocabulary = Vocabulary.from_sentencepiece(path)
    assert vocabulary.prefix == (b" " if dummy else b"")
    check_against_package(path, vocabulary)
    copy = pickle.loads(pickle.dumps(vocabulary))
    path.unlink()
    for text in ["<tool>a", *TEXTS]:
        assert copy.decode_bytes(copy.encode(text)) == copy.prefix + text.encode()


def test_a_sentencepiece_model_that_normalises_is_refused(tmp_path: Path) -> None:
    """Unless the caller takes the table without the check."""
    path = trained(tmp_path, normalization_rule_name="nmt_nfkc_cf")
    with pytest.raises(VocabularyError, match="do not spell it"):
        Vocabulary.from_sentencepiece(path)
    check_against_package(path, Vocabulary.from_sentencepiece(path, check=False))


def check_against_package(path: Path, vocabulary: Vocabulary) -> None:
    """Every piece behind another one reads as the package decodes it."""
    oracle = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert vocabulary.size == oracle.vocab_size()
    assert vocabulary.eos_ids == (oracle.eos_id(),)
    first = next(i for i in range(vocabulary.size) if vocabulary.token_bytes(i).isalpha())
    lead = vocabulary.token_bytes(first).decode()
    for i in range(vocabulary.size):
        silent = oracle.is_control(i) or oracle.is_unknown(i) or oracle.is_unused(i)
        assert (i in vocabulary.special_ids) == silent
        if oracle.is_byte(i):
            assert vocabulary.token_bytes(i) == bytes([int(oracle.id_to_piece(i)[3:5], 16)])
        elif not silent:
            assert lead + vocabulary.token_bytes(i).decode() == oracle.decode([first, i])


def test_the_real_sentencepiece_file_is_read_as_the_package_reads_it(data_dir: Path) -> None:
    """All 32,000 pieces."""
    path = data_dir / "tokenizers" / "llama2.sentencepiece.model"
    vocabulary = Vocabulary.from_sentencepiece(path)
    assert vocabulary.prefix == b" "
    check_against_package(path, vocabulary)


# ---------------------------------------------------------------- transformers and tokenizers


def byte_level(
    *, prefix: bool = False, normalizer: Any = None, decoder: bool = True, nested: bool = False
) -> Tokenizer:
    """A byte-level BPE trained on a few lines; id 0 is special."""
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.pre_tokenizer = (
        pre_tokenizers.Sequence([pre_tokenizers.Digits(), split]) if nested else split
    )
    if decoder:
        tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def metaspace(kind: str, *, decoder: bool = True) -> Tokenizer:
    """A BPE of pieces with U+2581 and byte fallback, wired as tokenizers in use are."""
    merges = [
        ("▁", "▁"),
        ("▁▁", "▁▁"),
        ("▁", "t"),
        ("t", "h"),
        ("h", "e"),
        ("▁", "a"),
        ("▁t", "he"),
    ]
    letters = '▁abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789{}":,é<>x'
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *letters]
    pieces += [a + b for a, b in merges]
    vocab = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(
        models.BPE(vocab=vocab, merges=merges, byte_fallback=True, unk_token="<unk>")
    )
    tokenizer.add_special_tokens(["<s>", "</s>"])
    replace, space = decoders.Replace("▁", " "), normalizers.Replace(" ", "▁")
    fallback, fuse = decoders.ByteFallback(), decoders.Fuse()
    if kind == "prepend":
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), space])
        strip = decoders.Strip(" ", 1, 0)
        tokenizer.decoder = decoders.Sequence([replace, fallback, fuse, strip])
    elif kind == "replace":
        tokenizer.normalizer = space
        tokenizer.decoder = decoders.Sequence([replace, fallback, fuse])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=kind, split=False)
        back = decoders.Metaspace(prepend_scheme=kind)
        tokenizer.decoder = decoders.Sequence([fallback, back])
    return tokenizer if decoder else without_decoder(tokenizer)


def without_decoder(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that cannot decode, as files made by hand sometimes are."""
    content = json.loads(tokenizer.to_str()) | {"decoder": None}
    return Tokenizer.from_str(json.dumps(content))


def unigram() -> Tokenizer:
    """A Unigram model with U+2581 and no byte fallback."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=80, unk_token="<unk>", special_tokens=["<unk>", "</s>"], show_progress=False
    )
    tokenizer.train_from_iterator([*TEXTS, "abcdefghijklmnopqrstuvwxyz"], trainer)
    return tokenizer


TOKENIZERS: dict[str, tuple[Callable[[], Tokenizer], bytes]] = {
    "byte level": (byte_level, b""),
    "byte level, prefix": (lambda: byte_level(prefix=True), b" "),
    "byte level, nested": (lambda: byte_level(nested=True), b""),
    "byte level, no decoder": (lambda: byte_level(decoder=False), b""),
    "byte level, NFC": (lambda: byte_level(normalizer=normalizers.NFC()), b""),
    "prepend": (lambda: metaspace("prepend"), b" "),
    "replace": (lambda: metaspace("replace"), b""),
    "prepend, no decoder": (lambda: metaspace("prepend", decoder=False), b" "),
    "metaspace, no decoder": (lambda: metaspace("first", decoder=False), b" "),
    "metaspace always": (lambda: metaspace("always"), b" "),
    "metaspace first": (lambda: metaspace("first"), b" "),
    "metaspace never": (lambda: metaspace("never"), b""),
    "unigram": (unigram, b" "),
}


@pytest.mark.parametrize(("make", "prefix"), TOKENIZERS.values(), ids=TOKENIZERS.keys())
def test_tokens_spell_texts_and_decode_as_the_tokenizer_does(
    make: Callable[[], Tokenizer], prefix: bytes
) -> None:
    """For each wiring in use, on random texts: the bytes in a row are the text."""
    tokenizer = make()
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.prefix == prefix
    assert vocabulary.size == tokenizer.get_vocab_size()
    letters = st.sampled_from('the a  b\n\t{}":,0é😀z漢')
    others = st.characters(exclude_categories=["Cs"], exclude_characters="▁")
    known = st.sampled_from("the a b") if make is unigram else letters | others

    @given(st.text(known, min_size=1))
    def check(text: str) -> None:
        text = unicodedata.normalize("NFC", text)
        assert vocabulary.encode is not None
        ids = vocabulary.encode(text)
        assert ids == tokenizer.encode(text, add_special_tokens=False).ids
        spelt = vocabulary.decode_bytes(ids).decode()
        assert spelt == prefix.decode() + text or (spelt == text and text[0].isspace())
        if tokenizer.decoder is not None:  # it drops one space at most, at the start
            assert tokenizer.decode(ids) in {spelt, spelt.removeprefix(" ")}
        middle = vocabulary.encode_continuation(text)
        assert middle is not None
        assert vocabulary.decode_bytes(middle) == text.encode()

    check()


def test_byte_level_tokens_are_the_bytes_that_they_decode_to() -> None:
    """Each single byte has its token, and cut characters stay cut."""
    tokenizer = byte_level()
    vocabulary = Vocabulary.from_transformers(tokenizer)
    single = {vocabulary.token_bytes(i) for i in range(vocabulary.size)}
    assert single.issuperset(BYTES)
    for i in vocabulary.text_ids.tolist():
        shown = vocabulary.token_bytes(i).decode(errors="replace")
        assert tokenizer.decode([i]) == shown


@pytest.mark.parametrize(
    "normalizer",
    [
        normalizers.Lowercase(),
        normalizers.NFKC(),
        normalizers.StripAccents(),
        normalizers.Strip(),
        normalizers.Replace("a", "b"),
        normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase()]),
    ],
    ids=str,
)
def test_a_tokenizer_that_normalises_is_refused(normalizer: Any) -> None:
    """Unless the caller takes the table, which is right in itself, without the check."""
    tokenizer = byte_level(normalizer=normalizer)
    with pytest.raises(VocabularyError, match="check=False") as caught:
        Vocabulary.from_transformers(tokenizer)
    assert caught.value.expected.startswith("bytes that start")
    unchecked = Vocabulary.from_transformers(tokenizer, check=False)
    assert set(unchecked.tokens).issuperset(BYTES)


def id_of(tokenizer: Tokenizer, token: str) -> int:
    """The id of a token that is there."""
    token_id = tokenizer.token_to_id(token)
    assert token_id is not None
    return int(token_id)


def fast_tokenizer(backend: Tokenizer, **roles: str) -> Any:
    """The tokenizer as transformers wraps it."""
    return PreTrainedTokenizerFast(tokenizer_object=backend, **roles)  # type: ignore[no-untyped-call]


def added(content: str, **options: Any) -> AddedToken:
    """An added token that is looked for in the text as it is."""
    return AddedToken(content, **{"normalized": False, "special": False} | options)


def test_added_tokens_carry_their_literal_text() -> None:
    """Ordinary ones match text, special ones never do."""
    tokenizer = byte_level()
    tokenizer.add_tokens([added("<tool>"), added("two words"), added("\n\n\n")])
    tokenizer.add_special_tokens(["<|im_start|>"])
    vocabulary = Vocabulary.from_transformers(tokenizer, eos_ids=[0])
    for text in ("<tool>", "two words", "\n\n\n"):
        token_id = id_of(tokenizer, text)
        assert vocabulary.token_bytes(token_id) == text.encode()
        assert token_id in vocabulary.text_ids
    special = id_of(tokenizer, "<|im_start|>")
    assert vocabulary.special_ids == {0, special}
    assert vocabulary.token_bytes(special) == b"<|im_start|>"
    assert vocabulary.eos_ids == (0,)


def test_an_added_token_that_decodes_to_something_else_never_matches() -> None:
    """A byte-level decoder reads é as the byte E9, so the token stands for two texts."""
    tokenizer = byte_level()
    tokenizer.add_tokens([added("ñandú"), added("é")])
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert id_of(tokenizer, "ñandú") in vocabulary.special_ids
    byte = id_of(tokenizer, "é")  # the token of the byte, which was there before
    assert vocabulary.token_bytes(byte) == b"\xe9"
    assert byte in vocabulary.text_ids


def test_added_runs_of_spaces_are_spaces() -> None:
    """An added piece that the model has too is read as the model means it."""
    tokenizer = metaspace("replace")
    tokenizer.add_tokens([added("▁▁"), added("<a b>")])
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.token_bytes(id_of(tokenizer, "▁▁")) == b"  "
    assert vocabulary.token_bytes(id_of(tokenizer, "<a b>")) == b"<a b>"


@pytest.mark.parametrize("kind", ["prepend", "always", "replace"])
def test_added_tokens_that_eat_spaces_do_not_fail_the_test(kind: str) -> None:
    """Encoding one loses spaces or starts a new prefix; the table is right all the same."""
    tokenizer = metaspace(kind)
    tokenizer.add_tokens([added("line", rstrip=True), added("HELLO", lstrip=True), added("two")])
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.token_bytes(id_of(tokenizer, "HELLO")) == b"HELLO"


def test_a_fast_tokenizer_brings_its_end_and_special_tokens() -> None:
    """Its roles count although the backend does not know them; size and ends may be given."""
    roles = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "x"}
    fast = fast_tokenizer(metaspace("prepend"), **roles)
    vocabulary = Vocabulary.from_transformers(fast, 512)
    assert vocabulary.size == 512
    assert vocabulary.eos_ids == (2,)
    assert vocabulary.special_ids == {0, 1, 2, fast.convert_tokens_to_ids("x")}
    assert Vocabulary.from_transformers(fast, eos_ids=[1, 2]).eos_ids == (1, 2)
    with pytest.raises(VocabularyError, match="size"):
        Vocabulary.from_transformers(fast, 100)


def test_the_unknown_token_is_special_without_being_added() -> None:
    """Neither BPE's by name nor Unigram's by number ever stands for text."""
    assert 0 in Vocabulary.from_transformers(metaspace("never")).special_ids
    pieces = [("a", -1.0), ("▁", -1.0), ("?", 0.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    assert Vocabulary.from_transformers(tokenizer).special_ids == {2}


def test_truncation_and_padding_do_not_touch_encode() -> None:
    """A tokenizer used for training batches meanwhile still encodes whole texts here."""
    tokenizer = byte_level()
    vocabulary = Vocabulary.from_transformers(tokenizer)
    assert vocabulary.encode is not None
    text = "the cat is in the hat " * 5
    wanted = vocabulary.encode(text)
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=100)
    assert vocabulary.encode(text) == wanted
    assert (tokenizer.truncation or {})["max_length"] == 4
    assert pickle.loads(pickle.dumps(vocabulary)).encode(text) == wanted


REFUSED: dict[str, tuple[Any, Any]] = {
    "WordPiece": (models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"), decoders.WordPiece()),
    "WordLevel": (models.WordLevel({"a": 0}, unk_token="a"), None),
    "suffix": (models.BPE(vocab={"a</w>": 0}, merges=[], end_of_word_suffix="</w>"), None),
    "prefix": (models.BPE(vocab={"a": 0}, merges=[], continuing_subword_prefix="##"), None),
    "BPEDecoder": (models.BPE(vocab={"a": 0}, merges=[]), decoders.BPEDecoder()),
    "CTC": (models.BPE(vocab={"a": 0}, merges=[]), decoders.CTC()),
    "Strip": (models.BPE(vocab={"a": 0}, merges=[]), decoders.Strip(" ", 1, 0)),
    "Fuse": (
        models.BPE(vocab={"a": 0}, merges=[]),
        decoders.Sequence([decoders.Fuse(), decoders.ByteFallback()]),
    ),
}


@pytest.mark.parametrize(("model", "decoder"), REFUSED.values(), ids=REFUSED.keys())
def test_tokenizers_whose_tokens_do_not_spell_text_are_refused(model: Any, decoder: Any) -> None:
    """By what they are, before any test, with what would be accepted."""
    tokenizer = Tokenizer(model)
    if decoder is not None:
        tokenizer.decoder = decoder
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.from_transformers(tokenizer, check=False)
    assert caught.value.expected
    assert caught.value.hint


@pytest.mark.parametrize(
    "thing", [None, 7, object(), ["a"]], ids=["none", "number", "object", "list"]
)
def test_what_is_no_tokenizer_is_refused(thing: object) -> None:
    """The type is named, and what would do."""
    with pytest.raises(VocabularyError, match=type(thing).__name__):
        Vocabulary.from_transformers(thing)


def test_a_tokenizer_is_loaded_from_its_folder(tmp_path: Path) -> None:
    """By path, with the same result as from the object."""
    fast = fast_tokenizer(byte_level(), eos_token="<|endoftext|>")
    fast.save_pretrained(tmp_path)
    loaded = Vocabulary.from_transformers(tmp_path)
    assert loaded.hash == Vocabulary.from_transformers(fast).hash
    assert loaded.eos_ids == (0,)
    assert Vocabulary.from_transformers(str(tmp_path), 400).size == 400


def test_a_folder_without_a_tokenizer_is_an_error_of_ours(tmp_path: Path) -> None:
    """The folder is named."""
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        Vocabulary.from_transformers(tmp_path)
    assert caught.value.location == str(tmp_path)


@pytest.mark.usefixtures("without_packages")
def test_a_missing_transformers_package_is_named(tmp_path: Path) -> None:
    """With what to install."""
    with pytest.raises(ModelError, match="pip install transformers"):
        Vocabulary.from_transformers(tmp_path)


def test_the_real_bytes_survive_the_byte_level_alphabet(data_dir: Path) -> None:
    """A table written in the alphabet by the tokenizers package reads back as the file's bytes."""
    wanted = Vocabulary.from_tiktoken(data_dir / "tokenizers" / "gpt2.tiktoken")
    alphabet = byte_characters()
    vocab = {"".join(alphabet[b] for b in token or b""): i for i, token in enumerate(wanted.tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    assert Vocabulary.from_transformers(tokenizer).tokens == wanted.tokens


def byte_characters() -> dict[int, str]:
    """Byte -> character of the byte-level alphabet, asked of the package itself."""
    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    found = {byte: chr(byte) for byte in range(0xC0, 0x100)}  # some of which UTF-8 never uses
    points = [*range(0x800), *range(0x800, 0xD800, 0x800), *range(0xE000, 0x110000, 0x2000)]
    for text in map(chr, points):
        ((shown, _),) = split.pre_tokenize_str(text)
        found.update(zip(text.encode(), shown, strict=True))
    assert len(set(found.values())) == len(found) == 256
    return found


@pytest.mark.parametrize("answers", [True, False])
def test_a_hub_that_does_not_answer_is_not_waited_for(
    answers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listener that says nothing, or that answers anything at all; then names are looked up."""
    transformers = pytest.importorskip("transformers")
    constants = pytest.importorskip("huggingface_hub.constants")
    asked: list[dict[str, Any]] = []

    def load(name: str, **options: Any) -> str:
        asked.append(options)
        return name

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", load)
    monkeypatch.setattr(sources, "HUB_SECONDS", 0.2 if not answers else 20.0)
    with socket.socket() as hub:
        hub.bind(("127.0.0.1", 0))
        hub.listen()
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{hub.getsockname()[1]}")

        def answer() -> None:
            with hub.accept()[0] as caller:
                caller.recv(4096)
                caller.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer)
        if answers:
            thread.start()
        assert sources.load_tokenizer("owner/model") == "owner/model"
        if answers:
            thread.join()
    assert asked == [{} if answers else {"local_files_only": True}]
