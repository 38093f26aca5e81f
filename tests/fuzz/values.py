"""Make more values and texts to judge: written, listed, garbled.

They come from other sources than `tests.helpers.values`, which builds values along the schema:
from the
constraint itself, from a list of all small values, and from texts with one character changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice, permutations, product
from random import Random
from typing import Any

import structgen as sg
from tests.helpers.schemas import Schema, parts_of
from tests.helpers.values import constants_of, mutated

LIKED = b' \n"\\{}[],:0123456789.-+eEabtfnul'  # bytes that a walk likes best
STRANGE = ['"', "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", "\\", "\ufeff", "\u00a0", "\x0b",
           "\x00", "nul", "//", "\\ud800"]  # fmt: skip


def written(constraint: sg.Constraint, rng: Random, steps: int = 25) -> Any:
    """The value of a text that random bytes begin and the shortest completion ends."""
    text, state = b"", constraint.start
    for _ in range(rng.randrange(steps)):
        allowed = sorted(constraint.allowed_bytes(state))
        if not allowed:
            break
        liked = [byte for byte in allowed if byte in LIKED]
        byte = rng.choice(liked if liked and rng.random() < 0.9 else allowed)
        text, state = text + bytes((byte,)), constraint.advance_bytes(state, bytes((byte,)))
    return json.loads(text + constraint.shortest_completion(state))


def small_values(schema: Schema, rng: Random, most: int = 150) -> list[Any]:
    """Values with at most three parts, made of what the schema names; a sample where many."""
    scalars = [c for c in constants_of(schema) if not isinstance(c, dict | list)]
    scalars = _distinct([*rng.sample(scalars, min(len(scalars), 3)), 0, 1, "a", None, False])
    named = (part.get("properties") for part in parts_of(schema))
    keys = _distinct([*(k for p in named if isinstance(p, dict) for k in p), "a", "b", "z"])[:4]
    parts = [*scalars, [], {}, [1], {"a": 1}]
    found: list[Any] = [*parts, *constants_of(schema)[:5]]
    few = rng.sample(parts, min(len(parts), 5))
    for size in (1, 2, 3):
        found += map(list, product(few, repeat=size))
        for chosen in product(keys, repeat=size):
            if len(set(chosen)) == size:
                values = rng.choices(parts, k=size)
                found.append(dict(zip(chosen, values, strict=True)))
    return rng.sample(found, min(len(found), most))


def _distinct(values: list[Any]) -> list[Any]:
    """The values, each once, booleans apart from numbers."""
    return list({json.dumps(value): value for value in values}.values())


def garbled(text: bytes, rng: Random) -> bytes:
    """A text with something put in, left out, or said twice; seldom JSON any more.

    Not where a number has an exponent: JsonSchema does not take all spellings of those.
    """
    shown = text.decode()
    if re.search(r"\d[eE]", shown):
        return text
    at = rng.randrange(len(shown) + 1)
    kind = rng.randrange(3)
    if kind == 0:
        return (shown[:at] + rng.choice(STRANGE) + shown[at:]).encode()
    if kind == 1:
        return (shown[:at] + shown[at + 1 :]).encode()
    end = min(len(shown), at + rng.randrange(1, 9))
    return (shown[:end] + shown[at:end] + shown[end:]).encode()


def more_texts(constraint: sg.Constraint, schema: Schema, rng: Random) -> Iterator[Any]:
    """Values that the constraint wrote, their neighbours, and now and then all small values."""
    for _ in range(2):
        value = written(constraint, rng)
        if "Infinity" not in json.dumps(value):  # a number that only exact readers can read
            yield from (value, mutated(value, rng))
    if rng.random() < 0.1:
        yield from small_values(schema, rng)


def reordered(value: Any, most: int = 200) -> list[str] | None:
    """Compact texts of a value with its keys in every order; None where there are too many."""
    texts = _orders(value, most + 1)
    return None if len(texts) > most else texts


def _orders(value: Any, most: int) -> list[str]:
    """At most so many of them, of a value and of each within it."""
    return list(islice(_all_orders(value, most), most))


def _all_orders(value: Any, most: int) -> Iterator[str]:
    if isinstance(value, list):
        for items in product(*(_orders(item, most) for item in value)):
            yield "[" + ",".join(items) + "]"
    elif isinstance(value, dict):
        children = {
            key: [f"{json.dumps(key, ensure_ascii=False)}:{x}" for x in _orders(child, most)]
            for key, child in value.items()
        }
        for keys in permutations(children):
            for members in product(*(children[key] for key in keys)):
                yield "{" + ",".join(members) + "}"
    else:
        yield json.dumps(value, ensure_ascii=False)
        if isinstance(value, float) and value.is_integer():
            yield json.dumps(int(value))  # as one would write it by hand
