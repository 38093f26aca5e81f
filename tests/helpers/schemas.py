"""Random schemas of any draft, of all keywords, the rare ones too.

Most are small, and speak of few keys, strings and numbers, so that keywords meet each other and
values come close. `schemas` is the same as a hypothesis strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.helpers.evaluation import same
from tests.helpers.oracle import DIALECTS

#: of tests that compile these schemas: some have keys that look misspelt, on purpose
MISSPELT_ON_PURPOSE = pytest.mark.filterwarnings(
    "ignore::structgen.errors.MisspeltKeywordWarning", "ignore::structgen.errors.NoKeywordWarning"
)

KEYS = ["a", "b", "c", "ab", "é"]
STRINGS = ["", "a", "b", "ab", "ba", "aab", "é", "a😀", '"', "\\", "1"]
NUMBERS = [0, 1, -1, 2, 3, 10, 1.5, -0.5, 0.25, 100, 1e3]
STEPS = [1, 2, 3, 0.5, 0.1, 1.5, 0.01]
SCALARS = [None, True, False, *NUMBERS[:6], 1.5, 1.0, *STRINGS[:6]]
PATTERNS = ["a", "^a", "b$", "^[ab]{1,2}$", "^a*$", "^(ab|ba)", "é|😀", "^.$", "^$"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
HINTS = {
    "array": ("items", "prefixItems", "minItems", "maxItems", "contains", "additionalItems",
              "uniqueItems", "unevaluatedItems"),
    "object": ("properties", "required", "minProperties", "patternProperties", "propertyNames",
               "additionalProperties", "dependentSchemas", "dependentRequired", "dependencies",
               "unevaluatedProperties"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "multipleOf"),
}  # fmt: skip
ANNOTATIONS = {"nullable": True, "x-note": {"type": "null"}, "contentSchema": {"type": "null"},
               "examples": [0], "default": {"$ref": "#"}, "Type": "a", "minimun": 3}  # fmt: skip
FORMATS = {"ipv4": 4, "ipv6": 4, "date": 7, "uuid": 2019}  # as jsonschema decides them, from draft

Schema = Any
Family = Callable[[int], dict[str, Any]]


class Writer:
    """Writes one document: its draft, where shared schemas live, and which keywords are drawn.

    hard: also `not`, `oneOf`, `if`, `contains`, `uniqueItems`, `unevaluated...`.
    """

    def __init__(self, rng: Random, draft: int, hard: bool = True, formats: bool = False) -> None:
        self.rng = rng
        self.draft = draft
        self.hard = hard
        self.formats = formats
        self.home = "$defs" if draft >= 2019 else "definitions"
        self.references: list[str] = [f"#/{self.home}/x"]
        self.taste = rng.choice(["plain", "logic", "unevaluated", "distinct", "references"])

    def document(self) -> Schema:
        """A whole schema, `$schema` and shared schemas included."""
        rng = self.rng
        shared: dict[str, Any] = {}
        if rng.random() < 0.3:
            self.references.append("#")
        if rng.random() < 0.25:
            self.references.append(f"#/{self.home}/y")
        if rng.random() < 0.2 and self.draft >= 6:
            self.references.append("#here")
        if rng.random() < 0.1:
            self.references.append("item.json")
        body = self.body(rng.choice([2, 4, 4, 8, 8, 14]), whole=True)
        if not isinstance(body, dict) or ("$ref" in body and self.draft < 2019):
            body = {"allOf": [body]}
        shared["x"] = self.body(3)
        if not isinstance(shared["x"], dict) and self.draft == 4:
            shared["x"] = {}
        if f"#/{self.home}/y" in self.references:
            shared["y"] = self.body(3)
        identity = "id" if self.draft == 4 else "$id"
        if "#here" in self.references:
            inner = {"$anchor": "here"} if self.draft >= 2019 else {identity: "#here"}
            shared["here"] = inner | self._plain_body(3)
        if "item.json" in self.references:
            self.references = ["#"]  # its own references are read from there
            shared["item"] = {identity: "item.json"} | self._plain_body(3)
        return {"$schema": DIALECTS[self.draft], **body, self.home: shared}

    def _plain_body(self, budget: int) -> dict[str, Any]:
        """A body that is an object and no lone reference, so that it may carry an identity."""
        body = self.body(budget)
        alone = isinstance(body, dict) and ("$ref" not in body or self.draft >= 2019)
        return body if alone else {}

    # -- subschemas -----------------------------------------------------------------------------

    def sub(self, budget: int) -> Schema:
        """A subschema; `budget` bounds the subschemas below it."""
        if budget <= 1 or self.rng.random() < 0.35:
            return self._leaf()
        return self.body(budget - 1)

    def subs(self, budget: int, most: int = 3) -> list[Schema]:
        """A list of subschemas."""
        count = self.rng.randint(1, most)
        return [self.sub(budget // count) for _ in range(count)]

    def _leaf(self) -> Schema:
        rng = self.rng
        roll = rng.random()
        if roll < 0.08:
            return True if self.draft > 4 else {}
        if roll < 0.14:
            return False if self.draft > 4 else {"not": {}}
        if roll < (0.35 if self.taste == "references" else 0.2):
            return {"$ref": rng.choice(self.references)}
        if roll < 0.5:
            return {"type": rng.choice(TYPES)}
        return self._some(self._scalar_families())

    def body(self, budget: int, whole: bool = False) -> Schema:
        """A schema of several keywords; `whole`: for values that are no scalars, too."""
        rng = self.rng
        families: list[Family] = [self._array, self._object, self._object, self._combined]
        if self.hard:
            families += [self._logic, self._array]
        if not whole and rng.random() < 0.2:
            return self._some(self._scalar_families())
        wanted = rng.sample(families, rng.choice([1, 1, 1, 2, 2, 3]))
        out: dict[str, Any] = {}
        for family in wanted:
            out |= self._pick(family(max(budget // len(wanted), 1)))
        if rng.random() < 0.12:
            out |= self._pick(rng.choice(self._scalar_families())(0))
        if rng.random() < 0.3:
            out["type"] = self._types(out)
        if rng.random() < (0.15 if self.taste == "references" else 0.05):
            out["$ref"] = rng.choice(self.references)
        if self.hard and self.draft >= 2019 and self._wants("unevaluated"):
            name = rng.choice(["unevaluatedProperties", "unevaluatedItems"])
            out[name] = rng.choice([False, self._leaf()])
        if self.hard and self._wants("distinct") and rng.random() < 0.7:
            out |= self._tight()
        if rng.random() < 0.05:
            name = rng.choice(sorted(ANNOTATIONS))
            out[name] = ANNOTATIONS[name]
        keys = list(out)
        rng.shuffle(keys)
        return {key: out[key] for key in keys}

    def _wants(self, taste: str) -> bool:
        return self.rng.random() < (0.6 if self.taste == taste else 0.08)

    def _some(self, families: list[Family]) -> dict[str, Any]:
        rng = self.rng
        out = self._pick(rng.choice(families)(0))
        if rng.random() < 0.3:
            out["type"] = self._types(out)
        return out or {"type": rng.choice(TYPES)}

    def _pick(self, family: dict[str, Any]) -> dict[str, Any]:
        """One to four keywords of a family; their values are made only now."""
        names = self.rng.sample(
            sorted(family), min(len(family), self.rng.choice([1, 1, 2, 2, 3, 4]))
        )
        out = {name: family[name]() for name in names}
        for strict, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if self.draft == 4 and strict in out and bound not in out:
                del out[strict]
        if "additionalItems" in out and "items" not in out and self.rng.random() < 0.8:
            out["items"] = self.subs(2)
        if ("minContains" in out or "maxContains" in out) and self.rng.random() < 0.9:
            out["contains"] = out.get("contains", self._leaf())
        if ("then" in out or "else" in out) and self.rng.random() < 0.9:
            out["if"] = out.get("if", self._leaf())
        return out

    # -- keywords -------------------------------------------------------------------------------

    def _scalar_families(self) -> list[Family]:
        return [self._type, self._values, self._values, self._numeric, self._strings]

    def _type(self, _: int) -> dict[str, Any]:
        return {"type": self._types}

    def _types(self, beside: dict[str, Any] | None = None) -> str | list[str]:
        """A type or several, mostly ones that the keywords beside them speak of."""
        rng = self.rng
        spoken = [kind for kind, words in HINTS.items() if any(w in (beside or {}) for w in words)]
        if spoken and rng.random() < 0.8:
            return rng.choice(spoken)
        return rng.sample(TYPES, rng.randint(1, 3)) if rng.random() < 0.4 else rng.choice(TYPES)

    def constant(self, depth: int = 2) -> Any:
        """A constant, sometimes nested."""
        rng = self.rng
        roll = rng.random()
        if depth and roll < 0.15:
            return [self.constant(depth - 1) for _ in range(rng.randrange(3))]
        if depth and roll < 0.3:
            return {k: self.constant(depth - 1) for k in rng.sample(KEYS[:3], rng.randrange(3))}
        return rng.choice(SCALARS)

    def _listed(self, most: int = 4) -> list[Any]:
        found: list[Any] = []
        for _ in range(self.rng.randint(1, most)):
            value = self.constant()
            if not any(same(value, other) for other in found):  # draft 4 demands it
                found.append(value)
        return found

    def _values(self, _: int) -> dict[str, Any]:
        if self.draft >= 6 and self.rng.random() < 0.4:
            return {"const": self.constant}
        return {"enum": self._listed}

    def _numeric(self, _: int) -> dict[str, Any]:
        rng = self.rng

        def number() -> Any:
            return rng.choice(NUMBERS)

        def strict() -> Any:
            return rng.random() < 0.5 if self.draft == 4 else number()

        return {
            "minimum": number,
            "maximum": number,
            "exclusiveMinimum": strict,
            "exclusiveMaximum": strict,
            "multipleOf": lambda: rng.choice(STEPS),
        }

    def _strings(self, _: int) -> dict[str, Any]:
        rng = self.rng
        out = {
            "minLength": self._count,
            "maxLength": self._count,
            "pattern": lambda: rng.choice(PATTERNS),
        }
        names = [name for name, first in FORMATS.items() if first <= self.draft]
        return out | ({"format": lambda: rng.choice(names)} if self.formats else {})

    def _count(self) -> int:
        return self.rng.choice([0, 1, 1, 2, 2, 3])

    def _array(self, budget: int) -> dict[str, Any]:
        rng = self.rng
        out: dict[str, Any] = {"minItems": self._count, "maxItems": self._count}
        if self.draft == 2020:
            out |= {"prefixItems": lambda: self.subs(budget)}
            out |= {"items": lambda: self.sub(budget)}
        else:
            out["items"] = lambda: self.subs(budget) if rng.random() < 0.5 else self.sub(budget)
            out["additionalItems"] = lambda: rng.choice([False, self.sub(budget)])
        if self.hard:
            out["uniqueItems"] = lambda: rng.random() < 0.8
        if self.hard and self.draft >= 6:
            out["contains"] = lambda: self.sub(budget)
        if self.hard and self.draft >= 2019:
            out |= {"minContains": self._count, "maxContains": self._count}
            out["unevaluatedItems"] = lambda: rng.choice([False, self.sub(budget)])
        return out

    def _tight(self) -> dict[str, Any]:
        """Items that must differ though few values are possible."""
        rng = self.rng
        few = [{"enum": self._listed(3)}, {"type": "boolean"}, {"type": ["null", "boolean"]},
               {"type": "integer", "minimum": 0, "maximum": 2}, {"type": "string", "maxLength": 0},
               {"type": "array", "maxItems": 1, "items": {"type": "boolean"}},
               {"type": "object", "maxProperties": 0}]  # fmt: skip
        out: dict[str, Any] = {"uniqueItems": True}
        listed = [rng.choice(few) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.5:
            out["prefixItems" if self.draft == 2020 else "items"] = listed
        if rng.random() < 0.6 and (self.draft == 2020 or "items" not in out):
            out["items"] = rng.choice(few)
        if rng.random() < 0.5:
            out["minItems"] = rng.randint(1, 4)
        if self.draft >= 6 and rng.random() < 0.3:
            out["contains"] = rng.choice(few)
            if self.draft >= 2019 and rng.random() < 0.6:
                out[rng.choice(["minContains", "maxContains"])] = rng.randint(0, 3)
        return out

    def _object(self, budget: int) -> dict[str, Any]:
        rng = self.rng

        def names() -> list[str]:
            return rng.sample(KEYS, rng.randint(1, 2))

        def keyed(keys: list[str]) -> Callable[[], dict[str, Any]]:
            return lambda: {
                key: self.sub(budget // 2) for key in rng.sample(keys, rng.randint(1, 3))
            }

        out: dict[str, Any] = {
            "properties": keyed(KEYS),
            "patternProperties": keyed(PATTERNS),
            "additionalProperties": lambda: rng.choice([False, self.sub(budget // 2)]),
            "required": names,
            "minProperties": self._count,
            "maxProperties": self._count,
        }
        if self.draft >= 6:
            out["propertyNames"] = lambda: self.sub(2)
        if self.draft < 2019:
            # all lists or all schemas: beside anchors, the referencing library (0.37) takes a list
            # for a schema where the first of them is one
            lists = rng.random() < 0.5
            out["dependencies"] = lambda: {
                key: names() if lists else self.sub(budget // 2) for key in names()
            }
            return out
        out["dependentRequired"] = lambda: {key: names() for key in names()}
        out["dependentSchemas"] = lambda: {key: self.sub(budget // 2) for key in names()}
        if self.hard:
            out["unevaluatedProperties"] = lambda: rng.choice([False, self.sub(budget // 2)])
        return out

    def _combined(self, budget: int) -> dict[str, Any]:
        out: dict[str, Any] = {
            "allOf": lambda: self.subs(budget),
            "anyOf": lambda: self.subs(budget),
        }
        return out | ({"oneOf": lambda: self.subs(budget)} if self.hard else {})

    def _logic(self, budget: int) -> dict[str, Any]:
        out: dict[str, Any] = {
            "not": lambda: self.sub(budget),
            "oneOf": lambda: self.subs(budget),
        }
        if self.draft >= 7:
            for name in ("if", "then", "else"):
                out[name] = lambda: self.sub(budget // 2)
        return out


def parts_of(schema: Schema) -> Iterator[dict[str, Any]]:
    """Every object in a schema, itself included."""
    todo = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            yield part
            todo += part.values()
        elif isinstance(part, list):
            todo += part


def target_of(root: Schema, reference: str) -> Schema:
    """The schema that a reference leads to; true where that is not plain to see."""
    target: Any = root
    if reference.startswith("#/"):
        for step in reference[2:].split("/"):
            target = target.get(step, True) if isinstance(target, dict) else True
        return target
    if reference == "#":
        return target
    return next((part for part in parts_of(root) if _answers(part, reference)), True)


def _answers(part: dict[str, Any], reference: str) -> bool:
    """Whether a reference names this schema by anchor or identity."""
    names = (part.get("$anchor"), part.get("$id"), part.get("id"))
    return reference in names or reference.removeprefix("#") == names[0]


def loops(root: Schema) -> bool:
    """Whether some subschema leads back to itself without entering a value."""
    done: set[int] = set()
    homes = _homes(root)

    def can_replay(part: Schema, open_: frozenset[int]) -> bool:
        if not isinstance(part, dict) or id(part) in done:
            return False
        if id(part) in open_:
            return True
        inside = open_ | {id(part)}
        found = any(can_replay(other, inside) for other in _beside(homes.get(id(part), root), part))
        done.add(id(part))
        return found

    return any(can_replay(part, frozenset()) for part in parts_of(root))


def _homes(root: Schema) -> dict[int, Schema]:
    """For each subschema below one with an identity of its own, that one."""
    embedded = (part for part in parts_of(root) if part is not root)
    named = (
        part for part in embedded if not str(part.get("$id", part.get("id", "#"))).startswith("#")
    )
    return {id(inner): part for part in named for inner in parts_of(part)}


def _beside(root: Schema, part: dict[str, Any]) -> Iterator[Schema]:
    """The subschemas that apply to the same value."""
    if isinstance(part.get("$ref"), str):
        yield target_of(root, part["$ref"])
    for keyword in ("not", "if", "then", "else"):
        yield part.get(keyword)
    for keyword in ("allOf", "anyOf", "oneOf"):
        listed = part.get(keyword)
        yield from listed if isinstance(listed, list) else ()
    for keyword in ("dependentSchemas", "dependencies"):
        named = part.get(keyword)
        yield from named.values() if isinstance(named, dict) else ()


def random_schema(rng: Random, draft: int, hard: bool = True, formats: bool = False) -> Schema:
    """A schema of a draft (4, 6, 7, 2019, 2020), `$schema` included; `hard` as for `Writer`.

    Few lead back to themselves without entering a value (`loops`).
    """
    for _ in range(20):
        schema = Writer(rng, draft, hard, formats).document()
        if not loops(schema):
            break
    return schema


def schemas(draft: int = 2020, hard: bool = False) -> st.SearchStrategy[Schema]:
    """The same as a strategy."""
    seeds = st.integers(0, 2**32)
    return seeds.map(lambda seed: random_schema(Random(seed), draft, hard))
