"""Rows are stored once, dropped when the store is full, and never wrong."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.constraint import constraint as constraint_module
from structgen.kernels.build.loader import kernels
from structgen.masks import (
    lexeme_masks,
    row_store,
    thread_pool,
)
from structgen.masks import (
    shared as common,
)


def bytewise() -> sg.Vocabulary:
    """A token for each byte, a few longer ones, and an end token."""
    longer = [b'{"', b'":', b'", "', b"true", b"aaaa", b'aa"', "é".encode() * 2]
    tokens = [bytes((b,)) for b in range(256)] + longer
    return sg.Vocabulary([*tokens, None], eos_ids=[len(tokens)])


class Owner:
    """What has rows: `make` says what stands in that of a state; no two are known to be equal."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self._make = make

    def write_row(self, state: int, row: np.ndarray) -> None:
        """See `rows.Owner`."""
        row[:] = self._make(state)

    def state_with_same_mask(self, _state: int) -> None:
        """See `rows.Owner`."""


def all_rows(constraint: sg.Constraint, states: list[int]) -> np.ndarray:
    """int32[states, words]: the masks, one by one."""
    found = np.zeros((len(states), constraint.vocabulary.words), np.int32)
    for row, state in zip(found, states, strict=True):
        constraint.fill_mask(state, row)
    return found


def test_equal_rows_are_kept_once() -> None:
    """Two states with the same mask share a record."""
    store = row_store.RowStore(3, 1 << 20)
    first = store.keep(0, np.array([1, 2, 3], np.int32))
    assert store.keep(1, np.array([1, 2, 3], np.int32)) == first
    assert store.keep(2, np.array([1, 2, 4], np.int32)) != first
    assert len(store) == 2


def test_equal_digests_make_no_rows_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each state gets its own row."""
    monkeypatch.setattr(
        kernels("masks.delta_rows"), "DIGEST", kernels("masks.delta_rows").SIZE - 1
    )  # which stays 0
    store = row_store.RowStore(3, 1 << 20)
    made = np.random.default_rng(0).integers(0, 3, (100, 3)).astype(np.int32)
    for state, row in enumerate(made):
        store.keep(state, row)
    for state, row in enumerate(made):
        assert store.row(store.index[state]).tolist() == row.tolist()


def test_what_was_used_last_is_kept() -> None:
    """A new store takes over what is asked for; the rest goes with the generation after."""
    words, count = 100, 0
    made = np.random.default_rng(0).integers(0, 1 << 31, (1000, words), np.int32)
    store = row_store.RowStore(words, 0)
    while not store.full:
        store.keep(count, made[count])
        count += 1
    assert len(store) == count > row_store.MIN_ROWS / 2
    first, row = store, np.zeros(words, np.int32)
    store = store.next()
    assert len(store) == count
    assert store.write_older(5, row)
    assert (row == made[5]).all()
    store.keep(5, row)
    assert store.nbytes > first.nbytes
    store = store.next()
    kept = {state: make(place) for state, (make, place) in store.items()}
    assert list(kept) == [5]
    assert (kept[5] == made[5]).all()
    assert not store.write_older(4, row)
    assert store.nbytes < 2 * 4 * words


def test_rows_handed_out_stay_right_when_the_pool_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal ones are one array, read-only."""
    monkeypatch.setattr(row_store, "AT_FIRST", 0)
    noise = np.random.default_rng(0).integers(0, 1 << 31, (64, 100), np.int32)
    owner = Owner(lambda state: noise[state // 2])
    made = row_store.MaskRows(100, 1 << 20, threading.RLock())
    first = made.current.pool
    views = [made.view(state, owner) for state in range(128)]
    assert made.current.pool is not first
    for state, view in enumerate(views):
        again = made.view(state, owner)
        assert again is view
        assert again is made.view(state ^ 1, owner)  # which has the same row
        assert (again == noise[state // 2]).all()
        assert not again.flags.writeable


def test_rows_handed_out_take_no_more_memory_than_they_may() -> None:
    """They are dropped where there are too many, and stay what they are for who has them."""
    noise = np.random.default_rng(0).integers(0, 1 << 31, (40, 100), np.int32)
    owner = Owner(lambda state: noise[state] if state < 40 else [state] + 99 * [0])
    made = row_store.MaskRows(100, 0, threading.RLock())
    views = []
    for state in range(40, 200):
        views.append(made.view(state, owner))
        assert made.current.nbytes <= 2 * (row_store.MIN_ROWS + 2) * 400
    assert [view[0] for view in views] == [*range(40, 200)]


@pytest.mark.parametrize("kind", ["int32", "uint32", "apart", "odd"])
def test_a_mask_is_written_wherever_it_is_wanted(kind: str) -> None:
    """Rows of any of the two types, in one piece or not, wherever they begin."""
    c = sg.compile({"type": "string"}, bytewise())
    words = c.vocabulary.words
    memory = np.full(2 * words + 2, 7, np.int32)
    found: Any = {
        "int32": memory[1 : words + 1],
        "uint32": memory[1 : words + 1].view(np.uint32),
        "apart": memory[1 : 2 * words + 1 : 2],
        "odd": memory.view(np.uint8)[1 : 4 * words + 1].view(np.int32),
    }[kind]
    for text in (b'"', b"", b'"a"'):
        state = c.advance_bytes(c.start, text)
        for _ in range(2):
            found[:] = 7
            c.fill_mask(state, found)
            assert bytes(found) == bytes(c.mask_view(state))
    assert memory[-1] == 7


def test_a_mask_is_not_written_where_it_does_not_fit() -> None:
    """Nothing is written beyond a row, or into one that must not be written to."""
    c = sg.compile({"type": "string"}, bytewise())
    words = c.vocabulary.words
    frozen = np.zeros(words, np.int32)
    frozen.flags.writeable = False
    for _ in range(2):
        for row in (np.zeros(words - 1, np.int32), np.zeros(words + 1, np.int32), frozen):
            with pytest.raises(ValueError, match=r"the row is int32|read-only"):
                c.fill_mask(c.start, row)
            assert not row.any()


def test_what_is_not_used_any_more_goes_at_once() -> None:
    """Masks, tables and the automaton: who drops a constraint waits for no garbage collection."""
    schema = {"properties": {"a": {"uniqueItems": True}, "b": {"pattern": "^x+$"}}}
    constraint = sg.compile(schema, bytewise())
    state = constraint.advance_bytes(constraint.start, b'{"a":[1,2,"')
    view = constraint.mask_view(state)
    row = view.tolist()
    constraint.core(state)
    constraint.shortest_completion(state)
    parts = [weakref.ref(part) for part in (constraint, constraint.automaton, constraint._masks)]
    gc.disable()
    try:
        del constraint
        assert [part() for part in parts] == [None, None, None]
    finally:
        gc.enable()
    assert view.tolist() == row


def test_masks_stay_right_when_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """With next to no memory rows and tables are dropped again and again, and nothing changes."""
    monkeypatch.setattr(constraint_module, "CHECK_EVERY", 8)
    spec = sg.JsonSchema({"properties": {"ab": {"type": "integer"}, "b": {"maxLength": 6}}})
    roomy, tight = (sg.compile(spec, bytewise(), max_bytes=b) for b in (1 << 28, 0))
    first = tight.automaton
    pairs = [(roomy.start, tight.start)]
    for one, two in pairs:
        for token in range(roomy.vocabulary.size - 1):
            after = roomy.advance(one, token), tight.advance(two, token)
            assert (after[0] >= 0) == (after[1] >= 0)
            if after[0] >= 0 and len(pairs) < 300 and after[0] not in dict(pairs):
                pairs.append(after)
    assert tight.automaton is not first
    states, others = zip(*pairs, strict=True)
    expected = all_rows(roomy, list(states))
    assert (all_rows(tight, list(others)) == expected).all()
    batch = np.zeros_like(expected)
    tight.fill_masks(others, batch)
    assert (batch == expected).all()
    for one, two in pairs[::10]:
        assert roomy.shortest_completion(one) == tight.shortest_completion(two)
        assert roomy.forced_bytes(one) == tight.forced_bytes(two)
        assert roomy.is_accepting(one) == tight.is_accepting(two)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_a_batch_may_be_written_by_several_threads(
    dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is cut, and where rows have to be made first or lie apart."""
    if not kernels("masks.thread_pool").INTERPRETED:
        monkeypatch.setattr(
            thread_pool, "helpers_for", lambda words, *_, **__: 2 if words > 8 else 0
        )
    monkeypatch.setattr(thread_pool, "PIECE", 48)
    made = np.random.default_rng(0).integers(0, 1 << 31, (200, 4), np.int32)

    owner = Owner(made.__getitem__)
    table = row_store.MaskRows(4, 1 << 20, threading.RLock())
    for count in (1, row_store.BATCH, 17, 200):
        states = list(range(count))[::-1]
        out: np.ndarray = np.zeros((count, 8), dtype)
        table.fill_many(states, out[:, ::2], owner)  # not contiguous
        assert (out[:, ::2].view(dtype) == made[states].view(dtype)).all()
        assert not out[:, 1::2].any()
        out = np.zeros((count, 4), dtype)
        table.fill_many(states, out, owner)
        assert (out == made[states].view(dtype)).all()


def test_rows_are_right_while_the_pool_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may need a larger pool while rows are looked up in the one before."""
    if not kernels("masks.thread_pool").INTERPRETED:
        monkeypatch.setattr(thread_pool, "helpers_for", lambda *_, **__: 1)
    monkeypatch.setattr(row_store, "AT_FIRST", 64 * 16)
    made = np.random.default_rng(1).integers(0, 1 << 31, (4000, 4), np.int32)

    owner = Owner(made.__getitem__)
    table = row_store.MaskRows(4, 1 << 20, threading.RLock())
    wrong = []

    def ask(first: int) -> None:
        out = np.zeros((60, 4), np.int32)
        for begin in range(first, 3900, 2):
            states = list(range(begin, begin + 60))
            table.fill_many(states, out, owner)
            if not (out == made[states]).all():
                wrong.append(begin)
            for state in states[::7]:
                table.fill(state, out[0], owner)
                if not (out[0] == made[state]).all():
                    wrong.append(state)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("count", [2, row_store.BATCH, 100])
def test_rows_that_do_not_fit_are_refused(count: int) -> None:
    """Nothing is written beyond them; more rows than states are fine, and stay as they are."""
    c = sg.compile(sg.JsonSchema({"type": "string"}), bytewise())
    states, words = [c.start] * count, c.vocabulary.words
    for shape, dtype in (
        ((count - 1, words), np.int32),
        ((count, words + 1), np.int32),
        ((count, words - 1), np.int32),
        ((count, words), np.int64),
        ((count, words), np.float32),
        ((count * words,), np.int32),
    ):
        with pytest.raises(ValueError, match=rf"expected int32\[{count}, {words}\]"):
            c.fill_masks(states, np.zeros(shape, dtype))
    out = np.full((count + 1, words), 7, np.int32)
    c.fill_masks(states, out)
    assert (out[:-1] == c.mask_view(c.start)).all()
    assert (out[-1] == 7).all()


@pytest.mark.parametrize("max_bytes", [1 << 28, 0])
def test_views_and_ids_stay_what_they_are(max_bytes: int) -> None:
    """Whatever is dropped: views are the masks, read-only, and ids are equal for equal masks."""
    schema = {"properties": {"ab": {"type": "integer"}, "b": {"maxLength": 6}}, "maxProperties": 3}
    c = sg.compile(sg.JsonSchema(schema), bytewise(), max_bytes=max_bytes)
    states = [c.start, sg.DEAD, sg.FINAL]
    for state in states:
        for byte in sorted(c.allowed_bytes(state)):
            after = c.advance_bytes(state, bytes((byte,)))
            if len(states) < 400 and after not in states:
                states.append(after)
    expected = all_rows(c, states)
    views = [c.mask_view(state) for state in states]
    ids = [c.mask_id(state) for state in states]
    for _ in range(2):
        assert [c.mask_id(state) for state in states] == ids
        assert all((v == e).all() for v, e in zip(views, expected, strict=True))
    rows_of = dict(zip(ids, map(bytes, expected), strict=True))
    assert len(rows_of) == len(set(map(bytes, expected))) > 20
    assert [rows_of[i] for i in ids] == list(map(bytes, expected))
    with pytest.raises(ValueError, match="read-only"):
        views[0][0] = 1
    other = sg.compile(sg.JsonSchema(schema), bytewise())
    assert other.mask_id(other.start) == ids[0]


def test_a_vocabulary_without_all_bytes_forgets_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """States that no tokens finish stay dead, however often the tables are dropped."""
    monkeypatch.setattr(constraint_module, "CHECK_EVERY", 1)
    tokens = [b"a", b"b", b"bc", b"cb", b"dd", b"d"]
    vocabulary = sg.Vocabulary([*tokens, None], eos_ids=[len(tokens)])
    spec = sg.Regex("(a|bc){2,6}d?(c?b){0,3}")
    roomy, tight = (sg.compile(spec, vocabulary, max_bytes=b) for b in (1 << 28, 0))
    tight._most = 0
    pairs = [(roomy.start, tight.start)]
    for one, two in pairs:
        assert bytes(roomy.mask_view(one)) == bytes(tight.mask_view(two))
        for token in range(len(tokens)):
            after = roomy.advance(one, token), tight.advance(two, token)
            assert (after[0] >= 0) == (after[1] >= 0)
            if after[0] >= 0 and after[0] not in dict(pairs):
                pairs.append(after)
    assert len(pairs) > 20


def test_shared_parts_of_rows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is dropped is made again, and the bytes are those of what is kept."""
    spec = sg.JsonSchema({"type": ["string", "number", "object"], "minLength": 1})
    texts = [b'"', b'"a', b'"\\', b'"\\u', b"1", b"1.", b"-", b'{"', b'{"a', b'{"a":']
    roomy = sg.compile(spec, bytewise())
    monkeypatch.setattr(common, "MAX_BYTES", 30_000)
    vocabulary = bytewise()
    kept = common.shared_masks(vocabulary)
    tight = sg.compile(spec, vocabulary)
    for text in texts:
        one, two = (c.advance_bytes(c.start, text) for c in (roomy, tight))
        assert bytes(roomy.mask_view(one)) == bytes(tight.mask_view(two))
        parts = [*kept._lexeme_masks.values(), *kept._others.values()]
        assert kept.nbytes == sum(i.nbytes for i in parts) <= 30_000
    assert len(kept._lexeme_masks) > 1
    assert tight.size["bytes"] > tight.automaton.size["bytes"] + tight._rows.current.nbytes


@pytest.mark.parametrize("schema", [{"minLength": 2, "maxLength": 5}, {"maxLength": 3}])
def test_bounded_strings_equal_a_walk_of_their_automaton(
    schema: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shortcut for lengths gives the rows of the walk that it replaces."""
    spec = sg.JsonSchema({"type": "string", **schema}, property_order="any", whitespace="any")
    quick = sg.compile(spec, bytewise())
    monkeypatch.setattr(lexeme_masks.LexemeMasks, "_bounds", lambda _self, _embedded, _state: None)
    slow = sg.compile(spec, bytewise())
    for text in ('"', '"a', '"aé', '"ab\\u00e9', '"\\ud83d', '"abc', '"abcd', '"abcde'):
        one, two = (c.advance_bytes(c.start, text.encode()) for c in (quick, slow))
        assert (one == sg.DEAD) == (two == sg.DEAD)
        assert (all_rows(quick, [one]) == all_rows(slow, [two])).all()


def test_keys_beside_free_ones_equal_a_walk_of_the_whole_trie(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Walking only where keys differ from a free string gives the rows of the full walk."""
    spec = sg.JsonSchema(
        {"properties": {"aa": {"type": "integer"}, "ab": True, "é": {"enum": [1]}}}
    )
    quick = sg.compile(spec, bytewise())
    monkeypatch.setattr(lexeme_masks.LexemeMasks, "_free_string_after", lambda _self, _q: None)
    slow = sg.compile(spec, bytewise())
    for text in ("{", '{"', '{"a', '{"aa', '{"aaa', '{"é', '{"aa":1,"', '{"aaaa":1,"a'):
        one, two = (c.advance_bytes(c.start, text.encode()) for c in (quick, slow))
        assert one != sg.DEAD
        assert (all_rows(quick, [one]) == all_rows(slow, [two])).all()


@pytest.mark.parametrize("order", ["any", "declared"])
@pytest.mark.parametrize("others", [False, {"type": "null"}])
def test_tokens_with_names_that_may_not_come_are_refused(order: str, others: object) -> None:
    """Wherever a key may begin, a mask has exactly the tokens that can be read, names and all."""
    longer = [b',"a', b', "b', b'"a"', b'"ab', b'"b', b'"b"', b'"\\u0061', b'":']
    tokens = [*(bytes((b,)) for b in range(256)), *longer]
    size = len(tokens)
    vocab = sg.Vocabulary([*tokens, None], eos_ids=[size])
    schema = {
        "type": "object",
        "properties": {name: {"const": 1} for name in ("a", "ab", "b")},
        "patternProperties": {"^x": {"const": 2}},
        "additionalProperties": others,
        "required": ["ab"],
    }
    spec = sg.JsonSchema(schema, property_order=order, whitespace="any")
    for text in (b'{"ab":1,"a":1', b'{"a":1,"b":1,"ab":1', b'{"x":2,"b":1,'):
        c = sg.compile(spec, vocab)
        states = [c.start]
        masks = [all_rows(c, states)[0]]
        for at in range(len(text)):
            state = c.advance_bytes(states[-1], text[at : at + 1])
            if state == sg.DEAD:
                break
            states.append(state)
            masks.append(all_rows(c, [state])[0])  # before any longer token is read
        for at, (state, row) in enumerate(zip(states, masks, strict=True)):
            allowed = [bool(row[t >> 5] >> (t & 31) & 1) for t in range(size)]
            assert allowed == [c.advance(state, t) != sg.DEAD for t in range(size)], text[:at]


def test_parts_that_schemas_share_stay_when_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns of many schemas push each other out, and not what all strings and keys have."""
    vocabulary = bytewise()
    kept = common.shared_masks(vocabulary)
    free = sg.compile(sg.JsonSchema({"type": "object"}), vocabulary)
    free.mask_view(free.advance_bytes(free.start, b'{"a'))
    shared = dict(kept._lexeme_masks)
    monkeypatch.setattr(common, "MAX_BYTES", kept.nbytes + 5000)
    for word in range(30):
        spec = sg.JsonSchema({"type": "string", "pattern": f"^[a-m]{{2,{word + 9}}}x{{{word}}}"})
        constraint = sg.compile(spec, vocabulary)
        constraint.mask_view(constraint.advance_bytes(constraint.start, b'"ab'))
    assert shared.items() <= kept._lexeme_masks.items()
    assert len(shared) > 1
    assert 0 < len(kept._others) < 30
