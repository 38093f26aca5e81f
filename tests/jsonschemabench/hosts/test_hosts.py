"""The command `hosts` replays texts through a host's masks, and prints a line for each use."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from jsonschemabench.data import vocab
from jsonschemabench.engines.engine import JSON_SCHEMA, Spec
from jsonschemabench.hosts.command import HOSTS
from jsonschemabench.main import main
from jsonschemabench.steps import Request
from tests.integrations.conformance import stand_ins

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
HOST = [
    "transformers",
    *(
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                not stand_ins.installed(name), reason=f"{name} is not installed"
            ),
        )
        for name in ("vllm", "sglang")
    ),
]


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """Four cases, one of which has no text that fits."""
    path = tmp_path / "pack.jsonl"
    tests = [[{"valid": True, "data": {"a": n}}] for n in range(3)]
    tests.append([{"valid": False, "data": 1}])
    lines = [
        {"id": f"x---{n}", "schema": {"properties": {"a": {"const": n}}}, "tests": one}
        for n, one in enumerate(tests)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.thorough
@pytest.mark.parametrize("host", HOST)
def test_the_table_has_a_line_for_each_use(
    host: str, pack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of as many requests as fit, each batch with requests of its own."""
    options = ["--cases", str(pack), "--engines", "structgen", "--batches", "1,1", "--rounds", "1"]
    assert main(["hosts", host, *options]) == 0
    title, *_, a, b, c, d = capsys.readouterr().out.strip().splitlines()
    assert title.startswith(f"{host}, 3 requests, ")
    found = [line.strip("| ").split(" | ") for line in (a, b, c, d)]
    assert [one[:3] for one in found] == [
        [batch, use, "structgen"] for batch in "11" for use in ("first use", "again")
    ]
    assert all(int(one[3]) > 0 for one in found)
    assert all(float(figure) > 0 for one in found for figure in one[4:])
    assert main(["hosts", host, *options[:-3], "1,1,1,1"]) == 2
    assert "1 or more" in capsys.readouterr().err


@pytest.mark.parametrize("host", HOST)
def test_only_texts_that_are_allowed_are_replayed(host: str) -> None:
    """A text that fits, one that does not, and a schema that is broken."""
    args = argparse.Namespace(tokenizer="demo", eos=None, pattern=None, size=None)
    backend = HOSTS[host].Backend("structgen", *vocab.transformers_tokenizer(args))
    vocabulary = vocab.load(args)
    for schema, text, fits in [
        ({"const": "ab"}, '"ab"', True),
        ({"const": "ab"}, '"aa"', False),
        ({"type": "bool"}, "true", False),
    ]:
        tokens = vocab.encode(vocabulary, text)
        assert backend.takes(Request(Spec(JSON_SCHEMA, json.dumps(schema)), tokens)) == fits
