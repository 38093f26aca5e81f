"""Fixtures of the sampling tests."""

from __future__ import annotations

import pytest

from tests.generation.sampling.exhaustive import ScriptedDraws


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> ScriptedDraws:
    """All draws of the samplers, scripted."""
    return ScriptedDraws(monkeypatch)
