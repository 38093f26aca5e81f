"""Make token tables from tiktoken and SentencePiece files and from transformers tokenizers."""

from __future__ import annotations

import binascii
import importlib.util
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from structgen.errors import ModelError, VocabularyError
from structgen.vocabulary import sentencepiece_file
from structgen.vocabulary.stored import Stored, key_of
from structgen.vocabulary.table import MAX_SIZE, Encoder, TokenTable, checked_id

HUB_SECONDS = 5.0  # that the hub may take to answer
_USUAL_ENDS = ("<|endoftext|>", "<|end_of_text|>")
_TEXT_PIECES = frozenset(
    {sentencepiece_file.NORMAL, sentencepiece_file.USER_DEFINED, sentencepiece_file.BYTE}
)


class Source(Protocol):
    """Where a vocabulary comes from: see `vocabulary.stored`."""

    def key(self) -> str:
        """The name under which the vocabulary is kept."""

    def table(self) -> TokenTable:
        """Read the table of tokens."""

    def encoder(self, found: Stored) -> Encoder | None:
        """The tokenizer's text -> ids, for a vocabulary that was kept."""


class Tiktoken(NamedTuple):
    """A tiktoken file: lines of `<base64 of the token's bytes> <rank>`, rank = token id.

    `special_tokens` maps names to ids beside the ranks. `eos_ids` are ids or names of special
    tokens; without them `<|endoftext|>` or `<|end_of_text|>` ends a text if it is a special token.
    `size` defaults to the largest id mentioned anywhere plus one. With `pattern`, the
    pre-tokenizer's regular expression, `encode` is there; it needs the `tiktoken` package, and
    where that is installed the table is tested against it (unless `check` is off).
    """

    path: str | os.PathLike[str]
    pattern: str | None
    special_tokens: dict[str, int]
    eos_ids: list[int | str] | None
    size: int | None
    check: bool

    @property
    def _is_tested(self) -> bool:
        return self.check and self.pattern is not None and _installed("tiktoken")

    def key(self) -> str:
        """See `Source`."""
        return key_of("tiktoken", _file_bytes(Path(self.path)), *self[1:-1], self._is_tested)

    def table(self) -> TokenTable:
        """See `Source`. VocabularyError when the file or an id is not as described."""
        tokens = _read_ranks(Path(self.path))
        ranks = {token: rank for rank, token in tokens.items()}
        special = {name: checked_id(i, name) for name, i in self.special_tokens.items()}
        for name, token_id in special.items():
            if token_id in tokens:
                raise VocabularyError(
                    f"special token {name!r} has the id {token_id} of {tokens[token_id]!r}",
                    token_id=token_id,
                    expected="an id of its own",
                )
            tokens[token_id] = name.encode()
        ends = _end_ids(special, self.eos_ids)
        count = max(tokens) + 1
        size = max(count, max(ends, default=-1) + 1) if self.size is None else self.size
        return TokenTable(
            tokens=[tokens.get(i) for i in range(count)],
            eos_ids=ends,
            special_ids=special.values(),
            size=size,
            encode=None if self.pattern is None else TiktokenEncoder(ranks, self.pattern),
            check=self._is_tested,
        )

    def encoder(self, found: Stored) -> Encoder | None:
        """See `Source`."""
        beside = {*self.special_tokens.values()}

        def ranks() -> dict[bytes, int]:
            pairs = enumerate(found.tokens)
            return {token: i for i, token in pairs if token is not None and i not in beside}

        return None if self.pattern is None else TiktokenEncoder(ranks, self.pattern)


class SentencePiece(NamedTuple):
    """A SentencePiece `.model` file.

    U+2581 in a piece is a space, `<0x0A>` pieces are bytes; control, unknown and unused pieces
    are special, and so are `special_ids`. The end token is the file's own unless `eos_ids` are
    given. `encode` needs the `sentencepiece` package; where it is installed the table is tested
    against it (unless `check` is off). If the tokenizer puts a dummy space before a text, that is
    `prefix`; a token's bytes are what it adds in the middle of a text.
    """

    path: str | os.PathLike[str]
    eos_ids: list[int] | None
    special_ids: list[int]
    size: int | None
    check: bool

    def key(self) -> str:
        """See `Source`."""
        is_tested = self.check and _installed("sentencepiece")
        return key_of("sentencepiece", _file_bytes(Path(self.path)), *self[1:-1], is_tested)

    def table(self) -> TokenTable:
        """See `Source`.

        VocabularyError when the file is not one, or changes texts in a way that tokens cannot show.
        """
        file = Path(self.path)
        data = _file_bytes(file)
        model = sentencepiece_file.parse_model(data, str(file))
        if model.rewrites_output or model.space_is_suffix:
            does = "rewrites decoded texts" if model.rewrites_output else "puts spaces behind words"
            raise VocabularyError(
                f"the tokenizer {does}",
                location=str(file),
                expected="tokens that spell the text they stand for",
            )
        tokens = []
        special = set(self.special_ids)
        for i, (piece, kind) in enumerate(model.pieces):
            silent = kind not in _TEXT_PIECES
            if silent:
                special.add(i)
            tokens.append(piece.encode() if silent else _piece_bytes(i, piece, kind, file))
        own = (model.eos_piece, sentencepiece_file.CONTROL)
        own_ends = [i for i, piece in enumerate(model.pieces) if piece == own]
        return TokenTable(
            tokens=tokens,
            eos_ids=own_ends if self.eos_ids is None else self.eos_ids,
            special_ids=special,
            size=self.size,
            encode=SentencePieceEncoder(data),
            prefix=b" " if model.dummy_prefix else b"",
            check=self.check and _installed("sentencepiece"),
        )

    def encoder(self, found: Stored) -> Encoder:  # noqa: ARG002  the file has all
        """See `Source`."""
        return SentencePieceEncoder(_file_bytes(Path(self.path)))


class Transformers:
    """A fast `transformers` tokenizer, or a bare `tokenizers.Tokenizer`.

    A string or path is loaded with `AutoTokenizer`. `size` is the model's own vocabulary size
    (`config.vocab_size`) where that is larger than the tokenizer's. `eos_ids` replaces the
    tokenizer's end token. Special added tokens never match text, other added tokens match their
    literal text; one that is decoded to something else than it was encoded from is special too.
    The table is tested against the tokenizer (unless `check` is off).
    """

    def __init__(
        self, tokenizer: Any, size: int | None, eos_ids: list[int] | None, check: bool
    ) -> None:
        """VocabularyError when it is no fast tokenizer; ModelError when it cannot be loaded."""
        if isinstance(tokenizer, str | os.PathLike):
            tokenizer = load_tokenizer(os.fspath(tokenizer))
        self._tokenizer = tokenizer
        self._backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if not hasattr(self._backend, "to_str"):
            raise VocabularyError(
                f"a {type(tokenizer).__name__} does not tell the bytes of its tokens",
                expected="a fast tokenizer (is_fast), a tokenizers.Tokenizer, or a path",
                hint="for SentencePiece and tiktoken files there are from_sentencepiece and "
                "from_tiktoken",
            )
        self._content: str = self._backend.to_str()
        if eos_ids is None:
            own = getattr(tokenizer, "eos_token_id", None)
            eos_ids = [*own] if isinstance(own, list | tuple) else [] if own is None else [own]
        special = frozenset(getattr(tokenizer, "all_special_ids", ()))
        self._eos_ids: list[int] = eos_ids
        self._size, self._special, self._check = size, special, check

    def key(self) -> str:
        """See `Source`."""
        said = self._size, [*self._eos_ids], sorted(self._special), self._check
        return key_of("transformers", self._content.encode(), *said)

    def table(self) -> TokenTable:
        """See `Source`. VocabularyError for tokens that spell no text (WordPiece, suffixes)."""
        from structgen.vocabulary.huggingface import read_table

        table = read_table(json.loads(self._content))
        return TokenTable(
            tokens=table.tokens,
            eos_ids=self._eos_ids,
            special_ids=table.special | self._special,
            size=self._size,
            encode=TokenizersEncoder(self._backend),
            prefix=table.prefix,
            check=self._check,
            unclear=frozenset(table.unclear),
        )

    def encoder(self, found: Stored) -> Encoder:  # noqa: ARG002  the tokenizer has all
        """See `Source`."""
        return TokenizersEncoder(self._backend)


class TiktokenEncoder:
    """Text -> ids by byte-pair merges of `ranks`, after a split by `pattern`; specials unknown.

    ranks may be a function that finds them when they are needed.

    Attributes: `ranks` and `pattern`, for other libraries that can work with them.
    """

    def __init__(
        self, ranks: dict[bytes, int] | Callable[[], dict[bytes, int]], pattern: str
    ) -> None:
        self._ranks = ranks
        self.pattern = pattern
        self._lock = threading.Lock()
        self._encoding: Any = None

    def __call__(self, text: str) -> list[int]:
        """The ids of `text`. ModelError when the tiktoken package is not installed."""
        if self._encoding is None:
            with self._lock:
                if self._encoding is None:
                    self._encoding = self._build()
        try:
            return list(self._encoding.encode_ordinary(text))
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of Rust: no Exception, and not exported
                raise
            raise self._refused(error) from None

    @cached_property
    def ranks(self) -> dict[bytes, int]:
        """The tokens with their ids."""
        return self._ranks() if callable(self._ranks) else self._ranks

    def __reduce__(self) -> tuple[Any, ...]:
        return (TiktokenEncoder, (self.ranks, self.pattern))

    def _build(self) -> Any:
        _require("tiktoken", "encoding text with a tiktoken file")
        import tiktoken

        try:
            return tiktoken.Encoding(
                "structgen", pat_str=self.pattern, mergeable_ranks=self.ranks, special_tokens={}
            )
        except ValueError as error:
            raise self._refused(error) from error

    def _refused(self, error: BaseException) -> VocabularyError:
        return VocabularyError(
            f"the tiktoken package refuses the ranks or the pattern {self.pattern!r:.80}: {error}",
            expected="a regular expression that splits every text into pieces, none of them empty",
        )


class SentencePieceEncoder:
    """Text -> ids by the sentencepiece package, with the model's own dummy prefix."""

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._processor: Any = None

    def __call__(self, text: str) -> list[int]:
        """The ids of `text`. ModelError when the sentencepiece package is not installed."""
        if self._processor is None:
            with self._lock:
                if self._processor is None:
                    self._processor = self._build()
        return list(self._processor.encode(text))

    def __reduce__(self) -> tuple[Any, ...]:
        return (SentencePieceEncoder, (self._model,))

    def _build(self) -> Any:
        _require("sentencepiece", "encoding text with a SentencePiece file")
        import sentencepiece

        try:
            return sentencepiece.SentencePieceProcessor(model_proto=self._model)
        except (OSError, RuntimeError) as error:
            raise VocabularyError(f"the sentencepiece package refuses it: {error}") from error


class TokenizersEncoder:
    """Text -> ids by a `tokenizers.Tokenizer`, `backend`; nothing added, truncated or padded."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self._lock = threading.Lock()
        self._plain: Any = None

    def __call__(self, text: str) -> list[int]:
        """The ids of `text`."""
        backend = self.backend
        if backend.truncation is not None or backend.padding is not None:
            backend = self._without_limits()
        return list(backend.encode(text, add_special_tokens=False).ids)

    def __reduce__(self) -> tuple[Any, ...]:
        return (TokenizersEncoder, (self.backend,))

    def _without_limits(self) -> Any:
        """A copy that neither truncates nor pads, as the owner's may be set to at any time."""
        with self._lock:
            if self._plain is None:
                plain = type(self.backend).from_str(self.backend.to_str())
                plain.no_truncation()
                plain.no_padding()
                self._plain = plain
            return self._plain


def _piece_bytes(token_id: int, piece: str, kind: int, file: Path) -> bytes:
    """What a text piece adds in the middle of a text."""
    if kind != sentencepiece_file.BYTE:
        return piece.replace(sentencepiece_file.SPACE, " ").encode()
    try:
        if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            return bytes([int(piece[3:5], 16)])
    except ValueError:
        pass
    raise VocabularyError(
        f"byte piece {token_id} is {piece!r}",
        token_id=token_id,
        location=str(file),
        expected="a name like <0x0A>",
    )


def load_tokenizer(name: str) -> Any:
    """The transformers tokenizer in a folder, or of that name in the local cache or on the hub.

    ModelError, in one line, when there is none or it cannot be loaded.
    """
    _require("transformers", f"loading the tokenizer {name!r}")
    from transformers import AutoTokenizer

    where, options = place_of(name)
    try:
        return AutoTokenizer.from_pretrained(where, **options)
    except Exception as error:
        raise cannot_load("tokenizer", name, error) from error


def place_of(name: str) -> tuple[str, dict[str, Any]]:
    """A folder, or a name on the hub, with options for `from_pretrained`.

    Where the hub does not answer within HUB_SECONDS, only files that are here are looked for:
    transformers would try for a minute.
    """
    path = Path(name).expanduser()
    if os.path.isdir(path):  # `Path.is_dir` fails for a name that is too long
        return str(path), {}
    return name, {} if _hub_answers() else {"local_files_only": True}


def _hub_answers() -> bool:
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=HUB_SECONDS)
    except Exception:  # noqa: BLE001  of whichever HTTP library it uses, or because it is offline
        return False
    return True


def cannot_load(what: str, name: str, error: Exception) -> ModelError:
    """The error for a model or tokenizer that another library has failed to load."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return ModelError(
        f"the {what} cannot be loaded ({type(error).__name__}: {first:.200})",
        location=name,
        hint="give a directory with a model and its tokenizer, or a name on the Hugging Face hub, "
        f"if this machine can reach it within {HUB_SECONDS:g} s",
    )


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def _require(package: str, purpose: str) -> None:
    if not _installed(package):
        raise ModelError(f"{purpose} needs the {package} package", hint=f"pip install {package}")


def _file_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise VocabularyError(
            f"the file cannot be read: {error.strerror or error}", location=str(path)
        ) from error


def _read_ranks(path: Path) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for number, line in enumerate(_file_bytes(path).splitlines(), 1):
        if not line:
            continue
        try:
            encoded, digits = line.split()
            token, rank = binascii.a2b_base64(encoded, strict_mode=True), int(digits)
            if rank in found or not 0 <= rank < MAX_SIZE:
                raise ValueError(f"rank {rank} is there twice, or out of range")
        except ValueError as error:
            raise VocabularyError(
                f"{line[:60]!r} is not a token and its rank: {error}",
                location=f"{path}:{number}",
                expected="base64, a space and a number",
                hint="check that this is a tiktoken file",
            ) from None
        found[rank] = token
    if not found:
        raise VocabularyError("the file holds no token", location=str(path))
    return found


def _end_ids(special: Mapping[str, int], eos_ids: Iterable[int | str] | None) -> list[int]:
    if eos_ids is None:
        return [special[name] for name in _USUAL_ENDS if name in special]
    if not isinstance(eos_ids, Iterable) or isinstance(eos_ids, str):
        raise VocabularyError(f"eos_ids is {eos_ids!r}", expected="a list of ids or names")
    ends = []
    for value in eos_ids:
        if isinstance(value, str) and value not in special:
            raise VocabularyError(
                f"eos_ids names {value!r}", expected=f"an id or one of {sorted(special)[:8]}"
            )
        ends.append(special[value] if isinstance(value, str) else checked_id(value, "eos_ids"))
    return ends
