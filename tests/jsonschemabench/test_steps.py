"""The command `steps` replays a full batch of requests, and prints a line for each use."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from jsonschemabench.engines.engine import JSON_SCHEMA, Spec
from jsonschemabench.engines.structgen import StructgenEngine
from jsonschemabench.main import main
from jsonschemabench.steps import Request, replay, structgen_step
from structgen import Vocabulary

BYTES = Vocabulary([*(bytes((i,)) for i in range(256)), b"."], eos_ids=[256])


@pytest.mark.thorough
def test_a_batch_stays_full_and_every_token_is_masked() -> None:
    """Requests of 1, 2 and 3 tokens, two at a time: their steps, and the masks they end with."""
    engine = StructgenEngine()
    engine.prepare(BYTES)
    texts = ["1", "22", "333"]
    requests = [
        Request(Spec(JSON_SCHEMA, json.dumps({"const": int(text)})), list(text.encode()))
        for text in texts
    ]
    seen: list[list[tuple[int, int | None]]] = []
    inner = structgen_step(engine, requests)

    def step(todo: object, rows: object) -> None:
        seen.append(list(todo))  # type: ignore[call-overload]
        inner(todo, rows)  # type: ignore[arg-type]
        assert all(row.any() for row in rows[: len(todo)])  # type: ignore[arg-type,index]

    times = replay(step, requests, 2, BYTES.words)
    assert len(times) == 2  # then only one request is left
    assert seen[:3] == [[(0, None)], [(1, None)], [(0, ord("1")), (1, ord("2"))]]
    assert seen[3:] == [[(2, None)], [(1, ord("2")), (2, ord("3"))]]
    assert np.all(np.array(times) > 0)


@pytest.mark.thorough
def test_the_table_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From a pack of cases; too few of them for a batch are refused."""
    pack = tmp_path / "pack.jsonl.gz"
    with gzip.open(pack, "wt") as file:
        for n in range(4):
            tests = [{"valid": True, "data": n}]
            file.write(json.dumps({"id": f"x---{n}", "schema": {"const": n}, "tests": tests}))
            file.write("\n")
    arguments = ["steps", "--cases", str(pack), "--engines", "structgen", "--tokenizer", "bytes"]
    assert main([*arguments, "--batch", "2", "--rounds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[:2] for line in lines[-2:]] == [
        ["| first use", "structgen"],
        ["| again", "structgen"],
    ]
    assert main([*arguments, "--batch", "9"]) == 2
