"""In: a draft. Out: strategies for its schemas, near-valid values, odd spellings.

Values come from a schema and a `Random`, so that most are valid or miss by one step; whether they
are is for an independent validator to say.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.oracle import DIALECTS

KEYS = ["a", "b", "c", "ab", "é"]
STRINGS = ["", "a", "b", "ab", "ba", "aab", "é", "a😀", '"', "\\", "1"]
NUMBERS = [0, 1, -1, 2, 3, 10, 1.5, -0.5, 0.25, 100, 1e3]
SCALARS = [None, True, False, *NUMBERS[:6], 1.5, *STRINGS[:6]]
PATTERNS = ["a", "^a", "b$", "^[ab]{1,2}$", "^a*$", "^(ab|ba)", "é|😀", "^.$", "^$"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]

Schema = Any


def _subset(options: dict[str, st.SearchStrategy[Any]], most: int) -> st.SearchStrategy[Any]:
    """Objects with at most `most` of the keys, in any order."""
    names = st.lists(st.sampled_from(sorted(options)), max_size=most, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({n: options[n] for n in chosen}))


counts = st.integers(0, 3)
scalars = st.sampled_from(SCALARS)
numbers = st.sampled_from(NUMBERS)
constants = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS[:3]), inner, max_size=2)
    ),
    max_leaves=4,
)


def _numeric(draft: int) -> dict[str, st.SearchStrategy[Any]]:
    strict = st.booleans() if draft == 4 else numbers
    return {
        "minimum": numbers,
        "maximum": numbers,
        "exclusiveMinimum": strict,
        "exclusiveMaximum": strict,
        "multipleOf": st.sampled_from([1, 2, 3, 0.5, 0.1, 1.5]),
    }


def _array(draft: int, sub: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    listed = st.lists(sub, min_size=1, max_size=3)
    out: dict[str, st.SearchStrategy[Any]] = {"minItems": counts, "maxItems": counts}
    if draft == 2020:
        return out | {"items": sub, "prefixItems": listed}
    closed = sub if draft > 4 else sub | st.booleans()
    # `additionalItems` beside `items: false` makes the jsonschema library raise a TypeError
    items = sub.filter(lambda schema: isinstance(schema, dict))
    return out | {"items": items | listed, "additionalItems": closed}


def _object(draft: int, sub: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    keys = st.sampled_from(KEYS)
    names = st.lists(keys, min_size=1, max_size=2, unique=True)
    rest = sub | st.just(False)
    out: dict[str, st.SearchStrategy[Any]] = {
        "properties": st.dictionaries(keys, sub, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), sub, max_size=2),
        "additionalProperties": rest,
        "required": names,
        "minProperties": counts,
        "maxProperties": counts,
    }
    if draft >= 6:
        out["propertyNames"] = sub
    if draft < 2019:
        out["dependencies"] = st.dictionaries(keys, sub | names, max_size=2)
    else:
        out["dependentRequired"] = st.dictionaries(keys, names, max_size=2)
        out["dependentSchemas"] = st.dictionaries(keys, sub, max_size=2)
    return out


def _combined(draft: int, sub: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    listed = st.lists(sub, min_size=1, max_size=3)
    return {"allOf": listed, "anyOf": listed, "oneOf": listed}


def _hard(draft: int, sub: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    """What not every version enforces: refused, or exact."""
    out = {"not": sub, "uniqueItems": st.booleans()}
    if draft >= 6:
        out["contains"] = sub
    if draft >= 7:
        out |= {"if": sub, "then": sub, "else": sub}
    if draft >= 2019:
        out |= {"minContains": counts, "maxContains": counts}
        out |= {"unevaluatedItems": sub, "unevaluatedProperties": sub}
    return out


def _bodies(draft: int, sub: st.SearchStrategy[Any], hard: bool) -> st.SearchStrategy[Any]:
    """Objects that are schemas, of which `sub` are the subschemas."""
    several = st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True)
    types = {"type": st.sampled_from(TYPES) | several}
    values: dict[str, st.SearchStrategy[Any]] = {
        "enum": st.lists(constants, min_size=1, max_size=4)
    }
    if draft >= 6:
        values["const"] = constants
    strings = {"minLength": counts, "maxLength": counts, "pattern": st.sampled_from(PATTERNS)}
    array, object_, combined = _array(draft, sub), _object(draft, sub), _combined(draft, sub)
    kinds = [
        st.fixed_dictionaries(types),
        _subset(values, 1),
        _subset(_numeric(draft) | types, 3).filter(lambda s: _draft4_bounds(draft, s)),
        _subset(strings | types, 3),
        _subset(array | types, 3),
        _subset(object_ | types, 4),
        _subset(object_ | {"type": st.just("object")}, 4),
        _subset(combined | types, 2),
        _subset(combined | array | object_, 4),
    ]
    if hard:
        kinds.append(_subset(_hard(draft, sub) | array | object_ | types, 3))
        kinds.append(_subset(_hard(draft, sub), 3))
    return st.one_of(kinds)


def _draft4_bounds(draft: int, schema: dict[str, Any]) -> bool:
    pairs = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
    return draft != 4 or all(b in schema for a, b in pairs if a in schema)


def schemas(draft: int = 2020, hard: bool = False) -> st.SearchStrategy[Schema]:
    """Schemas of a draft (4, 6, 7, 2019, 2020), `$schema` included, some of them recursive.

    hard: with `not`, `if`, `contains`, `uniqueItems` and `unevaluated...` too.
    """
    home = "$defs" if draft >= 2019 else "definitions"
    leaves: st.SearchStrategy[Any] = st.sampled_from(
        [{"$ref": f"#/{home}/x"}, {"type": "integer"}, {}]
    )
    leaves |= st.sampled_from(TYPES).map(lambda t: {"type": t})
    if draft > 4:
        leaves |= st.booleans()
    inner = st.recursive(leaves, lambda sub: _bodies(draft, sub, hard), max_leaves=8)

    def whole(parts: tuple[Any, Any]) -> Any:
        body, shared = parts
        body = body if isinstance(body, dict) else {"allOf": [body]}
        wrapped = body if "$ref" not in body or draft >= 2019 else {"allOf": [body]}
        return {"$schema": DIALECTS[draft], **wrapped, home: {"x": shared}}

    return st.tuples(_bodies(draft, inner, hard), _bodies(draft, inner, hard)).map(whole)


# -- values -------------------------------------------------------------------------------------


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


def near_value(schema: Schema, root: Schema, rng: Random, depth: int = 5) -> Any:
    """A value built along a schema: often valid, never certain to be."""
    if not isinstance(schema, dict) or depth <= 0:
        return any_value(rng, 1)
    if "$ref" in schema and rng.random() < 0.9:
        home, name = schema["$ref"].split("/")[1:]
        return near_value(root[home][name], root, rng, depth - 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    branches = [s for k in ("allOf", "anyOf", "oneOf") for s in schema.get(k, ())]
    branches += [schema[k] for k in ("then", "else", "if") if k in schema]
    whole = schema.get("allOf", ())
    if branches and rng.random() < 0.6:
        value = near_value(rng.choice(branches), root, rng, depth - 1)
        for other in whole:
            more = near_value(other, root, rng, depth - 1)
            if isinstance(value, dict) and isinstance(more, dict):
                value = more | value
        if not isinstance(value, dict):
            return value
        own = _near_object(schema, root, rng, depth)
        return own | value
    return _near_kind(schema, root, rng, depth)


def _near_kind(schema: Schema, root: Schema, rng: Random, depth: int) -> Any:
    kinds = schema.get("type", TYPES)
    kind = kinds if isinstance(kinds, str) else rng.choice(kinds)
    hints = {"array": ("items", "prefixItems", "minItems", "contains", "additionalItems"),
             "object": ("properties", "required", "minProperties", "patternProperties",
                        "propertyNames", "additionalProperties"),
             "string": ("pattern", "minLength", "maxLength")}  # fmt: skip
    if "type" not in schema and rng.random() < 0.8:
        hinted = [k for k, words in hints.items() if any(w in schema for w in words)]
        kind = rng.choice(hinted) if hinted else kind
    if kind == "null":
        return None
    if kind == "boolean":
        return rng.random() < 0.5
    if kind in ("integer", "number"):
        whole = [n for n in NUMBERS if n == int(n)]
        return rng.choice(whole if kind == "integer" else NUMBERS)
    if kind == "string":
        return rng.choice(STRINGS)
    if kind == "array":
        return _near_array(schema, root, rng, depth)
    return _near_object(schema, root, rng, depth)


def _near_array(schema: Schema, root: Schema, rng: Random, depth: int) -> list[Any]:
    items = schema.get("items", True)
    listed = items if isinstance(items, list) else schema.get("prefixItems", [])
    tail = schema.get("additionalItems", True) if isinstance(items, list) else items
    least, most = schema.get("minItems", 0), schema.get("maxItems", 3)
    size = rng.randint(min(least, most), max(least, most))
    out = [
        near_value(listed[i] if i < len(listed) else tail, root, rng, depth - 1)
        for i in range(size)
    ]
    if "contains" in schema and out:
        out[rng.randrange(len(out))] = near_value(schema["contains"], root, rng, depth - 1)
    return out


def _near_object(schema: Schema, root: Schema, rng: Random, depth: int) -> dict[str, Any]:
    named = schema.get("properties", {})
    wanted = list(schema.get("required", []))
    wanted += [key for key in named if rng.random() < 0.6]
    wanted += rng.sample(KEYS, rng.randrange(3)) if rng.random() < 0.5 else []
    wanted += rng.sample(STRINGS, 1) if rng.random() < 0.15 else []
    rest = schema.get("additionalProperties", True)
    out = {}
    for key in dict.fromkeys(wanted):
        child = named.get(key, rest)
        if key not in named and schema.get("patternProperties") and rng.random() < 0.5:
            child = rng.choice(list(schema["patternProperties"].values()))
        out[key] = near_value(child, root, rng, depth - 1)
    if rng.random() < 0.3:
        keys = list(out)
        rng.shuffle(keys)
        out = {key: out[key] for key in keys}
    return out


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

    text = space() + write(value) + space()
    return text if "[ ]" not in text or rng.random() < 0.5 else text.replace("[ ]", "[]")


def _spelt_char(char: str, rng: Random) -> str:
    if char in '"\\' or rng.random() < 0.2:
        code = char.encode("utf-16-be").hex()
        text = "".join("\\u" + code[i : i + 4] for i in range(0, len(code), 4))
        text = text.upper().replace("\\U", "\\u") if rng.random() < 0.5 else text
        return "\\" + char if char in '"\\' and rng.random() < 0.5 else text
    return char


def _spelt_number(value: float, rng: Random) -> str:
    """Plain, with zeros after the point, or scientific with one digit other than 0 before it."""
    plain = json.dumps(value)
    digits, _, exponent = f"{value:.3e}".partition("e")
    power = int(exponent)
    scientific = [f"{digits}e{power}", f"{digits}E{power:+03d}"]
    return rng.choice([plain, plain, plain + "0" if "." in plain else plain + ".00", *scientific])
