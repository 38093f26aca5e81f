"""Prompts, files and models are read exactly as they are."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.cli import inputs, reading
from structgen.errors import SpecError, StructgenError


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Let stdin hold `data`."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("data", "prompt"),
    [
        (b"Hi", "Hi"),
        (b"Hi\n", "Hi"),
        (b"Hi\r\n", "Hi"),
        (b"Hi\n\n", "Hi\n"),
        (b"\n", ""),
        (b"", ""),
    ],
)
def test_a_prompt_loses_one_newline(
    data: bytes, prompt: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The newline that editors and echo put at the end is no part of the prompt; others are."""
    feed(monkeypatch, data)
    assert inputs.read_prompt(None, None, stdin_taken=False) == prompt
    path = tmp_path / "prompt.txt"
    path.write_bytes(data)
    assert inputs.read_prompt(None, str(path), stdin_taken=True) == prompt


def test_a_prompt_argument_is_taken_as_it_is() -> None:
    """Neither stdin nor the newline rule touches an argument."""
    assert inputs.read_prompt("Hi\n", None, stdin_taken=False) == "Hi\n"
    assert inputs.read_prompt("", None, stdin_taken=True) == ""


def test_a_prompt_is_never_waited_for_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a prompt on a terminal there is an error, not a silent wait."""
    stdin = io.TextIOWrapper(io.BytesIO(b"typed"))
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(StructgenError, match="no prompt"):
        inputs.read_prompt(None, None, stdin_taken=False)


texts = st.text(st.characters(codec="utf-8"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
).filter(lambda value: "Infinity" not in json.dumps(value))


@given(json_values, st.booleans())
def test_json_is_read_as_the_standard_library_reads_it(value: Any, escaped: bool) -> None:
    """Strictness changes nothing for JSON without doubled keys, in any spelling of characters."""
    text = json.dumps(value, ensure_ascii=escaped)
    with pytest.MonkeyPatch.context() as patch:
        feed(patch, text.encode())
        assert reading.read_json("-", "schema") == json.loads(text)


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    """Editors that put a mark before UTF-8 do not make the file wrong."""
    path = tmp_path / "schema.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": "\xc3\xa9"}')
    assert reading.read_json(str(path), "schema") == {"a": "é"}


@pytest.mark.parametrize("text", ['{"a": {"b": 1, "b": 1}}', '[{"x": 0, "y": 1, "x": 2}]'])
def test_a_doubled_key_is_refused_at_any_depth(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of the two was meant, one of them would be ignored."""
    feed(monkeypatch, text.encode())
    with pytest.raises(SpecError, match="twice in one object at stdin"):
        reading.read_json("-", "schema")


def test_a_model_is_found_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed command does not have the current folder on its path, so it is added."""
    (tmp_path / "cli_found.py").write_text(
        "class Outer:\n    class Inner: ...\nNames = list[str]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    found = inputs.import_model("cli_found", "Outer.Inner")
    assert found.__qualname__ == "Outer.Inner"
    assert inputs.import_model("cli_found", "Names").__args__ == (str,)
    sys.modules.pop("cli_found")
