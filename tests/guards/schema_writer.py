"""Schemas drawn from a seed, of all keywords and five drafts, with the options to compile them.

Each is drawn with a generator of its own, so that more of them never change the others.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

KEYS = ["id", "name", "type", "tags", "size", "ab", "a", "é", "x-note", "created_at"]
WORDS = ["a", "ab", "red", "green", "blue", "", "é", "😀", 'say "hi"', "a\\b", "10", "null", "x\ny"]
PATTERNS = [
    "^[a-z]+$",
    "^[A-Z][a-z]*(-[a-z]+)*$",
    "^\\d{3}-\\d{4}$",
    "^(foo|bar)(baz)?$",
    "ab",
    "^a*b+$",
    "^\\w+\\.(js|ts)$",
    "^[^@\\s]+@[a-z]+\\.com$",
    "^.{2,5}$",
    "é|😀",
    "^(?!x)[a-z]{1,4}$",
    "\\d$",
    "^\\p{L}+$",
    "^(?:[ab]{2}){1,3}$",
]
KEY_PATTERNS = ["^x-", "^[a-z]+$", "_at$", "^.$", "a", "^(name|size)$"]
FORMATS = [
    "date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri",
    "uri-reference", "iri", "json-pointer", "relative-json-pointer", "regex", "uri-template",
    "idn-email", "unheard-of",
]  # fmt: skip
NUMBERS = [0, 1, -1, 2, 3, 5, 7, 10, 12, 42, 99, 100, 255, 1000, -5, -100, 0.5, 1.5, -2.5, 0.1, 1e3]
STEPS = [2, 3, 5, 7, 10, 0.5, 0.1, 0.25, 0.01, 1.5]
DIALECTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]


class Writer:
    """Writes one schema of one draft; `wild` also combines what hardly goes together."""

    def __init__(self, rng: Random, draft: int, wild: bool) -> None:
        self.rng, self.draft, self.wild = rng, draft, wild
        self.home = "$defs" if draft >= 2019 else "definitions"
        self.depth = rng.choice([1, 2, 2, 3])
        self.shared = rng.choice([0, 0, 1, 2])

    def document(self) -> dict[str, Any]:
        """The whole, with `$schema` and the shared schemas that it refers to."""
        shared = {f"d{i}": self.typed(1) for i in range(self.shared)}
        start = self.rng.choice(["object"] * 5 + ["array"] * 2 + ["string", "number", "any"])
        body = self.typed(self.depth, start)
        told = self.rng.random() < 0.7 or self.draft != 2020
        head: dict[str, Any] = {"$schema": DIALECTS[self.draft]} if told else {}
        return head | body | ({self.home: shared} if shared else {})

    def schema(self, depth: int) -> Any:
        """A subschema with at most `depth` levels of values below it."""
        roll = self.rng.random()
        if roll < 0.04:
            return True if self.draft > 4 else {}
        if self.shared and roll < 0.14:
            return {"$ref": f"#/{self.home}/d{self.rng.randrange(self.shared)}"}
        if depth and roll < 0.18:
            return {"$ref": "#"}
        return self.typed(depth)

    def typed(self, depth: int, kind: str = "") -> dict[str, Any]:
        """A schema that says something of one type, mostly naming it; sometimes a combination."""
        rng = self.rng
        if not kind:
            kinds = ["string", "string", "number", "boolean", "values", "values", "any"]
            kind = rng.choice(kinds + ["object", "object", "array"] * min(depth, 2))
        parts: dict[str, Callable[[int], dict[str, Any]]] = {
            "object": self.object,
            "array": self.array,
            "string": self.string,
            "number": self.number,
            "boolean": lambda _: {"type": rng.choice(["boolean", "null", ["boolean", "null"]])},
            "values": self.values,
            "any": self.combined,
        }
        out = parts[kind](depth)
        if kind in ("object", "array", "string") and rng.random() < (0.9 if not self.wild else 0.6):
            out = {"type": kind if rng.random() < 0.85 else [kind, "null"]} | out
        chance = 0.35 if self.wild else 0.1
        if kind in ("object", "array", "string", "number") and rng.random() < chance:
            out |= self.combined(max(depth - 1, 0))
        return out

    def _some(self, table: dict[str, Callable[[], Any]], most: int) -> dict[str, Any]:
        count = self.rng.randint(1, min(most, len(table)))
        return {name: table[name]() for name in self.rng.sample(list(table), count)}

    def _values_of(self, count: int) -> list[Any]:
        pool: list[Any] = [*WORDS, *NUMBERS[1:12], None, False, [1, 2], {"a": 1}, []]
        if self.rng.random() < 0.6:
            pool = list(WORDS)
        return self.rng.sample(pool, min(count, len(pool)))

    def values(self, _: int) -> dict[str, Any]:
        """`enum` or `const`."""
        if self.draft >= 6 and self.rng.random() < 0.3:
            return {"const": self._values_of(1)[0]}
        listed = self._values_of(self.rng.randint(1, 5))
        return {"enum": listed}

    def number(self, _: int) -> dict[str, Any]:
        """Bounds and steps of numbers."""
        rng = self.rng
        low, high = sorted(rng.sample(NUMBERS, 2))
        strict = self.draft > 4
        table: dict[str, Callable[[], Any]] = {
            "minimum": lambda: low,
            "maximum": lambda: high,
            "multipleOf": lambda: rng.choice(STEPS),
        }
        if strict:
            table |= {"exclusiveMinimum": lambda: low, "exclusiveMaximum": lambda: high}
        out: dict[str, Any] = {"type": rng.choice(["integer", "integer", "number"])}
        out |= self._some(table, 3) if rng.random() < 0.8 else {}
        if not strict and "minimum" in out and rng.random() < 0.5:
            out |= {"exclusiveMinimum": True}
        return out

    def string(self, _: int) -> dict[str, Any]:
        """Lengths, a pattern or a format."""
        rng = self.rng
        low = rng.randint(0, 4)
        table: dict[str, Callable[[], Any]] = {
            "minLength": lambda: low,
            "maxLength": lambda: low + rng.choice([0, 1, 3, 10, 60]),
            "pattern": lambda: rng.choice(PATTERNS),
        }
        roll = rng.random()
        if roll < 0.2:
            return {"type": "string"}
        if roll < 0.45:
            return {"format": rng.choice(FORMATS)}
        return self._some(table, 3 if self.wild else 2)

    def array(self, depth: int) -> dict[str, Any]:
        """Items by place or all alike, counts, `contains`, `uniqueItems`."""
        rng = self.rng
        low = rng.randint(0, 2)
        below = max(depth - 1, 0)
        listed = [self.schema(below) for _ in range(rng.randint(1, 3))]
        table: dict[str, Callable[[], Any]] = {
            "minItems": lambda: low,
            "maxItems": lambda: low + rng.randint(0, 3),
            "uniqueItems": lambda: True,
        }
        if self.draft >= 6:
            table["contains"] = lambda: self.schema(below)
        if self.draft >= 2019:
            table["unevaluatedItems"] = lambda: rng.choice([False, {"type": "integer"}])
        out = self._some(table, 3) if rng.random() < 0.8 else {}
        if "contains" in out and self.draft >= 2019 and rng.random() < 0.5:
            out |= rng.choice([{"minContains": 2}, {"maxContains": 1}, {"minContains": 0}])
        roll = rng.random()
        if roll < 0.35:
            out["prefixItems" if self.draft == 2020 else "items"] = listed
            if rng.random() < 0.5:
                others = "items" if self.draft == 2020 else "additionalItems"
                out[others] = rng.choice([False, self.schema(below)])
        elif roll < 0.9:
            out["items"] = self.schema(below)
        return out

    def object(self, depth: int) -> dict[str, Any]:
        """Properties by name, by pattern and all others; counts, dependencies, names."""
        rng = self.rng
        below = max(depth - 1, 0)
        keys = rng.sample(KEYS, rng.randint(1, 5))
        out: dict[str, Any] = {}
        if rng.random() < 0.9:
            out["properties"] = {key: self.schema(below) for key in keys}
        if rng.random() < 0.6:
            out["required"] = rng.sample(keys, rng.randint(1, min(3, len(keys))))
        if rng.random() < 0.45:
            out["additionalProperties"] = rng.choice([False, False, self.schema(below)])
        low = rng.randint(0, 2)
        table: dict[str, Callable[[], Any]] = {
            "patternProperties": lambda: {
                rng.choice(KEY_PATTERNS): self.schema(below) for _ in range(rng.randint(1, 2))
            },
            "minProperties": lambda: low,
            "maxProperties": lambda: low + len(keys),
        }
        pair = {keys[0]: [keys[-1]]}
        if self.draft >= 6:
            table["propertyNames"] = lambda: {"pattern": rng.choice(KEY_PATTERNS[1:])}
        if self.draft >= 2019:
            table["dependentRequired"] = lambda: pair
            table["dependentSchemas"] = lambda: {keys[0]: self.object(0)}
            table["unevaluatedProperties"] = lambda: rng.choice([False, self.schema(0)])
        else:
            table["dependencies"] = lambda: rng.choice([pair, {keys[0]: self.object(0)}])
        if rng.random() < (0.8 if self.wild else 0.35):
            out |= self._some(table, 2)
        return out

    def combined(self, depth: int) -> dict[str, Any]:
        """Alternatives, conjunctions, negations, conditions."""
        rng = self.rng

        def several() -> list[Any]:
            return [self.typed(depth) for _ in range(rng.randint(2, 3))]

        table: dict[str, Callable[[], dict[str, Any]]] = {
            "anyOf": lambda: {"anyOf": several()},
            "oneOf": lambda: {"oneOf": several()},
            "allOf": lambda: {"allOf": [self.typed(depth)]},
            "not": lambda: {"not": self.typed(0)},
        }
        if self.draft >= 7:
            table["if"] = lambda: {
                "if": self.typed(0),
                "then": self.typed(depth),
                "else": self.typed(depth),
            }
        return table[rng.choice(["anyOf", "anyOf", *table])]()


def drawn(number: int) -> tuple[dict[str, Any], dict[str, str]]:
    """The schema with that number, and the options that are given to `JsonSchema` beside it."""
    rng = Random(f"guard {number}")
    draft = rng.choice([2020, 2020, 2020, 2020, 2019, 7, 7, 7, 6, 4])
    schema = Writer(rng, draft, number % 3 == 0).document()
    options: dict[str, str] = {}
    if rng.random() < 0.3:
        options["property_order"] = "any"
    if rng.random() < 0.5:
        options["whitespace"] = rng.choice(["compact", "any", "any", "[ ]?"])
    if rng.random() < 0.1:
        options["formats"] = "annotate"
    if rng.random() < 0.1:
        options["spelling"] = rng.choice(["natural", "any"])
    if rng.random() < 0.05:
        options["surrogates"] = "allow"
    return schema, options
