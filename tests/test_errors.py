"""Errors can be printed whatever stands in the spec or text that they are about."""

from __future__ import annotations

import pytest

import structgen as sg
from structgen.errors import PatternError, ValidationError


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (sg.JsonSchema(r'{"const": "\ud800"}', surrogates="allow"), '"a"'),
        (sg.JsonSchema(r'{"enum": ["a\udc00b", "x"]}', surrogates="allow"), '"b"'),
        (sg.JsonSchema('{"type": "string", "pattern": "^\\ud83d$"}', surrogates="allow"), '"b"'),
    ],
)
def test_a_message_has_no_lone_surrogates(spec: sg.JsonSchema, text: str) -> None:
    """A terminal and a log file cannot write them: they are escaped as in JSON."""
    with pytest.raises(ValidationError) as caught:
        sg.check(spec, text)
    assert r"\ud" in str(caught.value)
    assert str(caught.value).encode()


def test_a_pattern_with_a_lone_surrogate_is_shown_escaped() -> None:
    """With the caret under it, as in all errors of patterns."""
    with pytest.raises(PatternError) as caught:
        sg.compile(sg.Regex("a\ud800("), sg.Vocabulary([b"a"]))
    assert r"a\ud800(" in str(caught.value)
    assert str(caught.value).encode()
