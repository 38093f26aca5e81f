"""Emptiness of a regular expression, the length of a shortest member, and that member.

All searches walk derivatives lazily, keep what they learn on the nodes, use no recursion, and give
up with `BudgetError` after a stated number of nodes.
"""

from __future__ import annotations

import contextlib
import heapq
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from structgen.errors import BudgetError
from structgen.regular.expressions.base import EPSILON, Regex
from structgen.regular.expressions.nodes import And, Concat, Literal, Repeat, SubAutomaton
from structgen.regular.expressions.required_characters import (
    is_ruled_out,
    lacks_required_character,
)
from structgen.util.cancellation import checkpoint, limited

FEW_NODES = 100  # nodes a search visits before a product automaton is tried
NODE = 2  # units of work that the derivatives of a node take
NODE_BUDGET = 20_000  # nodes one search may visit
MAX_LENGTH = 1 << 24  # characters of a text that is written down
LONG = 50  # nodes after which a search also prunes by required characters
FEW_UNITS = 400  # of work for a shortest member until a table of states is tried
TABLE_UNITS = 4000  # of work for that

#: by a product automaton, which may raise BudgetError; `structgen.regular.regex` puts it here
product_search: Callable[[Regex], bool | None] | None = None
#: the same by languages that stand for those of formats, None if they do not tell
by_estimates: Callable[[Regex], bool | None] | None = None
#: `shortest` by a table of states, None where there is none
table_search: Callable[[Regex], str | None] | None = None


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
    if is_ruled_out(root):
        root._nonempty = False
        return False
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
    """As `is_nonempty`, but where that takes long, by a product automaton where there is one.

    Derivatives of formats that are estimated take long from the first.
    """
    ways = [_with_few_nodes, _as_estimated]
    if isinstance(root, And) and any(map(_is_estimated, root.parts)):
        ways.reverse()
    for way in ways:
        known = way(root)
        if known is not None:
            return known
    if product_search is not None:
        with contextlib.suppress(BudgetError):
            root._nonempty = product_search(root)
    return is_nonempty(root)


def _with_few_nodes(root: Regex) -> bool | None:
    """`is_nonempty` if that takes few derivatives, else None."""
    with contextlib.suppress(BudgetError):
        return is_nonempty(root, FEW_NODES)
    return None


def _is_estimated(part: Regex) -> bool:
    return isinstance(part, SubAutomaton) and getattr(part.state, "estimates", None) is not None


def _as_estimated(root: Regex) -> bool | None:
    """Whether there is a member, where that is known or estimates tell; else None."""
    known = root.known_nonempty()
    if known is None and by_estimates is not None:
        with contextlib.suppress(BudgetError):
            known = root._nonempty = by_estimates(root)
    return known


def _mark_path(node: Regex | None, parents: dict[Regex, Regex | None]) -> None:
    while node is not None:
        node._nonempty = True
        node = parents[node]


def min_length(root: Regex, budget: int = NODE_BUDGET, *, by_table: bool = True) -> int | None:
    """The length of a shortest member in characters, or None when there is none.

    Of a sequence it is the sum of those of its parts; else it is searched for, where that takes
    long by a table of states, if `by_table`. Raises `BudgetError` after `budget` nodes of one
    search.
    """
    known = _as_estimated(root)
    if not (is_nonempty(root, budget) if known is None else known):
        return None
    todo = [root]  # no recursion: expressions may be very deep
    while todo:
        node = todo[-1]
        if node._distance >= 0:
            todo.pop()
            continue
        parts, times = _in_turn(node)
        missing = [part for part in parts if part._distance < 0]
        if missing:
            todo += missing
        else:
            lengths = sum(part._distance for part in parts)
            node._distance = lengths * times if parts else _length(node, budget, by_table)
    return root._distance


def _in_turn(node: Regex) -> tuple[list[Regex], int]:
    """The parts of a sequence, and how often they come; no parts where the node is none."""
    if node.nullable or node.plain:
        return [], 1
    if isinstance(node, Concat):
        return node.parts_in_order, 1
    if isinstance(node, Repeat):
        return [node.body], node.low
    return [], 1


def _length(node: Regex, budget: int, by_table: bool) -> int:
    """`min_length` of a node with a member that is no sequence."""
    text = None
    if by_table:
        with contextlib.suppress(BudgetError), limited(FEW_UNITS):
            return _nearest(node, budget)
        text = _by_table(node)
    return _nearest(node, budget) if text is None else len(text)


def _by_table(node: Regex) -> str | None:
    """`shortest` of a node as a table of states says; None where it does not."""
    with contextlib.suppress(BudgetError), limited(TABLE_UNITS):
        return None if table_search is None else table_search(node)
    return None


def _nearest(root: Regex, budget: int) -> int:
    """`min_length` of a node with a member: A* over the moves with the nodes' lower bounds."""
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
            break
    raise too_costly("the shortest member", budget)


def _mark_distances(
    node: Regex | None, total: int, walked: dict[Regex, int], parents: dict[Regex, Regex | None]
) -> None:
    while node is not None:
        node._distance = total - walked[node]
        node = parents[node]


class _Again(NamedTuple):
    """What was written from `start` on comes so many times."""

    start: int
    times: int


def shortest(root: Regex, budget: int = NODE_BUDGET) -> str | None:
    """A shortest member, or None when there is none.

    Among those it is the first by letters, where printable ASCII letters come before all others
    and lower code points before higher ones. Raises `BudgetError` after `budget` nodes of one
    search, or where it has more than MAX_LENGTH characters.
    """
    length = min_length(root, budget)
    if length is None:
        return None
    if length > MAX_LENGTH:
        raise BudgetError(
            f"the shortest text has {length} characters (expected at most {MAX_LENGTH})",
            hint="lower the least length",
        )
    text: list[str] = []
    todo: list[Regex | _Again] = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, _Again):
            text[node.start :] = ["".join(text[node.start :]) * node.times]
        elif node.nullable:
            continue
        elif isinstance(node, Literal):
            text.append(node.text)
        elif isinstance(node, Concat):
            todo += reversed(node.parts_in_order)
        elif isinstance(node, Repeat):
            todo += (_Again(len(text), node.low), node.body)
        else:
            letters, rest = _letters(node, budget)
            text += letters
            todo.append(rest)
    return "".join(text)


def _letters(node: Regex, budget: int) -> tuple[str, Regex]:
    """The first letters of what `shortest` gives for a node that is no sequence, and the rest."""
    with contextlib.suppress(BudgetError), limited(FEW_UNITS):
        return _steps(node, budget)
    text = _by_table(node)
    return _steps(node, budget) if text is None else (text, EPSILON)


def _steps(node: Regex, budget: int) -> tuple[str, Regex]:
    """`_letters` by derivatives: those up to where a sequence is left."""
    letters = []
    while not (node.nullable or isinstance(node, Literal | Concat | Repeat)):
        letter, node = _first_step(node, budget)
        letters.append(chr(letter))
    return "".join(letters), node


def _first_step(node: Regex, budget: int) -> tuple[int, Regex]:
    """The first letter of the shortest member that `shortest` gives, and what follows it."""
    checkpoint()
    left = (min_length(node, budget, by_table=False) or 0) - 1
    best: tuple[bool, int] | None = None
    after = node
    for chars, target in node.moves():
        letter = chars.sample
        rank = (not 0x20 <= letter <= 0x7E, letter)
        if (best is not None and best < rank) or target.shortest > left:
            continue
        if min_length(target, budget, by_table=False) == left:
            best, after = rank, target
    if best is None:  # cannot be: the length is exact
        raise too_costly("the shortest member", budget)
    return best[1], after


Regex.search_member = staticmethod(has_member)
