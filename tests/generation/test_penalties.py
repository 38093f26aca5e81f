"""Tests that penalties follow their definitions and spare structure."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import GenerationError
from structgen.generation import penalties
from structgen.generation.closing import Closer, Speller
from structgen.generation.distribution import Sampler, row_rng
from structgen.generation.interfaces import Transform
from structgen.generation.loop import decode as decode_plainly
from structgen.generation.row import Request, Row
from structgen.generation.sampling.table import TableModel
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.loop import decode
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.table_target import TableTarget
from structgen.generation.speculation.tree import Scheme
from tests.generation.speculation.toys import (
    SIZE,
    RandomDrafter,
    allowed,
    toy_constraint,
    toy_model,
)

Floats = npt.NDArray[np.float64]
Rule = Callable[[list[tuple[int, int]], int, list[int], Floats], Any]

BYTES = sg.Vocabulary([bytes([b]) for b in range(256)] + [b"<end>"], eos_ids=[256])
END = 256


def make_row(constraint: Any, *transforms: Transform, seed: int = 0, **options: Any) -> Row:
    """A row for one text."""
    settings = {"budget": 40, "sampler": Sampler(), "stop": "eos", **options}
    closer = Closer(constraint, Speller(constraint.vocabulary))
    request = Request((1,), constraint, closer, transforms=transforms, **settings)
    return Row(request, row_rng(seed, 0))


# -- the distributions, by definition
# -----------------------------------------------------------------------


def repetition(wish: penalties.Repetition) -> Rule:
    """The formulas of the OpenAI API and of CTRL, over the whole text."""

    def rule(history: list[tuple[int, int]], state: int, ids: list[int], logits: Floats) -> Any:
        written = [token for _, token in history] + ([1] if wish.prompt else [])
        changed = []
        for token, logit in zip(ids, logits, strict=True):
            count = written.count(token)
            if count:
                logit = logit / wish.factor if logit > 0 else logit * wish.factor
                logit -= wish.presence + wish.frequency * count
            changed.append(float(logit))
        return changed

    return rule


def no_repeat(size: int) -> Rule:
    """A token is refused if the run that it would end stands in the text already."""

    def rule(history: list[tuple[int, int]], state: int, ids: list[int], logits: Floats) -> Any:
        written = [token for _, token in history]
        runs = {tuple(written[i : i + size]) for i in range(len(written) - size + 1)}
        tail = written[len(written) - size + 1 :]
        refused = [(*tail, token) in runs and len(tail) == size - 1 for token in ids]
        if all(refused):
            return logits.tolist()
        return [-np.inf if no else float(x) for no, x in zip(refused, logits, strict=True)]

    return rule


def decay(constraint: Any, wish: penalties.GrammarDecay) -> Rule:
    """Look back: how often in a row was this class left this way, or stayed in?"""

    def choices(state: int) -> int:
        return len(constraint.allowed_bytes(state)) + bool(constraint.is_accepting(state))

    def rule(history: list[tuple[int, int]], state: int, ids: list[int], logits: Floats) -> Any:
        core, advance = constraint.core, constraint.advance
        if choices(state) < 2:
            return logits.tolist()
        past = [(core(s), core(advance(s, t))) for s, t in history if choices(s) > 1]
        here = core(state)
        stays = len(list(itertools.takewhile(lambda way: way == (here, here), reversed(past))))
        exits = [to for at, to in reversed(past) if at == here != to]
        times = len(list(itertools.takewhile(lambda to: to == exits[0], exits)))
        share = np.exp(logits)
        after = [core(advance(state, token)) for token in ids]
        out = np.array([to != here for to in after])
        before = share[out].sum()
        for i, to in enumerate(after):
            gone = stays if to == here else times if exits and to == exits[0] else 0
            share[i] *= wish.decay ** max(0, gone - wish.free)
        share[out] *= before / max(share[out].sum(), 1e-300)
        return np.log(share).tolist()

    return rule


def check_distribution(
    constraint: Any, transform: Transform, rule: Rule, seed: int, steps: int
) -> None:
    """Write a random text; at each step the distribution drawn from is that of the rule."""
    rng = np.random.default_rng(seed)
    row = make_row(constraint, transform, budget=steps)
    history: list[tuple[int, int]] = []
    size = constraint.vocabulary.size
    while row.finish is None and not row.closing_plan:
        state = row.state
        ids = allowed(constraint, state)
        logits = np.full(size, -np.inf)
        logits[ids] = 2 * rng.normal(size=len(ids))
        expected = rule(history, state, ids, logits[ids])

        def choose(
            given: Any,
            weighed: Any,
            sampler: Any,
            _: Any,
            expected: list[float] = expected,
            ids: list[int] = ids,
        ) -> int:
            full = dict(zip(ids, expected, strict=True))
            assert given.tolist() == [t for t in ids if full[t] > -np.inf]
            np.testing.assert_allclose(weighed, [full[int(t)] for t in given], atol=1e-9)
            return int(rng.integers(len(given)))

        row.step(logits, 5.0, choose)
        if row.tokens:
            history.append((state, row.tokens[-1]))


LOOPING = "a+(b+a|ca)*(ab)?"


@given(st.floats(-1, 2), st.floats(-1, 2), st.floats(0.5, 2), st.booleans(), st.integers(0, 99))
def test_repetition_has_the_distribution_it_states(
    presence: float, frequency: float, factor: float, prompt: bool, seed: int
) -> None:
    """Against a count over the whole text, for every token allowed."""
    wish = penalties.Repetition(presence, frequency, factor, where="all", prompt=prompt)
    check_distribution(toy_constraint(LOOPING), wish, repetition(wish), seed, 12)


@given(st.integers(1, 4), st.integers(0, 99))
def test_runs_that_came_before_are_refused(size: int, seed: int) -> None:
    """Against a search through the whole text."""
    check_distribution(
        toy_constraint(LOOPING),
        penalties.NoRepeatNgram(size, where="all"),
        no_repeat(size),
        seed,
        20,
    )


@given(st.floats(0.1, 1), st.integers(0, 4), st.integers(0, 99))
def test_ways_gone_again_decay(rate: float, free: int, seed: int) -> None:
    """Against a look back over all states."""
    constraint = toy_constraint(LOOPING)
    wish = penalties.GrammarDecay(rate, free)
    check_distribution(constraint, wish, decay(constraint, wish), seed, 25)


# -- drafts ----------------------------------------------------------------------------------------

ALL = [
    penalties.Repetition(0.5, 0.3, 1.3, where="all"),
    penalties.NoRepeatNgram(3, where="all"),
    penalties.GrammarDecay(0.5, 1),
    penalties.LoopGuard(repeats=2, least=2, longest=4),
    penalties.MinTokens(3),
    penalties.Bias({1: 0.5, "b": -1.0, 3: -np.inf}),
]


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", [None, Scheme.IID, Scheme.WOR])
@pytest.mark.parametrize("transforms", [[t] for t in ALL] + [ALL])
def test_drafts_meet_the_distribution_of_their_path(
    scheme: Scheme | None, transforms: Sequence[Transform]
) -> None:
    """Token for token what is written without them: counts go by token, not by round."""
    constraint, target = toy_constraint("(a|bc?|ca)+"), TableTarget(toy_model())
    options = {"budget": 16}
    plain = [make_row(constraint, *transforms, seed=i, **options) for i in range(30)]
    list(decode_plainly(target, plain))
    fast = [make_row(constraint, *transforms, seed=i, **options) for i in range(30)]
    policy = Fixed(Budget(nodes=9, depth=4, width=2))
    list(decode(target, fast, Speculation(RandomDrafter(scheme), policy=policy)))
    assert [row.tokens for row in fast] == [row.tokens for row in plain]
    assert max(row.stats.accepted for row in fast if row.stats is not None) > 1
    free = [make_row(constraint, seed=i, **options) for i in range(30)]
    list(decode_plainly(target, free))
    assert [row.tokens for row in free] != [row.tokens for row in plain]


# -- structure is spared ---------------------------------------------------------------------------

SCHEMA = sg.JsonSchema(
    {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
            "required": ["name", "size"],
            "additionalProperties": False,
        },
    },
    whitespace="compact",
)


def weights_along(
    constraint: Any, transform: Transform, text: bytes
) -> list[tuple[int, npt.NDArray[np.int64], Floats]]:
    """For each byte of a text: the state, the tokens allowed there, their weights."""
    path, state, found = transform.begin((1,), constraint), constraint.start, []
    for byte in text:
        ids = np.array(allowed(constraint, state), np.int64)
        found.append((state, ids, path.log_weights(state, ids, np.zeros(len(ids)))))
        path.wrote(state, byte)
        state = constraint.advance(state, byte)
    return found


@pytest.mark.parametrize(
    "transform",
    [
        penalties.Repetition(1.0, 1.0, 1.5),
        penalties.NoRepeatNgram(2),
        penalties.GrammarDecay(0.5, 2),
    ],
)
def test_structure_is_spared(transform: Transform) -> None:
    """Over many equal objects the weights change something, and nothing at keys and brackets."""
    constraint = sg.compile(SCHEMA, BYTES)
    text = json.dumps([{"name": "aaaaa", "size": 1111}] * 6, separators=(",", ":")).encode()
    touched = set()
    for state, ids, weights in weights_along(constraint, transform, text):
        if len(constraint.allowed_bytes(state)) == 1:
            assert not weights.any()
        if weights.any():
            touched |= {chr(t) for t in ids[weights != 0]}
        assert weights[ids == ord('"')].sum() == 0  # strings may end, keys may begin
    assert "a" in touched
    assert touched.isdisjoint(set('":{}'))


def test_a_word_is_penalised_in_strings_and_a_number_is_not() -> None:
    """Where text is free tokens count; a digit is no word."""
    constraint = sg.compile(SCHEMA, BYTES)
    inside = constraint.advance_bytes(constraint.start, b'[{"name":"')
    path = penalties.Repetition(presence=1.0).begin((1,), constraint)
    path.wrote(inside, ord("x"))
    path.wrote(inside, ord('"'))
    ids = np.array([ord("x"), ord("y"), ord('"')], np.int64)
    assert path.log_weights(inside, ids, np.zeros(3)).tolist() == [-1, 0, 0]
    digits = constraint.advance_bytes(inside, b'x","size":')
    path.wrote(digits, ord("1"))
    assert not path.log_weights(digits, np.array([ord("1")], np.int64), np.zeros(1)).any()


# -- what runs away --------------------------------------------------------------------------------


def likes(favourite: Callable[[bytes], str]) -> TableModel:
    """A model that wants one byte after each text, and all others a little."""

    def distribution(prefix: tuple[int, ...]) -> list[float]:
        row = np.full(END + 1, 1e-4)
        row[ord(favourite(bytes(t for t in prefix if t < 256)))] = 1.0
        return [float(p) for p in row]

    return TableModel(END + 1, distribution)


def write(
    spec: Any, model: TableModel, *transforms: Transform, speculate: bool = False, budget: int = 400
) -> Row:
    """A greedy text."""
    constraint = sg.compile(spec, BYTES)
    row = make_row(constraint, *transforms, budget=budget, sampler=Sampler(0.0), stop="complete")
    target = TableTarget(model)
    if speculate:
        list(decode(target, [row], Speculation(RandomDrafter(None))))
    else:
        list(decode_plainly(target, [row]))
    return row


OBJECT = {
    "type": "object",
    "properties": {"v": {}, "w": {"type": "boolean"}},
    "required": ["v", "w"],
    "additionalProperties": False,
}


def with_value(value: Any, whitespace: str = "compact") -> sg.JsonSchema:
    """An object whose `v` is such a value; `w` comes behind it."""
    properties = {"v": value, "w": {"type": "boolean"}}
    return sg.JsonSchema({**OBJECT, "properties": properties}, whitespace=whitespace)


def sixes(text: bytes) -> str:
    """Always a digit."""
    return "6"


def items(text: bytes) -> str:
    """Items for ever, none like the one before it."""
    return "," if text[-1:].isdigit() else str(len(text) % 7)


def spaces(text: bytes) -> str:
    """White space for ever."""
    return "\n"


def circles(text: bytes) -> str:
    """The same words for ever, in any string."""
    return "round and "[len(text) % 10]


@pytest.mark.parametrize(
    ("value", "favourite", "whitespace"),
    [
        ({"type": "integer"}, sixes, "compact"),
        ({"type": "number"}, sixes, "compact"),
        ({"type": "array", "items": {"type": "integer"}}, items, "compact"),
        ({"type": "boolean"}, spaces, "any"),
    ],
)
@pytest.mark.parametrize("speculate", [False, True])
def test_what_runs_away_comes_to_an_end(
    value: Any, favourite: Callable[[bytes], str], whitespace: str, speculate: bool
) -> None:
    """Numbers, lists, white space: without the decay only the budget ends them."""
    spec, model = with_value(value, whitespace), likes(favourite)
    alone = write(spec, model)
    assert alone.finish == "closed"
    assert len(alone.tokens) == 400
    row = write(spec, model, penalties.GrammarDecay(0.5, 4), speculate=speculate)
    assert row.finish == "complete"
    assert len(row.tokens) < 200
    json.loads(row.text)


@pytest.mark.parametrize("speculate", [False, True])
def test_a_circle_is_led_to_its_end(speculate: bool) -> None:
    """The string is closed; what comes behind it is written as ever."""
    spec, model = with_value({"type": "string"}), likes(circles)
    assert write(spec, model).finish == "closed"
    row = write(spec, model, penalties.LoopGuard(), speculate=speculate)
    assert row.finish == "complete"
    assert 30 < len(json.loads(row.text)["v"]) < 60
    assert row.tokens == write(spec, model, penalties.LoopGuard()).tokens


def test_patience_ends() -> None:
    """Circle after circle in a list of strings: after some of them the whole text is closed."""
    spec = with_value({"type": "array", "items": {"type": "string"}})
    model = likes(lambda text: "," if text.endswith(b'"') else circles(text))
    lengths = []
    for patience in range(3):
        row = write(spec, model, penalties.LoopGuard(patience=patience))
        assert row.finish == "complete"
        lengths.append(len(json.loads(row.text)["v"]))
    assert lengths == [1, 2, 3]


def test_arrays_within_arrays_come_to_an_end() -> None:
    """What only ever opens is closed: each state is new to the grammar, but the tokens circle."""
    nested = sg.JsonSchema(
        {"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "type": "array"}}}
    )
    model = likes(lambda text: "[")
    assert write(nested, model).finish == "closed"
    row = write(nested, model, penalties.LoopGuard())
    assert row.finish == "complete"
    assert len(row.tokens) < 200
    json.loads(row.text)


def test_a_circle_is_left_for_the_end_of_the_text() -> None:
    """Where the text may end, only the end token closes it."""
    row = write(sg.Regex("(ab)+"), likes(lambda text: "ba"[len(text) % 2 == 0]))
    assert row.finish == "closed"
    row = write(
        sg.Regex("(ab)+"), likes(lambda text: "ba"[len(text) % 2 == 0]), penalties.LoopGuard()
    )
    assert row.finish == "eos"
    assert len(row.text) < 40


# -- nothing is ever left empty --------------------------------------------------------------------


@given(
    st.lists(st.sampled_from([*ALL, penalties.Bias(dict.fromkeys(range(SIZE), -np.inf))])),
    st.integers(0, 999),
)
def test_something_is_always_left(transforms: list[Transform], seed: int) -> None:
    """However many refuse however much, texts are written, and fit."""
    constraint = toy_constraint("(a|bc?|ca){1,9}")
    row = make_row(constraint, *transforms, seed=seed, budget=12)
    list(decode_plainly(TableTarget(toy_model(seed)), [row]))
    state = constraint.start
    for token in row.tokens:
        state = constraint.advance(state, token)
        assert state != sg.DEAD
    assert row.finish in {"eos", "closed", "complete"}


def test_the_end_waits_for_its_tokens() -> None:
    """At least three tokens where more are possible; -inf refuses, +9 all but demands."""
    constraint = toy_constraint("(a|bc?|ca){1,9}")
    for seed in range(30):
        row = make_row(constraint, penalties.MinTokens(4), seed=seed)
        list(decode_plainly(TableTarget(toy_model()), [row]))
        assert len(row.tokens) > 4
        row = make_row(constraint, penalties.Bias({"ca": -np.inf, 4: -np.inf}), seed=seed)
        list(decode_plainly(TableTarget(toy_model()), [row]))
        assert not {4, 5} & set(row.tokens)
    row = make_row(constraint, penalties.Bias({"b": 30.0, 3: -30.0}), seed=1, budget=5)
    list(decode_plainly(TableTarget(toy_model()), [row]))
    assert set(row.tokens) == {2}


def test_wishes_out_of_range_are_refused() -> None:
    """With what is expected."""
    constraint = toy_constraint()
    for make in (
        lambda: penalties.Repetition(factor=0.0),
        lambda: penalties.Repetition(where="words"),  # type: ignore[arg-type]
        lambda: penalties.NoRepeatNgram(0),
        lambda: penalties.GrammarDecay(decay=1.5),
        lambda: penalties.GrammarDecay(free=-1),
        lambda: penalties.LoopGuard(repeats=1),
        lambda: penalties.Bias({"zz": 1.0}).begin((1,), constraint),
        lambda: penalties.Bias({99: 1.0}).begin((1,), constraint),
    ):
        with pytest.raises(GenerationError, match="expected"):
            make()
