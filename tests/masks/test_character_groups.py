"""Masks of patterns that read nearly all characters, or many of them, bit by bit.

Tokens of characters that may come in any order are not walked; the oracle reads each by itself.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import structgen as sg

PIECES = [
    part.encode()
    for part in ("a", "Z", " ", ",", "~", '"', "\\", "\\n", "\u00e9", "\u4e2d", "\u3000")
] + [b"\xe4", b"\xb8", b"\n", "\U0001f600".encode()]
WORDS = sorted({b"".join(parts) for n in (1, 2, 3) for parts in product(PIECES, repeat=n)})
LONG = [b"a" * n for n in (6, 7, 8, *range(12, 44), 300)]
LONG += [b"a" * 6 + b",", b"a, a, a, a", b"a a a a a a", b"a" * 19 + b'"', b"a" * 20 + b'"}']
LONG += [
    ("\u4e2d" * n).encode() + end for n in (13, 25, 29) for end in (b"", b" ", b"\xe4", b"\xe4\xb8")
]
LONG += [b" " * n + b"a" * m for n in (1, 20) for m in (0, 1, 9)] + [b"a" * 25 + b"\\"]
TOKENS = [b"<end>", *(bytes([byte]) for byte in range(256)), *WORDS, *LONG]
SCHEMAS = [
    {"pattern": "a"},
    {"pattern": "^[^,]*$"},
    {"pattern": "^[^,]*$", "maxLength": 7},
    {"pattern": "^[^,]*$", "minLength": 4, "maxLength": 7},
    {"pattern": r"^(?:\S+\s+){0,2}\S+$", "maxLength": 9},
    *({"pattern": r"^(?:\S+\s+){0,2}\S+$", "maxLength": n} for n in (30, 60, 280, 400)),
    {"pattern": r"^(?:\S+\s+){0,2}\S+$", "minLength": 9, "maxLength": 60},
    {"pattern": r"^(?:..)*$", "minLength": 2, "maxLength": 41},
    {"pattern": r"^a*$", "maxLength": 270},
    {"maxLength": 270},
    {"pattern": "^[a-z ]*$"},
    {"allOf": [{"pattern": "a"}, {"pattern": "Z"}]},
    {"not": {"pattern": "^a"}},
    {"format": "date"},
    {"enum": [f"a{i}" for i in range(0, 300, 7)]},
]
TEXTS = [b"", b'"', b'"a', b'"Z,', b'"a a', b'"\xe4', b'"aaaaaa', b'"\\']
TEXTS += [b'"' + b"a " * n + b"a" for n in (1, 2)] + [b'"' + b"a" * n for n in (9, 20, 30, 47, 250)]


@pytest.fixture(scope="module")
def vocabulary() -> sg.Vocabulary:
    """A vocabulary over which the lengths of tokens are known."""
    found = sg.Vocabulary(TOKENS, eos_ids=[0])
    short = sg.compile(sg.JsonSchema({"type": "string", "maxLength": 3}), found)
    short.fill_mask(short.advance_bytes(short.start, b'"'), np.zeros(found.words, np.int32))
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@pytest.mark.parametrize("keys", [False, True], ids=["value", "key"])
def test_a_bit_is_set_where_the_token_can_be_read(
    vocabulary: sg.Vocabulary, schema: dict[str, object], keys: bool
) -> None:
    """As values, and as keys of objects beside another kind of keys."""
    spec = {"type": "string", **schema}
    if keys:
        spec = {"type": "object", "propertyNames": schema, "patternProperties": {"~": {"const": 1}}}
    constraint = sg.compile(sg.JsonSchema(spec, whitespace="compact"), vocabulary)
    row = np.zeros(vocabulary.words, np.int32)
    seen = 0
    for text in TEXTS:
        state = constraint.advance_bytes(constraint.start, b"{" * keys + text)
        if state == sg.DEAD:
            continue
        constraint.fill_mask(state, row)
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        read = [constraint.advance(state, token) != sg.DEAD for token in range(len(TOKENS))]
        assert bits[: len(TOKENS)].tolist() == read
        seen += 1
    assert seen > 1
