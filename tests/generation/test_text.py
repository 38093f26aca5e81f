"""Tests that texts end before their stop sequences, or soon after."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import GenerationError, TruncatedError
from structgen.generation.generator import Generator
from structgen.generation.text import Text
from structgen.util.partial_match import partial_match_length

letters = st.text("abé", max_size=12)
stops = st.lists(st.text("abé", min_size=1, max_size=4), max_size=3)


@given(letters, stops)
def test_what_is_held_is_the_longest_beginning(text: str, sequences: list[str]) -> None:
    """By trying every length; the same in bytes."""
    found = [
        size
        for size in range(1, len(text) + 1)
        if any(s.startswith(text[-size:]) and s != text[-size:] for s in sequences)
    ]
    assert partial_match_length(text, sequences) == max(found, default=0)
    data = [s.encode() for s in sequences]
    assert partial_match_length(text.encode(), data) >= len(
        text[len(text) - partial_match_length(text, sequences) :].encode()
    )


@given(letters, stops, st.lists(st.integers(1, 4)))
def test_pieces_never_show_what_is_cut_off(
    text: str, sequences: list[str], sizes: list[int]
) -> None:
    """However the bytes are cut into tokens, the pieces are the text before the first stop."""
    data, writer, pieces, at = text.encode(), Text(sequences), [], 0
    expected = text
    for end in range(len(text) + 1):
        ends = [s for s in sequences if text[:end].endswith(s)]
        if ends:
            expected = text[: end - max(map(len, ends))]
            break
    size = iter(sizes)
    while at < len(data):
        step = next(size, 1)
        stop = writer.add(data[at : at + step])
        at += step
        if stop >= 0:
            writer.cut(stop)
            break
        pieces.append(writer.take(ended=False))
        assert expected.startswith("".join(pieces))
    writer.end()
    pieces.append(writer.take(ended=True))
    # A token that ends several sequences at once may show an earlier one.
    assert expected.startswith("".join(pieces))
    if not sizes:
        assert "".join(pieces) == writer.whole == writer.streamed == expected


def test_a_free_text_ends_before_the_stop(generator: Generator) -> None:
    """The text without stops, up to the first; the distribution is the same until there."""
    spec, seen = sg.Regex("[ab{}: ]*"), 0
    for seed in range(30):
        free = generator.generate("ab", spec, seed=seed, max_tokens=30)
        stop = ["b", "a:"]
        stream = generator.stream("ab", spec, seed=seed, max_tokens=30, stop_sequences=stop)
        pieces = list(stream)
        result = stream.result
        cuts = [free.text.find(s) for s in stop if s in free.text]
        assert "".join(pieces) == stream.text == result.text == result.value
        assert result.text == (free.text[: min(cuts)] if cuts else free.text)
        assert free.tokens[: len(result.tokens)] == result.tokens
        assert (result.finish_reason == "stop") == bool(cuts)
        seen += bool(cuts)
    assert seen > 10


SCHEMA = sg.JsonSchema(
    {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
    whitespace="compact",
)


@pytest.mark.thorough
def test_a_text_that_may_not_end_is_closed(generator: Generator) -> None:
    """JSON stays JSON: the stop stays inside its string, and the shortest ending follows."""
    seen = 0
    for seed in range(30):
        free = generator.generate("ab", SCHEMA, seed=seed, max_tokens=60)
        result = generator.generate(
            "ab", SCHEMA, seed=seed, max_tokens=60, stop_sequences=["e", '"b"']
        )
        assert json.loads(result.text) == result.value
        if result.finish_reason != "stop":
            assert result.tokens == free.tokens
            continue
        seen += 1
        same = 0
        while free.tokens[same] == result.tokens[same]:
            same += 1
        text = b"".join(generator.vocabulary.token_bytes(t) for t in result.tokens[:same])
        rest = result.text.encode().removeprefix(text)
        state = sg.compile(SCHEMA, generator.vocabulary)
        assert len(rest) <= len(state.shortest_completion(state.advance_bytes(state.start, text)))
        assert "e" in result.text or '"b"' in result.text
    assert seen > 10


def test_a_stop_at_the_end_changes_nothing(generator: Generator) -> None:
    """Where the text is complete with the stop, it is what it would be."""
    result = generator.generate("ab", SCHEMA, seed=1, max_tokens=60, stop_sequences=["}"])
    assert result.text.endswith("}")
    assert json.loads(result.text) == result.value


def test_the_budget_holds_while_closing(generator: Generator) -> None:
    """With on_truncation="raise" a text may stop too late to be closed."""
    options: dict[str, Any] = {"seed": 3, "stop_sequences": ["{"], "on_truncation": "raise"}
    whole = generator.generate("ab", SCHEMA, max_tokens=40, **options)
    assert whole.text == '{"a":"","b":0}'
    with pytest.raises(TruncatedError):
        generator.generate("ab", SCHEMA, max_tokens=len(whole.tokens) - 1, **options)


def test_stop_sequences_are_checked(generator: Generator) -> None:
    """A list of strings that are not empty; samplers of exact distributions take none."""
    for bad in ("ab", [""], [b"a"], ["a", ""]):
        with pytest.raises(GenerationError, match="stop_sequences"):
            generator.generate("ab", SCHEMA, stop_sequences=bad)  # type: ignore[arg-type]
    with pytest.raises(GenerationError, match="stop_sequences"):
        generator.sample("ab", SCHEMA, stop_sequences=["a"])
