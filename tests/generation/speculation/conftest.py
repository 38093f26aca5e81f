"""Fixtures: one thread, and a tiny model in float64, for the tests of drafts."""

from __future__ import annotations

import pytest

from structgen.generation.generator import Generator
from tests.generation.conftest import one_thread
from tests.generation.models import build_model, build_tokenizer

__all__ = ["double", "one_thread"]


@pytest.fixture(scope="module")
def double() -> Generator:
    """A tiny random Llama in float64."""
    tokenizer = build_tokenizer()
    return Generator(build_model(tokenizer).double(), tokenizer)
