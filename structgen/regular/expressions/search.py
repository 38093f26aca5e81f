"""In: a regular expression node. Out: is it empty, how long is a shortest member, which one is it.

All searches walk derivatives lazily, keep what they learn on the nodes, use no recursion, and give
up with `BudgetError` after a stated number of nodes.
"""

from __future__ import annotations

import contextlib
import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from structgen.errors import BudgetError

if TYPE_CHECKING:
    from structgen.regular.expressions.base import Regex

FEW_LETTERS = 100  # of a text that is tried before others are looked for
FEW_NODES = 100  # that a search visits before it is left to kernels
NODE_BUDGET = 20_000  # nodes one search may visit
LONG = 50  # nodes after which a search looks at what is needed to end


def too_costly(what: str, budget: int) -> BudgetError:
    """The error of a search that was given up."""
    return BudgetError(
        f"deciding {what} of a regular language takes more than {budget} derivatives",
        hint="simplify the patterns, length bounds or multiples that must hold at once",
    )


def live(root: Regex, budget: int = NODE_BUDGET) -> bool:
    """True iff `root` has a member.

    Best first by the lower bound on the length still missing, and where that takes long, in turn
    with what was found first, as there may be no end of nodes with a low bound. Reaching a node
    known to be non-empty proves it for the whole path; running out of nodes proves all visited
    ones empty. Raises `BudgetError` after `budget` nodes.
    """
    known = root.verdict()
    if known is not None:
        return known
    if _meet_at_once(root):
        root._live = True
        return True
    parents: dict[Regex, Regex | None] = {root: None}
    heap: list[tuple[int, int, Regex]] = [(root.shortest, 0, root)]
    found: deque[Regex] = deque((root,))
    done: set[Regex] = set()
    while heap:
        first = found and len(parents) > LONG and len(done) % 2
        node = found.popleft() if first else heapq.heappop(heap)[2]
        if node in done:
            continue
        done.add(node)
        for _, target in node.steps():
            if target in parents:
                continue
            verdict = target.verdict()
            if verdict:
                _mark_path(node, parents)
                return True
            if verdict is None:
                parents[target] = node
                if len(parents) > LONG and _lacks(target):
                    continue
                found.append(target)
                heapq.heappush(heap, (target.shortest, -len(parents), target))
        if len(parents) > budget:
            raise too_costly("the emptiness", budget)
    for node in parents:
        node._live = False
    return False


def has_member(root: Regex) -> bool:
    """As `live`, but where that takes long kernels look at an expression's parts side by side."""
    with contextlib.suppress(BudgetError):
        return live(root, FEW_NODES)
    from structgen.regular.lazy_dfa.automaton import formula_has_member

    with contextlib.suppress(BudgetError):
        root._live = formula_has_member(root)
    return live(root)


def _lacks(node: Regex) -> bool:
    from structgen.regular.expressions.required_characters import lacks

    return lacks(node)


def _meet_at_once(root: Regex) -> bool:
    """Whether a shortest text of one part of an intersection is in all others, as most often.

    Or those of all parts that ask for something in a text, one behind the other.
    """
    from structgen.regular.expressions.nodes import Alt, And, matches

    if isinstance(root, Alt):
        return any(map(_meet_at_once, root.parts))
    if not isinstance(root, And):
        return False
    return any(all(matches(part, word) for part in root.parts) for word in _tried(root.parts))


def _tried(parts: Iterable[Regex]) -> Iterator[str]:
    """Texts that may be in all of some languages."""
    from structgen.regular.expressions.nodes import Concat

    searched: list[str] = []
    for part in parts:
        word = _short_word(part)
        if word is not None:
            yield word
            if isinstance(part, Concat) and part.opened:
                searched.append(word)
    if len(searched) > 1:
        yield "".join(searched)


@lru_cache(maxsize=4096)
def _short_word(part: Regex) -> str | None:
    """A shortest text of an expression where that is found without a search, and is no long one."""
    return shortest(part) if part.plain and part.shortest <= FEW_LETTERS else None


def _unbarred(root: Regex) -> str | None:
    """A shortest text of what an intersection asks for, if its other parts do not rule that out."""
    from structgen.regular.expressions.nodes import And, Not, matches

    parts = root.parts if isinstance(root, And) else ()
    wanted = [part for part in parts if not isinstance(part, Not)]
    word = _short_word(wanted[0]) if len(wanted) == 1 else None
    if word is None or not all(part is wanted[0] or matches(part, word) for part in parts):
        return None
    root._live, root._distance = True, len(word)
    return word


def _mark_path(node: Regex | None, parents: dict[Regex, Regex | None]) -> None:
    while node is not None:
        node._live = True
        node = parents[node]


def min_length(root: Regex, budget: int = NODE_BUDGET) -> int | None:
    """The length of a shortest member in characters, or None when there is none.

    A* over the live moves with the nodes' lower bounds. Raises `BudgetError` after `budget` nodes.
    """
    if not live(root, budget):
        return None
    if root.plain or root.nullable:
        return root.shortest
    if root._distance >= 0:
        return root._distance
    walked: dict[Regex, int] = {root: 0}
    parents: dict[Regex, Regex | None] = {root: None}
    heap: list[tuple[int, int, int, Regex]] = [(root.shortest, 0, root.id, root)]
    while heap:
        total, _, _, node = heapq.heappop(heap)
        here = walked[node]
        if node.plain or node.nullable or node._distance >= 0:
            _mark_distances(node, total, walked, parents)
            return total
        for _, target in node.moves():
            if walked.get(target, total + here + 2) <= here + 1:
                continue
            walked[target] = here + 1
            parents[target] = node
            ahead = target._distance if target._distance >= 0 else target.shortest
            heapq.heappush(heap, (here + 1 + ahead, -len(parents), target.id, target))
        if len(walked) > budget:
            raise too_costly("the shortest member", budget)
    return None


def _mark_distances(
    node: Regex | None, total: int, walked: dict[Regex, int], parents: dict[Regex, Regex | None]
) -> None:
    while node is not None:
        node._distance = total - walked[node]
        node = parents[node]


def shortest(root: Regex, budget: int = NODE_BUDGET) -> str | None:
    """A shortest member, or None when there is none.

    Among those it is the first by letters, where printable ASCII letters come before all others
    and lower code points before higher ones. Raises `BudgetError` after `budget` nodes.
    """
    word = _unbarred(root)
    if word is not None:
        return word
    left = min_length(root, budget)
    if left is None:
        return None
    text: list[str] = []
    node = root
    while left:
        left -= 1
        best: tuple[bool, int] | None = None
        after = node
        for chars, target in node.moves():
            letter = chars.sample
            rank = (not 0x20 <= letter <= 0x7E, letter)
            if (best is not None and best < rank) or target.shortest > left:
                continue
            if min_length(target, budget) == left:
                best, after = rank, target
        if best is None:  # cannot be: `left` is an exact distance
            raise too_costly("the shortest member", budget)
        text.append(chr(best[1]))
        node = after
    return "".join(text)
