"""In: clauses of an object that are still open. Out: whether it is plain that they can be settled.

That is so for most of them while the object is written, and costs far less to see than a way to
finish it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from structgen.regular.words import is_spellable
from structgen.schema.normal_form.expressions import TRUE, Expr, conjoin
from structgen.schema.normal_form.nodes import Clause, Every, Member
from structgen.schema.normal_form.progress import Progress
from structgen.schema.objects.clauses import Pending, fits, pending
from structgen.schema.objects.plans import ObjectPlan

MAX_NAMES = 32  # looked at for one of some kind

Known = dict[str | None, bool]  # whether each key may come, see `Look`


class Outs(dict[Clause, frozenset[str]]):
    """The optional keys that settle a clause when one of them is left out, by clause."""

    def __init__(self, required: frozenset[str]) -> None:
        super().__init__()
        self._required = required

    def __missing__(self, clause: Clause) -> frozenset[str]:
        every = (x.keys for x in clause if isinstance(x, Every) and isinstance(x.keys, str))
        found = self[clause] = frozenset(key for key in every if key not in self._required)
        return found


class Look:
    """Which of some clauses concern which keys, and what was found out for keys that come next.

    firm: the clauses that leaving a key out does not settle; named: the keys that some name; known:
    by what has been read of these, whether each key may come (see `Settling.goes_on`), and for None
    whether the clauses can be settled if one comes that none of them concerns.
    """

    def __init__(self, wanted: tuple[Clause, ...], outs: Outs) -> None:
        self.by_key: dict[str, list[Clause]] = {}
        for clause in wanted:
            for key in clause.by_key:
                self.by_key.setdefault(key, []).append(clause)
        self.by_kind = [clause for clause in wanted if clause.by_kind]
        self.firm = [clause for clause in wanted if not outs[clause]]
        self.named = frozenset(self.by_key)
        self.known: dict[int | frozenset[str], Known] = {}


class Settling:
    """What becomes of the clauses of a plan, as far as that is plain.

    has_many: whether many values fit what the value of a key must fit; possible: whether some value
    fits an expression.
    """

    def __init__(
        self, plan: ObjectPlan, has_many: Callable[[str], bool], possible: Callable[[Expr], bool]
    ) -> None:
        self._plan = plan
        self._has_many = has_many
        self._possible = possible
        self._outs = Outs(plan.required)
        self._cases: dict[str, dict[Clause, Pending | None]] = {}
        self._values: dict[str, dict[Clause | None, bool]] = {}  # see `_may_settle`
        self._claimable: dict[tuple[str, Expr], bool] = {}  # see `_may_claim`
        self._passed: dict[Clause, int] = {}  # the first name of which all must fit, by clause
        self._looks: dict[tuple[Clause, ...], Look] = {}
        self._last = (Progress(), *self._look_at(Progress()))  # what is known there

    def case(self, clause: Clause, key: str) -> Pending | None:
        """See `json_clauses.pending`."""
        cases = self._cases.setdefault(key, {})
        if clause not in cases:
            cases[clause] = pending(clause, key, self._plan.child(key))
        return cases[clause]

    def is_over(self, clause: Clause, key: str) -> bool:
        """Whether it is settled when `key` comes, since names before it are not to come any more.

        A literal that still stands of a name that has been passed holds, whether it came or not.
        """
        plan = self._plan
        if not plan.declared:
            return False
        if clause not in self._passed:
            every = (x.keys for x in clause if isinstance(x, Every) and isinstance(x.keys, str))
            self._passed[clause] = min(map(plan.position, every), default=len(plan.names))
        return self._passed[clause] < plan.position(key)

    def settles(self, at: Progress) -> bool:
        """Whether all clauses can be settled by what is still to come, or is left out."""
        firm = [clause for clause in at.wanted if not self._outs[clause]]
        return not self._unsettled(firm, at, at.wanted)

    def goes_on(self, at: Progress, key: str) -> bool:
        """Whether a member may come, and the clauses can be settled then.

        Seen where its value has to settle one of them at most. Not all that can go on is seen here.
        """
        last = self._last
        if at is not last[0]:
            last = self._last = (at, *self._look_at(at))
        _, look, known = last
        if key not in known:
            known[key] = self._finds_way(at, key, look, known)
        return known[key]

    def _finds_way(self, at: Progress, key: str, look: Look, known: Known) -> bool:
        met = [*look.by_key.get(key, ()), *look.by_kind]
        if not met and not self._plan.declared:
            if None not in known:
                known[None] = not self._unsettled(look.firm, at, at.wanted)
            return known[None] and self._may_settle(None, key)
        met = [clause for clause in met if not self.is_over(clause, key)]
        firm = [clause for clause in look.firm if clause not in met]
        hit = [clause for clause in met if self._outs[clause] <= {key}]  # others keep what is out
        firm += [rest for rest in self._rests(hit, key) if not self._outs[rest]]
        left: list[Clause] = []
        if firm:
            of = self._rests(met, key)
            others = (clause for clause in (*at.wanted, *of) if clause not in met)
            left = self._unsettled(firm, self._plan.take(at, key), others)
        if not left:
            return self._may_settle(None, key)
        return len(left) == 1 and left[0] in of and self._may_settle(of[left[0]], key)

    def _rests(self, clauses: Iterable[Clause], key: str) -> dict[Clause, Clause]:
        """What is left of each clause that is not settled when `key` comes, and of which."""
        cases = ((clause, self.case(clause, key)) for clause in clauses)
        return {case.rest: clause for clause, case in cases if case is not None}

    def _look_at(self, at: Progress) -> tuple[Look, Known]:
        """What is known of the keys that may come next, where the clauses left are the same."""
        look = self._looks.get(at.wanted)
        if look is None:
            look = self._looks[at.wanted] = Look(at.wanted, self._outs)
        read = at.position if self._plan.declared else at.seen & look.named
        return look, look.known.setdefault(read, {})

    def _unsettled(
        self, firm: list[Clause], at: Progress, clauses: Iterable[Clause]
    ) -> list[Clause]:
        """Those of some clauses of which it is not plain that they can be settled.

        firm: those that leaving a key out does not settle.
        """
        left = [clause for clause in firm if not self._may_differ(clause, at)]
        claimed: dict[str, Expr] = {}
        still = [clause for clause in left if not self._claims(clause, at, claimed)]
        outs = (self._outs[clause] for clause in clauses) if claimed else ()
        return left if any(keys and keys <= claimed.keys() for keys in outs) else still

    def _claims(self, clause: Clause, at: Progress, claimed: dict[str, Expr]) -> bool:
        """Whether an optional member still to come may settle a clause.

        claimed: what the values of such members must fit for other clauses, which one value may
        settle together.
        """
        plan = self._plan
        for key, wanted in self._claimants(clause):
            read = plan.position(key) < at.position if plan.declared else key in at.seen
            child = conjoin(claimed.get(key, TRUE), wanted)
            if not read and self._may_claim(key, child):
                claimed[key] = child
                return True
        return False

    def _claimants(self, clause: Clause) -> Iterator[tuple[str, Expr]]:
        """The members that would settle a clause, and what their values must fit for it.

        A name that is one of a kind comes first: where it may not stand in another schema, it
        often settles what says that this one does not hold, and few have to be looked at.
        """
        names = self._plan.names[:MAX_NAMES] if clause.by_kind else ()
        for kind in (clause[i] for i in clause.by_kind):
            if isinstance(kind, Member):
                yield from ((name, kind.child) for name in names if fits(kind.keys, name))
        for literal in clause:
            if isinstance(literal, Member) and isinstance(literal.keys, str):
                yield literal.keys, literal.child

    def _may_claim(self, key: str, child: Expr) -> bool:
        """Whether an optional member may have a value that fits a child."""
        claim = key, child
        if claim not in self._claimable:
            optional = key not in self._plan.required and is_spellable(key)
            self._claimable[claim] = optional and self._possible(
                conjoin(self._plan.child(key), child)
            )
        return self._claimable[claim]

    def _may_settle(self, clause: Clause | None, key: str) -> bool:
        """Whether some value may come that settles a clause, or leaves what can be settled."""
        known = self._values.setdefault(key, {})
        if clause not in known:
            child = self._plan.child(key)
            case = None if clause is None else self.case(clause, key)
            better = iter([(TRUE, None)]) if case is None else case.better()
            asked = [x for x, left in better if left is None or self._outs[left.rest]]
            known[clause] = any(self._possible(conjoin(child, x)) for x in asked)
        return known[clause]

    def _may_differ(self, clause: Clause, at: Progress) -> bool:
        """Whether the value of some required key that is still to come settles a clause.

        So it does if it has only to be none of some values, and there are many more.
        """
        plan = self._plan
        for literal in clause:
            key = literal.keys
            if not isinstance(literal, Member) or not isinstance(key, str):
                continue
            if key not in plan.required or not all(x.denied for x in literal.child):
                continue
            read = plan.position(key) < at.position if plan.declared else key in at.seen
            if not read and self._has_many(key):
                return True
        return False
