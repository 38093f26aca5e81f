"""The open clauses of an object by the keys that they are about."""

from __future__ import annotations

from structgen.schema.normal_form.clause_groups import Clauses
from structgen.schema.normal_form.expressions import Expr
from structgen.schema.normal_form.forms import Clause, ForAll

Allowed = dict[str | None, bool]  # by key: whether it may come next; None: a key no clause is about


class Omissions(dict[Clause, frozenset[str]]):
    """By clause, the optional keys that satisfy it by being left out (those of its `ForAll`)."""

    def __init__(self, required: frozenset[str]) -> None:
        super().__init__()
        self._required = required

    def __missing__(self, clause: Clause) -> frozenset[str]:
        keys = (x.keys for x in clause if isinstance(x, ForAll) and isinstance(x.keys, str))
        found = self[clause] = frozenset(key for key in keys if key not in self._required)
        return found


class ClauseIndex:
    """The open clauses of an object by the keys that they are about, with a cache of answers.

    by_pattern: clauses about languages of keys. need_member: clauses that leaving a key out does
    not satisfy. universal: the keys that a `ForAll` names. asked: by key, what clauses of one
    literal ask of the member that must come. allowed: by what has been read of these, what
    `QuickCheck.surely_allows` found out.
    """

    def __init__(self, clauses: Clauses, omissions: Omissions) -> None:
        self.by_key: dict[str, list[Clause]] = {}
        for clause in clauses:
            for key in clause.by_key:
                self.by_key.setdefault(key, []).append(clause)
        self.by_pattern = [clause for clause in clauses if clause.by_pattern]
        self.need_member = [clause for clause in clauses if not omissions[clause]]
        self.universal = {x.keys for c in clauses for x in c if isinstance(x, ForAll)}
        self.asked: dict[str, list[Expr]] = {}
        for clause in clauses:
            if len(clause) == 1 and isinstance(clause[0].keys, str) and not omissions[clause]:
                self.asked.setdefault(clause[0].keys, []).append(clause[0].child)
        self.allowed: dict[int | frozenset[str], Allowed] = {}
