"""The command `acceptance` prints what the rules give, and keeps them in their known order."""

from __future__ import annotations

import json

import numpy as np
import pytest

from jsonschemabench import acceptance
from jsonschemabench.main import main


@pytest.mark.thorough
def test_the_table_has_every_rule(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No rule passes its bound, all agree on one child, and more children are kept more often."""
    monkeypatch.setattr(acceptance, "INSTANCES", 8)
    assert main(["acceptance", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    table = found["acceptance"]
    assert found["pairs"] == 8
    assert set(table) == set(acceptance.RULES)
    assert {round(row["1"], 9) for name, row in table.items() if name != "compare, best"} == {
        round(table["bound, iid"]["1"], 9)
    }
    for k in map(str, acceptance.CHILDREN):
        assert table["recursive, iid"][k] <= table["bound, iid"][k] + 1e-12
        assert table["k-seq, iid"][k] <= table["bound, iid"][k] + 1e-12
        assert table["transport, wor"][k] == pytest.approx(table["bound, wor"][k])
    assert all(row["1"] <= row["2"] <= row["3"] for row in table.values())
    assert main(["acceptance"]) == 0
    assert "recursive, wor" in capsys.readouterr().out


def test_tokens_that_are_lumped_together_change_no_acceptance() -> None:
    """The drafter draws none of them, so one token can stand for all."""
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(12))
    small, drafted = acceptance._lump_rest(p, q)
    kept = np.where(q >= np.sort(q)[-acceptance.TOP], q, 0.0)
    whole = acceptance.RULES["recursive, iid"](p, kept / kept.sum(), 2)
    assert acceptance.RULES["recursive, iid"](small, drafted, 2) == pytest.approx(whole)
    assert small.sum() == pytest.approx(1.0)
    assert drafted.sum() == pytest.approx(1.0)
