"""In: nothing. Out: a schema file and a small tokenizer file for the commands."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "role": {"enum": ["admin", "user"]},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.fixture
def person(tmp_path: Path) -> str:
    """The path of a schema file."""
    path = tmp_path / "person.json"
    path.write_text(json.dumps(PERSON))
    return str(path)


@pytest.fixture
def tokenizer(tmp_path: Path) -> str:
    """The path of a .tiktoken file: ids 0..255 are the bytes, some words follow."""
    tokens = [bytes([i]) for i in range(256)]
    tokens += [b"true", b"name", b'{"', b'":', b'": ', b", ", b"12", b"  ", b"\xc3\xa9"]
    lines = [f"{base64.b64encode(token).decode()} {i}\n" for i, token in enumerate(tokens)]
    path = tmp_path / "tiny.tiktoken"
    path.write_text("".join(lines))
    return str(path)
