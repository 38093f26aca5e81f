"""Lists the keywords that a JSON Schema uses at any depth, for tables by keyword."""

from __future__ import annotations

from typing import Any

# Keywords by what their values are: a schema, a list of schemas (or one), schemas by name.
ONE = frozenset(
    "additionalItems additionalProperties contains contentSchema else if items not propertyNames "
    "then unevaluatedItems unevaluatedProperties".split()
)
LISTS = frozenset("allOf anyOf oneOf prefixItems items".split())
NAMED = frozenset(
    "$defs definitions dependentSchemas dependencies patternProperties properties".split()
)
OTHER = frozenset(
    "$anchor $dynamicAnchor $dynamicRef $id $recursiveAnchor $recursiveRef $ref $schema "
    "$vocabulary const contentEncoding contentMediaType dependentRequired enum exclusiveMaximum "
    "exclusiveMinimum format id maxContains maxItems maxLength maxProperties maximum minContains "
    "minItems minLength minProperties minimum multipleOf pattern required type uniqueItems".split()
)
FORMATS = frozenset(
    "date date-time duration email hostname idn-email idn-hostname ipv4 ipv6 iri iri-reference "
    "json-pointer regex relative-json-pointer time uri uri-reference uri-template uuid".split()
)
KEYWORDS = ONE | LISTS | NAMED | OTHER


def features(schema: Any) -> list[str]:
    """Keywords in alphabetical order; each `format` with its name, as in "format: date".

    Formats that no specification names are "format: other".
    """
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict):
            continue
        found.update(KEYWORDS & part.keys())
        if isinstance(part.get("format"), str):
            name = part["format"]
            found.add(f"format: {name if name in FORMATS else 'other'}")
        for key, value in part.items():
            if key in NAMED and isinstance(value, dict):
                waiting += value.values()
            elif key in LISTS and isinstance(value, list):
                waiting += value
            elif key in ONE:
                waiting.append(value)
    return sorted(found)
