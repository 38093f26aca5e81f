"""How a server runs: where it listens, who may use it, and how much each of them may ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from structgen.errors import StructgenError

ToolLevel = Literal["strict", "names", "off"]

TOOL_LEVELS: tuple[ToolLevel, ...] = ("strict", "names", "off")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one key may ask for.

    concurrent: requests at the same time. max_tokens: of one text. choices: texts of one request.
    seconds: of one request, from its arrival to its last token. compile_seconds: of waiting for a
    spec. body_bytes: of a request. spec_bytes: of a spec's text. states: of one compiled spec,
    while texts are written. tools: how far calls of tools are enforced (see docs/serve.md).
    """

    concurrent: int = 256
    max_tokens: int = 4096
    choices: int = 16
    seconds: float = 600.0
    compile_seconds: float = 30.0
    body_bytes: int = 4 << 20
    spec_bytes: int = 1 << 20
    states: int = 1_000_000
    tools: ToolLevel = "strict"

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "tools":
                fine, expected = value in TOOL_LEVELS, " or ".join(TOOL_LEVELS)
            else:
                numbers = (int,) if type(item.default) is int else (int, float)
                fine = isinstance(value, numbers) and not isinstance(value, bool) and value > 0
                expected = "a whole number above 0" if numbers == (int,) else "a number above 0"
            if not fine:
                raise StructgenError(
                    f"the limit {item.name} is {value!r}", location=item.name, expected=expected
                )


@dataclass(frozen=True, slots=True, eq=False)
class Tenant:
    """Who has a key: a name for the metrics, which several may share, and the key's own limits."""

    name: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of a server.

    model_name: what clients call the model. keys: API keys and who has them; empty lets everybody
    in, who is then `everybody`. rows: texts written at the same time; others wait. compilers:
    threads that compile specs. waiting: requests that may wait for a row; more are refused.
    call_format: how the model writes calls of tools; None takes it from the chat template.
    reasoning: what the model writes before and behind its reasoning in a chat; None where it writes
    none.
    """

    model_name: str = "demo"
    keys: Mapping[str, Tenant] = field(default_factory=dict)
    everybody: Tenant = field(default_factory=lambda: Tenant("everybody", Limits()))
    rows: int = 64
    compilers: int = 2
    waiting: int = 1024
    call_format: str | None = None
    reasoning: tuple[str, str] | None = None


def read_keys(path: str, limits: Limits) -> dict[str, Tenant]:
    """The keys in a JSON file: {"KEY": {"name": ..., and limits that differ from `limits`}}.

    StructgenError for what is wrong in it, with the number of the key; OSError where it cannot be
    read.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise StructgenError(f"the file of keys is not JSON: {error}", location=path) from error
    if not isinstance(found, dict):
        raise StructgenError("the file of keys is no JSON object", location=path)
    return {
        key: _tenant(about, number, limits) for number, (key, about) in enumerate(found.items(), 1)
    }


def _tenant(about: Any, number: int, limits: Limits) -> Tenant:
    """Errors count the keys, since a key is a secret."""
    place = f"key {number}"
    if not isinstance(about, dict):
        raise StructgenError("a key has no JSON object", location=place)
    given = dict(about)
    name = given.pop("name", place)
    known = {item.name for item in fields(Limits)}
    for unknown in given.keys() - known:
        raise StructgenError(
            f"there is no limit {unknown!r}",
            location=place,
            expected="name, " + ", ".join(sorted(known)),
        )
    if not isinstance(name, str):
        raise StructgenError("the name of a key is no text", location=place)
    try:
        return Tenant(name, replace(limits, **given))
    except StructgenError as error:
        error.location = f"{place}, {error.location}"
        raise
