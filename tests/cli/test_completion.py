"""Shells complete commands, and the shipped model computes in one thread."""

from __future__ import annotations

import argparse
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import structgen
from structgen.cli.commands.generate import load_generator
from structgen.cli.main import main
from structgen.cli.terminal import Terminal


def test_a_shell_that_asks_gets_the_parser_of_all_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """argcomplete answers and leaves; it is imported only then."""
    asked: list[argparse.ArgumentParser] = []

    def autocomplete(parser: argparse.ArgumentParser) -> None:
        asked.append(parser)
        raise SystemExit(0)

    monkeypatch.setitem(sys.modules, "argcomplete", SimpleNamespace(autocomplete=autocomplete))
    assert main(["version"]) == 0
    assert not asked
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    with pytest.raises(SystemExit):
        main([])
    assert "check-schema" in asked[0].format_help()


@pytest.mark.parametrize(
    ("model", "environment", "threads"),
    [(None, {}, [1]), (None, {"OMP_NUM_THREADS": "2"}, []), ("another", {}, [])],
)
def test_the_shipped_model_computes_in_one_thread(
    model: str | None,
    environment: dict[str, str],
    threads: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless the environment says how many; other models have all of them."""
    import torch

    said: list[int] = []

    def made(*_: Any, **__: Any) -> None:
        return None

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch, "set_num_threads", said.append)
    monkeypatch.setattr(structgen, "Generator", made)
    load_generator(model, Terminal())
    assert said == threads
