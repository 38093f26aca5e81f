"""The `Vocabulary`: bytes of every token, and which ids are special.

A token is text unless it is special, an end token, empty, or absent (None, or an id beyond the
table): only text tokens ever match text. Where tables come from is in `vocabulary.sources`.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from structgen.errors import VocabularyError
from structgen.vocabulary import sources, stored
from structgen.vocabulary.self_test import self_test
from structgen.vocabulary.stored import Stored, StoredTokens
from structgen.vocabulary.table import MAX_SIZE, Encoder, TokenTable, checked_id

if TYPE_CHECKING:
    from structgen.vocabulary.trie import Trie

_ANCHORS = ("\n", "=", ")", "0")
# What tokenizers of transformers, tokenizers, SentencePiece and tiktoken have.
TOKENIZER_METHODS = (
    "convert_ids_to_tokens",
    "id_to_token",
    "id_to_piece",
    "decode_single_token_bytes",
)
FILES = {".tiktoken": "from_tiktoken", ".model": "from_sentencepiece"}  # who reads them, by ending


class Vocabulary:
    """The tokens of a model: id <-> bytes. Immutable; safe to share between threads and to pickle.

    Attributes:
        size: number of ids V, padded ids included; the width of a mask in bits.
        words: 32-bit words of a mask row, ceil(V / 32).
        tokens: V entries, the bytes of each id, or None where the id has none.
        lazy_tokens: the same, copied one by one from the file where the vocabulary is kept.
        eos_ids: ids that end a text, in the order given. May be empty: then `is_accepting` of a
            constraint is the only sign that a text may end.
        special_ids: ids that never match text, the end tokens among them.
        text_ids: int32[], ascending and read-only: the ids that can match text.
        hash: hex digest of everything above; equal hashes mean interchangeable masks.
        encode: the tokenizer's own text -> ids without added special tokens, or None. What it
            returns may begin with `prefix`.
        prefix: bytes that `encode` puts before a text (the dummy space of SentencePiece), or b"".
    """

    size: int
    words: int
    eos_ids: tuple[int, ...]
    special_ids: frozenset[int]
    text_ids: npt.NDArray[np.int32]
    hash: str
    encode: Encoder | None
    prefix: bytes
    _lock: threading.Lock
    lazy_tokens: Sequence[bytes | None]
    _tokens: tuple[bytes | None, ...] | None
    _stored: Stored | None
    _trie: Trie | None

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        *,
        eos_ids: Iterable[int] = (),
        special_ids: Iterable[int] = (),
        size: int | None = None,
        encode: Encoder | None = None,
        prefix: bytes = b"",
    ) -> None:
        """Take `tokens` (index = token id) as they are, padded to `size` ids that match nothing.

        The same bytes may stand under several ids. VocabularyError when there is no token, one is
        not bytes (`token_id` says which), `size` is too small, or an id is outside 0..size-1.
        """
        table = _checked_table(tokens)
        size = len(table) if size is None else _checked_size(size, len(table))
        table += (None,) * (size - len(table))
        ends = tuple(dict.fromkeys(_checked_ids(eos_ids, "eos_ids", size)))
        special = frozenset(ends).union(_checked_ids(special_ids, "special_ids", size))
        if not isinstance(prefix, bytes):
            raise VocabularyError(f"prefix is {prefix!r}", expected="bytes")
        if encode is not None and not callable(encode):
            raise VocabularyError(f"encode is {encode!r}", expected="a function: text -> ids")
        text = [i for i, token in enumerate(table) if token and i not in special]
        text_ids = np.array(text, np.int32)
        text_ids.flags.writeable = False
        values = {
            "size": size,
            "words": -(-size // 32),
            "lazy_tokens": table,
            "_tokens": table,
            "_stored": None,
            "eos_ids": ends,
            "special_ids": special,
            "text_ids": text_ids,
            "hash": _digest(table, ends, special),
            "encode": encode,
            "prefix": prefix,
            "_lock": threading.Lock(),
            "_trie": None,
        }
        self.__dict__.update(values)

    @classmethod
    def from_tiktoken(
        cls,
        path: str | os.PathLike[str],
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        eos_ids: Iterable[int | str] | None = None,
        size: int | None = None,
        check: bool = True,
    ) -> Vocabulary:
        """Read a tiktoken file; see `sources.Tiktoken`.

        `special_tokens` maps names to ids beside the ranks; `eos_ids` are ids or such names;
        `pattern`, the pre-tokenizer's regular expression, gives `encode`.
        """
        source = sources.Tiktoken(
            path, pattern, dict(special_tokens or {}), _listed(eos_ids), size, check
        )
        return cls._kept(source)

    @classmethod
    def from_sentencepiece(
        cls,
        path: str | os.PathLike[str],
        *,
        eos_ids: Iterable[int] | None = None,
        special_ids: Iterable[int] = (),
        size: int | None = None,
        check: bool = True,
    ) -> Vocabulary:
        """Read a SentencePiece `.model` file; see `sources.SentencePiece`."""
        return cls._kept(
            sources.SentencePiece(path, _listed(eos_ids), _listed(special_ids), size, check)
        )

    @classmethod
    def from_transformers(
        cls,
        tokenizer: Any,
        size: int | None = None,
        *,
        eos_ids: Iterable[int] | None = None,
        check: bool = True,
    ) -> Vocabulary:
        """Take over a fast tokenizer or load one by name; see `sources.Transformers`.

        `size` is the vocabulary size of the model where it is larger than the tokenizer's.
        """
        return cls._kept(sources.Transformers(tokenizer, size, _listed(eos_ids), check))

    @classmethod
    def _kept(cls, source: sources.Source) -> Vocabulary:
        """The vocabulary of a source: from the cache folder, or read, and put there if large."""
        key = source.key()
        found = stored.load(key)
        if found is not None:
            return cls._from_stored(found, source.encoder(found))
        made = cls._of(source.table())
        if made.size >= stored.FROM:
            ids = {
                "eos_ids": made.eos_ids,
                "special_ids": sorted(made.special_ids),
                "text_ids": made.text_ids,
            }
            stored.save(key, made.tokens, ids, made.hash, made.prefix)
        return made

    @classmethod
    def _from_stored(cls, found: Stored, encode: Encoder | None) -> Vocabulary:
        """The vocabulary of a file, which has passed its tests."""
        made = cls.__new__(cls)
        size = len(found.ends)
        values = {
            "size": size,
            "words": -(-size // 32),
            "lazy_tokens": StoredTokens(found),
            "_tokens": None,
            "_stored": found,
            "eos_ids": tuple(found.eos_ids.tolist()),
            "special_ids": frozenset(found.special_ids.tolist()),
            "text_ids": found.text_ids,
            "hash": found.hash,
            "encode": encode,
            "prefix": found.prefix,
            "_lock": threading.Lock(),
            "_trie": None,
        }
        made.__dict__.update(values)
        return made

    @classmethod
    def from_gguf(cls, path: str | os.PathLike[str], size: int | None = None) -> Vocabulary:
        """Read the vocabulary of a GGUF file of llama.cpp; see `gguf.gguf_table`."""
        from structgen.vocabulary.gguf import gguf_table

        return cls._of(gguf_table(Path(path), size))

    @classmethod
    def _of(cls, table: TokenTable) -> Vocabulary:
        made = cls(
            table.tokens,
            eos_ids=table.eos_ids,
            special_ids=table.special_ids,
            size=table.size,
            encode=table.encode,
            prefix=table.prefix,
        )
        if table.check:
            self_test(made, table.unclear)
        return made

    def self_test(self) -> None:
        """Raise VocabularyError unless the tokens spell what `encode` cuts up; see `self_test`."""
        self_test(self)

    def encode_continuation(self, text: str) -> list[int] | None:
        """Tokens that spell exactly `text`, cut as in the middle of a text; None if there are none.

        The same as `encode` for a tokenizer without `prefix`; else `text` is encoded behind a
        character that does not merge with it, which is taken off again.
        """
        if self.encode is None:
            return None
        wanted = text.encode()
        for anchor in _ANCHORS if self.prefix else ("",):
            ids = self.encode(anchor + text)
            lead = self.prefix + anchor.encode()
            while ids and lead:
                first = self.token_bytes(ids[0])
                if not first or not lead.startswith(first):
                    break
                lead, ids = lead[len(first) :], ids[1:]
            if not lead and self.special_ids.isdisjoint(ids) and self.decode_bytes(ids) == wanted:
                return ids
        return None

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of one token, special ones too (their literal text); b"" if it has none."""
        return self.lazy_tokens[self._index(token_id)] or b""

    def decode_bytes(self, ids: Iterable[int], *, special: bool = False) -> bytes:
        """The bytes that `ids` stand for together; special tokens count only when `special`.

        One id may end inside a character, so decode the whole, not the parts.
        """
        hidden: frozenset[int] = frozenset() if special else self.special_ids
        indices = [self._index(i) for i in ids]
        return b"".join(self.lazy_tokens[i] or b"" for i in indices if i not in hidden)

    @property
    def tokens(self) -> tuple[bytes | None, ...]:
        """V entries: see the class."""
        if self._tokens is None and self._stored is not None:
            self.__dict__["_tokens"] = self._stored.tokens
        return self._tokens or ()

    @property
    def trie(self) -> Trie:
        """The trie of the text tokens: built, or read from the cache directory, on first use."""
        found = self._trie
        if found is None:
            from structgen.vocabulary.trie import cached_trie

            with self._lock:
                found = self._trie
                if found is None:
                    found = cached_trie(lambda: self.tokens, self.size, self.text_ids, self.hash)
                    self.__dict__["_trie"] = found
        return found

    def __len__(self) -> int:
        """The same as `size`."""
        return self.size

    def __repr__(self) -> str:
        return (
            f"Vocabulary(size={self.size}, text tokens={len(self.text_ids)}, "
            f"eos_ids={self.eos_ids}, hash={self.hash[:12]!r})"
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Vocabulary does not change: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Vocabulary does not change: cannot delete {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.tokens, self.eos_ids, self.special_ids, self.encode, self.prefix)
        return (_rebuild, (type(self), *fields))

    def _index(self, token_id: int) -> int:
        index = operator.index(token_id)
        if 0 <= index < self.size:
            return index
        raise VocabularyError(
            f"there is no token {index}", token_id=index, expected=f"an id in 0..{self.size - 1}"
        )


def _rebuild(
    cls: type[Vocabulary],
    tokens: tuple[bytes | None, ...],
    eos_ids: tuple[int, ...],
    special_ids: frozenset[int],
    encode: Encoder | None,
    prefix: bytes,
) -> Vocabulary:
    return cls(tokens, eos_ids=eos_ids, special_ids=special_ids, encode=encode, prefix=prefix)


def _listed(ids: Any) -> Any:
    """Ids that may be asked for twice; what is no series of ids stays, and is refused later."""
    return [*ids] if isinstance(ids, Iterable) and not isinstance(ids, str | bytes) else ids


def _checked_table(tokens: object) -> tuple[bytes | None, ...]:
    if not isinstance(tokens, Iterable) or isinstance(tokens, str | bytes | bytearray | Mapping):
        raise VocabularyError(
            f"the table of tokens is a {type(tokens).__name__}",
            expected="a sequence of bytes, one for each id",
        )
    table: tuple[Any, ...] = tuple(tokens)
    if not table:
        raise VocabularyError("the table of tokens is empty", expected="at least one token")
    for i, token in enumerate(table):
        if token is not None and type(token) is not bytes:
            raise VocabularyError(
                f"token {i} is a {type(token).__name__}: {token!r:.80}",
                token_id=i,
                expected="bytes, or None for an id without a token",
                hint="encode the text as UTF-8" if type(token) is str else "",
            )
    return table


def _checked_size(size: int, least: int) -> int:
    try:
        number = operator.index(size)
    except TypeError:
        number = -1
    if not least <= number <= MAX_SIZE:
        raise VocabularyError(
            f"size is {size!r}",
            expected=f"an integer from {least}, the number of tokens, to {MAX_SIZE}",
            hint="give the vocabulary size of the model, or leave it out",
        )
    return number


def _checked_ids(ids: Iterable[int], name: str, size: int) -> list[int]:
    if not isinstance(ids, Iterable) or isinstance(ids, str | bytes):
        raise VocabularyError(f"{name} is {ids!r}", expected="a sequence of token ids")
    return [checked_id(value, name, size) for value in ids]


def _digest(
    table: tuple[bytes | None, ...], eos_ids: tuple[int, ...], special: frozenset[int]
) -> str:
    """Hex digest of the table and both id sets; lengths (-1 for None) keep it unambiguous."""
    lengths = np.array([-1 if token is None else len(token) for token in table], "<i8")
    digest = blake2b(b"structgen vocabulary 1", digest_size=20)
    for ids in (sorted(eos_ids), sorted(special)):
        digest.update(np.array([len(ids), *ids], "<i8").tobytes())
    digest.update(np.array([len(lengths)], "<i8").tobytes() + lengths.tobytes())
    digest.update(b"".join(token for token in table if token))
    return digest.hexdigest()


def checked_vocabulary(given: Any) -> Vocabulary:
    """`given`, which must be a Vocabulary; else VocabularyError, with how to make one of it."""
    if isinstance(given, Vocabulary):
        return given
    raise VocabularyError(
        f"{_described(given)} is not a vocabulary",
        expected="a structgen.Vocabulary",
        hint=_how_to_make(given),
    )


def looks_like_vocabulary(value: object) -> bool:
    """Whether a value is a vocabulary, or a tokenizer that one can be made of."""
    return isinstance(value, Vocabulary) or any(hasattr(value, name) for name in TOKENIZER_METHODS)


def _described(value: object) -> str:
    """A value in a message: tokenizers and models have texts that fill pages."""
    shown = repr(value) if isinstance(value, str | int | None | os.PathLike) else ""
    return shown if 0 < len(shown) <= 80 else f"a {type(value).__name__}"


def _how_to_make(value: Any) -> str:
    """How to get a vocabulary from what somebody gave in its place."""
    module = type(value).__module__.partition(".")[0]
    if isinstance(value, str | os.PathLike):
        ending = os.path.splitext(os.fspath(value))[1]
        return f"use structgen.Vocabulary.{FILES.get(ending, 'from_transformers')}({value!r})"
    if module == "tiktoken":
        return "use structgen.Vocabulary.from_tiktoken(path), with the path of its .tiktoken file"
    if module == "sentencepiece":
        return "use structgen.Vocabulary.from_sentencepiece(path), with the path of its .model file"
    if hasattr(value, "fill_mask") or hasattr(value, "specs"):  # a constraint, a Generator
        return "use its own: .vocabulary"
    if looks_like_vocabulary(value):
        return "use structgen.Vocabulary.from_transformers(tokenizer)"
    if hasattr(value, "get_output_embeddings"):
        return "use structgen.Generator(model, tokenizer).vocabulary"
    if isinstance(value, list | tuple) and all(isinstance(t, bytes | None) for t in value):
        return "use structgen.Vocabulary(tokens, eos_ids=[...])"
    if hasattr(value, "automaton") or isinstance(value, dict | bool):
        return "the spec comes first: compile(spec, vocabulary)"
    return (
        "make one by structgen.Vocabulary.from_transformers(tokenizer), from_tiktoken(path) or "
        "from_sentencepiece(path), or of the bytes of all tokens"
    )
