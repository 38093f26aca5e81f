"""Loads the vocabulary that `--tokenizer` names, and encodes texts with it.

A tiktoken file says nothing of its pre-tokenizer and special tokens; those of well-known
vocabularies are recognised by the number of ranks, others get one end token behind the ranks.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from jsonschemabench.errors import BenchError
from structgen import Vocabulary

PATTERNS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
PATTERNS["cl100k"] = PATTERNS["llama3"]
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERNS["o200k"] = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SHORT}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SHORT}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Known(NamedTuple):
    """What a well-known tiktoken file leaves out: pre-tokenizer, size with specials, end token."""

    pattern: str
    size: int
    end: int


#: number of ranks in the file -> what the file leaves out
KNOWN = {
    50_256: Known("gpt2", 50_257, 50_256),
    100_256: Known("cl100k", 100_277, 100_257),
    128_000: Known("llama3", 128_256, 128_001),
    199_998: Known("o200k", 200_019, 199_999),
}
USUAL_ENDS = ("<|end_of_text|>", "<|endoftext|>", "</s>", "<eos>", "<|im_end|>")


def add_options(parser: argparse.ArgumentParser, default: str = "demo") -> None:
    """`--tokenizer` and what its file does not say by itself."""
    group = parser.add_argument_group("vocabulary")
    group.add_argument(
        "--tokenizer",
        metavar="T",
        default=default,
        help="a .tiktoken file, a SentencePiece .model file, a tokenizer.json, a transformers "
        "tokenizer's folder or name, `demo` (the shipped model's), or `bytes` (256 tokens of a "
        f"byte each and an end token; default: {default})",
    )
    group.add_argument("--eos", metavar="ID|NAME", help="the end token, if the file names none")
    group.add_argument(
        "--pattern",
        metavar="NAME|REGEX",
        help=f"pre-tokenizer of a .tiktoken file: {', '.join(PATTERNS)}, or a pattern",
    )
    group.add_argument("--size", metavar="N", type=int, help="number of logits of the model")


def load(args: argparse.Namespace) -> Vocabulary:
    """The vocabulary of the options. BenchError, VocabularyError or ModelError says why not."""
    name, eos, size = _file_of(args), args.eos, args.size
    if name == "bytes":
        return Vocabulary([*(bytes((i,)) for i in range(256)), b"<|end|>"], eos_ids=[256])
    if name.endswith((".tiktoken", ".model", ".json")) and not Path(name).is_file():
        raise BenchError("there is no such tokenizer file", location=name, hint="check the path")
    if name.endswith(".tiktoken"):
        return _tiktoken(Path(name), eos, args.pattern, size)
    if args.pattern is not None:
        raise BenchError("--pattern describes a .tiktoken file", location=name, hint="leave it out")
    if name.endswith(".model"):
        return Vocabulary.from_sentencepiece(name, eos_ids=_ids(eos), size=size)
    if name.endswith(".json"):
        return _tokenizer_json(name, eos, size)
    return Vocabulary.from_transformers(name, size, eos_ids=_ids(eos))


def encode(vocabulary: Vocabulary, text: str) -> list[int]:
    """Tokens that spell exactly `text`, as the tokenizer cuts it in the middle of a text.

    Where it has no such spelling, the longest token that fits is taken at each position. BenchError
    when that leads nowhere, or the text is no Unicode (an unpaired surrogate).
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise BenchError(f"the text is no Unicode: {error.reason}") from None
    ids = vocabulary.encode_continuation(text)
    return _greedy(vocabulary, data) if ids is None else ids


def _file_of(args: argparse.Namespace) -> str:
    """What `--tokenizer` names; of `demo` the folder."""
    if args.tokenizer != "demo":
        return str(args.tokenizer)
    from structgen import demo

    return str(demo.model_path())


def _known(path: Path) -> tuple[int, Known]:
    """The number of ranks in a tiktoken file, and what it leaves out."""
    ranks = sum(1 for line in path.read_bytes().splitlines() if line)
    return ranks, KNOWN.get(ranks, Known("llama3", ranks + 1, ranks))


def _special(token: int) -> str:
    """What a special token is called."""
    return f"<|special_{token}|>"


def _tiktoken(path: Path, eos: str | None, pattern: str | None, size: int | None) -> Vocabulary:
    ranks, known = _known(path)
    end = known.end
    if eos is not None:
        if not eos.isdecimal():
            raise BenchError("a .tiktoken file names no tokens", location="--eos", expected="an id")
        end = int(eos)
    names = {_special(i): i for i in {*range(ranks, known.size), end} if i >= ranks}
    pattern = known.pattern if pattern is None else pattern
    return Vocabulary.from_tiktoken(
        path,
        pattern=PATTERNS.get(pattern, pattern),
        special_tokens=names,
        eos_ids=[end],
        size=size,
    )


def transformers_tokenizer(args: argparse.Namespace) -> tuple[Any, int]:
    """The tokenizer of the options as one of transformers, and the number of logits."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import TikTokenConverter

    vocabulary, name = load(args), _file_of(args)
    if not name.endswith(".tiktoken"):
        auto: Any = AutoTokenizer
        return auto.from_pretrained(name), vocabulary.size
    ranks, known = _known(Path(name))
    pattern = args.pattern or known.pattern
    special = list(map(_special, range(ranks, vocabulary.size)))
    converter: Any = TikTokenConverter
    converted = converter(
        name, pattern=PATTERNS.get(pattern, pattern), extra_special_tokens=special
    ).converted()
    fast: Any = PreTrainedTokenizerFast
    end = _special(vocabulary.eos_ids[0])
    return fast(tokenizer_object=converted, eos_token=end), vocabulary.size


def _tokenizer_json(name: str, eos: str | None, size: int | None) -> Vocabulary:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(name)
    except Exception as error:  # the library raises this very class
        raise BenchError(f"the tokenizer cannot be read: {error}", location=name) from error
    ends = _ids(eos if eos is None or eos.isdecimal() else None)
    if ends is None:
        names = USUAL_ENDS if eos is None else (eos,)
        found = [i for n in names if (i := tokenizer.token_to_id(n)) is not None]
        if not found:
            raise BenchError("no end token is known", location=name, hint="name one with --eos")
        ends = found[:1]
    return Vocabulary.from_transformers(tokenizer, size, eos_ids=ends)


def _ids(eos: str | None) -> list[int] | None:
    if eos is None:
        return None
    if not eos.isdecimal():
        raise BenchError(f"the end token is {eos!r}", location="--eos", expected="an id")
    return [int(eos)]


def _greedy(vocabulary: Vocabulary, data: bytes) -> list[int]:
    table = {vocabulary.token_bytes(t): t for t in reversed(vocabulary.text_ids.tolist())}
    longest = max(map(len, table))
    ids, at = [], 0
    while at < len(data):
        for end in range(min(at + longest, len(data)), at, -1):
            token = table.get(data[at:end])
            if token is not None:
                ids.append(token)
                at = end
                break
        else:
            raise BenchError(f"no token spells byte {data[at]:#04x} of the text")
    return ids
