"""Which states can still be finished by tokens of a vocabulary that lacks some bytes.

With a token for each single byte every text can be written, and there is nothing to do. A smaller
vocabulary can be led into a state from which texts go on, but none of its tokens do. Such states
are found by search and treated as DEAD, so that a mask is never empty: a state that counts as
finishing always has a successor that does.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Hashable, Iterable

from structgen.errors import BudgetError
from structgen.util.cancellation import limited

NOT_FOUND = 1 << 30  # stands for the length of a completion
MAX_SEARCHED = 5_000  # states looked at for one answer
MAX_WORK = 5_000  # units of work (`checkpoint`) for one answer


class Completable:
    """Whether some sequence of tokens finishes a state; what was found is remembered.

    successors: state -> the states that text tokens lead to. ends: whether the text may end.
    completion: a short text to the end in the bytes of the tokens, None when there is none to be
    found; it is tried first, and its length orders the search. core: what decides the completion.
    tokens: texts of the tokens.
    """

    def __init__(
        self,
        successors: Callable[[int], Iterable[int]],
        ends: Callable[[int], bool],
        completion: Callable[[int], bytes | None],
        core: Callable[[int], Hashable],
        tokens: frozenset[bytes],
    ) -> None:
        self._successors = successors
        self._ends = ends
        self._completion = completion
        self._core = core
        self._tokens = tokens
        self._longest = max(map(len, tokens), default=0)
        self.gave_up = False
        self._known: dict[int, bool] = {}
        self._finishable: set[Hashable] = set()
        self._spelled: dict[bytes, bool] = {}

    def __call__(self, state: int) -> bool:
        """Whether some tokens are found to finish the text from `state`.

        False also where that takes too long (MAX_SEARCHED, MAX_WORK); `gave_up` is then True for
        good.
        """
        if state not in self._known:
            try:
                with limited(MAX_WORK):
                    self._decide(state)
            except BudgetError:
                self.gave_up, self._known[state] = True, False
        return self._known[state]

    def _decide(self, state: int) -> None:
        core = self._core(state)
        if core in self._finishable or self._spells(self._completion(state)):
            self._finishable.add(core)
            self._known[state] = True
        else:
            self._search(state)

    def _spells(self, text: bytes | None) -> bool:
        """Whether `text` is a sequence of tokens."""
        if text is None:
            return False
        if text not in self._spelled:
            reached = [True] + [False] * len(text)
            for end in range(1, len(text) + 1):
                starts = range(max(0, end - self._longest), end)
                reached[end] = any(reached[i] and text[i:end] in self._tokens for i in starts)
            self._spelled[text] = reached[-1]
        return self._spelled[text]

    def _distance(self, state: int) -> int:
        text = self._completion(state)
        return NOT_FOUND if text is None else len(text)

    def _search(self, start: int) -> None:
        """Search for a state where the text may end, nearest completion first (best-first search).

        If there is none, no state that was met can be finished.
        """
        parents: dict[int, int | None] = {start: None}
        ties = itertools.count()
        queue = [(0, next(ties), start)]
        while queue:
            _, _, state = heapq.heappop(queue)
            if self._known.get(state) or self._ends(state):
                at: int | None = state
                while at is not None:
                    self._known[at] = True
                    at = parents[at]
                return
            if self._known.get(state) is False:
                continue
            for after in self._successors(state):
                if after not in parents:
                    parents[after] = state
                    heapq.heappush(queue, (self._distance(after), next(ties), after))
            if len(parents) > MAX_SEARCHED:
                self.gave_up, self._known[start] = True, False
                return
        self._known.update(dict.fromkeys(parents, False))
