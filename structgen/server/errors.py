"""What goes wrong with a request, in the form of OpenAI's errors, with the place of the culprit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException

from structgen.errors import (
    BudgetError,
    GrammarError,
    PatternError,
    StructgenError,
)

INVALID = "invalid_request_error"
FAILED = "server_error"


class ApiError(HTTPException):
    """A request that fails. An HTTPException, since FastAPI lets no other pass a request's body.

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
        super().__init__(status, message)
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


def of_failure(error: Exception) -> ApiError:
    """An error that nobody has raised on purpose; what it says is for the log."""
    text = f"the server failed: {type(error).__name__}"
    return ApiError(text, code="internal_error", status=500, kind=FAILED)


def of_problems(problems: Sequence[Any], given: Any, prefix: str = "") -> ApiError:
    """One of Pydantic's errors about what was given: an unknown field, else the deepest.

    (Where a field may be of several types, there are errors about each of them.)
    """
    found = [(problem, _steps(problem, given)) for problem in problems]
    first, steps = max(found, key=lambda pair: (_is_unknown(pair[0]), len(pair[1])))
    place = dotted(steps, prefix)
    if _is_unknown(first):
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


def _is_unknown(problem: Any) -> bool:
    return bool(problem["type"] == "extra_forbidden")


def _steps(problem: Any, given: Any) -> list[str | int]:
    """The keys and indices that lead to a problem in what was given.

    Pydantic's own place has the names of types, too, between them.
    """
    steps: list[str | int] = []
    for part in problem["loc"]:
        is_key = part in given if isinstance(given, dict) else False
        if is_key or (isinstance(given, list) and isinstance(part, int) and part < len(given)):
            steps.append(part)
            given = given[part]
    return [*steps, problem["loc"][-1]] if problem["type"] == "missing" else steps


def dotted(steps: Sequence[str | int], prefix: str = "") -> str:
    """A place in the request: `messages[0].content`."""
    text = prefix
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
