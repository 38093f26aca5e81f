"""What is asked of a child: the vector of forms that it is read against, and forms that it misses.

Branches of a union exclude each other: one of them needs form A of a child and asks whether that
does not fit form B, which another one needs. The vector need not hold "A and not B" then, for each
pair: that a child misses B is seen when it ends, from what it fits (`with_missed`).

That is so unless a number of A may be spelled as none of B is (`set_operations.tells_apart`), or B
asks for something inside of arrays and objects, where there may be such numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from structgen.regular.numbers.set_operations import tells_apart
from structgen.schema.normal_form.expressions import Atom, Expr
from structgen.schema.normal_form.forms import NormalForm
from structgen.schema.normal_form.progress import Transition


class Missed(NamedTuple):
    """A form of a vector that a child may miss: its index, and what else the child fits then."""

    form: int
    negation: Expr


def with_missed(mask: int, count: int, missed: tuple[Missed, ...]) -> int:
    """A mask of `count` forms that a child fits, with a bit more for each of those it may miss."""
    for i, (form, _) in enumerate(missed, count):
        mask |= (~mask >> form & 1) << i
    return mask


class ChildForms:
    """Collects the forms that transitions ask about, each once."""

    def __init__(
        self,
        transitions: Iterable[Transition],
        normal_form_of: Callable[[Expr], NormalForm],
    ) -> None:
        self._normal_form_of = normal_form_of
        self._forms: dict[NormalForm, int] = {}
        self._missed: dict[tuple[NormalForm, Atom], int] = {}
        self._needing: dict[Atom, list[Expr]] = {}  # what transitions need, by its atoms
        wanted = [*transitions]
        if any(transition.observed for transition in wanted):
            for need in dict.fromkeys(transition.child for transition in wanted):
                for atom in need:
                    self._needing.setdefault(atom, []).append(need)

    def index(self, child: Expr) -> int:
        """The index of a form in the vector."""
        return self._forms.setdefault(self._normal_form_of(child), len(self._forms))

    def asked(self, child: Expr, more: Expr) -> int:
        """What tells whether a value that fits `child` fits `more`, too.

        The index of a form in the vector, or ~i for number i of those that may be missed.
        """
        beside = [atom for atom in more if atom not in child]
        negation = beside[0].negation if len(beside) == 1 else None
        for need in () if negation is None else self._needing.get(negation, ()):
            if all(atom is negation or atom in child for atom in need):
                form = self._normal_form_of(need)
                numbers = self._normal_form_of(child).number
                if form.is_about_scalars and tells_apart(form.number, numbers):
                    return ~self._missed.setdefault((form, beside[0]), len(self._missed))
        return self.index(more)

    def finished(self) -> tuple[tuple[NormalForm, ...], tuple[Missed, ...]]:
        """The vector, and the forms that may be missed."""
        missed = tuple([Missed(self._forms[form], (atom,)) for form, atom in self._missed])
        return tuple(self._forms), missed
