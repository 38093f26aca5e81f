r"""Keywords for jsonschema that do what the standard says where the library does not.

The library (4.26) departs from the specifications in these places, and only here does the oracle
not follow it:

- `unevaluatedItems` in 2019-09: it counts what `contains` finds as evaluated, which is new in
  2020-12 (core 2020-12, 11.2 beside core 2019-09, 9.3.1.3), fails on `items: true`, and takes any
  `contains` for the items' own place in `$id`.
- `unevaluatedProperties` in 2019-09: it reads `additionalProperties` and `unevaluatedProperties`
  as if their keywords were names of properties (core 2019-09, 9.3.2.3 and 9.3.2.4).
- both: keys and items of a `dependentSchemas`, `$ref` or `then` that fails count as evaluated,
  though a failing schema has no annotations (core 2020-12, 7.7.1.2), and so does a key whose value
  fails `additionalProperties` in a branch that is then not valid.
- `additionalItems` beside a boolean `items`: it raises a TypeError (core 2019-09, 9.3.1.2: ignored
  where `items` is no array).
- `pattern` and `patternProperties`: it reads them as Python's `re` does, for which `$` also matches
  before a line break at the end, and `\d` and `\w` match beyond ASCII (ECMA-262, 22.2.2; validation
  2020-12, 6.3.3); `python_patterns` writes them so that `re` means the same.
- `uniqueItems`: it sorts the items and compares neighbours, and `[1]` and `[true]` sort as equal,
  so `[[1], [true], [1]]` passes (validation 2020-12, 6.4.3).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import jsonschema
import referencing.jsonschema

Errors = Iterator[jsonschema.ValidationError]
Keyword = Callable[[Any, Any, Any, Any], Errors]


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal; booleans are no numbers, and 1.0 is 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(a == b)


_NAMED = {"properties", "$defs", "definitions", "dependentSchemas", "dependencies"}


def python_patterns(schema: Any) -> Any:
    """The schema with its patterns written so that Python's `re` means what ECMA-262 does."""
    if isinstance(schema, list):
        return [python_patterns(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for keyword, value in schema.items():
        if keyword in {"enum", "const", "default", "examples"}:
            out[keyword] = value
        elif keyword == "pattern" and isinstance(value, str):
            out[keyword] = _python_pattern(value)
        elif keyword in _NAMED and isinstance(value, dict):  # whose keys are names, no keywords
            out[keyword] = {name: python_patterns(part) for name, part in value.items()}
        elif keyword == "patternProperties" and isinstance(value, dict):
            out[keyword] = {_python_pattern(k): python_patterns(v) for k, v in value.items()}
        else:
            out[keyword] = python_patterns(value)
    return out


def _python_pattern(pattern: str) -> str:
    r"""`$` outside classes as `\Z`, and classes of ASCII characters only."""
    out, in_class, escaped = "", False, False
    for char in pattern:
        if not escaped and char in "[]":
            in_class = char == "["
        out += r"\Z" if char == "$" and not escaped and not in_class else char
        escaped = char == "\\" and not escaped
    return f"(?a:{out})"


def _unique_items(validator: Any, wanted: bool, value: Any, _: Any) -> Errors:
    asked = wanted and validator.is_type(value, "array")
    if asked and any(same(a, b) for a, b in combinations(value, 2)):
        yield jsonschema.ValidationError("two items are equal")


def _additional_items(validator: Any, schema: Any, value: Any, parent: Any) -> Errors:
    items = parent.get("items")
    if validator.is_type(value, "array") and isinstance(items, list):
        for index, item in enumerate(value[len(items) :], start=len(items)):
            yield from validator.descend(item, schema, path=index)


def _unevaluated_properties(validator: Any, schema: Any, value: Any, parent: Any) -> Errors:
    if validator.is_type(value, "object"):
        seen = _evaluated(validator, value, parent, own=True)
        for key in value.keys() - seen:
            yield from validator.descend(value[key], schema, path=key)


def _unevaluated_items(validator: Any, schema: Any, value: Any, parent: Any) -> Errors:
    if validator.is_type(value, "array"):
        seen = _evaluated(validator, value, parent, own=True)
        for index in set(range(len(value))) - seen:
            yield from validator.descend(value[index], schema, path=index)


def _places(value: Any) -> set[Any]:
    return set(value) if isinstance(value, dict) else set(range(len(value)))


def _evaluated(validator: Any, value: Any, schema: Any, own: bool = False) -> set[Any]:
    """The keys or indexes of a value that a schema which it fits evaluates.

    own: without what the `unevaluated...` of this very schema would evaluate.
    """
    if not isinstance(schema, dict):
        return set()
    unevaluated = "unevaluatedProperties" if isinstance(value, dict) else "unevaluatedItems"
    if not own and unevaluated in schema:
        return _places(value)
    direct = _of_members if isinstance(value, dict) else _of_items
    found = direct(validator, value, schema)
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema:
            target = validator._resolver.lookup(schema[keyword])
            inside = validator.evolve(schema=target.contents, _resolver=target.resolver)
            found |= _of_part(inside, value)
    if "$recursiveRef" in schema:
        target = referencing.jsonschema.lookup_recursive_ref(validator._resolver)
        inside = validator.evolve(schema=target.contents, _resolver=target.resolver)
        found |= _of_part(inside, value)
    parts = [part for keyword in ("allOf", "anyOf", "oneOf") for part in schema.get(keyword, ())]
    if "if" in schema:
        holds = _inside(validator, schema["if"]).is_valid(value)
        parts += [schema["if"]] if holds else []
        chosen = "then" if holds else "else"
        parts += [schema[chosen]] if chosen in schema else []
    if isinstance(value, dict):
        dependent = schema.get("dependentSchemas", {})
        parts += [part for key, part in dependent.items() if key in value]
    for part in parts:
        found |= _of_part(_inside(validator, part), value)
    return found


def _inside(validator: Any, schema: Any) -> Any:
    """The validator of a subschema, references read from its own `$id`."""
    resource = referencing.jsonschema.DRAFT202012.create_resource(schema)
    resolver = validator._resolver.in_subresource(resource)
    return validator.evolve(schema=schema, _resolver=resolver)


def _of_part(validator: Any, value: Any) -> set[Any]:
    """What a subschema evaluates: nothing unless the value fits it."""
    if not validator.is_valid(value):
        return set()
    return _evaluated(validator, value, validator.schema)


def _of_members(_validator: Any, value: Any, schema: Any) -> set[Any]:
    if "additionalProperties" in schema:
        return set(value)
    matching: dict[str, bool] = schema.get("patternProperties", {})
    named = schema.get("properties", {})
    return {key for key in value if key in named or any(re.search(p, key) for p in matching)}


def _of_items(validator: Any, value: Any, schema: Any) -> set[Any]:
    items = schema.get("items")
    latest = validator.META_SCHEMA["$id"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    closing = "additionalItems" if isinstance(items, list) else "items"
    if closing in schema:
        return _places(value)
    prefix = items if isinstance(items, list) else schema.get("prefixItems", []) if latest else []
    found = set(range(min(len(prefix), len(value))))
    if latest and "contains" in schema:
        inside = _inside(validator, schema["contains"])
        found |= {index for index, item in enumerate(value) if inside.is_valid(item)}
    return found


KEYWORDS: dict[str, Keyword] = {
    "uniqueItems": _unique_items,
    "additionalItems": _additional_items,
    "unevaluatedItems": _unevaluated_items,
    "unevaluatedProperties": _unevaluated_properties,
}


def corrected(keywords: dict[str, Any]) -> dict[str, Keyword]:
    """The keywords above that are among `keywords`, those of a draft."""
    return {name: function for name, function in KEYWORDS.items() if name in keywords}
