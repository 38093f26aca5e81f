"""Partial values of composed specs only grow as the text does."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structgen as sg
from structgen.compose.base import as_spec
from structgen.compose.tags import Tagged
from structgen.compose.tools.call_formats import FORMATS, CallFormat
from structgen.compose.tools.tools import tools
from structgen.spec.base import Spec
from tests.compose.test_tools import ALL, vocabulary, written

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-999, 999)
    | st.floats(0, 9)
    | st.text('ab<\\"é{', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab<", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
words = st.text("ab </>t", max_size=12)


def grows(before: Any, after: Any, whole: bool) -> bool:
    """Whether `after` can be what `before` has become; `whole`: it was final."""
    if whole:
        return type(before) is type(after) and bool(before == after)
    if isinstance(before, Tagged):
        return (
            isinstance(after, Tagged)
            and before.tag == after.tag
            and grows(before.value, after.value, False)
        )
    if isinstance(before, dict):
        return (
            isinstance(after, dict)
            and list(before) == list(after)[: len(before)]
            and all(grows(before[key], after[key], False) for key in before)
        )
    if isinstance(before, list):
        return (
            isinstance(after, list)
            and len(before) <= len(after)
            and all(grows(a, b, False) for a, b in zip(before, after, strict=False))
        )
    if isinstance(before, str):
        return isinstance(after, str) and after.startswith(before)
    if isinstance(before, int | float) and not isinstance(before, bool):
        return isinstance(after, int | float)
    return type(before) is type(after) and bool(before == after)


def check(spec: Spec, text: str, more: str = "") -> None:
    """Cut the text off everywhere: each partial value grows into the next, and into the value.

    `more`: what the text may still become the beginning of, so that its end is not shown.
    """
    value = spec.parse(text)
    last: Any = None
    finals: dict[str, Any] = {}
    for end in range(len(text) + 1):
        partial = spec.partial(text[:end])
        if not partial.begun:
            assert last is None
            continue
        assert last is None or grows(last, partial.value, whole=False)
        assert grows(partial.value, value, whole=partial.open is None)
        now = dict(partial.finals())
        assert {pointer: now[pointer] for pointer in finals} == finals
        last, finals = partial.value, now
    assert grows(last, value, whole=not (more and more[0] in text[-len(more) :]))


@given(values, st.sampled_from([None, 1]))
def test_json_only_grows(value: Any, indent: int | None) -> None:
    """Whatever the value."""
    check(sg.JsonSchema(True, whitespace="any"), json.dumps(value, indent=indent))


@settings(max_examples=20)
@given(words, values)
def test_thoughts_then_json_only_grow(thought: str, value: Any) -> None:
    """The thought first, without what may be its end; then the value beside it."""
    thought = thought.replace("</t>", "")
    spec = sg.sequence(sg.Tag("<t>", None, "</t>"), sg.JsonSchema(True, whitespace="compact"))
    text = f"<t>{thought}</t>" + json.dumps(value, separators=(",", ":"))
    check(spec, text)
    assert spec.partial(text[: 4 + len(thought)]).begun
    assert spec.partial(f"<t>{thought}</t").value == [thought]


@settings(max_examples=20)
@given(words, values, words)
def test_tags_only_grow(before: str, value: Any, behind: str) -> None:
    """Text, a tag with JSON in it, text; nothing that may be the beginning of a tag is shown."""
    before, behind = (text.replace("<t", "") for text in (before, behind))
    tag = sg.Tag("<t>", sg.JsonSchema(True, whitespace="compact"), "</t>")
    spec = sg.Tags((tag,), triggers=("<t",))
    text = f"{before}<t>{json.dumps(value, separators=(',', ':'))}</t>{behind}"
    check(as_spec(spec), text, "<t>")


@given(st.sampled_from(["ab", "abab", '{"a": 1}', '{"a": 12345}']))
def test_alternatives_wait_until_they_are_told_apart(text: str) -> None:
    """JSON or a word."""
    spec = sg.any_of(sg.Choice(["ab", "abab"]), sg.JsonSchema({"type": "object"}))
    check(spec, text)
    assert not spec.partial("").begun
    limited = sg.all_of(sg.JsonSchema({"type": "object"}), sg.Regex(".{1,99}"))
    if text.startswith("{"):
        check(limited, text)


@pytest.mark.thorough
@pytest.mark.parametrize("style", FORMATS.values(), ids=lambda style: style.name)
def test_calls_come_when_they_are_whole(style: CallFormat) -> None:
    """One after the other, in random calls of every format; none is taken back."""
    spec = tools(ALL, style, at_least=1, text="none")
    rng = Random(style.name)
    c = sg.compile(spec, vocabulary(style, rng))
    for _ in range(3):
        text = written(c, rng, 40)
        seen = 0
        for end in [*range(0, len(text), 7), len(text)]:
            partial = spec.partial(text[:end])
            if style.answer is not None:
                assert partial.value == text[:end]
            elif partial.begun:
                assert spec.parse(text)[: len(partial.value)] == partial.value
                assert len(partial.value) >= seen
                seen = len(partial.value)
        # Where nothing stands behind the last arguments, white space might still follow.
        unsure = style.call.endswith("$ARGUMENTS") and not style.close
        assert style.answer is not None or seen >= len(spec.parse(text)) - unsure


def test_text_is_its_own_partial_value() -> None:
    """Of specs whose value is the text."""
    assert sg.Regex("a*").partial("aa").value == "aa"
    assert not sg.Regex("a*").partial("").begun
    assert sg.Tag("<t>", sg.JsonSchema(True), "</t>").partial('<t>{"a').value == {}
    assert not sg.Tag("<t>", None, "</t>").partial("<t").begun
    done = sg.Tag("<t>", None, "</t>").partial("<t>ab</t>")
    assert (done.value, done.open) == ("ab", None)
