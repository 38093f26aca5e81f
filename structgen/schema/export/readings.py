"""Reads JSON texts that were written in a provider's dialect as texts of the original schema.

A dialect may want an object at the root, and every key required, so an export puts the value under
a key and lets null stand for keys that are absent. Here both are taken back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from structgen.schema.export.dialects import Loss
from structgen.schema.export.writer import Exported
from structgen.schema.values import dumps, loads


class Export(NamedTuple):
    """A schema in a provider's dialect.

    losses: what it does not demand as the original did. wrapper: the key under which the value
    stands, "" where it stands by itself. null_if_absent: keys that need not be there in the
    original and are required here, with null for their absence.
    """

    schema: Exported
    losses: tuple[Loss, ...]
    wrapper: str
    null_if_absent: frozenset[str]


def readings(text: str, export: Export) -> Iterator[str]:
    """The texts of the original schema that a text of an export may stand for, at least one.

    The first has every null, the second none at keys of `null_if_absent`. They are to be checked.
    """
    value = _unwrapped(text, export.wrapper) if export.wrapper else text
    yield value
    if export.null_if_absent:
        try:
            whole = loads(value, object_pairs_hook=lambda pairs: _present(pairs, export))
        except (ValueError, RecursionError):  # no JSON, or a key twice
            return
        yield dumps(whole, ensure_ascii=False)


def _unwrapped(text: str, key: str) -> str:
    """The text of the value under the only key of an object; of other text, itself."""
    before = re.match(rf'\s*\{{\s*"{key}"\s*:\s*', text)
    if before is None:
        return text
    try:
        _, end = json.JSONDecoder().raw_decode(text, before.end())
    except (ValueError, RecursionError):
        return text
    return text[before.end() : end] if re.fullmatch(r"\s*\}\s*", text[end:]) else text


def _present(pairs: list[tuple[str, Any]], export: Export) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    absent = export.null_if_absent
    return {key: value for key, value in pairs if value is not None or key not in absent}
