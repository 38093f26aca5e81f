"""Kernels recognise captured texts that were seen before, however they are spelled."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from structgen.kernels.build.loader import kernels
from tests.helpers.naive import decoded, random_machine
from tests.kernels.served import Served

pytestmark = pytest.mark.nojit
BACKSLASH = b"\\"
PLAIN = [b"a", b"b", b"/", "\u00e9".encode(), "\U0001f600".encode()]
SHORT = [rb"\b", rb"\f", rb"\n", rb"\r", rb"\t", rb"\"", rb"\\", rb"\/"]
HEX = [rb"\u0061", rb"\u00e9", rb"\u00E9", rb"\u0000", rb"\uFFff", rb"\u002f", rb"\u0008"]
HALVES = [rb"\ud83d", rb"\ude00", rb"\uD83D\uDE00", rb"\udBFF", rb"\uDfff"]
ESCAPES = st.integers(0, 0xFFFF).map(lambda code: b"\\u%04x" % code)
PIECES = st.sampled_from(PLAIN + SHORT + HEX + HALVES) | ESCAPES
TEXTS = st.lists(PIECES, max_size=6).map(b"".join)
# few texts, so that they often come again, spelled otherwise
AGAIN = st.lists(st.sampled_from([b"a", rb"\u0061", b"/", rb"\/"]), max_size=2).map(b"".join)


@cache
def tables() -> Any:
    """Any tables; only those of stack nodes matter here."""
    return Served(random_machine(0)).tables


def remembered(texts: list[bytes]) -> tuple[Any, int]:
    """Tables with stack nodes, and one that captured the last text; the others were seen before."""
    stack_nodes: list[tuple[int, int, int, int]] = []
    capture_links: list[int] = []
    last = taken = -1
    for text in texts:
        base = len(capture_links)
        stack_nodes += [(0, -1, taken, base)] * (len(text) + 1)
        capture_links += [-1, *((base + i) << 8 | byte for i, byte in enumerate(text))]
        last, taken = taken, len(capture_links) - 1
    assert taken >= 0
    assert stack_nodes[taken][2] == last
    written = np.array(stack_nodes, np.int32), np.array(capture_links, np.int64)
    return tables()._replace(stack_nodes=written[0], capture_links=written[1]), taken


@given(TEXTS)
@example(rb"\ud83d\n\ude00")
@example(rb"\ud83da\ude00")
@example(rb"\ud83d\ud83d\ude00")
def test_texts_are_decoded_as_json_strings_are(text: bytes) -> None:
    """As Python reads them, unpaired surrogates as three bytes; the twin agrees."""
    t, ctx = remembered([text])
    k = kernels("parser.seen_keys")
    assert int(k.captured_length(t.capture_links, ctx)) == len(text)
    out = np.zeros(len(text), np.uint8)
    size = int(k.decode_captured(t.capture_links, ctx, out))
    wanted = json.loads(b'"' + text + b'"').encode("utf-8", "surrogatepass")
    assert out[:size].tobytes() == wanted == decoded(text)


@given(st.lists(AGAIN | TEXTS, min_size=1, max_size=6))
def test_a_text_is_taken_if_one_before_spells_the_same(texts: list[bytes]) -> None:
    """`is_seen` compares with all texts before, and with none where there is none."""
    t, ctx = remembered(texts)
    wanted = decoded(texts[-1]) in map(decoded, texts[:-1])
    assert bool(kernels("parser.seen_keys").is_seen(t, ctx)) == wanted


@given(st.lists(AGAIN | TEXTS, max_size=6), st.data())
def test_rests_complete_a_text_to_one_taken(texts: list[bytes], data: st.DataObject) -> None:
    """What follows in each, the last first; -1 where there is an escape, or no room."""
    known = [decoded(text) for text in texts]
    whole = data.draw(st.sampled_from([b"", b"a", *known, *texts]))
    begun = whole[: data.draw(st.integers(0, len(whole)))]
    t, ctx = remembered([*texts, begun])
    size, count = data.draw(st.integers(0, 30)), data.draw(st.integers(1, 6))
    room, start = np.zeros(size, np.uint8), np.zeros(count, np.int64)
    found = int(kernels("parser.seen_keys").seen_remainders(t, ctx, room, start))
    wanted = [
        text[len(begun) :] for text in known[::-1] if text.startswith(begun) and text != begun
    ]
    if BACKSLASH in begun or len(wanted) >= count or sum(map(len, wanted)) > size:
        assert found == -1
    else:
        assert [room[a:b].tobytes() for a, b in pairwise(start[: found + 1])] == wanted
        assert found == len(wanted)
