"""Schemas in documents of OpenAPI 3.0 and Swagger 2.0, which are of draft 4 but for `nullable`.

In OpenAPI 3.0 `nullable` adds null to the type beside it, and means nothing where there is none
(https://spec.openapis.org/oas/v3.0.3, section 4.7.24). From 3.1 on schemas are of draft 2020-12.
"""

from __future__ import annotations

from typing import Any

from structgen.errors import BudgetError

NULLABLE = "nullable"
_DATA = frozenset(("default", "enum", "example", "examples"))  # what is under these is no schema


def with_null(document: Any) -> Any:
    """A document of OpenAPI 3.0 with "null" in the types of what is nullable.

    Raises BudgetError for one that is nested too deeply.
    """
    try:
        return _with_null(document)
    except RecursionError as error:
        raise BudgetError("the document is nested too deeply") from error


def _with_null(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_null(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: _inside(key, each) for key, each in value.items()}
    if value.get(NULLABLE) is True and isinstance(value.get("type"), str):
        found["type"] = [value["type"], "null"]
        del found[NULLABLE]
    return found


def _inside(keyword: str, value: Any) -> Any:
    if keyword in _DATA or keyword.startswith("x-"):
        return value
    if keyword == "properties" and isinstance(value, dict):
        return {name: _with_null(schema) for name, schema in value.items()}
    return _with_null(value)
