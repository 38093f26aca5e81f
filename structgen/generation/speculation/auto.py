"""`AutoDrafter`: drafts only as far as that pays on this machine and with this constraint.

Three questions, each answered by measurement: how often are tokens kept of which the drafter is so
confident (Calibration); what does a pass over n tokens cost (CostTable); and do drafts pay at all
with this constraint (Account). Where they do not, text is written without drafts, and drafts are
tried again after ever longer pauses.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import cast
from weakref import WeakKeyDictionary

from structgen.generation.interfaces import Constraint
from structgen.generation.speculation.drafters.copy import CopyDrafter
from structgen.generation.speculation.drafters.forced import ForcedDrafter
from structgen.generation.speculation.drafters.mixture import MixtureDrafter
from structgen.generation.speculation.drafters.ngrams import RecyclingDrafter
from structgen.generation.speculation.drafters.suffix import SuffixDrafter
from structgen.generation.speculation.drafters.suffix_index import SuffixIndex
from structgen.generation.speculation.interfaces import (
    Budget,
    CreditingSession,
    Drafter,
    Round,
    Session,
)
from structgen.generation.speculation.names import check_drafter
from structgen.generation.speculation.policies.calibration import Calibration
from structgen.generation.speculation.policies.costs import CostTable
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.tree import NONE, Context, DraftTree

MOST = Budget(nodes=32, depth=24, width=4, least=0.02)
_MARGIN = 1.03  # a draft is read if it promises this many times the tokens per time
_RECENT = 0.2  # weight of the newest draft in the moving averages
_FIRST_GAIN = 0.3  # assumed gain of a draft at first, in passes
_SHORTEST, _LONGEST = 4, 64  # shortest and longest pause between tries, in rounds
_FIRST_CREDIT = 0.6  # credit of drafts at first, in passes
_CREDIT_PER_PASS = 0.01  # what each pass adds to it
_MOST_CREDIT = 3.0
_LEAST_CREDIT = 0.25  # first credit where earlier drafts of this kind used theirs up
_MOST_LOSS = -0.6  # most that one draft is charged: one slow draft may be an accident
_CHEAP_LEARNING = 0.003  # share of a pass: learning that costs less goes on during pauses
_INHERITED = 0.3  # share of the experience with other constraints that a new one starts with


class Account:
    """Whether drafts pay with one constraint: what they saved, less what they cost, in passes.

    Drafts have a credit in passes: some at first, a small share of every pass, and what drafts have
    gained. Where the credit is used up, drafts pause.
    """

    def __init__(self) -> None:
        self.calibration = Calibration()
        self.size = 2.0  # draft tokens that were worth reading, on average
        self._gain = _FIRST_GAIN
        self._credit = _FIRST_CREDIT
        self._pause = 0
        self._next_pause = _SHORTEST
        self._lock = threading.Lock()

    def successor(self) -> Account:
        """An account for another constraint of the same kind, with part of the experience."""
        successor = Account()
        successor.calibration = self.calibration.faded(_INHERITED)
        successor.size = self.size
        successor._gain = min(max(self._gain, _FIRST_GAIN / 8), _FIRST_GAIN)
        successor._credit = max(self._credit, _LEAST_CREDIT)
        successor._next_pause = self._next_pause
        return successor

    def pause(self, rows: int) -> int:
        """For how many passes over `rows` texts drafts pause from now on."""
        with self._lock:
            short = 0 if self._credit > 0 else 1 + int(-self._credit / (_CREDIT_PER_PASS * rows))
            return max(self._pause, short)

    def passed(self, passes: int, rows: int) -> None:
        """Count passes over `rows` texts: pauses get shorter, and the credit grows."""
        with self._lock:
            self._pause = max(0, self._pause - passes)
            self._credit = min(self._credit + passes * rows * _CREDIT_PER_PASS, _MOST_CREDIT)

    def book(self, gain: float, size: int) -> None:
        """Book the gain, in passes, of a draft of which `size` tokens were read."""
        gain = max(gain, _MOST_LOSS)
        with self._lock:
            self.size += _RECENT * (size - self.size)
            self._gain += _RECENT * (gain - self._gain)
            self._credit = min(self._credit + gain, _MOST_CREDIT)
            if self._gain > _FIRST_GAIN:
                self._next_pause = _SHORTEST
            elif self._gain < 0:
                self._pause = self._next_pause
                self._next_pause = min(2 * self._next_pause, _LONGEST)
                self._gain = _FIRST_GAIN / 8


class AutoDrafter:
    """Wraps a drafter so that it never costs much more than it gains.

    drafter: makes the drafts; its estimates need not be right, they are calibrated. costs: a table
    shared by all texts of a target. What is learned of a constraint lives as long as it does.
    """

    name = "auto"

    def __init__(self, drafter: Drafter, costs: CostTable | None = None) -> None:
        check_drafter(drafter)
        self.drafter = drafter
        self.costs = costs or CostTable()
        self.hidden = drafter.hidden
        self._latest: dict[type, Account] = {}  # by kind of spec
        self.accounts: WeakKeyDictionary[Constraint, Account] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def begin(self, context: Context) -> AutoSession:
        """Start on a text."""
        return AutoSession(self, context)

    def propose_together(
        self,
        sessions: Sequence[Session],
        contexts: Sequence[Context],
        budgets: Sequence[Budget],
    ) -> list[DraftTree]:
        """The parts of drafts that are worth reading; none where they do not pay."""
        rows, own = len(sessions), cast(Sequence[AutoSession], sessions)
        due = self.costs.plain_due(rows)
        accounts = _accounts(sessions)
        closed = {account for account, count in accounts.items() if due or account.pause(count)}
        for account, count in accounts.items():
            account.passed(1, count)
        drafts = [
            Draft(DraftTree(context))
            if session.account in closed
            else session.draft(context, budget)
            for session, context, budget in zip(own, contexts, budgets, strict=True)
        ]
        if not any(draft.gains for draft in drafts):
            return [draft.tree for draft in drafts]
        size = self._worthwhile(drafts)
        reading = sum(min(size, len(draft.gains)) > 0 for draft in drafts)
        for session in own:
            session.burden = rows / max(reading, 1)
        return [draft.part(size) for draft in drafts]

    def rest(self, sessions: Sequence[Session]) -> int:
        """Passes for which drafts of all these texts pause; 0 where learning goes on for free."""
        rows, own = len(sessions), cast(Sequence[AutoSession], sessions)
        if self.hidden or any(session.learns_on for session in own):
            return 0
        if self.costs.plain_due(rows):
            return 1
        return min(account.pause(count) for account, count in _accounts(sessions).items())

    def rested(self, sessions: Sequence[Session], seconds: Sequence[float]) -> None:
        """Count the plain passes of a pause."""
        for each in seconds:
            self.costs.add(each, 1, len(sessions))
        for account, count in _accounts(sessions).items():
            account.passed(len(seconds), count)

    def account(self, constraint: Constraint) -> Account:
        """The account of a constraint; a new one succeeds the latest of the same kind of spec."""
        kind = type(constraint.spec)
        with self._lock:
            found = self.accounts.get(constraint)
            if found is None:
                latest = self._latest.get(kind)
                found = Account() if latest is None else latest.successor()
                self.accounts[constraint] = found
            self._latest[kind] = found
            return found

    def _worthwhile(self, drafts: Sequence[Draft]) -> int:
        """How many tokens of each draft to read, so that tokens per time are the most."""
        rows = len(drafts)
        ranks = zip_longest(*(draft.gains for draft in drafts), fillvalue=0.0)
        gains = [sum(rank) / rows for rank in ranks]
        size = self.costs.best_size(gains, rows, drafted=True)
        rate = (1 + sum(gains[:size])) / self.costs.ratio(size + 1, rows)
        return size if rate >= _MARGIN else 0


def _accounts(sessions: Sequence[Session]) -> Counter[Account]:
    """The accounts of some texts, with the number of texts that share each."""
    return Counter(cast(AutoSession, session).account for session in sessions)


@dataclass(frozen=True, slots=True)
class Draft:
    """What could be read of one text: a tree, its nodes best first, the probabilities of each."""

    tree: DraftTree
    order: Sequence[int] = ()
    gains: Sequence[float] = ()

    def part(self, size: int) -> DraftTree:
        """The best nodes, so many; a tree of drawn tokens stays whole."""
        if self.tree.draws or size >= len(self.tree) - 1:
            return self.tree
        return self.tree.part(self.order[:size]) if size else DraftTree(self.tree.context)


class AutoSession:
    """The automatic drafter at work on one text.

    Attributes: `account`, that of the constraint; `burden`, texts of the pass for each one that has
    a draft in it, which makes the pass longer for all of them.
    """

    def __init__(self, drafter: AutoDrafter, context: Context) -> None:
        self.burden = 1.0
        self._drafter = drafter
        self.account = drafter.account(context.constraint)
        self._session: Session = drafter.drafter.begin(context)
        self._whole: DraftTree | None = None  # all that was proposed, read or not
        self._propose_seconds = 0.0
        self._observe_seconds = 0.0
        self._unit = drafter.costs.seconds(1)  # a plain pass takes, when last asked

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """The part of a draft that is worth reading, or none."""
        return self._drafter.propose_together([self], [context], [budget])[0]

    @property
    def learns_on(self) -> bool:
        """Whether learning costs so little that it goes on while drafts pause."""
        return self._observe_seconds < _CHEAP_LEARNING * self._unit or bool(self._drafter.hidden)

    def draft(self, context: Context, budget: Budget) -> Draft:
        """The whole draft, of which a part may be read."""
        start = time.perf_counter()
        nodes = min(budget.nodes, int(2 * self.account.size) + 2)
        tree = self._session.propose(context, replace(budget, nodes=nodes))
        self._whole = tree
        order, gains = self._ranked(tree)
        self._propose_seconds = time.perf_counter() - start
        return Draft(tree, order, gains)

    def observe(self, context: Context, seen: Round) -> None:
        """Learn what was kept, and what would have been kept of the part that was not read."""
        costs, whole = self._drafter.costs, self._whole
        if whole is not None or seen.width < 1 or self.learns_on:
            start = time.perf_counter()
            self._session.observe(context, seen)
            self._observe_seconds = time.perf_counter() - start
        costs.observe(seen)
        if whole is None:
            return
        self._learn(whole, seen.written)
        self._whole = None
        self._unit = costs.seconds(1, seen.rows)
        if self._unit:
            spent = seen.rows * (self._propose_seconds + self._observe_seconds) / self._unit
            longer = costs.ratio(seen.width, seen.rows) - 1.0 if len(seen.tree) > 1 else 0.0
            gain = len(seen.written) - 1 - self.burden * longer - spent
            self.account.book(gain, len(seen.tree) - 1)

    def credits(self, tokens: Sequence[int]) -> Sequence[str]:
        """The credits of the inner session; without any, all goes to its drafter."""
        if isinstance(self._session, CreditingSession):
            return self._session.credits(tokens)
        return (getattr(self._drafter.drafter, "name", "auto"),) * len(tokens)

    def end(self, context: Context) -> None:
        """The text is finished, or was given up."""
        self._session.end(context)

    def _ranked(self, tree: DraftTree) -> tuple[list[int], list[float]]:
        """The nodes, those first that are most probably kept, and how probable that is."""
        kept = self.account.calibration.kept
        reached = [1.0]
        for node in range(1, len(tree)):
            parent = tree.parents[node]
            sure = tree.estimates[node] / tree.estimates[parent]
            reached.append(reached[parent] * min(kept(sure), 1.0))
        order = sorted(range(1, len(tree)), key=lambda node: -reached[node])  # parents first
        return order, [reached[node] for node in order]

    def _learn(self, tree: DraftTree, written: tuple[int, ...]) -> None:
        """Follow what was written through the whole draft; siblings on the way were refused."""
        node, learn = 0, self.account.calibration.learn
        for token in written:
            for other, child in tree.children[node].items():
                learn(tree.estimates[child] / tree.estimates[node], other == token)
            node = tree.child(node, token)
            if node == NONE:
                return


def auto(index: SuffixIndex | None = None) -> Speculation:
    """What `speculate="auto"` means: drafts from all that needs no model, as far as they pay.

    What the grammar forces, what followed in this text and in earlier ones, text of the prompt, and
    what the target found likely after the same token before: mixed, token by token. index: earlier
    texts to begin with, such as those that `SuffixIndex.save` has kept; new ones are added.
    """
    texts = SuffixIndex() if index is None else index
    parts = [ForcedDrafter(), SuffixDrafter(texts), CopyDrafter(), RecyclingDrafter()]
    return Speculation(AutoDrafter(MixtureDrafter(parts)), policy=Fixed(MOST))
