"""Small questions to the demo model on which masking goes wrong, with their right answers.

In each the model would rather write what the spec forbids, so masking takes the forbidden text's
first token and then goes on with what is left. The answer is what the text says within the spec.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import structgen as sg

FAMILIES = ("enum", "branch", "length", "arithmetic", "sql")

_CITIES = "Zurich Hamburg Lisbon Oslo Athens Bristol Madrid Prague Turin Dakar Cairo Perth".split()
_SHORT_CITIES = "Rome Oslo Bonn Graz Linz Lima Cork Nice Bern York".split()
_LONG_CITIES = "Copenhagen Hamburg Valencia Stockholm Helsinki Istanbul Santiago Nairobi".split()
_NAMES = "Nina Oscar Maria Lukas Clara Felix Hannah Jonas Laura Simon".split()
_THINGS = "lamps mugs chairs plates bottles pillows mirrors boxes towels baskets".split()
_LANGUAGES = "German Polish Turkish Japanese Spanish French".split()
_STATES = (
    ("open", "opening", "closed"),
    ("closed", "closeness", "open"),
    ("pending", "pendent", "open"),
)


@dataclass(frozen=True)
class Task:
    """A question to the model. `right`: the values (JSON, or the text itself) that answer it."""

    family: str
    name: str
    prompt: str
    spec: Any
    right: tuple[Any, ...]

    def is_right(self, text: str) -> bool:
        """Whether a text answers the question."""
        value = json.loads(text) if isinstance(self.spec, dict) or text.startswith("{") else text
        return value in self.right


def tasks(count: int, seed: int) -> list[Task]:
    """`count` tasks of each family."""
    made = []
    for family in FAMILIES:
        rng = random.Random(f"{family} {seed}")
        source = _SOURCES[family](rng)
        made += [next(source) for _ in range(count)]
    return made


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _ask(kind: str, text: str) -> str:
    return f"Extract the {kind} as JSON.\n\nText: {text}"


def _enum(rng: random.Random) -> Iterator[Task]:
    """The model's favourite is no member of the enum, but begins like a member that is wrong."""
    while True:
        first, second = rng.sample(_CITIES, 2)
        trap = first[:3] + "onto"
        yield Task(
            "enum",
            f"moved from {first} to {second}",
            _ask("person", f"{rng.choice(_NAMES)} moved from {first} to {second}."),
            _object(city={"enum": [trap, second]}),
            ({"city": second},),
        )
        one, two, three = rng.sample(_LANGUAGES, 3)
        yield Task(
            "enum",
            f"speaks {one}, {two} and {three}",
            _ask("person", f"{rng.choice(_NAMES)} speaks {one}, {two} and {three}."),
            _object(language={"enum": [one + "ic", two, three]}),
            ({"language": two}, {"language": three}),
        )
        was, trap, now = rng.choice(_STATES)
        yield Task(
            "enum",
            f"{was}, later {now}",
            _ask("ticket", f"Status: {was}, later {now}."),
            _object(status={"enum": [trap, now]}),
            ({"status": now},),
        )


def _branch(rng: random.Random) -> Iterator[Task]:
    """Two branches; the one that begins as the model would begin leads to long numbers."""
    while True:
        many, few = rng.randint(20, 90), rng.randint(2, 9)
        one, two = rng.sample(_THINGS, 2)
        lead = many // 10 * 1000
        yield Task(
            "branch",
            f"{many} {one} and {few} {two}",
            _ask("order", f"{rng.choice(_NAMES)} ordered {many} {one} and {few} {two}."),
            _object(
                quantity={
                    "anyOf": [
                        {"type": "integer", "minimum": lead, "maximum": lead + 999},
                        {"const": few},
                    ]
                }
            ),
            ({"quantity": few},),
        )


def _length(rng: random.Random) -> Iterator[Task]:
    """A string that is too short for the model's favourite."""
    while True:
        long, short = rng.choice(_LONG_CITIES), rng.choice(_SHORT_CITIES)
        yield Task(
            "length",
            f"moved from {long} to {short}",
            _ask("event", f"The concert was moved from {long} to {short}."),
            _object(city={"type": "string", "maxLength": 4}),
            ({"city": short},),
        )


_SUM = r"""
start: "{\"total\": \"" sum "\"}"
sum: NUMBER (" + " NUMBER)~1..3
NUMBER: /[0-9]{1,2}/
"""


def _arithmetic(rng: random.Random) -> Iterator[Task]:
    """A sum whose length and numbers the grammar limits."""
    spec = _lark(_SUM) or sg.Regex(r'\{"total": "[0-9]{1,2}( \+ [0-9]{1,2}){1,3}"\}')
    while True:
        numbers = [rng.randint(2, 60) for _ in range(rng.choice((2, 3)))]
        text = " + ".join(map(str, numbers))
        yield Task("arithmetic", text, _ask("data", f"Total: {text}"), spec, ({"total": text},))


_SQL = r"""
start: "SELECT " COLUMN " FROM person WHERE " COLUMN " = '" WORD "';"
COLUMN: "name" | "city" | "job"
WORD: /[A-Z][a-z]{1,11}/
"""


def _sql(rng: random.Random) -> Iterator[Task]:
    """Queries over a table; the demo model has never seen one."""
    spec = _lark(_SQL) or sg.Regex(
        r"SELECT (name|city|job) FROM person WHERE (name|city|job) = '[A-Z][a-z]{1,11}';"
    )
    while True:
        name = rng.choice(_NAMES)
        asked = rng.choice(("city", "job"))
        query = f"SELECT {asked} FROM person WHERE name = '{name}';"
        text = f"Query: SELECT {asked} FROM person WHERE name = '{name}'"
        yield Task("sql", f"{asked} of {name}", _ask("data", text), spec, (query,))


def _lark(text: str) -> Any:
    """The grammar, or None in a version of the library that reads none."""
    made = getattr(sg, "Lark", None)
    return None if made is None else made(text)


_SOURCES: dict[str, Callable[[random.Random], Iterator[Task]]] = {
    "enum": _enum,
    "branch": _branch,
    "length": _length,
    "arithmetic": _arithmetic,
    "sql": _sql,
}
