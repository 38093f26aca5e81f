"""The keywords for arrays: what each one adds to the normal form of a subschema."""

from __future__ import annotations

from typing import Any

from structgen.errors import SpecError
from structgen.schema.keywords.subschema import Subschema
from structgen.schema.normal_form.alternatives import conjoin_arrays
from structgen.schema.normal_form.expressions import TRUE, Expr
from structgen.schema.normal_form.forms import ANY_ARRAY, ArrayAlt, Contains
from structgen.schema.normal_form.logic import array_containing


def array(s: Subschema) -> None:
    """`prefixItems`, `items`, `additionalItems`, `minItems`, `maxItems`: one array alternative."""
    prefix: list[Any] = []
    tail: Expr = TRUE
    items = s.get("items")
    if isinstance(items, list):
        if s.draft >= 2020:
            raise SpecError(
                "'items' is an array of schemas",
                location=s.at("items"),
                expected="one schema in draft 2020-12",
                hint="rename it to 'prefixItems', or state an older '$schema'",
            )
        prefix = [s.child(x, "items", i) for i, x in enumerate(items)]
        if "additionalItems" in s.schema:
            tail = s.child(s.schema["additionalItems"], "additionalItems")
    else:
        if s.draft >= 2020 and "prefixItems" in s.schema:
            listed = s.listed("prefixItems")
            prefix = [s.child(x, "prefixItems", i) for i, x in enumerate(listed)]
        if "items" in s.schema:
            tail = s.child(items, "items")
    lists = ((tuple(prefix), tail),) if prefix or tail is not TRUE else ()
    least, most = s.count("minItems") or 0, s.count("maxItems")
    seen: int | None = 0
    if s.schemas.tracks_evaluation:
        closed = "additionalItems" if isinstance(items, list) else "items"
        seen = None if closed in s.schema else len(prefix)
    possible = most is None or least <= most
    s.only(arrays=(ArrayAlt(lists, least, most, evaluated=seen),) if possible else ())


def contains(s: Subschema) -> None:
    """`contains`, `minContains`, `maxContains`: how many items fit a schema.

    In draft 2020-12 the items that fit count as evaluated.
    """
    if "contains" not in s.schema:
        return
    child = s.child(s.schema["contains"], "contains")
    least, most = 1, None
    if s.draft >= 2019:
        least = 1 if "minContains" not in s.schema else s.count("minContains") or 0
        most = s.count("maxContains")
    evaluates = s.schemas.tracks_evaluation and s.draft >= 2020
    found = ArrayAlt(evaluated_where=(child,)) if evaluates else ANY_ARRAY
    if most is not None and least > most:
        s.only(arrays=())
        return
    if least or most is not None:
        wanted = array_containing(Contains(child, 0, least, most), s.schemas.negation)
        merged = conjoin_arrays(found, wanted)
        s.only(arrays=() if merged is None else (merged,))
    elif found is not ANY_ARRAY:
        s.only(arrays=(found,))


def unique_items(s: Subschema) -> None:
    """`uniqueItems`: no two items are equal, as JSON values."""
    if not isinstance(s.schema["uniqueItems"], bool):
        raise s.broken("uniqueItems", "true or false")
    if s.schema["uniqueItems"]:
        s.only(arrays=(ArrayAlt(unique=True),))
