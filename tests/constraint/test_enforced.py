"""Results, hosts and answers say what was enforced, and `assert_enforced` reads all of them."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import structgen as sg
from structgen.constraint.enforced import Enforced
from structgen.errors import NotEnforcedError
from structgen.version import __version__

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
FULL = {"enforced": "full", "engine": "structgen 1", "spec": "ab", "kind": "json_schema"}


def test_the_digest_is_that_of_the_spec_with_its_options() -> None:
    """Equal specs have equal ones; another order of keys is another spec."""
    one = Enforced(sg.JsonSchema(SCHEMA))
    assert one.to_json() == Enforced(sg.JsonSchema(dict(SCHEMA))).to_json()
    others: list[Any] = [
        sg.JsonSchema(SCHEMA, escapes="any"),
        sg.JsonSchema({"type": "object"}),
        sg.JsonSchema(dict(reversed(SCHEMA.items()))),
        sg.Regex("a"),
        sg.shipped("json"),
        sg.tools([{"name": "f", "parameters": SCHEMA}], "hermes"),
        sg.JsonSchema('{"const": 1.50}'),
    ]
    digests = [Enforced(spec).spec for spec in others]
    assert len({one.spec, *digests}) == len(others) + 1
    assert one.engine == f"structgen {__version__}"
    assert (one.enforced, one.kind) == ("full", "json_schema")
    assert "enforced: full" in repr(one)


class _Extra:
    """As the openai package gives fields that it does not know."""

    def __init__(self, said: Any) -> None:
        self.structgen = said


def _dumped(said: dict[str, str]) -> Any:
    return SimpleNamespace(model_dump=lambda: said)


@pytest.mark.parametrize(
    "response",
    [
        Enforced(sg.Regex("a")),
        SimpleNamespace(enforced=Enforced(sg.Regex("a"))),
        {"choices": [], "structgen": FULL},
        _Extra(FULL),
        _Extra(_dumped(FULL)),
        SimpleNamespace(headers={"X-Structgen-Enforced": "full", "content-type": "text"}),
    ],
)
def test_responses_that_say_so_are_let_through(response: Any) -> None:
    """And what they say is returned."""
    assert sg.assert_enforced(response)["enforced"] == "full"


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ({"choices": []}, "nothing says"),
        ({"structgen": {"enforced": "names"}}, "'names'"),
        (_Extra({"enforced": "none"}), "'none'"),
        (SimpleNamespace(headers={"x-structgen-enforced": "none"}), "'none'"),
        (SimpleNamespace(headers={}), "nothing says"),
        (SimpleNamespace(enforced="full"), "nothing says"),
        ("full", "nothing says"),
    ],
)
def test_all_others_are_an_error(response: Any, said: str) -> None:
    """It says what the response has instead."""
    with pytest.raises(NotEnforcedError, match=said):
        sg.assert_enforced(response)


def test_all_names_can_be_imported_without_torch_or_transformers() -> None:
    """`from structgen import *` needs no more than the core does."""
    code = (
        "import sys\n"
        "sys.modules.update(torch=None, transformers=None)\n"
        "from structgen import *\n"
        "import structgen\n"
        "assert all(name in globals() for name in structgen.__all__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
