"""A wrong argument is answered by a typed error that says what was probably meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.errors import (
    ArgumentError,
    ArtifactError,
    SpecError,
    StructgenError,
    VocabularyError,
)


def bytewise() -> sg.Vocabulary:
    """A token for each byte, and an end token."""
    return sg.Vocabulary([b"<end>", *(bytes([b]) for b in range(256))], eos_ids=[0])


class Tokenizer:
    """Looks like a tokenizer of transformers."""

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        """Nothing."""
        return [str(i) for i in ids]


SPECS: dict[str, tuple[Any, str]] = {
    "JSON text": ('{"type": "integer"}', "structgen.JsonSchema(text)"),
    "JSON bytes": (b'{"type": "integer"}', "structgen.JsonSchema(text)"),
    "a pattern's text": ("[0-9]+", "structgen.Regex(text)"),
    "a Lark grammar": ('start: "a" b\nb: "c"', "structgen.Lark(text)"),
    "a GBNF grammar": ('root ::= "a"', "structgen.Gbnf(text)"),
    "an EBNF grammar": ('a ::= "a" b', "structgen.Ebnf(text)"),
    "a file's name": ("person.json", "JsonSchema(Path(path).read_text())"),
    "a path": (Path("sum.lark"), "structgen.Lark.from_file(path)"),
    "a compiled pattern": (re.compile("a", re.IGNORECASE), "structgen.Regex(pattern.pattern)"),
    "texts": (["a", "b"], "structgen.Choice([...])"),
    "a set of texts": ({"a", "b"}, "structgen.Choice([...])"),
    "specs": ([sg.Regex("a"), sg.Regex("b")], "structgen.any_of(...)"),
    "definitions of tools": ([{"name": "f", "parameters": {}}], "structgen.tools("),
    "nothing": (None, "structgen.FreeText()"),
    "a number": (3, '{"const": 3}'),
    "a function": (len, "structgen.tools([function], format=...)"),
    "a class of specs": (sg.Regex, "structgen.Regex(...)"),
    "a tokenizer": (Tokenizer(), "compile(spec, vocabulary)"),
    "a vocabulary": (bytewise(), "compile(spec, vocabulary)"),
    "a constraint": (sg.compile({}, bytewise()), "constraint.spec"),
}


@pytest.mark.parametrize("case", SPECS)
def test_what_is_no_spec_says_what_was_meant(case: str) -> None:
    """By `compile` and `check` alike, and in a spec made of specs."""
    given, hint = SPECS[case]
    for use in (lambda: sg.compile(given, bytewise()), lambda: sg.check(given, "a")):
        with pytest.raises(SpecError, match="is not a spec") as caught:
            use()
        assert hint in caught.value.hint
    if not isinstance(given, str):
        with pytest.raises(SpecError) as caught:
            sg.sequence("a", given)
        assert hint in caught.value.hint


VOCABULARIES: dict[str, tuple[Any, str]] = {
    "a tokenizer": (Tokenizer(), "structgen.Vocabulary.from_transformers(tokenizer)"),
    "a name": ("gpt2", "structgen.Vocabulary.from_transformers('gpt2')"),
    "a tiktoken file": ("llama3.tiktoken", "Vocabulary.from_tiktoken('llama3.tiktoken')"),
    "a SentencePiece file": ("a.model", "Vocabulary.from_sentencepiece('a.model')"),
    "tokens": ([b"a", b"b"], "structgen.Vocabulary(tokens, eos_ids=[...])"),
    "a schema": ({"type": "null"}, "compile(spec, vocabulary)"),
    "a spec": (sg.Regex("a"), "compile(spec, vocabulary)"),
    "a constraint": (sg.compile({}, bytewise()), ".vocabulary"),
    "nothing": (None, "from_tiktoken(path)"),
}


@pytest.mark.parametrize("case", VOCABULARIES)
def test_what_is_no_vocabulary_says_how_to_make_one(case: str, tmp_path: Path) -> None:
    """By `compile`, `load` and a cache."""
    given, hint = VOCABULARIES[case]
    path = tmp_path / "null.sgc"
    sg.compile({"type": "null"}, bytewise()).save(path)
    uses: list[Callable[[], object]] = [
        lambda: sg.compile({}, given),
        lambda: sg.load(path, given),
        lambda: sg.Cache(tmp_path).compile({}, given),
    ]
    for use in uses:
        with pytest.raises(VocabularyError, match="is not a vocabulary") as caught:
            use()
        assert hint in caught.value.hint


@pytest.mark.parametrize("given", [None, 3, bytewise()], ids=["nothing", "a number", "swapped"])
def test_a_path_that_is_none_is_an_artifact_error(given: Any) -> None:
    """For `load` and `save`."""
    constraint = sg.compile({"type": "null"}, bytewise())
    with pytest.raises(ArtifactError, match="the path is"):
        sg.load(given, constraint.vocabulary)
    with pytest.raises(ArtifactError, match="the path is"):
        constraint.save(given)


OPTIONS = "property_order whitespace formats spelling surrogates escapes patterns closed registry"


@pytest.mark.parametrize("given", [3, ["any"], {"a": 1}, b"any", np.zeros(2)], ids=repr)
@pytest.mark.parametrize("name", OPTIONS.split())
def test_an_option_of_another_kind_is_named(name: str, given: Any) -> None:
    """Before a schema is compiled."""
    with pytest.raises(SpecError, match=f"{name} is .*expected "):
        sg.JsonSchema({"type": "string"}, **{name: given})


@pytest.mark.parametrize("spec", [None, 3, re.compile("a")], ids=repr)
def test_a_pattern_is_a_text(spec: Any) -> None:
    """And so is each text of a choice."""
    with pytest.raises(SpecError, match="the pattern is"):
        sg.Regex(spec)
    with pytest.raises(SpecError, match="a sequence of strings"):
        sg.Choice(spec)


def test_the_texts_of_a_choice_may_come_from_a_generator() -> None:
    """They are read once."""
    sg.check(sg.Choice(text for text in ("a", "b")), "b")  # type: ignore[arg-type]


WORDS = bytewise().words
CALLS: dict[str, tuple[Callable[[sg.Constraint], object], str]] = {
    "a token's text": (lambda c: c.advance(c.start, "1"), "advance_bytes"),  # type: ignore[arg-type]
    "an array for a token": (lambda c: c.advance(c.start, np.zeros(3)), "an integer"),  # type: ignore[arg-type]
    "an array for a state": (lambda c: c.is_accepting(np.zeros(3)), "an integer"),  # type: ignore[arg-type]
    "an array to go on from": (lambda c: c.forced_bytes(np.zeros(3)), "an integer"),  # type: ignore[arg-type]
    "a token for tokens": (lambda c: c.state_of(5), "one for each token"),  # type: ignore[arg-type]
    "a token's bytes": (lambda c: c.advance(c.start, b"1"), "advance_bytes"),  # type: ignore[arg-type]
    "a list of tokens": (lambda c: c.advance(c.start, [1]), "an integer"),  # type: ignore[arg-type]
    "a float": (lambda c: c.advance(c.start, 50.0), "an integer"),  # type: ignore[arg-type]
    "no state": (lambda c: c.advance(None, 50), "constraint.start"),  # type: ignore[arg-type]
    "a state of another": (lambda c: c.advance(10**6, 50), "handed them out"),
    "a text for bytes": (lambda c: c.advance_bytes(c.start, "1"), "text.encode()"),  # type: ignore[arg-type]
    "no state to read from": (lambda c: c.read(None, b"1"), "constraint.start"),  # type: ignore[arg-type]
    "may nothing end": (lambda c: c.is_accepting(None), "constraint.start"),  # type: ignore[arg-type]
    "may another end": (lambda c: c.is_accepting(10**6), "handed them out"),
    "bytes of nothing": (lambda c: c.allowed_bytes(None), "constraint.start"),  # type: ignore[arg-type]
    "rest of another": (lambda c: c.shortest_completion(10**6), "handed them out"),
    "a view of another": (lambda c: c.mask_view(10**6), "handed them out"),
    "an unhashable view": (lambda c: c.mask_view([]), "constraint.start"),  # type: ignore[arg-type]
    "a short row": (lambda c: c.fill_mask(c.start, np.zeros(3, np.int32)), "int32[9]"),
    "a wide row": (lambda c: c.fill_mask(c.start, np.zeros(WORDS, np.int64)), "int32[9]"),
    "a row of bits": (lambda c: c.fill_mask(c.start, np.zeros(257, np.bool_)), "words of 32"),
    "a list for a row": (lambda c: c.fill_mask(c.start, [0]), "np.zeros"),  # type: ignore[arg-type]
    "a row first": (lambda c: c.fill_mask(np.zeros(9), c.start), "an integer"),  # type: ignore[arg-type]
    "rows of one": (lambda c: c.fill_masks([c.start], np.zeros(WORDS, np.int32)), "int32[1, 9]"),
    "a state for states": (lambda c: c.fill_masks(0, np.zeros((1, 9), np.int32)), "fill_mask("),  # type: ignore[arg-type]
    "a text among states": (lambda c: c.fill_masks(["a"], np.zeros((1, 9), np.int32)), "state"),  # type: ignore[list-item]
    "no rows": (lambda c: c.fill_masks([c.start], None), "int32[1, 9]"),  # type: ignore[arg-type]
    "no memory": (lambda c: sg.compile({}, c.vocabulary, max_bytes="1"), "64 << 20"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", CALLS)
def test_a_constraint_says_what_is_wrong_with_an_argument(case: str) -> None:
    """Before and after a mask is known; what was right goes on working."""
    call, said = CALLS[case]
    constraint = sg.compile({"type": "integer"}, bytewise())
    row = np.zeros(WORDS, np.int32)
    for _ in range(2):
        with pytest.raises(ArgumentError) as caught:
            call(constraint)
        assert said in str(caught.value)
        constraint.fill_mask(constraint.start, row)
        assert row.any()


OTHERS: dict[str, tuple[Callable[[], object], type[StructgenError], str]] = {
    "constraints": (lambda: sg.fill_masks(None, [], None), ArgumentError, "a sequence of"),  # type: ignore[arg-type]
    "a vocabulary": (lambda: sg.Constraint({}, None, None), VocabularyError, "vocabulary"),  # type: ignore[arg-type]
    "excludes": (lambda: sg.FreeText(3), SpecError, "excludes is 3"),  # type: ignore[arg-type]
    "tags": (lambda: sg.Tags(len), SpecError, "tags is <built-in"),  # type: ignore[arg-type]
    "refs": (lambda: sg.Lark('start: "a"', refs=[]), SpecError, "refs is []"),  # type: ignore[arg-type]
    "grammars": (lambda: sg.Lark('start: "a"', grammars="x"), SpecError, "a mapping"),  # type: ignore[arg-type]
    "a count": (lambda: sg.many("a", "1"), SpecError, "low is '1'"),  # type: ignore[arg-type]
    "the greatest count": (lambda: sg.separated("a", ",", 0, 1.5), SpecError, "high is 1.5"),  # type: ignore[arg-type]
    "counts": (lambda: sg.separated("a", ",", 3, 2), SpecError, "3 to 2 times"),
    "a provider": (lambda: sg.export_schema({}, None), SpecError, "name of a provider"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_calls_say_what_is_wrong_with_an_argument(case: str) -> None:
    """With the argument's name, and what it has to be."""
    call, error, said = OTHERS[case]
    with pytest.raises(error) as caught:
        call()
    assert said in str(caught.value)


def test_integers_of_numpy_are_integers() -> None:
    """For tokens and for states."""
    constraint = sg.compile({"type": "integer"}, bytewise())
    state = constraint.advance(constraint.start, 1 + ord("7"))
    assert constraint.advance(np.int64(constraint.start), np.int64(1 + ord("7"))) == state  # type: ignore[arg-type]
    assert constraint.is_accepting(np.int32(state))  # type: ignore[arg-type]
