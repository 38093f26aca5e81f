"""Emptiness of a regular expression, the length of a shortest member, and that member.

All searches walk derivatives lazily, keep what they learn on the nodes, use no recursion, and give
up with `BudgetError` after a stated number of nodes.
"""

from __future__ import annotations

import contextlib
import heapq
from collections import deque
from collections.abc import Callable

from structgen.errors import BudgetError
from structgen.regular.expressions.base import Regex
from structgen.regular.expressions.required_characters import lacks_required_character
from structgen.util.cancellation import checkpoint

FEW_NODES = 100  # nodes a search visits before a product automaton is tried
NODE = 2  # units of work that the derivatives of a node take
NODE_BUDGET = 20_000  # nodes one search may visit
LONG = 50  # nodes after which a search also prunes by required characters

#: by a product automaton, which may raise BudgetError; `structgen.regular.regex` puts it here
product_search: Callable[[Regex], bool | None] | None = None


def too_costly(what: str, budget: int) -> BudgetError:
    """The error of a search that was given up."""
    return BudgetError(
        f"deciding {what} of a regular language takes more than {budget} derivatives",
        hint="simplify the patterns, length bounds or multiples that must hold at once",
    )


def is_nonempty(root: Regex, budget: int = NODE_BUDGET) -> bool:
    """True iff `root` has a member.

    Best first by the lower bound on the length still missing; after LONG nodes alternately breadth
    first, as there may be infinitely many nodes with a low bound. Reaching a node known to be
    non-empty proves it for the whole path; running out of nodes proves all visited ones empty.
    Raises `BudgetError` after `budget` nodes.
    """
    known = root.known_nonempty()
    if known is not None:
        return known
    parents: dict[Regex, Regex | None] = {root: None}
    heap: list[tuple[int, int, Regex]] = [(root.shortest, 0, root)]
    found: deque[Regex] = deque((root,))
    done: set[Regex] = set()
    while heap:
        checkpoint(NODE)
        first = found and len(parents) > LONG and len(done) % 2
        node = found.popleft() if first else heapq.heappop(heap)[2]
        if node in done:
            continue
        done.add(node)
        for _, target in node.steps():
            if target in parents:
                continue
            known_nonempty = target.known_nonempty()
            if known_nonempty:
                _mark_path(node, parents)
                return True
            if known_nonempty is None:
                parents[target] = node
                if len(parents) > LONG and lacks_required_character(target):
                    continue
                found.append(target)
                heapq.heappush(heap, (target.shortest, -len(parents), target))
        if len(parents) > budget:
            raise too_costly("the emptiness", budget)
    for node in parents:
        node._nonempty = False
    return False


def has_member(root: Regex) -> bool:
    """As `is_nonempty`, but where that takes long, by a product automaton where there is one."""
    with contextlib.suppress(BudgetError):
        return is_nonempty(root, FEW_NODES)
    if product_search is not None:
        with contextlib.suppress(BudgetError):
            root._nonempty = product_search(root)
    return is_nonempty(root)


def _mark_path(node: Regex | None, parents: dict[Regex, Regex | None]) -> None:
    while node is not None:
        node._nonempty = True
        node = parents[node]


def min_length(root: Regex, budget: int = NODE_BUDGET) -> int | None:
    """The length of a shortest member in characters, or None when there is none.

    A* over the non-empty moves with the nodes' lower bounds. Raises `BudgetError` after `budget`
    nodes.
    """
    if not is_nonempty(root, budget):
        return None
    if root.plain or root.nullable:
        return root.shortest
    if root._distance >= 0:
        return root._distance
    walked: dict[Regex, int] = {root: 0}
    parents: dict[Regex, Regex | None] = {root: None}
    heap: list[tuple[int, int, int, Regex]] = [(root.shortest, 0, root.id, root)]
    while heap:
        checkpoint()
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


Regex.decide_nonempty = staticmethod(is_nonempty)
Regex.search_member = staticmethod(has_member)
