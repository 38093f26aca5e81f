"""Values that nearly fit a schema, and odd spellings of values.

Most values are valid or miss by one step; whether they are is for an independent validator to say.
"""

from __future__ import annotations

import json
from decimal import Decimal
from random import Random
from typing import Any

from tests.helpers.schemas import HINTS, KEYS, NUMBERS, STRINGS, TYPES, Schema, parts_of, target_of

UUID = "2eb8aa08-aa98-11ea-b4aa-73b441d16380"
ADDRESSES = ["1.2.3.4", "1.2.3.256", "::1", "1::2::3"]
FORMATTED = [*ADDRESSES, "2024-02-29", "2023-02-29", UUID, UUID[1:]]


def any_value(rng: Random, depth: int = 2) -> Any:
    """A JSON value, small."""
    kind = rng.randrange(10)
    if depth and kind == 0:
        return [any_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if depth and kind <= 2:
        chosen = rng.sample(KEYS, rng.randrange(4))
        return {key: any_value(rng, depth - 1) for key in chosen}
    if kind <= 5:
        return rng.choice(STRINGS)
    return rng.choice(NUMBERS) if kind <= 7 else rng.choice([None, True, False])


def constants_of(schema: Schema) -> list[Any]:
    """The values that `enum` and `const` name anywhere in a schema."""
    found: list[Any] = []
    for part in parts_of(schema):
        listed = part.get("enum")
        found += listed if isinstance(listed, list) else []
        found += [part["const"]] if "const" in part else []
    return found


class Guide:
    """Makes values along one document."""

    def __init__(self, root: Schema, rng: Random) -> None:
        self.root = root
        self.rng = rng
        self.constants = constants_of(root)

    def value(self, schema: Schema | None = None, depth: int = 5) -> Any:
        """A value built along a subschema (the whole document by default): often valid."""
        rng = self.rng
        schema = self.root if schema is None else schema
        if not isinstance(schema, dict) or depth <= 0 or rng.random() < 0.03:
            return self.other()
        if "$ref" in schema and rng.random() < 0.8:
            return self.value(target_of(self.root, schema["$ref"]), depth - 1)
        if "const" in schema and rng.random() < 0.95:
            return schema["const"]
        if "enum" in schema and schema["enum"] and rng.random() < 0.95:
            return rng.choice(schema["enum"])
        return self._composed(schema, depth)

    def other(self) -> Any:
        """Some value, often a constant of the schema."""
        if self.constants and self.rng.random() < 0.4:
            return self.rng.choice(self.constants)
        return any_value(self.rng, 1)

    def _composed(self, schema: dict[str, Any], depth: int) -> Any:
        """A value along a schema's own keywords, or along one of its branches, or both."""
        rng = self.rng
        branches = [s for k in ("allOf", "anyOf", "oneOf") for s in schema.get(k, ())]
        branches += [schema[k] for k in ("then", "else", "if") if k in schema]
        if not branches or rng.random() < 0.35:
            return self._kind(schema, depth)
        value = self.value(rng.choice(branches), depth - 1)
        for other in schema.get("allOf", ()):
            more = self.value(other, depth - 1)
            if isinstance(value, dict) and isinstance(more, dict):
                value = more | value
        if isinstance(value, dict):
            return self._object(schema, depth) | value
        if isinstance(value, list) and rng.random() < 0.4:
            own = self._array(schema, depth)
            return [rng.choice(pair) for pair in zip(own, value, strict=False)] + own[len(value) :]
        return value

    def _kind(self, schema: dict[str, Any], depth: int) -> Any:
        rng = self.rng
        kinds = schema.get("type", TYPES)
        kind = kinds if isinstance(kinds, str) else rng.choice(kinds)
        if "type" not in schema and rng.random() < 0.85:
            hinted = [k for k, words in HINTS.items() if any(w in schema for w in words)]
            kind = rng.choice(hinted) if hinted else kind
        if kind == "null":
            return None
        if kind == "boolean":
            return rng.random() < 0.5
        if kind in ("integer", "number"):
            whole = [n for n in NUMBERS if n == int(n)]
            return rng.choice(whole if kind == "integer" else NUMBERS)
        if kind == "string":
            return rng.choice(FORMATTED if "format" in schema else STRINGS)
        return self._array(schema, depth) if kind == "array" else self._object(schema, depth)

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        rng = self.rng
        items = schema.get("items", True)
        listed = items if isinstance(items, list) else schema.get("prefixItems", [])
        tail = schema.get("additionalItems", True) if isinstance(items, list) else items
        tail = schema.get("unevaluatedItems", True) if tail is True else tail
        least, most = schema.get("minItems", 0), schema.get("maxItems", 4)
        size = rng.randint(min(least, most), max(least, most))
        children = [listed[i] if i < len(listed) else tail for i in range(size)]
        out = [self.value(child, depth - 1) for child in children]
        if "contains" in schema and out:
            for _ in range(rng.randint(1, max(schema.get("minContains", 1), 1))):
                out[rng.randrange(len(out))] = self.value(schema["contains"], depth - 1)
        if schema.get("uniqueItems") is True and rng.random() < 0.8:
            for i, child in enumerate(children):
                for _ in range(4):
                    if out[i] in out[:i]:
                        out[i] = self.value(child, depth - 1)
        elif len(out) > 1 and rng.random() < 0.2:
            out[rng.randrange(len(out))] = rng.choice(out)
        return out

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        rng = self.rng
        named = schema.get("properties", {})
        wanted = list(schema.get("required", []))
        wanted += [key for key in named if rng.random() < 0.6]
        wanted += rng.sample(KEYS, rng.randrange(3)) if rng.random() < 0.5 else []
        wanted += rng.sample(STRINGS, 1) if rng.random() < 0.15 else []
        needed = {**schema.get("dependentRequired", {}), **schema.get("dependencies", {})}
        for key in list(wanted):
            more = needed.get(key)
            wanted += more if isinstance(more, list) and rng.random() < 0.8 else []
        rest = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
        patterns = list(schema.get("patternProperties", {}).values())
        out = {}
        for key in dict.fromkeys(wanted):
            child = named.get(key, rest)
            if key not in named and patterns and rng.random() < 0.5:
                child = rng.choice(patterns)
            out[key] = self.value(child, depth - 1)
        for keyword in ("dependentSchemas", "dependencies"):
            for key, part in schema.get(keyword, {}).items():
                if key in out and isinstance(part, dict) and rng.random() < 0.8:
                    more = self.value(part, depth - 1)
                    out |= more if isinstance(more, dict) else {}
        if rng.random() < 0.3:
            keys = list(out)
            rng.shuffle(keys)
            out = {key: out[key] for key in keys}
        return out


def near_value(schema: Schema, rng: Random) -> Any:
    """A value built along a schema: often valid, never certain to be."""
    return Guide(schema, rng).value()


def mutated(value: Any, rng: Random) -> Any:
    """The value with one thing changed."""
    if isinstance(value, list) and rng.random() < 0.8:
        out = list(value)
        if out and rng.random() < 0.6:
            at = rng.randrange(len(out))
            out[at] = mutated(out[at], rng)
        elif out and rng.random() < 0.5:
            del out[rng.randrange(len(out))]
        else:
            out.insert(rng.randint(0, len(out)), rng.choice([*out, any_value(rng, 1)]))
        return out
    if isinstance(value, dict) and rng.random() < 0.8:
        members = dict(value)
        if members and rng.random() < 0.6:
            key = rng.choice(list(members))
            members[key] = mutated(members[key], rng)
        elif members and rng.random() < 0.5:
            del members[rng.choice(list(members))]
        else:
            members[rng.choice(KEYS + STRINGS)] = any_value(rng, 1)
        return members
    return any_value(rng, 1)


# -- spellings ----------------------------------------------------------------------------------


def spelt(value: Any, rng: Random, plain: bool = False) -> str:
    """A JSON text of the value; unless `plain`, with odd white space, escapes and numbers."""
    if plain:
        return json.dumps(value, ensure_ascii=rng.random() < 0.5)

    def space() -> str:
        return rng.choice(["", "", "", " ", "\n", "\t ", "\r\n"])

    def write(part: Any) -> str:
        if isinstance(part, str):
            return '"' + "".join(_spelt_char(char, rng) for char in part) + '"'
        if isinstance(part, list):
            return "[" + ",".join(f"{space()}{write(x)}{space()}" for x in part) + space() + "]"
        if isinstance(part, dict):
            members = (
                f"{space()}{write(k)}{space()}:{space()}{write(v)}{space()}"
                for k, v in part.items()
            )
            return "{" + ",".join(members) + space() + "}"
        if part is None or isinstance(part, bool):
            return json.dumps(part)
        return _spelt_number(part, rng)

    return space() + write(value) + space()


def _spelt_char(char: str, rng: Random) -> str:
    if char in '"\\' or rng.random() < 0.2:
        code = char.encode("utf-16-be").hex()
        text = "".join("\\u" + code[i : i + 4] for i in range(0, len(code), 4))
        text = text.upper().replace("\\U", "\\u") if rng.random() < 0.5 else text
        return "\\" + char if char in '"\\' and rng.random() < 0.5 else text
    return char


def _spelt_number(value: float, rng: Random) -> str:
    """Plain, with zeros after the point, or with an exponent and the point near the first digit."""
    plain = json.dumps(value)
    number = Decimal(plain)
    if len(number.as_tuple().digits) > 16:
        return plain  # JsonSchema takes no more digits before an exponent
    padded = plain + ("" if "e" in plain else "0" if "." in plain else ".00")
    first = number.adjusted()  # 10 ** first is the place of the first digit
    power = first + rng.randint(-2, 2)  # JsonSchema allows a shift of up to 3 places
    moved = f"{number.scaleb(-power):f}{rng.choice(['e', 'E', 'e+' if power >= 0 else 'e'])}{power}"
    signed = "-" + plain if value == 0 else plain
    return rng.choice([plain, plain, padded, moved, moved, signed])
