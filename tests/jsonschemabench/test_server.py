"""The command `server` sends requests with schemas of their own, and prints what it measured."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import jsonschema
import pytest

import structgen as sg
from jsonschemabench.main import main
from jsonschemabench.server import KINDS, small_schema
from tests.server.conftest import Serving, generator, one_thread, serving

__all__ = ["generator", "one_thread", "serving"]


def test_schemas_are_all_different_and_have_values() -> None:
    """Their shortest values fit them, as the jsonschema library says."""
    byte_tokens = sg.Vocabulary([*(bytes((b,)) for b in range(256)), None], eos_ids=[256])
    texts = set()
    for number in range(2 * len(KINDS)):
        schema = small_schema(number)
        constraint = sg.compile(schema, byte_tokens)
        text = constraint.shortest_completion(constraint.start)
        jsonschema.validate(json.loads(text), schema)
        texts.add(json.dumps(schema))
    assert len(texts) == 2 * len(KINDS)


@pytest.mark.thorough
def test_a_running_server_is_measured(serving: Serving, capsys: Any) -> None:
    """A line for each number of clients, and one for each look at the memory."""
    before = serving.service.metrics.cache.labels("miss")._value.get()
    arguments = ["server", "--requests", "12", "--clients", "1,3", "--every", "6"]
    where = ["--url", serving.url, "--pid", str(os.getpid())]
    assert main([*arguments, *where]) == 0
    lines = capsys.readouterr().out.splitlines()
    rates = [
        re.fullmatch(r"\| (\d+) \| [\d.]+ \| \d+ \| \d+, \d+ \| [\d.]+ \|", line) for line in lines
    ]
    assert [found[1] for found in rates if found] == ["1", "3"]
    sizes = [re.fullmatch(r"\| (\d+) \| (\d+) \|", line) for line in lines]
    assert [int(found[1]) for found in sizes if found] == [1, 6, 12, 13, 18, 24]
    assert serving.service.metrics.cache.labels("miss")._value.get() == before + 24


@pytest.mark.parametrize("wrong", [["--clients", "0"], ["--requests", "0"], ["--model", "other"]])
def test_what_cannot_be_measured_is_said(wrong: list[str], serving: Serving, capsys: Any) -> None:
    """As an error of one line."""
    assert main(["server", "--requests", "2", "--url", serving.url, *wrong]) == 2
    assert "error:" in capsys.readouterr().err
