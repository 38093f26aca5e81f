"""A conjunction of clauses, and the groups in it that share no keys.

How the clauses of a group are satisfied is of no matter for others, unless members are counted. A
member changes only the groups that are about its key, so those of what is left are found from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from structgen.schema.normal_form.forms import Clause, is_pattern_exists
from structgen.util.cached import CachedHash, cached_attribute


class Clauses(CachedHash, tuple[Clause, ...]):  # noqa: SLOT001  has a dictionary
    """A conjunction of clauses: all must hold."""

    #: what it was before a change, if the groups of that are known, and the clauses that changed
    _origin: tuple[Clauses, tuple[Clause, ...]] | None = None

    @cached_attribute
    def names(self) -> frozenset[str]:
        """The keys that they name."""
        return frozenset([key for clause in self for key in clause.by_key])

    @cached_attribute
    def are_about_names_only(self) -> bool:
        """Whether none has an `Exists` about a language of keys."""
        return not any(is_pattern_exists(literal) for clause in self for literal in clause)

    @cached_attribute
    def have_names_only(self) -> bool:
        """Whether no literal is about a language of keys."""
        return not any(clause.by_pattern for clause in self)

    @cached_attribute
    def groups(self) -> tuple[Clauses, ...]:
        """The clauses in groups that share no keys; all in one where some are about languages."""
        if not self.have_names_only:
            return (self,)
        before, changes = self._origin or (None, ())
        if before is None:
            return self._split
        touched = {
            before.group_of[key] for c in changes for key in c.by_key if key in before.group_of
        }
        left = {clause for group in before.groups if group not in touched for clause in group}
        some = Clauses(clause for clause in self if clause not in left)
        self._origin = None
        return (*(group for group in before.groups if group not in touched), *some.groups)

    @property
    def _split(self) -> tuple[Clauses, ...]:
        """`groups`, found from nothing."""
        about: dict[str, list[Clause]] = {}
        for clause in self:
            for key in clause.by_key:
                about.setdefault(key, []).append(clause)
        number: dict[Clause, int] = {}  # of its group
        seen: set[str] = set()
        for i, first in enumerate(self):
            todo = [] if first in number else [first]
            for clause in todo:  # grows
                number[clause] = i
                for key in clause.by_key:
                    if key not in seen:
                        seen.add(key)
                        todo += [c for c in about[key] if c not in number]
        together: dict[int, list[Clause]] = {}
        for clause in self:
            together.setdefault(number[clause], []).append(clause)
        return (self,) if len(together) == 1 else tuple(map(Clauses, together.values()))

    @cached_attribute
    def group_of(self) -> dict[str, Clauses]:
        """By key, the group of the clauses about it."""
        return {key: group for group in self.groups for key in group.names}

    def changed(self, some: Collection[Clause], left: Iterable[Clause]) -> Clauses:
        """The same with others in place of some clauses; those in common stay where they are."""
        more = dict.fromkeys(left)
        gone = {*some}.difference(more)
        found = Clauses(dict.fromkeys((*(c for c in self if c not in gone), *more)))
        if "groups" in self.__dict__ and self.have_names_only:
            found._origin = self, (*gone, *more)
        return found
