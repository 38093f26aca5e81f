"""The matcher of objects of which exactly one of some branches holds (see `normal_form.branches`).

While an object is read, it is noted which branches have failed: a value did not fit what the branch
asks of it. A branch holds in the end if it has not failed, and all keys that it requires came. As
long as it has a key of its own to come that may make it fail, by a value or by being left out, it
is *open*: whether it holds will not matter to any other branch. Else it is *settled*. So there is
an end at which exactly one branch holds if and only if at most one branch is settled, and not all
have failed; or if what is still to come may leave that: the key that decides by its value, or keys
that branches share by making all of these fail at once.

In declared order a name may be passed: it does not come any more, and the branches that require it
fail.

A key of a branch's own has two transitions, for values with which the branch may hold, and for
those with which it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from structgen.regular.infinite import is_infinite
from structgen.regular.numbers.set_operations import tells_apart
from structgen.schema.normal_form.branches import Branches, numbers_apart
from structgen.schema.normal_form.expressions import TRUE, Expr, conjoin
from structgen.schema.normal_form.finite_values import FiniteValues
from structgen.schema.normal_form.progress import CostOf, Progress, Remaining, Transition
from structgen.schema.objects.matcher import ObjectMatcher
from structgen.util.cached import cached_attribute

FEW_ASKED = 24  # things asked of the key that decides that have a transition each
MAX_BETTER = 8  # ways to finish an object that are compared

Possible = Callable[[Expr], bool]
Numbers = frozenset[int]  # of branches
Member = tuple[str, int]  # its key, and its bytes
Sizes = dict[str, int]  # by the key of members that complete an object, their bytes


class CountingMatcher(ObjectMatcher):
    """The matcher of what some branches have in common, which counts those that hold."""

    def __init__(self, branches: Branches, costs: FiniteValues, declared: bool) -> None:
        super().__init__(branches.common, costs, declared)
        self._branches = branches.branches
        self._deciding = branches.deciding
        self._owners: dict[str, list[int]] = {}  # by key, the branches whose own it is
        for i, branch in enumerate(self._branches):
            for key in branch.own:
                self._owners.setdefault(key, []).append(i)
        self._shared = frozenset(key for key, some in self._owners.items() if len(some) > 1)
        self.names = tuple(dict.fromkeys((*branches.order, *self.names, *self._owners)))
        self._index = {name: i for i, name in enumerate(self.names)}
        self._gone_before: dict[int, frozenset[str]] = {}  # in declared order, by position
        self._settled_at: dict[tuple[frozenset[str], Numbers], Numbers] = {}
        self._last = 0  # a branch that could be the only one that holds, where it was asked last
        self._countable: dict[tuple[Numbers, Numbers, frozenset[str], bool], bool] = {}
        self._asked_after: dict[Numbers, dict[Expr, list[int]]] = {}  # see `_asked`

    # -- branches -------------------------------------------------------------------------------

    @cached_attribute
    def start(self) -> Progress:
        """The progress before the first key, with the branches that never hold."""
        possible = self._costs.satisfiable
        never = (i for i in range(len(self._branches)) if not self._may_hold(i, possible))
        return Progress(failed=frozenset(never))

    def _may_hold(self, i: int, possible: Possible) -> bool:
        """Whether a branch holds for some object."""
        branch = self._branches[i]
        decided = self._deciding is None or possible(self._decided_by(i))
        return decided and all(possible(self._good(key)) for key in branch.required)

    def _good(self, key: str) -> Expr:
        """What the value of a branch's own key must fit for the branch to hold."""
        return conjoin(self.child(key), self._branches[self._owners[key][0]].own[key])

    def _bad(self, key: str) -> Expr:
        """What the value of a branch's own key must fit for the branch to fail."""
        asked = self._branches[self._owners[key][0]].own[key]
        return conjoin(self.child(key), self._costs.negation(asked))

    def _decided_by(self, i: int) -> Expr:
        """What the value of the key that decides must fit for a branch to hold."""
        asked = self._branches[i].decided_by
        return asked if self._deciding is None else conjoin(self.child(self._deciding), asked)

    def _ways_to_fail(self, i: int, possible: Possible) -> frozenset[str]:
        """The keys by which it alone may fail: those that it requires, and those of bad values."""
        required = self._branches[i].required
        alone = self._branches[i].own.keys() - self._shared
        return frozenset(key for key in alone if key in required or possible(self._bad(key)))

    @cached_attribute
    def _failing_keys(self) -> list[frozenset[str]]:
        """`_ways_to_fail` of each branch."""
        possible = self._costs.satisfiable
        return [self._ways_to_fail(i, possible) for i in range(len(self._branches))]

    @cached_attribute
    def _settled_anyway(self) -> Numbers:
        return frozenset(i for i, keys in enumerate(self._failing_keys) if not keys)

    def _settled(self, at: Progress) -> Numbers:
        """The branches that are settled."""
        gone = self._gone(at)
        known = gone, at.failed
        found = self._settled_at.get(known)
        if found is None:
            more = (i for i in self._owning(gone) if self._failing_keys[i] <= gone)
            found = self._settled_at[known] = self._settled_anyway.union(more) - at.failed
        return found

    def _gone(self, at: Progress) -> frozenset[str]:
        """The names that cannot come any more."""
        if not self.declared:
            return at.seen
        found = self._gone_before.get(at.position)
        if found is None:
            found = self._gone_before[at.position] = frozenset(self.names[: at.position])
        return found

    def _moved(self, at: Progress, position: int) -> Progress:
        """The progress when the names in front of a position have passed, in declared order."""
        if not self.declared:
            return at
        passed = self.names[at.position : position]
        failed = at.failed.union(*(self._required_by.get(name, ()) for name in passed))
        return at._replace(position=position, failed=failed)

    @cached_attribute
    def _required_by(self) -> dict[str, list[int]]:
        """By key, the branches that require it as their own."""
        found: dict[str, list[int]] = {}
        for i, branch in enumerate(self._branches):
            for key in branch.required:
                found.setdefault(key, []).append(i)
        return found

    def _owning(self, keys: Iterable[str]) -> set[int]:
        """The branches of whose own some keys are."""
        return {i for key in keys for i in self._owners.get(key, ())}

    def _may_decide(self, gone: frozenset[str]) -> bool:
        """Whether the key that decides is still to come, when some names cannot come any more."""
        return self._deciding is not None and self._deciding not in gone

    def _can_be_counted(self, seen: frozenset[str], failed: Numbers, settled: Numbers) -> bool:
        """Whether exactly one branch can hold, if some have failed and some are settled."""
        if len(failed) == len(self._branches):
            return False
        if len(settled) < 2:
            return True
        decides = self._may_decide(seen)
        left = self._shared - seen
        if not decides and not left:
            return False
        known = failed, settled, left, decides
        if known not in self._countable:
            last: Iterable[int]
            firm = [] if decides else [j for j in settled if not self._may_fail(j, left)]
            if firm:  # these hold whatever comes
                last = firm if len(firm) == 1 else ()
            else:
                before = (self._last,) if self._last not in failed else ()  # mostly it still may be
                last = chain(before, self._possibly_last(failed, settled))
            found = next((i for i in last if self._may_be_last(i, settled, seen, decides)), None)
            self._countable[known] = found is not None
            self._last = self._last if found is None else found
        return self._countable[known]

    def _may_be_last(self, i: int, settled: Numbers, seen: frozenset[str], decides: bool) -> bool:
        """Whether all settled branches but one may fail; decides: or by the key that decides."""
        others = (j for j in sorted(settled) if j != i and not self._fails_beside(j, i, seen))
        if not decides:
            return next(others, None) is None
        rest = [*others]
        return not rest or self._costs.satisfiable(self._alone(i, rest))

    def _may_fail(self, j: int, keys: frozenset[str]) -> bool:
        """Whether a branch may fail by some of the keys that it shares with others."""
        required = self._branches[j].required
        return any(key in self._bad_keys or key in required for key in self._shared_of[j] & keys)

    def _fails_beside(self, j: int, i: int, seen: frozenset[str]) -> bool:
        """Whether a branch may fail by shared keys, while branch i holds.

        By the value of a key that is not its own, or by leaving out one that it does not require.
        """
        own, required = self._branches[i].own, self._branches[i].required
        return any(
            (key not in own and key in self._bad_keys)
            or (key in self._branches[j].required and key not in required)
            for key in self._shared_of[j]
            if key not in seen
        )

    @cached_attribute
    def _shared_of(self) -> list[frozenset[str]]:
        """The own keys of each branch that are those of others, too."""
        return [self._shared.intersection(branch.own) for branch in self._branches]

    def _possibly_last(self, failed: Numbers, settled: Numbers) -> Iterator[int]:
        """The branches that may hold in the end, settled ones first; one of those alike."""
        yield from sorted(settled)
        apart: dict[Any, int] = {}
        for i, branch in enumerate(self._branches):
            if i not in failed and i not in settled:
                shared = self._shared_of[i]
                apart.setdefault((branch.decided_by, shared, shared & branch.required), i)
        yield from apart.values()

    def _alone(self, i: int, others: Collection[int]) -> Expr:
        """What the value of the key that decides must fit for a branch to hold, and not others."""
        apart = (self._costs.negation(self._branches[j].decided_by) for j in others if j != i)
        return conjoin(self._decided_by(i), *apart)

    def _outcomes(self, at: Progress, key: str) -> Iterator[tuple[Expr, Numbers]]:
        """What the value of a branch's own key may fit, and the branches that have failed then."""
        at = self._moved(at, self._index[key])
        owners, settled = self._owners[key], self._settled(at)
        failed, seen = at.failed.union(owners), self._gone(at) | {key}
        if len(failed) == len(at.failed):
            if self._can_be_counted(seen, failed, settled):
                yield self.child(key), failed
            return
        more = (i for i in owners if i not in at.failed and self._failing_keys[i] <= seen)
        if self._can_be_counted(seen, at.failed, settled.union(more)):
            yield self._good(key), at.failed
        if self._can_be_counted(seen, failed, settled.difference(owners)):
            yield self._bad(key), failed

    # -- transitions ----------------------------------------------------------------------------

    def advance(self, at: Progress, key: str) -> Progress:
        """See `ObjectMatcher.advance`."""
        if key not in self._index:
            return self._advance_unnamed(at, key)
        failed = self._moved(at, self._index[key]).failed
        return super().advance(at, key)._replace(failed=failed)

    def _advance_unnamed(self, at: Progress, key: str) -> Progress:
        failed = self._moved(at, len(self.names)).failed
        return super()._advance_unnamed(at, key)._replace(failed=failed)

    def _may_add_unnamed(self, at: Progress) -> bool:
        return super()._may_add_unnamed(at) and self._may_move_to(at, len(self.names))

    def _may_move_to(self, at: Progress, position: int) -> bool:
        """Whether exactly one branch can hold when the names in front of a position have passed."""
        if not self.declared:
            return True
        moved = self._moved(at, position)
        return self._can_be_counted(self._gone(moved), moved.failed, self._settled(moved))

    def transitions(self, at: Progress, key: str) -> list[Transition]:
        """See `ObjectMatcher.transitions`."""
        is_own = key in self._owners
        if not (is_own or key == self._deciding) or not super().allows(at, key):
            return super().transitions(at, key)
        if not is_own:
            return self._deciding_transitions(self._moved(at, self._index[key]))
        after = self.advance(at, key)
        possible = self._costs.satisfiable
        return [
            Transition(child, after._replace(failed=failed))
            for child, failed in self._outcomes(at, key)
            if possible(child)
        ]

    def _deciding_transitions(self, at: Progress) -> list[Transition]:
        """The transitions for the key that decides: those settled may hold as they fit."""
        key, settled, asked = self._deciding or "", self._settled(at), self._asked(at.failed)
        after, child = self.advance(at, key), conjoin(self.child(key), self._judged)
        gone = self._gone(after)
        if len(settled) < 2:
            observed = tuple([conjoin(child, x) for x in asked])
            are_few = len(observed) <= FEW_ASKED  # then nothing has to read their union as well
            ways = observed if are_few else (self._costs.union(observed),)
            return [Transition(only, after, observed) for only in ways]
        wanted: dict[Expr, None] = {}
        together: dict[Numbers, dict[Expr, None]] = {}  # of open ones, by those that may not hold
        for i in self._possibly_last(at.failed, settled):
            beside = (j for j in settled if j != i and not self._fails_beside(j, i, gone))
            others = frozenset(beside)
            if i in settled:
                wanted[self._alone(i, sorted(others))] = None
            else:
                together.setdefault(others, {})[self._branches[i].decided_by] = None
        for others, some in together.items():
            negations = (self._costs.negation(self._branches[j].decided_by) for j in sorted(others))
            wanted[conjoin(self._costs.union(tuple(some)), *negations)] = None
        children = [conjoin(child, x) for x in wanted]
        return [
            Transition(only, after, tuple([conjoin(only, x) for x in asked]))
            for only in children
            if self._costs.satisfiable(only)
        ]

    @cached_attribute
    def _judged(self) -> Expr:
        """The values of the key that decides of which it is known which branches fail.

        Not all spellings of large numbers are among those that fit, or those that do not.
        """
        forms = {x: self._costs.normal_form_of(x) for x in self._asked_by}
        found: Expr = TRUE
        for asked, theirs in numbers_apart(forms).items():
            if not all(tells_apart(theirs, form.number) for form in forms.values()):
                either = self._costs.union((asked, self._costs.negation(asked)))
                found = conjoin(found, either)
        return found

    def _asked(self, failed: Numbers) -> dict[Expr, list[int]]:
        """What branches that have not failed ask of the key that decides, each with these."""
        found = self._asked_after.get(failed)
        if found is None:  # in the same order whatever has failed: so vectors of these are shared
            left = {x: [i for i in some if i not in failed] for x, some in self._asked_by.items()}
            found = self._asked_after[failed] = {x: some for x, some in left.items() if some}
        return found

    @cached_attribute
    def _asked_by(self) -> dict[Expr, list[int]]:
        """What branches ask of the key that decides, each with these."""
        found: dict[Expr, list[int]] = {}
        for i, branch in enumerate(self._branches):
            found.setdefault(branch.decided_by, []).append(i)
        return found

    def resolve(self, at: Progress, known: tuple[bool, ...]) -> Progress:
        """See `ObjectMatcher.resolve`: of the key that decides, which branches fail."""
        if not known:
            return at
        asked = self._asked(at.failed).values()
        more = (i for some, fits in zip(asked, known, strict=True) if not fits for i in some)
        return at._replace(failed=at.failed.union(more))

    def allows(self, at: Progress, key: str) -> bool:
        """See `ObjectMatcher.allows`."""
        if not super().allows(at, key):
            return False
        if key in self._owners:
            return any(self._costs.satisfiable(child) for child, _ in self._outcomes(at, key))
        return self._may_move_to(at, self.position(key))

    def next_names(self, at: Progress, among: Container[str] | None = None) -> list[str]:
        """See `ObjectMatcher.next_names`."""
        if self.declared:
            return self._next_in_order(at, among)
        found, settled = super().next_names(at, among), self._settled(at)
        may_fail = len(settled) < 2 and len(at.failed) + 1 < len(self._branches)
        some: Container[str] = self._holding_keys if not settled else ()
        more: Container[str] = self._bad_keys - self._shared if may_fail else ()
        return [
            name
            for name in found
            if name in some or name in more or name not in self._owners or self.allows(at, name)
        ]

    def _next_in_order(self, at: Progress, among: Container[str] | None) -> list[str]:
        """`next_names` in declared order: until so many have passed that no branch can be left."""
        found = []
        failed, settled = {*at.failed}, {*self._settled(at)}
        for position in range(*self.span(at)):
            name = self.names[position]
            moved = Progress(position, at.seen, at.members_read, at.open_clauses)
            plain = len(settled) < 2 and len(failed) < len(self._branches)
            if not plain:
                moved = moved._replace(failed=frozenset(failed))
                if not self._may_move_to(moved, position):
                    break
            if (among is None or name in among) and self.is_possible(position):
                may_come = self._may_surely_come(name, failed, settled) if plain else None
                if may_come is None:
                    may_come = self.allows(moved._replace(failed=frozenset(failed)), name)
                if may_come:
                    found.append(name)
            lacking = self._required_by.get(name, ())
            failed.update(lacking)
            settled.difference_update(lacking)
            settled.update(i for i in self._settling[position] if i not in failed)
        return found

    def _may_surely_come(
        self, name: str, failed: Container[int], settled: Collection[int]
    ) -> bool | None:
        """Whether a name may come next, where at most one branch is settled; None if unsure."""
        owners = self._owners.get(name, ())
        if not owners or all(i in failed for i in owners):
            return True
        if name in self._shared:
            return None
        return True if name in (self._bad_keys if settled else self._holding_keys) else None

    @cached_attribute
    def _settling(self) -> list[list[int]]:
        """For each position the branches that its name settles, in declared order."""
        found: list[list[int]] = [[] for _ in self.names]
        for i, keys in enumerate(self._failing_keys):
            if keys:
                found[max(map(self._index.__getitem__, keys))].append(i)
        return found

    @cached_attribute
    def _holding_keys(self) -> frozenset[str]:
        """The own keys with a value with which the branch may hold."""
        return frozenset(k for k in self._owners if self._costs.satisfiable(self._good(k)))

    @cached_attribute
    def _bad_keys(self) -> frozenset[str]:
        """The own keys with a value with which the branch fails."""
        return frozenset(k for k in self._owners if self._costs.satisfiable(self._bad(k)))

    def may_end(self, at: Progress) -> bool:
        """See `ObjectMatcher.may_end`: exactly one branch holds."""
        if not super().may_end(at):
            return False
        gone = self._gone(at)
        holding = self._holding_anyway.union(
            i for i in self._owning(gone) if self._branches[i].required <= gone
        )
        return len(holding - at.failed) == 1

    @cached_attribute
    def _holding_anyway(self) -> Numbers:
        """The branches that require no key of their own."""
        return frozenset(i for i, branch in enumerate(self._branches) if not branch.required)

    # -- members still to come ------------------------------------------------------------------

    def surely_satisfiable(self) -> bool:
        """See `ObjectMatcher.surely_satisfiable`."""
        if not all(self.is_possible(self._index[name]) for name in self.required):
            return False
        start = self.start
        return self._can_be_counted(self._gone(start), start.failed, self._settled(start))

    def is_satisfiable(self) -> bool:
        """See `ObjectMatcher.is_satisfiable`."""
        return self.surely_satisfiable()

    def to_come(self, at: Progress) -> list[str]:
        """See `ObjectMatcher.to_come`: the members of the best of some completions."""
        return [*(self._completion(at, self._settled(at), self._costs.of) or ())]

    def floor(self, at: Progress) -> int:
        """See `ObjectMatcher.floor`."""
        sizes = [self._least_size(name) for name in self.missing(at)]
        return sum(sizes) - max(sizes, default=0)

    def minimum(self, cost_of: CostOf) -> int | None:
        """See `ObjectMatcher.minimum`; asks for nothing but costs."""

        def possible(expr: Expr) -> bool:
            return cost_of(expr) is not None

        count = range(len(self._branches))
        failed = frozenset(i for i in count if not self._may_hold(i, possible))
        settled = frozenset(i for i in count if not self._ways_to_fail(i, possible)) - failed
        sizes = self._completion(Progress(failed=failed), settled, cost_of)
        return None if sizes is None else self._whole([*sizes.values()])

    def _remaining_members(self, at: Progress, wanted: int) -> Remaining | None:  # noqa: ARG002
        """See `ObjectMatcher._remaining_members`; here branches say which members must come."""
        return None

    def _cheapest_members(self, at: Progress, cost_of: CostOf, least: int = 0) -> list[int] | None:
        """See `ObjectMatcher._cheapest_members`: the best of some completions."""
        sizes = self._completion(at, self._settled(at), cost_of)
        if sizes is None or len(sizes) >= least:
            return None if sizes is None else [*sizes.values()]
        ways = [[*sizes.values(), size] for size in self._cheapest_of_others(at, cost_of)]
        own = (key for key in self._owners if key not in self._gone(at))
        for key in islice((key for key in own if self.allows(at, key)), MAX_BETTER):
            for t in self.transitions(at, key):
                left = self._completion(t.after, self._settled(t.after), cost_of)
                size = self._member_size(key, cost_of(t.child))
                if left is not None and size is not None:
                    ways.append([*left.values(), size])
        return min(ways, key=sum, default=None)

    def _cheapest_of_others(self, at: Progress, cost_of: CostOf) -> Iterable[int]:
        """The bytes of the cheapest member that is of no matter to branches, if there is one."""
        others = at._replace(seen=at.seen.union(self._owners))
        return [size for size in self._cheapest(others, 1, cost_of) if size is not None]

    def _completion(self, at: Progress, settled: Numbers, cost_of: CostOf) -> Sizes | None:
        """The members that finish an object, by key their bytes: the best of some ways found."""
        found: Sizes = {}
        gone = self._gone(at)
        decides = self._may_decide(gone)
        for key in self.missing(at):
            if key != self._deciding:
                size = self._member_size(key, cost_of(self.child(key)))
                if size is None:
                    return None
                found[key] = size
        left = sorted(self._shared - gone)
        if len(settled) > 1 and not (decides or left):
            return None
        alive = [i for i in range(len(self._branches)) if i not in at.failed]
        wanted = [(self._required_sizes(i, at, cost_of), i) for i in alive]
        possible = [(sizes, i) for sizes, i in wanted if sizes is not None]
        # all others that would hold if no more members came have to fail
        holding = [i for i in alive if self._branches[i].required <= gone]
        failing = {i: self._failing_size(i, at, cost_of) for i in holding}
        bad = ((key, self._member_size(key, cost_of(self._bad(key)))) for key in left)
        shared = {key: size for key, size in bad if size is not None}
        sum_of = {i: sum(sizes.values()) - _size_of(failing.get(i)) for sizes, i in possible}
        if decides:
            sum_of = {i: size + (cost_of(self._decided_by(i)) or 0) for i, size in sum_of.items()}
        possible.sort(key=lambda x: (x[1] not in settled, sum_of[x[1]]))
        ways: list[Sizes] = []
        for sizes, i in possible:
            if len(ways) >= (MAX_BETTER if decides or left else 1):
                break
            come = gone.union(sizes)
            near = self._owning(self._shared.intersection(sizes)).difference(at.failed, failing)
            more = [j for j in near if self._branches[j].required <= come]
            others = failing | {j: self._failing_size(j, at, cost_of) for j in more}
            others.pop(i, None)
            bad_beside = {k: x for k, x in shared.items() if k not in self._branches[i].own}
            ways += self._ways(i, sizes, others, bad_beside, cost_of if decides else None)
        best = min(ways, key=lambda way: sum(way.values()), default=None)
        return None if best is None else {**found, **best}

    def _ways(
        self,
        i: int,
        sizes: Sizes,
        others: dict[int, Member | None],
        shared: Sizes,
        cost_of: CostOf | None,
    ) -> Iterator[Sizes]:
        """Ways to finish an object such that a branch holds: its own members, and with them others.

        others: the branches that have to fail, each with an own member for that. shared: members
        with which several fail. cost_of: where the key that decides has to come.
        """
        left, more = dict(others), Sizes()
        for key, size in sorted(shared.items(), key=_size_of):
            saved = [left[j] for j in self._owners[key] if j in left]
            if None in saved or sum(map(_size_of, saved)) > size:
                more[key] = size
                left = {j: x for j, x in left.items() if j not in self._owners[key]}
        lacking = [j for j, member in left.items() if member is None]
        more.update(member for member in left.values() if member is not None)
        if cost_of is None:
            if not lacking:
                yield {**sizes, **more}
            return
        key, none = self._deciding or "", Sizes()
        for apart, members in ((lacking, more), ([*others], none)):
            least = self._member_size(key, cost_of(self._alone(i, apart)))
            if least is not None:
                yield {**sizes, **members, key: least}

    def _required_sizes(self, i: int, at: Progress, cost_of: CostOf) -> Sizes | None:
        """The bytes of the own members that a branch requires; None where one cannot be."""
        found: Sizes = {}
        for key in self._branches[i].required - self._gone(at):
            size = self._member_size(key, cost_of(self._good(key)))
            if size is None:
                return None
            found[key] = size
        return found

    def _failing_size(self, i: int, at: Progress, cost_of: CostOf) -> Member | None:
        """A member with which a branch alone fails, and its bytes: the fewest."""
        keys = self._branches[i].own.keys() - self._shared - self._gone(at)
        sizes = ((key, self._member_size(key, cost_of(self._bad(key)))) for key in keys)
        found = [(key, size) for key, size in sizes if size is not None]
        return min(found, key=lambda member: (member[1], member[0]), default=None)

    def surely_infinite(self, child_is_infinite: Callable[[Expr], bool]) -> bool:
        """See `ObjectMatcher.surely_infinite`, as members show that are no matter to branches."""
        free = (key for key in self.names if key not in self._owners and key != self._deciding)
        return any(is_infinite(c.language) for c in self.key_classes) or any(
            child_is_infinite(self.child(key)) for key in free
        )


def _size_of(member: Member | None) -> int:
    """The bytes of a member; 0 if there is none."""
    return 0 if member is None else member[1]
