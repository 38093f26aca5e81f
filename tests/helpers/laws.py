"""The laws of constraints, as assertions over states and an oracle.

Each law is one function, and its docstring is the law. They read a constraint only through its
public methods, so that any kind of spec, saved or fresh, gets the same examination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier

import numpy as np

import structgen as sg
from tests.helpers.oracle import Decider, Finite

Visit = tuple[bytes, int]  # the bytes read so far, and the state after them


def mask_of(c: sg.Constraint, state: int) -> frozenset[int]:
    """The tokens whose bits are set, read one by one; bits past the vocabulary must be clear."""
    row = np.full(c.vocabulary.words, -1, np.int32)
    c.fill_mask(state, row)
    set_bits = {
        32 * at + bit
        for at, word in enumerate(row.tolist())
        for bit in range(32)
        if word >> bit & 1
    }
    assert all(token < c.vocabulary.size for token in set_bits)
    return frozenset(set_bits)


def text_tokens(c: sg.Constraint, state: int) -> list[int]:
    """The allowed tokens that are not end tokens."""
    return sorted(mask_of(c, state) - set(c.vocabulary.eos_ids))


def walk(c: sg.Constraint, rng: Random, steps: int) -> list[Visit]:
    """Where random allowed tokens lead: every place on the way, the start first."""
    text, state = b"", c.start
    visits = [(text, state)]
    for _ in range(steps):
        allowed = text_tokens(c, state)
        if not allowed:
            break
        token = rng.choice(allowed)
        text, state = text + c.vocabulary.token_bytes(token), c.advance(state, token)
        visits.append((text, state))
    return visits


def cut(data: bytes, rng: Random) -> list[bytes]:
    """The bytes in pieces of random length."""
    places = sorted(rng.sample(range(1, len(data)), rng.randrange(len(data)))) if data else []
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


# -- one state ----------------------------------------------------------------------------------


def mask_is_advance(c: sg.Constraint, state: int) -> None:
    """A token's bit is set iff advancing it does not give DEAD; ids beyond the table are DEAD."""
    size = c.vocabulary.size
    alive = {token for token in range(size) if c.advance(state, token) != sg.DEAD}
    assert mask_of(c, state) == alive
    assert c.advance(state, size) == c.advance(state, -1) == sg.DEAD


def ends_are_marked(c: sg.Constraint, state: int) -> None:
    """End tokens are allowed iff the text may end, and lead to FINAL, which allows nothing."""
    mask = mask_of(c, state)
    for token in c.vocabulary.eos_ids:
        assert (token in mask) == c.is_accepting(state)
        assert c.advance(state, token) == (sg.FINAL if c.is_accepting(state) else sg.DEAD)
    for special in c.vocabulary.special_ids - set(c.vocabulary.eos_ids):
        assert special not in mask
    for gone in (sg.FINAL, sg.DEAD):
        assert mask_of(c, gone) == frozenset()
        assert not c.is_accepting(gone)


def goes_on(c: sg.Constraint, state: int) -> None:
    """No state that tokens lead to is a dead end."""
    assert mask_of(c, state) or not c.vocabulary.eos_ids
    assert text_tokens(c, state) or c.is_accepting(state)


def completion_is_accepted(c: sg.Constraint, visit: Visit, decide: Decider) -> None:
    """The shortest completion leads to acceptance, and another parser agrees that the text fits."""
    text, state = visit
    rest = c.shortest_completion(state)
    assert c.is_accepting(c.advance_bytes(state, rest))
    assert (rest == b"") == c.is_accepting(state)
    assert decide(text + rest), text + rest
    assert rest.startswith(c.forced_bytes(state))


def next_bytes_are_exact(c: sg.Constraint, state: int) -> None:
    """`allowed_bytes` are the bytes after which the text can go on; one alone is forced."""
    allowed = {b for b in range(256) if c.advance_bytes(state, bytes((b,))) != sg.DEAD}
    assert c.allowed_bytes(state) == allowed
    forced = c.forced_bytes(state)
    after = c.advance_bytes(state, forced)
    assert after != sg.DEAD
    assert c.is_accepting(after) or len(c.allowed_bytes(after)) != 1
    alone = len(allowed) == 1 and not c.is_accepting(state)
    assert bool(forced) == alone


def one_state_keeps_the_laws(c: sg.Constraint, visit: Visit, decide: Decider) -> None:
    """All laws that speak of a single state."""
    mask_is_advance(c, visit[1])
    ends_are_marked(c, visit[1])
    goes_on(c, visit[1])
    completion_is_accepted(c, visit, decide)
    next_bytes_are_exact(c, visit[1])


def agrees_with(c: sg.Constraint, visit: Visit, language: Finite) -> None:
    """Mask, end, shortest completion and forced bytes are those of the written-out language.

    A token is allowed iff a text that tokens can write goes on with it.
    """
    text, state = visit
    tokens = {t: c.vocabulary.token_bytes(t) for t in c.vocabulary.text_ids.tolist()}
    spelt = frozenset(tokens.values())
    wanted = {t for t, data in tokens.items() if language.allows(text, data, spelt)}
    ends = set(c.vocabulary.eos_ids) if language.ends(text) else set()
    assert mask_of(c, state) == wanted | ends
    assert c.is_accepting(state) == language.ends(text)
    assert len(c.shortest_completion(state)) == language.shortest(text)
    assert language.ends(text + c.shortest_completion(state))
    assert c.forced_bytes(state) == language.forced(text)


# -- several states -----------------------------------------------------------------------------


def batch_is_singles(c: sg.Constraint, states: Sequence[int]) -> None:
    """`fill_masks` writes what `fill_mask` writes, also for DEAD and FINAL, in any order."""
    states = [*states, sg.DEAD, *reversed(states), sg.FINAL]
    singles = np.zeros((len(states), c.vocabulary.words), np.uint32)
    for state, row in zip(states, singles, strict=True):
        c.fill_mask(state, row)
    for given in (states, np.array(states), np.array(states, np.int32)[::-1][::-1]):
        rows = np.full(singles.shape, -1, np.int32)
        c.fill_masks(given, rows)
        assert np.array_equal(rows.view(np.uint32), singles)


def cutting_does_not_matter(c: sg.Constraint, data: bytes, rng: Random) -> None:
    """However bytes are cut, the state after them has the same mask, end and completion."""
    whole = c.advance_bytes(c.start, data)
    for _ in range(3):
        state = c.start
        for piece in cut(data, rng):
            state = c.advance_bytes(state, piece) if state != sg.DEAD else state
        assert alike(c, whole, state)


def alike(c: sg.Constraint, a: int, b: int) -> bool:
    """Whether two states cannot be told apart by what they allow next."""
    return (
        mask_of(c, a) == mask_of(c, b)
        and c.is_accepting(a) == c.is_accepting(b)
        and c.shortest_completion(a) == c.shortest_completion(b)
        and c.allowed_bytes(a) == c.allowed_bytes(b)
    )


def checkpoints_hold(c: sg.Constraint, visits: Sequence[Visit], rng: Random) -> None:
    """A kept state gives the same mask and the same steps after the text went elsewhere."""
    before = [mask_of(c, state) for _, state in visits]
    steps = [
        [c.advance(state, t) for t in sorted(mask)]
        for (_, state), mask in zip(visits, before, strict=True)
    ]
    walk(c, rng, 12)
    for (_, state), mask, after in zip(visits, before, steps, strict=True):
        assert mask_of(c, state) == mask
        assert [c.advance(state, t) for t in sorted(mask)] == after


def accepts_exactly(c: sg.Constraint, texts: Iterable[bytes], decide: Decider) -> None:
    """A text is accepted iff the other parser accepts it."""
    for text in texts:
        state = c.advance_bytes(c.start, text)
        assert c.is_accepting(state) == decide(text), text


def own_tokens_are_allowed(c: sg.Constraint, text: bytes) -> None:
    """Every token that the rest of an accepted text starts with is allowed on the way."""
    for at in range(len(text) + 1):
        mask = mask_of(c, c.advance_bytes(c.start, text[:at]))
        for token in c.vocabulary.text_ids.tolist():
            assert token in mask or not text.startswith(c.vocabulary.token_bytes(token), at)


def same_behaviour(a: sg.Constraint, b: sg.Constraint, rng: Random, steps: int = 12) -> None:
    """Two constraints for the same spec give the same rows along the same tokens."""
    left, right = a.start, b.start
    for _ in range(steps):
        mask = mask_of(a, left)
        assert mask == mask_of(b, right)
        assert a.is_accepting(left) == b.is_accepting(right)
        assert a.shortest_completion(left) == b.shortest_completion(right)
        assert a.forced_bytes(left) == b.forced_bytes(right)
        tokens = sorted(mask - set(a.vocabulary.eos_ids))
        if not tokens:
            break
        token = rng.choice(tokens)
        left, right = a.advance(left, token), b.advance(right, token)


def threads_agree(make: Callable[[], sg.Constraint], seeds: Sequence[int], steps: int = 20) -> None:
    """Threads that share a fresh constraint see the rows that one thread alone sees."""
    shared, barrier = make(), Barrier(len(seeds))

    def run(c: sg.Constraint, seed: int) -> list[tuple[bytes, frozenset[int], bool, bytes]]:
        rng = Random(seed)
        return [
            (text, mask_of(c, state), c.is_accepting(state), c.shortest_completion(state))
            for text, state in walk(c, rng, steps)
        ]

    def together(seed: int) -> list[tuple[bytes, frozenset[int], bool, bytes]]:
        barrier.wait()
        return run(shared, seed)

    with ThreadPoolExecutor(len(seeds)) as pool:
        found = list(pool.map(together, seeds))
    assert found == [run(make(), seed) for seed in seeds]
