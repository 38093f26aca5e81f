"""What a cut-off JSON text calls final is final, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.errors import ValidationError
from structgen.spec.partial_json import read_partial

pytestmark = pytest.mark.nojit

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-999, 999)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def pointed(value: Any, pointer: str) -> Any:
    """The value at a JSON Pointer."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


@given(values, st.booleans(), st.data())
def test_what_is_final_at_a_cut_is_in_the_whole_value(
    value: Any, escaped: bool, data: st.DataObject
) -> None:
    """Every final value of a beginning stands unchanged in the value of the whole text."""
    text = json.dumps(value, ensure_ascii=escaped, indent=data.draw(st.sampled_from([None, 1])))
    cut = read_partial(text[: data.draw(st.integers(0, len(text)))])
    for pointer, final in cut.finals():
        assert pointed(value, pointer) == final
        assert type(pointed(value, pointer)) is type(final)


@given(values)
def test_a_whole_text_is_read_as_json_does(value: Any) -> None:
    """With something after it everything is final, and the value is that of the json module."""
    found = read_partial(json.dumps(value) + " ")
    assert found.value == value
    assert found.open is None
    assert dict(found.finals())[""] == value


@given(values.filter(lambda value: isinstance(value, dict | list | str)), st.data())
def test_what_is_not_final_may_still_change(value: Any, data: st.DataObject) -> None:
    """An open string, number or container has a continuation with another value there."""
    text = json.dumps(value)
    beginning = text[: data.draw(st.integers(1, len(text) - 1))]
    cut = read_partial(beginning)
    assert cut.open is not None
    assert not cut.is_final(*cut.open)
    assert not cut.is_final()


CASES: list[tuple[str, Any, tuple[str | int, ...] | None]] = [
    ('{"a": 1', {"a": 1}, ("a",)),
    ('{"a": 1,', {"a": 1}, ()),
    ('{"a": 1.', {"a": 1}, ("a",)),
    ('{"a": -', {}, ("a",)),
    ('{"a": [1, "x', {"a": [1, "x"]}, ("a", 1)),
    ('{"a": [1, "x\\ud83d', {"a": [1, "x"]}, ("a", 1)),
    ('{"a": [1, "x\\ud83d\\ude', {"a": [1, "x"]}, ("a", 1)),
    ('{"a": [1, "\\\\ud83d', {"a": [1, "\\ud83d"]}, ("a", 1)),
    ('{"a": [1, "x\\', {"a": [1, "x"]}, ("a", 1)),
    ('{"a": t', {"a": True}, ()),
    ('{"a": {"b": []}', {"a": {"b": []}}, ()),
    ('{"a', {}, ()),
    ('{"a": ', {}, ()),
    ("12", 12, ()),
    ("12 ", 12, None),
    ("n", None, None),
    ('"', "", ()),
]


@pytest.mark.parametrize(("text", "value", "opened"), CASES)
def test_a_cut_says_what_is_open(
    text: str, value: Any, opened: tuple[str | int, ...] | None
) -> None:
    """Examples: the value so far, and the path of what is being written."""
    found = read_partial(text)
    assert (found.begun, found.value, found.open) == (True, value, opened)


def test_members_of_open_objects_can_be_final() -> None:
    """`is_final` tells what is final, what is open and what is not there."""
    found = read_partial('{"name": "Ada", "tags": ["x", "y", "z')
    assert found.is_final("name")
    assert found.is_final("tags", 1)
    assert not found.is_final("tags", 2)
    assert not found.is_final("tags")
    assert not found.is_final("tags", "x")
    assert not found.is_final("name", 0)
    assert not found.is_final("age")
    assert list(found.finals()) == [("/name", "Ada"), ("/tags/0", "x"), ("/tags/1", "y")]
    assert not read_partial(" ").begun


def test_depth_is_no_limit() -> None:
    """A text nested more deeply than Python's stack is read."""
    found = read_partial("[" * 20_000)
    assert found.open is not None
    assert len(found.open) == 19_999


@pytest.mark.parametrize(
    ("text", "offset"),
    [("{]", 1), ("[1,]", 3), ("01", 1), ('{"a" 1', 5), ('{1', 1), ("trx", 0), ('["\n', 1),
     ("1 2", 2), ("[1}", 2), ("é", 0), ('"é" x', 5), ("{,", 1), ("]", 0)],
)  # fmt: skip
def test_what_is_no_json_is_refused(text: str, offset: int) -> None:
    """The error has the byte offset of what cannot be right."""
    with pytest.raises(ValidationError) as caught:
        read_partial(text)
    assert caught.value.offset == offset
