"""Tests a table of tokens against the tokenizer that it is of.

The law: the bytes of encode(text), put together, are the UTF-8 of text, with the tokenizer's own
prefix before it and up to canonical equivalence (some tokenizers compose accents). A table that
breaks it would write other text than the constraint allows, so it is better refused at once.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Set as AbstractSet
from typing import Protocol

from structgen.errors import VocabularyError
from structgen.vocabulary.table import Encoder

# Texts that tokenizers are known to treat differently from plain words, and JSON above all.
TEXTS = (
    "a",
    "Hello, world",
    "hello HELLO hElLo",
    " leading",
    "trailing ",
    "two  spaces   three    four",
    "    indented\n        more\n",
    "line\nline\r\nline\n\n\nline",
    "\n",
    " ",
    "\t\ttabs\tinside\t",
    " \n \t \n ",
    '{"key": "value", "list": [1, -2.5e+10, true, null], "empty": {}}',
    '{"a":{"b":[[],[{}]]},"c":"\\"\\\\\\/\\n\\u00e9"}',
    '","', '"}]}', "':' \"' \\\\ \\\" \\",
    "0123456789 1234 12345.678 3.14159 1e-7 00",
    "it's we're I'll don't IT'S",
    "".join(map(chr, range(0x20, 0x7F))),
    "!!!??? ... --- ___ === *** /// <> <= => != && ||",
    "café naïve Straße façade ÀÉÎÕÜ ñ",
    "Привет, мир. Ελληνικά",
    "漢字かな交じり文。한국어 中文，标点",
    "مرحبا بالعالم עברית हिन्दी ไทย",
    "e\u0301 a\u0308 n\u0303 o\u0302\u0323",
    "\ufb01 \u2126 \u00bd \u2460 \uff21 \u2026 \u00a0|\u3000|\u200b|\u00ad|",
    "😀 👍🏽 👩\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 🇩🇪",
    "\U00012000\U0001d518\U000e0041 \ue000 \U0010fffd",
    "<0x0A> <0xE9> <|not_a_token|> <unk_> [NOT] ##ing </w> Ġa Ċ",
    "<s></s><unk><pad>",
    "<|endoftext|><|im_start|>",
    "# Title\n\n* item\n\t* item\n```py\nx = 1  # y\n```\n",
    "supercalifragilistic aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
)  # fmt: skip


class Tested(Protocol):
    """What the test asks of a Vocabulary."""

    encode: Encoder | None
    special_ids: frozenset[int]
    prefix: bytes

    def token_bytes(self, token_id: int, /) -> bytes:
        """The bytes of a token."""


def self_test(vocabulary: Tested, unclear: AbstractSet[int] = frozenset()) -> None:
    """Raise VocabularyError unless the table reproduces what `vocabulary.encode` cuts up.

    Texts in which the tokenizer finds a special token (the unknown token among them) or one of
    the `unclear` ids prove nothing and are passed over; at least one must remain.
    """
    encode = vocabulary.encode
    if encode is None:
        raise VocabularyError(
            "there is nothing to test the table with",
            hint="build the vocabulary with an encode function",
        )
    silent = vocabulary.special_ids | unclear
    tested = 0
    for text in TEXTS:
        ids = encode(text)
        if silent.isdisjoint(ids):
            _compare(vocabulary, text, ids)
            tested += 1
    if not tested:
        raise VocabularyError(
            "none of the test texts consists of text tokens only",
            location=f"text {TEXTS[0]!r}",
            expected="ids that are neither special nor unknown",
            hint="check special_ids",
        )


def _compare(vocabulary: Tested, text: str, ids: list[int]) -> None:
    wanted = vocabulary.prefix + text.encode()
    pieces = [vocabulary.token_bytes(i) for i in ids]
    got = b"".join(pieces)
    if text[0].isspace() and got == text.encode():
        return  # some put no dummy space before a text that starts with a space
    if got == wanted or _canonical(got) == _canonical(wanted):
        return
    rest = wanted
    wrong, piece = (ids[-1], pieces[-1]) if ids else (-1, b"")
    for token_id, token in zip(ids, pieces, strict=True):
        if not token or not rest.startswith(token):
            wrong, piece = token_id, token
            break
        rest = rest[len(token) :]
    raise VocabularyError(
        f"the tokenizer cuts {text!r:.80} into tokens that do not spell it: {piece!r}",
        token_id=wrong,
        location=f"token {wrong}",
        expected=f"bytes that start {rest[:24]!r}",
        hint="it may change texts before cutting them (lower case, other characters, fewer "
        "spaces); check=False takes the table all the same",
    )


def _canonical(data: bytes) -> str:
    return unicodedata.normalize("NFC", data.decode(errors="backslashreplace"))
