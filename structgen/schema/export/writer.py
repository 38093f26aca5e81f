"""What the parts of an export share: its dialect, its losses, and how subschemas are written."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

from structgen.errors import SpecError
from structgen.schema.export.dialects import Loss, ProviderDialect
from structgen.schema.normal_form.expressions import Atom, Expr
from structgen.schema.report.cases import Cases, Effect, pointer_of
from structgen.schema.report.inspection import Inspection

Exported = dict[str, Any]


class Writer(ABC):
    """Writes subschemas of one schema in one dialect.

    losses: what has been lost, each once. null_if_absent: keys that need not be there and are
    written as required ones, with null for their absence.
    """

    def __init__(self, spec: Any, to: ProviderDialect) -> None:
        self.dialect = to
        self.inspection = Inspection(spec)
        for visit in self.inspection.visits:
            for problem in visit.problems.values():
                if isinstance(problem.error, SpecError):
                    raise problem.error
        self.schemas = self.inspection.schemas
        self.losses: dict[Loss, None] = {}
        self.null_if_absent: set[str] = set()
        self.cases = Cases(self.schemas, self.lose)
        self._optional = 0  # optional keys written so far

    @abstractmethod
    def write(self, expr: Expr, at: str) -> Exported | None:
        """The schema of an expression; None if nothing fits.

        at: where the original has it, for losses.
        """

    def lose(self, atom: Atom, keyword: str, effect: Effect, message: str, *path: str) -> None:
        """Note a loss at a keyword of a subschema, or at a path below it."""
        below = path or ((keyword,) if keyword in atom.value else ())
        self.losses[Loss(pointer_of(atom, *below), keyword, effect, message)] = None

    def beyond_limit(self, optional: list[str]) -> list[str]:
        """The optional keys of an object that exceed the limit of the dialect."""
        most = self.dialect.limits.optional
        room = len(optional) if most is None else max(most - self._optional, 0)
        self._optional += min(room, len(optional))
        return optional[room:]

    def union(self, branches: list[Exported]) -> Exported | None:
        """One schema for several, any of which may fit; None for none."""
        flat = [part for branch in branches for part in _parts(branch)]
        distinct = list({json.dumps(part, sort_keys=True): part for part in flat}.values())
        if len(distinct) < 2:
            return distinct[0] if distinct else None
        if not any(part == {"type": "null"} for part in distinct):
            return {"anyOf": distinct}
        others = [part for part in distinct if part != {"type": "null"}]
        if self.dialect.null == "nullable":
            joined = others[0] if len(others) == 1 else {"anyOf": others}
            return joined | {"nullable": True}
        only = others[0]
        plain = isinstance(only.get("type"), str) and not {"enum", "const"} & only.keys()
        if len(others) == 1 and plain:
            return only | {"type": [only["type"], "null"]}
        return {"anyOf": distinct}


def _parts(schema: Exported) -> list[Exported]:
    """The branches of a union, with null as one of its own; of another schema, itself."""
    if schema.keys() == {"anyOf"}:
        return [part for branch in schema["anyOf"] for part in _parts(branch)]
    null = {"type": "null"}
    if isinstance(schema.get("type"), list):
        name = next(name for name in schema["type"] if name != "null")
        return [schema | {"type": name}, null]
    if schema.get("nullable") is True:
        return [*_parts({k: v for k, v in schema.items() if k != "nullable"}), null]
    return [schema]
