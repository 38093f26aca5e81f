"""A schema file and a small tokenizer file for tests of the commands."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from structgen.kernels.build import loader
from tests.generation.models import build_model, build_tokenizer

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


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels() -> None:
    """Compile the kernels beforehand, so that no command has to announce that it does."""
    loader.warmup()


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


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The folder of a tiny random model; matrices that small are slower on several threads."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("cli") / "model"
    tokenizer = build_tokenizer()
    build_model(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    yield str(folder)
    torch.set_num_threads(threads)
