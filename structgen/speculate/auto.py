"""In: a drafter, and what passes cost here. Out: AutoDrafter: drafts only as far as they pay.

Three questions, each answered by what was measured: how often are tokens kept of which the drafter
is so sure (Calibration); what does a pass over n tokens cost (CostTable); and do drafts pay at all
with this constraint (Account). Where they do not, texts are written as without drafts, and drafts
are tried again after ever longer pauses.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from weakref import WeakKeyDictionary

from structgen.decode.interfaces import Constraint
from structgen.speculate.drafters.copy import CopyDrafter
from structgen.speculate.drafters.forced import ForcedDrafter
from structgen.speculate.drafters.mixture import MixtureDrafter
from structgen.speculate.drafters.recycling import RecyclingDrafter
from structgen.speculate.drafters.suffix import SuffixDrafter
from structgen.speculate.drafters.suffix_index import SuffixIndex
from structgen.speculate.interfaces import Budget, Context, Drafter, Round, Session
from structgen.speculate.policies.calibration import Calibration
from structgen.speculate.policies.costs import CostTable
from structgen.speculate.policies.fixed import Fixed
from structgen.speculate.speculation import Speculation
from structgen.speculate.tree import NONE, DraftTree

MOST = Budget(nodes=32, depth=24, width=4, least=0.02)
_MARGIN = 1.03  # a draft is read if it promises this much more than none
_RECENT = 0.2  # weight of the newest draft in what is typical
_HOPE = 0.3  # what drafts are taken to gain at first, in passes
_SHORTEST, _LONGEST = 4, 64  # rounds between tries, where drafts do not pay
_LITTLE = 0.003  # of a pass: learning that costs less is never left out
_INHERITED = 0.3  # of the experience with other constraints


class Account:
    """Whether drafts pay with one constraint: what they saved, less what they cost, in passes."""

    def __init__(self) -> None:
        self.calibration = Calibration()
        self.size = 2.0  # draft tokens that were worth reading, on average
        self._gain = _HOPE
        self._pause = 0
        self._next_pause = _SHORTEST
        self._lock = threading.Lock()

    def heir(self) -> Account:
        """One for another constraint of the same kind: it knows some of what this one knows."""
        heir = Account()
        heir.calibration = self.calibration.faded(_INHERITED)
        heir.size = self.size
        heir._gain = min(max(self._gain, _HOPE / 8), _HOPE)
        heir._next_pause = self._next_pause
        return heir

    def open(self) -> bool:
        """Whether to draft now."""
        with self._lock:
            if self._pause > 0:
                self._pause -= 1
                return False
            return True

    def book(self, gain: float, size: int) -> None:
        """A draft of which so many tokens were read gained this much."""
        with self._lock:
            self.size += _RECENT * (size - self.size)
            self._gain += _RECENT * (gain - self._gain)
            if self._gain > _HOPE:
                self._next_pause = _SHORTEST
            elif self._gain < 0:
                self._pause = self._next_pause
                self._next_pause = min(2 * self._next_pause, _LONGEST)
                self._gain = _HOPE / 8


class AutoDrafter:
    """Makes of another drafter one that never costs much more than it gains.

    drafter: makes the drafts; its estimates need not be right, they are calibrated. costs: a table
    shared by all texts of a target. What is learned of a constraint lives as long as it does.
    """

    name = "auto"

    def __init__(self, drafter: Drafter, costs: CostTable | None = None) -> None:
        self.drafter = drafter
        self.costs = costs or CostTable()
        self.hidden = drafter.hidden
        self._latest: dict[type, Account] = {}  # by kind of spec
        self._accounts: WeakKeyDictionary[Constraint, Account] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def begin(self, context: Context) -> AutoSession:
        """Start on a text."""
        return AutoSession(self, context)

    def account(self, constraint: Constraint) -> Account:
        """That of a constraint; a new one is the heir of the latest one for such a spec."""
        kind = type(constraint.spec)
        with self._lock:
            found = self._accounts.get(constraint)
            if found is None:
                latest = self._latest.get(kind)
                found = Account() if latest is None else latest.heir()
                self._accounts[constraint] = found
            self._latest[kind] = found
            return found


class AutoSession:
    """One text."""

    def __init__(self, drafter: AutoDrafter, context: Context) -> None:
        self._costs = drafter.costs
        self._account = drafter.account(context.constraint)
        self._session: Session = drafter.drafter.begin(context)
        self._whole: DraftTree | None = None  # all that was proposed, read or not
        self._rows = 1
        self._propose_seconds = 0.0
        self._observe_seconds = 0.0

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """The part of a draft that is worth reading, or none."""
        start = time.perf_counter()
        self._whole = None
        if self._costs.plain_due(self._rows) or not self._account.open():
            return DraftTree(context)
        nodes = min(budget.nodes, int(2 * self._account.size) + 2)
        tree = self._session.propose(context, replace(budget, nodes=nodes))
        self._whole = tree
        read = self._worthwhile(tree)
        self._propose_seconds = time.perf_counter() - start
        return read

    def observe(self, context: Context, seen: Round) -> None:
        """Learn what was kept, and what would have been kept of the part that was not read."""
        unit = self._costs.seconds(1, seen.rows)
        if seen.width < 1 or self._whole is not None or self._observe_seconds < _LITTLE * unit:
            start = time.perf_counter()
            self._session.observe(context, seen)
            self._observe_seconds = time.perf_counter() - start
        self._rows = seen.rows
        self._costs.observe(seen)
        if self._whole is not None:
            self._learn(self._whole, seen.written)
            if unit:
                spent = self._propose_seconds + self._observe_seconds
                cost = self._costs.ratio(len(seen.tree), seen.rows) + spent / unit
                self._account.book(len(seen.written) - cost, len(seen.tree) - 1)
            self._whole = None

    def end(self, context: Context) -> None:
        """The text is finished, or was given up."""
        self._session.end(context)

    def _worthwhile(self, tree: DraftTree) -> DraftTree:
        """The tokens that are most probably kept, as many as make tokens per time the most."""
        count = len(tree) - 1
        if not count or tree.draws:
            return tree
        kept = self._account.calibration.kept
        reached = [1.0]
        for node in range(1, count + 1):
            parent = tree.parents[node]
            sure = tree.estimates[node] / tree.estimates[parent]
            reached.append(reached[parent] * min(kept(sure), 1.0))
        order = sorted(range(1, count + 1), key=lambda node: -reached[node])  # parents first
        gains = [reached[node] for node in order]
        size = self._costs.best_size(gains, self._rows, drafted=True)
        rate = (1 + sum(gains[:size])) / self._costs.ratio(size + 1, self._rows)
        if rate < _MARGIN:
            return tree.part([])
        return tree if size == count else tree.part(order[:size])

    def _learn(self, tree: DraftTree, written: tuple[int, ...]) -> None:
        """Follow what was written through the whole draft; siblings on the way were refused."""
        node, learn = 0, self._account.calibration.learn
        for token in written:
            for other, child in tree.children[node].items():
                learn(tree.estimates[child] / tree.estimates[node], other == token)
            node = tree.child(node, token)
            if node == NONE:
                return


def auto() -> Speculation:
    """What `speculate="auto"` means: drafts from all that needs no model, as far as they pay.

    What the grammar forces, what followed in this text and in earlier ones, text of the prompt, and
    what the target found likely after the same token before: mixed, token by token.
    """
    parts = [ForcedDrafter(), SuffixDrafter(SuffixIndex()), CopyDrafter(), RecyclingDrafter()]
    return Speculation(AutoDrafter(MixtureDrafter(parts)), policy=Fixed(MOST))
