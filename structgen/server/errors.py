"""What goes wrong with a request, in the form of OpenAI's errors, with the place of the culprit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from structgen.errors import (
    BudgetError,
    GrammarError,
    PatternError,
    StructgenError,
)

INVALID = "invalid_request_error"


class ApiError(Exception):
    """A request that fails.

    Attributes: `status`; `message`; `kind`, OpenAI's `type`; `param`, the field of the request;
    `code`; `more`, such as `location`, the JSON Pointer or line in the spec.
    """

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str = "invalid_value",
        status: int = 400,
        kind: str = INVALID,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code
        self.status = status
        self.kind = kind
        self.more = dict(more or {})

    def body(self) -> dict[str, Any]:
        """The error as OpenAI's clients read it."""
        found = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": {**found, **self.more}}


def of_structgen(error: StructgenError, param: str | None) -> ApiError:
    """An error of structgen as one of the request's field `param`.

    What compiling refuses is the client's to mend, and so is a prompt that does not fit the model.
    """
    more: dict[str, Any] = {
        name: value for name in ("location", "expected", "hint") if (value := getattr(error, name))
    }
    if isinstance(error, GrammarError):
        more |= {"line": error.line, "column": error.column, "rule": error.rule}
    if isinstance(error, PatternError):
        more |= {"position": error.position}
    if isinstance(error, BudgetError):
        more.setdefault("hint", "make the spec smaller, or ask for less of it")
    return ApiError(str(error), param=param, code=error.kind, more=more)


def of_problems(problems: Sequence[Any], prefix: str = "") -> ApiError:
    """The first of Pydantic's errors; what is unknown is said before what is missing."""
    first = min(problems, key=lambda problem: problem["type"] != "extra_forbidden")
    place = prefix + dotted(first["loc"])
    if first["type"] == "extra_forbidden":
        return ApiError(
            f"there is no field {place!r} here; nothing is ignored, so the request is refused",
            param=place,
            code="unknown_field",
        )
    if first["type"] == "json_invalid":
        return ApiError(f"the request is not JSON: {first['ctx']['error']}", code="invalid_json")
    message = f"{place or 'the request'}: {first['msg']}"
    code = "missing_field" if first["type"] == "missing" else "invalid_value"
    return ApiError(message, param=place or None, code=code)


def dotted(parts: Sequence[str | int]) -> str:
    """A place in the request: `messages[0].content`. Names of union members are left out."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.isidentifier() and part not in {"body", "str", "dict", "list", "int", "float"}:
            text += f".{part}" if text else part
    return text
