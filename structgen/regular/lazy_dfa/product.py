"""Product construction: one automaton for a Boolean formula over several others.

The expression is compiled to a formula in postfix form (and, or, not) over its parts, each of which
has a table of states. A state is a tuple with one state per part; the formula says whether it
accepts. Moves to dead tuples are left out: a search over tuples finds whether some text still makes
the formula true (kernel `regular.product`), helped by what each part must and may read (`Ahead`).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.kernels.build.loader import kernels
from structgen.kernels.numbers.columns import IN_FRACTION, IN_WHOLE
from structgen.regular.charset import ALL
from structgen.regular.expressions.base import Regex
from structgen.regular.expressions.logic import alt
from structgen.regular.expressions.nodes import Alt, And, Not
from structgen.regular.expressions.search import too_costly
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.numbers import DIGITS, NumberAutomaton
from structgen.regular.lazy_dfa.states import (
    ANY_NUMBER,
    AT_ONCE,
    Array,
    TableAutomaton,
    unknown_ahead,
)
from structgen.regular.lazy_dfa.sub_automata import (
    ComposedAutomaton,
    StateTables,
    SubAutomatonStates,
)
from structgen.regular.numbers.language import number_alternatives
from structgen.util.arrays import with_room
from structgen.util.cancellation import checkpoint

MAX_SIDE = 100_000  # tuples kept by searches besides those that are states
WORTH = 100  # `max_eager_states`: each state may take a search
WORTH_OF_SETS = 16  # the same where a part is a `ComposedAutomaton`
MAX_PARTS = 60  # parts, a bit each, and levels of the formula
MAX_LINES = 1000  # instructions of the formula
TUPLES_PER_UNIT = 4  # that are made in a unit of work
ROOM = 128  # tuples that there is room for at first
NOTHING_LEFT = 255  # in place of a kind of states (`kernels.numbers.columns.IN_WHOLE`)
NEVER = 1 << 20
MOST_TRIED = 20_000  # numbers with different remainders that are tried
FEW_NUMBERS = 8  # states of a number automaton explored at once: most lead to none that is needed

TableOf = Callable[[Regex], StateTables]
Parts = dict[Regex, int]
Lines = list[tuple[int, int]]


class ProductAutomaton(TableAutomaton):
    """The product of the parts of an expression; states uint64[S, 1] are the numbers of tuples."""

    def __init__(self, regex: Regex, table_of: TableOf) -> None:
        """table_of: makes the table of a part. Raises TooLargeError."""
        joint = regex.parts if isinstance(regex, And) else ()
        self._join(*_compile_formula(regex), table_of, joint, ends=regex.nullable)

    def _join(
        self,
        parts: Parts,
        lines: Lines,
        table_of: TableOf,
        joint: Iterable[Regex],
        *,
        ends: bool,
    ) -> None:
        """Begin the product of some parts. joint: those that every text fits."""
        blocks = [*map(table_of, parts)]
        numbers = [block for block in blocks if isinstance(block, NumberAutomaton)]
        multiples = any(block.step not in {0, 1} for block in numbers)
        self._numbers = numbers if multiples and len(numbers) == len(blocks) else []
        self._needed: dict[bytes, int] = {}  # see `_digits_needed`
        sets = [block for block in blocks if isinstance(block, ComposedAutomaton)]
        if any(block.is_vast for block in sets):
            raise TooLargeError
        self._dives = bool(sets)  # search depth first: formats have many states and few dead ends
        self.max_eager_states = WORTH_OF_SETS if sets else WORTH
        self._parts = SubAutomatonStates(blocks, [ALL])
        self._formula = np.array(lines, np.int32)
        super().__init__(np.zeros(1, np.uint64), self._parts.classes, ends=ends)
        self._side = kernels("regular.product").Product(
            states=np.arange(1, len(parts) + 1, dtype=np.uint64)[None],
            moves=np.zeros((1, len(self.classes.letters)), np.int32),
            walked=np.zeros(1, np.uint8),
            ends=np.array([ends], np.uint8),
            live=np.ones(1, np.uint8),
            table=np.zeros(0, np.int32),
            sizes=np.array([1, 0], np.int64),
            line=np.zeros(1, np.int32),
            before=np.zeros(1, np.int32),
            below=np.zeros(1, np.int32),
            row=np.zeros(len(parts), np.uint64),
            key=np.zeros(1, np.uint64),
            stack=np.zeros((len(lines), 2), np.int64),
            joint=np.array([parts[part] for part in joint if part in parts], np.int64),
            ahead=self._parts.ahead(),
        )
        self._grow(ROOM)

    @property
    def reads_numbers(self) -> bool:
        """Whether all parts are ranges of numbers, some of multiples: digits need no exploring."""
        return bool(self._numbers)

    def find(self, state: int, count: int) -> None:
        """See `TableAutomaton.find`: few at once, as each move may take a search."""
        super().find(state, min(count, FEW_NUMBERS if self.reads_numbers else AT_ONCE))

    @property
    def nbytes(self) -> int:
        """See `RegexAutomaton.nbytes`."""
        return super().nbytes + self._parts.nbytes

    def _grow(self, room: int) -> None:
        """Make room for so many tuples, and empty the hash table over them."""
        side = self._side
        used = int(side.sizes[kernels("regular.product").MADE])
        side = self._side = side._replace(
            states=with_room(side.states, room, None, used),
            moves=with_room(side.moves, room, None, used),
            walked=with_room(side.walked, room, used=used),
            ends=with_room(side.ends, room, used=used),
            live=with_room(side.live, room, used=used),
            line=with_room(side.line, room, None, 0),
            before=with_room(side.before, room, None, 0),
            below=with_room(side.below, room, None, 0),
        )
        if len(side.table) < 2 * len(side.walked):
            size = 1 << (2 * len(side.walked)).bit_length()
            self._side = side._replace(table=np.empty(size, np.int32))
        self._side.table[:] = -1
        self._side.sizes[kernels("regular.product").HASHED] = 0

    def _forget(self) -> None:
        """Drop all tuples that searches made and that are no states."""
        side, made = self._side, int(self.search.sizes[self._search_kernels.MADE])
        kept = self.states[:made, 0].astype(np.int64)
        side.states[:made], side.ends[:made] = side.states[kept], side.ends[kept]
        side.live[:made], side.walked[:] = 1, 0
        side.sizes[kernels("regular.product").MADE] = made
        self.states[:made, 0] = np.arange(made)
        self.search.table[:] = -1
        self.search.sizes[self._search_kernels.LISTED] = 0
        self._grow(made)

    def _find(self, state: int, count: int) -> None:
        end = self.found + count
        k, forgot = kernels("regular.product"), -1  # forgot: states explored at the last `_forget`
        while self.search.queue[state] != 1:
            before = int(self._side.sizes[k.MADE])
            given = self._parts.nodes, self._formula, self._side, self.states, self.search
            need = k.explore_product(*given, self._dives, state, end)
            checkpoint(1 + (int(self._side.sizes[k.MADE]) - before) // TUPLES_PER_UNIT)
            if need >= 0:  # a part has to be explored
                self._parts.explore(need, FEW_NUMBERS if self.reads_numbers else count)
                self._side = self._side._replace(ahead=self._parts.ahead())
            elif need == k.FULL:  # grow, then drop what searches left, then give up
                made, known, _ = self.search.sizes.tolist()
                room = len(self._side.walked)
                if room < made + MAX_SIDE:
                    self._grow(room + len(self.classes.letters))
                elif known > forgot:
                    forgot = known
                    self._forget()
                else:
                    raise too_costly("the emptiness", MAX_SIDE)

    def _write_known_loops(self, order: Array) -> bool:
        """See `TableAutomaton._write_known_loops`: of numbers read side by side, digits.

        Where digits only change the remainders by some divisors, enough of them lead to any
        remainder that there may be. So if some number fits what is left, digits may follow, but for
        as many as that takes where their number is bounded.
        """
        if not self.reads_numbers:
            return False
        nodes = self._nodes_of(order)
        kinds = np.full(nodes.shape, NOTHING_LEFT, np.uint8)
        least, most = np.zeros(len(nodes), np.uint8), np.full(len(nodes), ANY_NUMBER, np.uint8)
        for place, block in enumerate(self._numbers):
            left = np.flatnonzero(nodes[:, place] >= 0)
            kinds[left, place], few, many = block.steady(self._parts.own(nodes[left, place]))
            least[left] = np.maximum(least[left], few)
            most[left] = np.minimum(most[left], many)
        kinds[(kinds == 0).any(axis=1) | (least > most)] = 0
        needed = np.array([*map(self._digits_needed, map(bytes, kinds))], np.int64)
        often = np.where(most < ANY_NUMBER, most - needed, ANY_NUMBER * (needed < NEVER))
        self.often[order] = np.maximum(often, 0)
        self.loops[order] = np.where(often > 0, DIGITS, 0)
        return True

    def _digits_needed(self, kinds: bytes) -> int:
        """With how many digits a number surely fits what is left, given the kinds of states."""
        found = self._needed.get(kinds)
        if found is None:
            steps = [
                block.step if kind == IN_WHOLE else Fraction(0)
                for block, kind in zip(self._numbers, kinds, strict=True)
            ]
            unit = Fraction(1, 2 * math.lcm(*(step.denominator for step in steps)))
            each = [int(step / unit) for step in steps]  # odd numbers are multiples of none
            period = math.lcm(*filter(None, each))
            tried = np.arange(min(period, MOST_TRIED) + 2)
            fits = np.zeros((len(tried), len(each)), np.bool_)
            for place, step in enumerate(each):
                left = kinds[place] in {IN_WHOLE, IN_FRACTION}
                fits[:, place] = tried % step == 0 if step else left
            lasts = fits.any() and self._evaluated(fits).any()
            found = self._needed[kinds] = len(str(int(period * unit) + 1)) if lasts else NEVER
        return found

    def ahead(self, begin: int, end: int) -> Any:
        """See `TableAutomaton.ahead`: how soon texts end at least, by that of the parts."""
        k, nodes = kernels("regular.product"), self._nodes_of(np.arange(begin, end))
        # a part that is left out has no text any more, or no say beside another one
        missing = kernels("regular.required_ahead").ENDLESS
        each = np.where(nodes < 0, missing, self._parts.ahead().least[nodes])
        stack: list[Array] = []
        for what, count in self._formula.tolist():
            if what >= 0:
                stack.append(each[:, what])
            elif what == k.NOT:
                stack[-1] = np.zeros(end - begin, np.int64)
            else:
                join = np.maximum if what == k.AND else np.minimum
                stack[-count:] = [join.reduce(stack[-count:])]
        return unknown_ahead(end - begin)._replace(least=stack[0])

    def _nodes_of(self, states: Array) -> npt.NDArray[np.int64]:
        """int64[n, P]: the node of each part in some states, -1 for none."""
        at = self.states[states, 0].astype(np.int64)
        found: npt.NDArray[np.int64] = self._side.states[at].astype(np.int64) - 1
        return found

    def fitting(self, begin: int, end: int) -> npt.NDArray[np.bool_]:
        """bool[V, n]: in which of the expressions read side by side texts are in n states."""
        at = self._nodes_of(np.arange(begin, end))
        return self._evaluated((self._parts.nodes.ends[at] & 1 != 0) & (at >= 0))

    def _evaluated(self, inside: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """bool[V, n]: in which expressions n texts are; inside: bool[n, P], in which parts."""
        k = kernels("regular.product")
        stack: list[npt.NDArray[np.bool_]] = []
        for what, count in self._formula.tolist():
            if what >= 0:
                stack.append(inside[:, what])
            elif what == k.NOT:
                stack[-1] = ~stack[-1]
            elif what != k.BESIDE:
                join = np.logical_and if what == k.AND else np.logical_or
                stack[-count:] = [join.reduce(stack[-count:])]
        return np.array(stack)

    def _endings(self, begin: int, end: int) -> npt.NDArray[Any]:
        ends: npt.NDArray[np.bool_] = (
            self._side.ends[self.states[begin:end, 0].astype(np.int64)] != 0
        )
        return ends


def is_boolean_combination(node: Regex) -> bool:
    """Whether an expression is an intersection or complement, or a union with one of these."""
    return isinstance(node, And | Not) or (
        isinstance(node, Alt) and any(map(is_boolean_combination, node.parts))
    )


def _compile_formula(regex: Regex) -> tuple[Parts, Lines]:
    """The parts of an expression and its formula over them. Raises TooLargeError.

    The formula is in postfix form: (part, 1), or (AND, OR or NOT, number of operands); see
    `kernels.regular.product.follows`. A union is no part of its own if all its alternatives are
    parts anyway, as in "exactly one of".
    """
    parts: Parts = {}
    lines: Lines = []
    _append_formula(regex, parts, lines, frozenset())
    if any(isinstance(part, Alt) and parts.keys() >= {*part.parts} for part in parts):
        fewer: Parts = {}
        longer: Lines = []
        with contextlib.suppress(TooLargeError):
            _append_formula(regex, fewer, longer, frozenset(parts))
            return fewer, longer
    return parts, lines


def side_by_side_formula(vector: Sequence[Regex]) -> tuple[Parts, Lines]:
    """The parts of several expressions, and their formulas, all of which matter.

    Raises TooLargeError.
    """
    parts: Parts = {}
    lines: Lines = []
    for language in vector:
        _append_formula(language, parts, lines, frozenset())
    lines.append((kernels("regular.product").BESIDE, len(vector)))
    return parts, lines


def _append_formula(
    node: Regex, parts: Parts, lines: Lines, alone: frozenset[Regex], depth: int = 0
) -> None:
    """Append the formula of a node. alone: unions of these parts are compiled to an OR."""
    if max(depth, len(parts)) > MAX_PARTS or len(lines) > MAX_LINES:
        raise TooLargeError
    k = kernels("regular.product")
    inner = _inner(node)
    if isinstance(node, Alt) and alone.issuperset(node.parts):
        inner = node.parts
    if len(inner) > 1 or isinstance(node, Not):
        for part in inner:
            _append_formula(part, parts, lines, alone, depth + 1)
        what = k.NOT if isinstance(node, Not) else k.AND if isinstance(node, And) else k.OR
        lines.append((what, len(inner)))
    else:
        lines.append((parts.setdefault(node, len(parts)), 1))


def _inner(node: Regex) -> Sequence[Regex]:
    """The operands of a node; the node itself if it is a part."""
    if isinstance(node, Not):
        return (node.body,)
    if isinstance(node, And):
        return node.parts
    if node.plain or not isinstance(node, Alt):
        return (node,)
    formulas = [part for part in node.parts if is_boolean_combination(part)]
    others = [part for part in node.parts if not is_boolean_combination(part)]
    return [*formulas, *number_alternatives(alt(*others))] if others else formulas
