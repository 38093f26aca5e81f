"""Fixtures: a tiny random Llama with a byte-level tokenizer, and constraints for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from structgen.generation.generator import Generator
from tests.generation.models import build_model, build_tokenizer
from tests.generation.naive import NaiveConstraint, json_texts, read_json


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny matrices are slower, and less reproducible, on several threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    """A fast byte-level tokenizer without chat template."""
    return build_tokenizer()


@pytest.fixture(scope="session")
def model(tokenizer: Any) -> Any:
    """A random Llama of two layers with more logits than the tokenizer has tokens."""
    return build_model(tokenizer)


@pytest.fixture(scope="session")
def generator(model: Any, tokenizer: Any) -> Generator:
    """A Generator over the tiny model."""
    return Generator(model, tokenizer)


@pytest.fixture(scope="session")
def words(generator: Generator) -> NaiveConstraint:
    """Short texts over a few letters, some of them two bytes long; many are prefixes of others."""
    letters = "abé"
    texts = {""}
    for _ in range(5):
        texts |= {text + letter for text in texts for letter in letters}
    return NaiveConstraint(sorted(texts), generator.vocabulary)


@pytest.fixture(scope="session")
def objects(generator: Generator) -> NaiveConstraint:
    """JSON objects with a string, and optional spaces behind."""
    return NaiveConstraint(json_texts(["a", "b", "é"], 4), generator.vocabulary, read_json)


@pytest.fixture
def model_dir(model: Any, tokenizer: Any, tmp_path: Path) -> Path:
    """The tiny model as a directory."""
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"
