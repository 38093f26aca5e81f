"""Makes one constraint of a compiled constraint and the critics that only accept or refuse.

Critics that weight a text stay potentials. The masks of the joined constraint leave out what is
cheap to exclude; a token that they allow is judged when it is tried (`advance`). So samplers that
test one token after another, as AWRS does, call a user's function only a few times, and no mask
over the whole vocabulary is made with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from structgen.automata.interface import DEAD
from structgen.constraint.constraint import FINAL
from structgen.generation.checks import check_each, has_method
from structgen.generation.interfaces import Constraint, Rows
from structgen.generation.sampling.interfaces import Potential, Tokens
from structgen.generation.sampling.potentials.potentials import (
    REFUSED,
    Critic,
    Narrowing,
    Product,
    SumOfLogs,
)
from structgen.vocabulary.vocabulary import Vocabulary


def join(
    constraint: Constraint, critics: Iterable[Critic]
) -> tuple[Constraint, tuple[Potential, ...]]:
    """The constraint that the boolean critics are part of, and the others as potentials.

    Products of critics are taken apart first. Without boolean ones the constraint is as it was.
    """
    parts = _parts(critics)
    vocabulary = constraint.vocabulary
    judges = [critic.over(vocabulary) for critic in parts if critic.boolean]
    weighing = tuple(critic.over(vocabulary) for critic in parts if not critic.boolean)
    return (Joined(constraint, SumOfLogs(judges)) if judges else constraint), weighing


class Joined:
    """A constraint and a potential that only lets through or refuses, as one constraint.

    Its states are ints that never expire, as those of every constraint. `exact_masks` is False: a
    mask may let through what `advance` then finds DEAD. There can be dead ends: places from which
    the constraint knows a way on and the potential refuses all of them; `shortest_completion` and
    `allowed_bytes` are those of the constraint alone, and states reached by bytes instead of tokens
    are judged by it alone.
    """

    exact_masks = False

    def __init__(self, constraint: Constraint, judge: Narrowing) -> None:
        self._constraint = constraint
        self._judge = judge
        self._ids: dict[tuple[int, int], int] = {}  # (state before, token) -> state
        self._inside: list[int] = []  # of state >> 1: that of the constraint
        self._before: list[int] = []  # the state before its last token
        self._token: list[int] = []
        self._ends: dict[int, bool] = {}
        root_is_refused = judge.log_prefix([()])[0] == REFUSED
        self.start = DEAD if root_is_refused else self._intern(DEAD, -1, constraint.start)

    @property
    def vocabulary(self) -> Vocabulary:
        """See `Constraint.vocabulary`."""
        return self._constraint.vocabulary

    @property
    def spec(self) -> Any:
        """See `Constraint.spec`."""
        return self._constraint.spec

    def advance(self, state: int, token_id: int) -> int:
        """See `Constraint.advance`. Asks the constraint first, and the potential only then."""
        if state < 0:
            return DEAD
        known = self._ids.get((state, token_id))
        if known is not None:
            return known
        inside = self._constraint.advance(self._base(state), token_id)
        if inside == FINAL:
            return FINAL if self.is_accepting(state) else DEAD
        if inside == DEAD or state & 1:
            return DEAD if inside == DEAD else inside << 1 | 1
        if self._judge.log_prefix([(*self._tokens(state), token_id)])[0] == REFUSED:
            self._ids[state, token_id] = DEAD
            return DEAD
        return self._intern(state, token_id, inside)

    def advance_bytes(self, state: int, data: bytes) -> int:
        """See `Constraint.advance_bytes`; the potential is not asked from here on."""
        inside = self._constraint.advance_bytes(self._base(state), data)
        return DEAD if inside == DEAD else inside << 1 | 1

    def fill_mask(self, state: int, row: Rows) -> None:
        """See `Constraint.fill_mask`; without what the potential is known to refuse.

        End tokens stand there where the constraint lets the text end: whether the potential does is
        asked when one is tried, since that may be costly.
        """
        self._constraint.fill_mask(self._base(state), row)
        if state < 0 or state & 1:
            return
        self._judge.narrow(self._tokens(state), row)

    def fill_masks(self, states: Sequence[int], rows: Rows) -> None:
        """See `Constraint.fill_masks`."""
        for state, row in zip(states, rows, strict=True):
            self.fill_mask(state, row)

    def is_accepting(self, state: int) -> bool:
        """See `Constraint.is_accepting`; both must agree."""
        if not self._constraint.is_accepting(self._base(state)):
            return False
        if state & 1:
            return True
        if state not in self._ends:
            weight = self._judge.log_complete([self._tokens(state)])[0]
            self._ends[state] = bool(weight > REFUSED)
        return self._ends[state]

    def allowed_bytes(self, state: int) -> frozenset[int]:
        """See `Constraint.allowed_bytes`; the potential is not asked."""
        return self._constraint.allowed_bytes(self._base(state))

    def forced_bytes(self, state: int) -> bytes:
        """See `Constraint.forced_bytes`."""
        return self._constraint.forced_bytes(self._base(state))

    def shortest_completion(self, state: int) -> bytes:
        """See `Constraint.shortest_completion`; the potential is not asked."""
        return self._constraint.shortest_completion(self._base(state))

    def core(self, state: int) -> int:
        """See `Constraint.core`; what the potential says may depend on the whole text."""
        return state

    def _base(self, state: int) -> int:
        """The constraint's state; a joined state is even, one that only bytes reached is odd."""
        if state < 0:
            return state
        return state >> 1 if state & 1 else self._inside[state >> 1]

    def _intern(self, before: int, token: int, inside: int) -> int:
        state = self._ids[before, token] = len(self._inside) << 1
        self._inside.append(inside)
        self._before.append(before)
        self._token.append(token)
        return state

    def _tokens(self, state: int) -> Tokens:
        tokens = []
        at = state
        while self._before[at >> 1] >= 0:
            tokens.append(self._token[at >> 1])
            at = self._before[at >> 1]
        return tuple(reversed(tokens))


def _parts(critics: Iterable[Critic]) -> list[Critic]:
    found: list[Critic] = []
    of_kind = "a list of critics, such as sg.sample.critic(...)"
    check_each("potentials", critics, has_method("over"), of_kind)
    for critic in critics:
        found += _parts(critic.critics) if isinstance(critic, Product) else [critic]
    return found
