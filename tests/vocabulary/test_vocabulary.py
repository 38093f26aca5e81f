"""Vocabulary keeps, refuses and decodes tables of tokens, good and bad."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import VocabularyError
from structgen.vocabulary.table import MAX_SIZE
from structgen.vocabulary.vocabulary import Vocabulary

TABLE = [b"a", b"b", None, b"", b"ab", b"</s>", b"<pad>", b"a"]


def spell(text: str) -> list[int]:
    """An encoder of one token per byte."""
    return list(text.encode())


@pytest.fixture
def tiny() -> Vocabulary:
    """Eight ids: text, none, empty, end, special and a duplicate."""
    return Vocabulary(TABLE, eos_ids=[5], special_ids=[6])


def test_attributes_are_what_was_given(tiny: Vocabulary) -> None:
    """End ids are special too, and only real text tokens are text ids."""
    assert tiny.size == len(tiny) == 8
    assert tiny.words == 1
    assert tiny.tokens == tuple(TABLE)
    assert tiny.eos_ids == (5,)
    assert tiny.special_ids == {5, 6}
    assert tiny.text_ids.tolist() == [0, 1, 4, 7]
    assert tiny.text_ids.dtype == np.int32
    assert tiny.encode is None
    assert tiny.prefix == b""


@pytest.mark.parametrize(("size", "words"), [(8, 1), (32, 1), (33, 2), (64, 2), (65, 3)])
def test_padded_ids_have_no_bytes(size: int, words: int) -> None:
    """A model may have more ids than its tokenizer; they count, and match nothing."""
    vocabulary = Vocabulary(TABLE, size=size)
    assert (vocabulary.size, vocabulary.words) == (size, words)
    assert vocabulary.tokens == tuple(TABLE) + (None,) * (size - 8)
    assert vocabulary.text_ids.max() == 7
    assert vocabulary.token_bytes(size - 1) == (b"a" if size == 8 else b"")


def test_an_end_token_may_be_a_padded_id() -> None:
    """An id without bytes can end a text."""
    assert Vocabulary([b"a"], eos_ids=[3], size=4).eos_ids == (3,)


def test_there_may_be_no_or_several_end_tokens() -> None:
    """The order given is kept, repetitions are not."""
    assert Vocabulary([b"a"]).eos_ids == ()
    assert Vocabulary([b"a", b"b", b"c"], eos_ids=iter([2, 0, 2])).eos_ids == (2, 0)


def test_numpy_ids_are_taken_as_ids() -> None:
    """Id arrays of any integer type work, and become plain ints."""
    vocabulary = Vocabulary(TABLE, eos_ids=np.array([5]), special_ids=np.array([6], np.uint8))
    assert vocabulary.eos_ids == (5,)
    assert all(type(i) is int for i in vocabulary.special_ids)
    assert vocabulary.token_bytes(np.int64(4)) == b"ab"  # type: ignore[arg-type]  # an index
    assert vocabulary.decode_bytes(np.array([0, 4], np.int32)) == b"aab"


def test_token_bytes_shows_special_tokens_and_decode_bytes_hides_them(tiny: Vocabulary) -> None:
    """A text has no special tokens in it, unless they are asked for."""
    assert [tiny.token_bytes(i) for i in range(8)] == [token or b"" for token in TABLE]
    assert tiny.decode_bytes([0, 4, 6, 2, 3, 1, 5]) == b"aabb"
    assert tiny.decode_bytes([0, 4, 6, 2, 3, 1, 5], special=True) == b"aab<pad>b</s>"
    assert tiny.decode_bytes([]) == b""


@pytest.mark.parametrize("token_id", [-1, 8, 2**40])
def test_an_id_that_does_not_exist_has_no_bytes(tiny: Vocabulary, token_id: int) -> None:
    """Negative ids do not count from the end."""
    for call in (tiny.token_bytes, lambda i: tiny.decode_bytes([0, i])):
        with pytest.raises(VocabularyError) as caught:
            call(token_id)
        assert caught.value.token_id == token_id


BAD: dict[str, tuple[Callable[[], object], int]] = {
    "empty table": (lambda: Vocabulary([]), -1),
    "one text": (lambda: Vocabulary("abc"), -1),  # type: ignore[arg-type]
    "one byte string": (lambda: Vocabulary(b"abc"), -1),  # type: ignore[arg-type]
    "a mapping": (lambda: Vocabulary({0: b"a"}), -1),  # type: ignore[arg-type]
    "a number": (lambda: Vocabulary(3), -1),  # type: ignore[arg-type]
    "text among bytes": (lambda: Vocabulary([b"a", "b"]), 1),  # type: ignore[list-item]
    "bytearray": (lambda: Vocabulary([b"a", b"b", bytearray(b"c")]), 2),  # type: ignore[list-item]
    "eos beyond the end": (lambda: Vocabulary([b"a"], eos_ids=[1]), 1),
    "negative eos": (lambda: Vocabulary([b"a"], eos_ids=[-1]), -1),
    "special beyond the end": (lambda: Vocabulary([b"a"], special_ids=[7]), 7),
    "a bare eos": (lambda: Vocabulary([b"a"], eos_ids=0), -1),  # type: ignore[arg-type]
    "eos by name": (lambda: Vocabulary([b"a"], eos_ids=["a"]), -1),  # type: ignore[list-item]
    "a fractional id": (lambda: Vocabulary([b"a"], special_ids=[0.0]), -1),  # type: ignore[list-item]
    "eos is None": (lambda: Vocabulary([b"a"], eos_ids=[None]), -1),  # type: ignore[list-item]
    "size too small": (lambda: Vocabulary([b"a", b"b"], size=1), -1),
    "size immense": (lambda: Vocabulary([b"a"], size=MAX_SIZE + 1), -1),
    "size as text": (lambda: Vocabulary([b"a"], size="9"), -1),  # type: ignore[arg-type]
    "encode is no function": (lambda: Vocabulary([b"a"], encode=3), -1),  # type: ignore[arg-type]
    "prefix is text": (lambda: Vocabulary([b"a"], prefix=" "), -1),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("make", "token_id"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused(make: Callable[[], object], token_id: int) -> None:
    """Every error is a VocabularyError that says what was expected and names the token, if any."""
    with pytest.raises(VocabularyError) as caught:
        make()
    assert caught.value.token_id == token_id
    assert caught.value.expected


def test_a_vocabulary_does_not_change(tiny: Vocabulary) -> None:
    """Attributes can be neither set nor deleted, and arrays are read-only."""
    with pytest.raises(AttributeError, match="size"):
        tiny.size = 3
    with pytest.raises(AttributeError, match="eos_ids"):
        del tiny.eos_ids
    with pytest.raises(ValueError, match="read-only"):
        tiny.text_ids[0] = 3


def test_changing_the_given_list_changes_nothing() -> None:
    """The table is taken over by value."""
    table: list[bytes | None] = [b"a", b"b"]
    vocabulary = Vocabulary(table)
    table[0] = b"c"
    assert vocabulary.token_bytes(0) == b"a"


DIFFERENT = {
    "as it is": Vocabulary([b"ab", b"c"]),
    "bytes cut elsewhere": Vocabulary([b"a", b"bc"]),
    "other order": Vocabulary([b"c", b"ab"]),
    "one more, empty": Vocabulary([b"ab", b"c", b""]),
    "one more, absent": Vocabulary([b"ab", b"c", None]),
    "padded by two": Vocabulary([b"ab", b"c"], size=4),
    "eos": Vocabulary([b"ab", b"c"], eos_ids=[1]),
    "other eos": Vocabulary([b"ab", b"c"], eos_ids=[0]),
    "special": Vocabulary([b"ab", b"c"], special_ids=[1]),
    "both special": Vocabulary([b"ab", b"c"], special_ids=[0, 1]),
    "both, one eos": Vocabulary([b"ab", b"c"], special_ids=[0, 1], eos_ids=[1]),
}


def test_the_hash_covers_everything_that_matters() -> None:
    """Vocabularies that differ in any way that a mask could show have different hashes."""
    assert len({v.hash for v in DIFFERENT.values()}) == len(DIFFERENT)
    assert all(int(v.hash, 16) >= 0 for v in DIFFERENT.values())


def test_the_hash_covers_nothing_else() -> None:
    """Order of ids, how padding is written and the encoder make no difference."""
    wanted = Vocabulary([b"a", b"b", None], eos_ids=[0, 1], special_ids=[2]).hash
    same = Vocabulary((b"a", b"b"), eos_ids=[1, 0], special_ids=[0, 2], size=3, encode=spell)
    assert same.hash == wanted


@given(st.lists(st.binary(max_size=3) | st.none(), min_size=1, max_size=6), st.data())
def test_hashes_are_equal_exactly_for_equal_tables(
    tokens: list[bytes | None], data: st.DataObject
) -> None:
    """On random tables that often differ in one place only."""
    at = data.draw(st.integers(0, len(tokens) - 1))
    other = list(tokens)
    other[at] = data.draw(st.binary(max_size=3) | st.none())
    assert (Vocabulary(tokens).hash == Vocabulary(other).hash) == (tokens == other)


def test_the_hash_stays_the_same_between_runs() -> None:
    """Files made by one process are found by the next; change this value with the format only."""
    tokens = [b"a", None, b"", b"\xff"]
    vocabulary = Vocabulary(tokens, eos_ids=[1], special_ids=[2], size=7)
    assert vocabulary.hash == "21202e8f3bb59e8cad1bcfe49ec9a986d2d34dfb"


def test_a_vocabulary_survives_pickling() -> None:
    """A copy in another process has the same ids, bytes, encoder and trie."""
    vocabulary = Vocabulary(TABLE, eos_ids=[5], special_ids=[6], size=40, encode=spell)
    assert len(vocabulary.trie) == 3
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy.hash == vocabulary.hash
    assert (copy.size, copy.tokens, copy.eos_ids) == (40, vocabulary.tokens, (5,))
    assert copy.encode is spell
    assert len(copy.trie) == 3


def test_repr_tells_size_and_ends(tiny: Vocabulary) -> None:
    """It is short even for a large table."""
    text = repr(Vocabulary([b"x"] * 5000, eos_ids=[4]))
    assert "size=5000" in text
    assert "(4,)" in text
    assert len(text) < 120


def test_the_self_test_passes_a_right_table() -> None:
    """Single bytes spell every text."""
    Vocabulary([bytes([b]) for b in range(256)], encode=spell).self_test()


@pytest.mark.parametrize("wrong", range(0x20, 0x7F))
def test_the_self_test_names_a_wrong_printable_token(wrong: int) -> None:
    """Whichever ASCII token has a wrong byte is named, with its bytes."""
    table = [bytes([b]) for b in range(256)]
    table[wrong] = b"\x01"
    with pytest.raises(VocabularyError, match=r"\\x01") as caught:
        Vocabulary(table, encode=spell).self_test()
    assert caught.value.token_id == wrong


ENCODERS: dict[str, Callable[[str], list[int]]] = {
    "loses characters": lambda text: spell(text.replace("\t", "")),
    "loses the end": lambda text: spell(text.rstrip()),
    "adds characters": lambda text: spell(text + "!"),
    "lower case": lambda text: spell(text.lower()),
    "fewer spaces": lambda text: spell(" ".join(text.split(" "))[: len(text) // 2]),
    "writes nothing": lambda _: [],
    "knows Latin-1 only": lambda text: list(text.encode("latin-1", "replace")),
}


@pytest.mark.parametrize("encode", ENCODERS.values(), ids=ENCODERS.keys())
def test_the_self_test_refuses_an_encoder_that_changes_texts(
    encode: Callable[[str], list[int]],
) -> None:
    """A text that comes out otherwise is reported with what was expected."""
    with pytest.raises(VocabularyError, match="do not spell it") as caught:
        Vocabulary([bytes([b]) for b in range(256)], encode=encode).self_test()
    assert caught.value.expected


def test_the_self_test_needs_an_encoder_and_text_tokens(tiny: Vocabulary) -> None:
    """With nothing to compare, it does not pass."""
    with pytest.raises(VocabularyError, match="nothing to test"):
        tiny.self_test()
    everything = range(256)
    silent = Vocabulary([b"x"] * 256, special_ids=everything, encode=spell)
    with pytest.raises(VocabularyError, match="none of the test texts"):
        silent.self_test()


def prefixing(text: str) -> list[int]:
    """An encoder that puts a space before every text and joins newlines to what follows."""
    text = " " + text
    ids: list[int] = []
    while text:
        two = text[:2] in {"\na", " a", "=b"}
        ids.append({"\na": 256, " a": 257, "=b": 258}[text[:2]] if two else ord(text[0]))
        text = text[2 if two else 1 :]
    return ids


def test_a_continuation_is_cut_as_in_the_middle_of_a_text() -> None:
    """The dummy space is not there, and the character before the text does not stick to it."""
    table = [*(bytes([b]) for b in range(256)), b"\na", b" a", b"=b"]
    vocabulary = Vocabulary(table, encode=prefixing, prefix=b" ")
    assert vocabulary.encode is not None
    assert vocabulary.encode("a a") == [257, 257]
    for text in ("a a", "b", " a", "\na", "", "x=b", "\n"):
        ids = vocabulary.encode_continuation(text)
        assert ids is not None
        assert vocabulary.decode_bytes(ids) == text.encode()
        assert ids == prefixing(")" + text)[2:]


def test_without_a_prefix_a_continuation_is_what_encode_says() -> None:
    """And there is none without an encoder, or where the tokenizer changes the text."""
    table = [bytes([b]) for b in range(256)]
    assert Vocabulary(table, encode=spell).encode_continuation("é") == [0xC3, 0xA9]
    assert Vocabulary(table).encode_continuation("a") is None
    upper = Vocabulary(table, encode=lambda text: spell(text.upper()))
    assert upper.encode_continuation("a") is None
    assert upper.encode_continuation("A") == [65]


def test_special_ids_never_spell_a_continuation() -> None:
    """A tokenizer that finds a special token in the text does not get through with it."""
    table: list[Any] = [bytes([b]) for b in range(256)]
    vocabulary = Vocabulary(table, special_ids=[ord("<")], encode=spell)
    assert vocabulary.encode_continuation("a<b") is None
