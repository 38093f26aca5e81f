"""The lazily built DFA of a regular expression: which construction finds it, and a shared cache.

The states of an expression and the moves between them do not depend on a spec, so all specs of a
process share one automaton per expression (`automaton_of`), or per tuple of expressions that a text
is read in side by side (`vector_automaton`). Automata grow as they are walked; the cache keeps
those used last.

Several constructions exist, since none is best for all expressions. Which one is taken is a
property of the expression (`_chosen`). The first kind is that of a single automaton:

- `LengthAutomaton`: any character{m,n}; its states count.
- `PositionAutomaton`: a plain expression (unions, sequences, repetitions of characters); sets of
  Glushkov positions, found by a kernel.
- `CounterAutomaton`: one repeated character class whose count is too large to write out; and the
  DFA of an intersection without its bound on the length, with a counter of characters beside it.
- `NumberAutomaton`: a range of numbers, or multiples in one; a kernel computes the moves.
- `SubAutomatonTable`: a single sub-automaton that says what it reads, as other numbers do.
- `DerivedTable`: derivatives of an expression that holds loops around assertions.

The second kind joins automata of this kind, the parts of the expression:

- `ProductAutomaton`: intersections and complements.
- `ComposedAutomaton`: unions, sequences and repetitions; Glushkov's construction over automata in
  place of characters.

Where these would get too large, or a part has no table of states (`TooLargeError`), states are
found one by one in Python:

- `SteppedSubAutomaton`: a single sub-automaton, as formats have; `ListedAutomaton`, where a kernel
  finds the moves of its states.
- `SideBySideAutomaton`: two automata of which no pair of states is dead, of a format and a limit,
  or of the alternatives of a union.
- `BesideAutomaton`: an automaton of this kind, and what else must hold.
- `ComplementAutomaton`: all texts but those of a format.
- `FormatVector`: a format and plain expressions, where a text is read in several.
- `UnionVector`: several expressions with automata of their own.
- `LessWordsAutomaton`: any other automaton, without some listed texts.
- `DerivedAutomaton`: derivatives of the expression (Brzozowski 1964); this always works.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import islice
from typing import Any, cast

from structgen.errors import BudgetError
from structgen.regular.expressions.base import INFINITE, Regex
from structgen.regular.expressions.build import as_repeat, repeat, repeat_counts, sub_automaton
from structgen.regular.expressions.logic import alt, alternatives_of, intersect
from structgen.regular.expressions.nodes import (
    ANY,
    ANY_CHAR,
    Alt,
    And,
    Chars,
    Concat,
    Not,
    Repeat,
    SubAutomaton,
    holds_loops,
    is_length_bound,
    is_listed,
    is_vast,
)
from structgen.regular.expressions.required_characters import (
    unread,
    without_impossible_alternatives,
)
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.counters import (
    FAR,
    AllLengths,
    CounterAutomaton,
    LengthAutomaton,
    NearestEnds,
    boundless,
    has_dead_ends,
    longest_distance_to_end,
    most_to_end,
    only_format,
    split_length_bound,
    without_counters,
    without_far_bounds,
    without_redundant_bounds,
    without_words,
)
from structgen.regular.lazy_dfa.glushkov import PositionAutomaton
from structgen.regular.lazy_dfa.numbers import NumberAutomaton, kernel_rows
from structgen.regular.lazy_dfa.pairs.beside import BesideAutomaton
from structgen.regular.lazy_dfa.pairs.complements import ComplementAutomaton
from structgen.regular.lazy_dfa.pairs.format_vectors import FormatVector, format_in
from structgen.regular.lazy_dfa.pairs.less_words import LessWordsAutomaton
from structgen.regular.lazy_dfa.pairs.pair import PairAutomaton
from structgen.regular.lazy_dfa.pairs.side_by_side import SideBySideAutomaton, tells_endings
from structgen.regular.lazy_dfa.pairs.union_vectors import UnionVector, each_live
from structgen.regular.lazy_dfa.positions import MAX_POSITIONS
from structgen.regular.lazy_dfa.product import MAX_PARTS, ProductAutomaton, is_boolean_combination
from structgen.regular.lazy_dfa.states import RegexAutomaton, TableAutomaton, WithoutCounters
from structgen.regular.lazy_dfa.stepped import (
    DerivedAutomaton,
    ListedAutomaton,
    SteppedAutomaton,
    SteppedSubAutomaton,
)
from structgen.regular.lazy_dfa.sub_automata import ComposedAutomaton, StateTables, listed
from structgen.regular.lazy_dfa.sub_automaton_table import DerivedTable, SubAutomatonTable
from structgen.regular.lazy_dfa.vectors import (
    Vector,
    VectorAutomaton,
    VectorProduct,
    is_better_apart,
    is_nearly_plain,
    take_apart,
)
from structgen.regular.numbers.language import constraints_of, number_alternatives

MAX_STATES = 10_000  # of one automaton; one that has grown beyond is replaced by a fresh one
MAX_CACHED = 24 << 20  # bytes of all cached automata together
AHEAD = 256  # states explored by `explore_ahead`, besides those of examples
SLOW = 8  # times as long as another one a state takes that is found in Python
SOME_AHEAD = 128  # the same of expressions side by side
MOST_AHEAD = 640  # states of a product that these may lead to
MANY_AHEAD = 2000  # states explored where each takes a search
FEW_AHEAD = 24  # the same of what takes longer: formats with costly states
MOST_BESIDE = 64  # alternatives of a union that are read side by side
DERIVED = 64  # expressions derived ahead where no automaton reads several side by side
OBJECT_BYTES = 1 << 13  # of an automaton and its expression, besides tables, about
COUNTED, DROPPED = 8, 4  # cached automata whose sizes are read, and at most evicted, at each miss


class AutomatonCache:
    """A cache of automata by least recent use, of about MAX_CACHED bytes; pinned ones stay.

    Automata grow after they were added, so sizes are read again, a few at each miss: reading all of
    them would take milliseconds.
    """

    def __init__(self) -> None:
        self._alone = False
        self.forget()

    def hand_down(self) -> None:
        """Before a fork: whether the new process may keep all, as no other thread holds a lock."""
        self._alone = threading.active_count() == 1

    def inherit(self) -> None:
        """In a forked process: keep what it may keep."""
        if not self._alone:
            self.forget()

    def forget(self) -> None:
        """Empty the cache."""
        self._found: OrderedDict[Regex | Vector, RegexAutomaton] = OrderedDict()
        self._pinned: dict[Regex | Vector, RegexAutomaton] = {}
        # of pinned ones, see `prepare`
        self._prepared: dict[Regex | Vector, tuple[int, tuple[str, ...]]] = {}
        self._sizes: dict[Regex | Vector, int] = {}  # bytes of each, when they were counted last
        self.nbytes = 0  # the sum of these
        self._turn: Iterator[Regex | Vector] = iter(())  # whose sizes are read next
        self._lock = threading.Lock()

    def of(self, regex: Regex | Vector) -> RegexAutomaton:
        """The automaton of an expression or vector, cached or fresh. Raises TooLargeError."""
        held = self._pinned.get(regex)
        if held is not None and held.size <= MAX_STATES:
            return held
        with self._lock:
            found = self._found.get(regex)
            if found is not None and found.size <= MAX_STATES:
                self._found.move_to_end(regex)
                return found
        found = _joined(regex) if isinstance(regex, tuple) else _built(regex)
        with self._lock:
            self._found[regex] = found
            self._found.move_to_end(regex)
            self._count(regex)
            self._drop_some()
        return found

    def _count(self, regex: Regex | Vector) -> None:
        size = OBJECT_BYTES + self._found[regex].nbytes
        self.nbytes += size - self._sizes.get(regex, 0)
        self._sizes[regex] = size

    def _drop(self, regex: Regex | Vector) -> None:
        del self._found[regex]
        self.nbytes -= self._sizes.pop(regex)

    def _drop_some(self) -> None:
        """Evict automata beyond MAX_STATES, and beyond MAX_CACHED those used least recently."""
        turn = [*islice(self._turn, COUNTED)]
        if len(turn) < COUNTED:
            self._turn = iter([*self._found])
        for regex in self._found.keys() & turn:
            self._count(regex)
            if self._found[regex].size > MAX_STATES:
                self._drop(regex)
        for _ in range(DROPPED):
            if len(self._found) > 1 and self.nbytes > MAX_CACHED:
                self._drop(next(iter(self._found)))

    def is_pinned(self, regex: Regex) -> bool:
        """Whether the automaton of an expression is pinned."""
        return regex in self._pinned

    def pinned_in(self, regex: Regex) -> list[Regex]:
        """The pinned expressions that an expression is, or is the union of with others."""
        if regex in self._pinned:
            return [regex]
        among = {*alternatives_of(regex)}
        pinned = (one for one in [*self._pinned] if isinstance(one, Regex))
        return [one for one in pinned if among.issuperset(alternatives_of(one))]

    def prepared(self, regex: Regex) -> tuple[int, tuple[str, ...]]:
        """How the automaton of an expression was prepared; no states and texts if it was not."""
        return self._prepared.get(regex, (0, ()))

    def pin(self, regex: Regex, count: int, texts: tuple[str, ...]) -> RegexAutomaton:
        """The automaton of an expression, pinned: it is never evicted. See `prepare`."""
        self._prepared[regex] = count, texts
        return self._pinned.setdefault(regex, self.of(regex))


_cache = AutomatonCache()
os.register_at_fork(before=_cache.hand_down, after_in_child=_cache.inherit)


def automaton_of(regex: Regex) -> RegexAutomaton | None:
    """The DFA of an expression; None for the empty text alone and for the language of all texts."""
    return None if regex.longest == 0 or regex is ANY else _cache.of(regex)


def vector_automaton(
    vector: Vector,
) -> VectorAutomaton | VectorProduct | FormatVector | UnionVector | None:
    """One DFA that reads several expressions side by side; None where none can be built."""
    with contextlib.suppress(TooLargeError):
        found: Any = _cache.of(vector)
        return found  # type: ignore[no-any-return]
    return None


def takes_derivatives(automaton: RegexAutomaton) -> bool:
    """Whether an automaton, or one of those that it reads side by side, is one of derivatives."""
    both = automaton.both if isinstance(automaton, PairAutomaton) else ()
    return isinstance(automaton, DerivedAutomaton) or any(map(takes_derivatives, both))


def is_prepared(regex: Regex) -> bool:
    """Whether `prepare` pinned the automaton of an expression."""
    return _cache.is_pinned(regex)


def prepare(regex: Regex, count: int, *texts: str) -> None:
    """Pin the DFA of an expression; explore about `count` states, and the paths of texts."""
    if regex.longest == 0 or regex is ANY:
        return
    waiting = [_cache.pin(regex, count, texts)]
    for automaton in waiting:
        with automaton.lock:
            both = automaton.halves(0)  # each has states of its own
            if both is None:
                automaton.explore_near(count)
            found = automaton.unbounded(0)
        if both is None:
            _explore_along(automaton, texts)
        waiting += [] if found is None else [found.automaton]
        waiting += [] if both is None else [part for _, part, _ in both.states]


def _explore_along(automaton: RegexAutomaton, texts: Iterable[str]) -> None:
    """Explore the states of texts, each as far as the automaton reads it."""
    with automaton.lock:
        for text in texts:
            state = 0
            for letter in text:
                if not automaton.reads(state, letter):
                    break
                state = automaton.after(state, letter)


def explore_ahead(regex: Regex, *, estimated: bool = False) -> int:
    """Explore some states of an intersection whose states are costly. Returns how many.

    Such are those of a prepared language with further demands, as a format with a length has them,
    or in a union, those of formats in halves, of patterns with loops around assertions, of numbers
    less other numbers, or unions of multiples. Where a length makes no difference for long, the
    states of the prepared language are enough. What is found in Python counts SLOW times.
    estimated: estimates stand for a part of it.
    """
    numbers = _combines_numbers(regex)
    within = alternatives_of(regex) if isinstance(regex, Alt) and not numbers else ()
    found_within = (explore_ahead(x, estimated=estimated) for x in within if isinstance(x, And))
    count = sum(found_within)
    parts = regex.parts if isinstance(regex, And) else (regex,) if isinstance(regex, Alt) else ()
    about = [part.body if isinstance(part, Not) else part for part in parts]
    prepared = [_cache.prepared(found) for part in about for found in _cache.pinned_in(part)]
    texts = [text for _, part in prepared for text in part]
    less = any(isinstance(part, Not) and not part.body.plain for part in parts)
    loops = holds_loops(regex, anywhere=True)
    costly = estimated or less or loops or bool(prepared) or numbers or has_halves(regex)
    automaton = automaton_of(regex) if costly else None
    if automaton is None or automaton.known:
        return count
    with automaton.lock:
        found = automaton.unbounded(0)
        if found is None or found.free < FAR:
            steady = isinstance(automaton, ProductAutomaton) and automaton.reads_numbers
            few = (
                automaton.is_slow
                or loops
                or steady
                or any(count < FEW_AHEAD for count, _ in prepared)
            )
            automaton.explore_near(FEW_AHEAD if few else AHEAD)
    if found is None or found.free < FAR:
        _explore_along(automaton, texts)
    return count + automaton.known * (SLOW if automaton.is_slow else 1)


def explore_vector_ahead(vector: Vector, *, of_keys: bool = False) -> None:
    """Explore some states of the DFA that reads several expressions side by side.

    of_keys: raise BudgetError where each leads to many others, as where key patterns have wildcards
    inside.
    """
    automaton = vector_automaton(vector)
    if automaton is None:  # texts are read by derivatives: see whether these take too long
        _derive_ahead(vector)
        return
    with automaton.lock:
        if not automaton.known:
            automaton.explore_near(FEW_AHEAD if automaton.is_slow else SOME_AHEAD)
            if isinstance(automaton, VectorProduct):
                automaton.sprawls = automaton.size > MOST_AHEAD
        if isinstance(automaton, VectorProduct):
            if automaton.sprawls and of_keys:
                raise BudgetError(
                    "a text may match patterns beside each other in too many ways",
                    hint="use fewer patterns, or patterns without wildcards inside",
                )
            automaton.explore_near(MANY_AHEAD)  # tokens lead to many of its states


def _derive_ahead(vector: Vector) -> None:
    """Find derivatives of some expressions, breadth first. Raises BudgetError."""
    seen, waiting = {*vector}, deque(dict.fromkeys(vector))
    for _ in range(DERIVED):
        if not waiting:
            break
        after = dict.fromkeys(target for _, target in waiting.popleft().moves())
        waiting.extend(language for language in after if language not in seen)
        seen.update(after)


def product_has_member(regex: Regex) -> bool | None:
    """Whether an intersection or complement is non-empty, as its product automaton says.

    With a bound on the length a counter stands beside the product. None where the expression has no
    such automaton. Raises BudgetError.
    """
    if not is_boolean_combination(regex):
        return None
    split = split_length_bound(regex)
    if split is not None and product_has_member(split[0]) is False:
        return False
    found = automaton_of(regex)
    if isinstance(found, LessWordsAutomaton | BesideAutomaton):
        return True
    if not isinstance(found, ProductAutomaton | CounterAutomaton):
        return None
    with found.lock:
        found.explore(0)
        return bool(found.ends[0] or (found.search.moves[0] >= 0).any())


def block_of(regex: Regex) -> StateTables:
    """The table of states of a part of an expression. Raises TooLargeError where there is none."""
    return listed(regex) if is_listed(regex) else table_of(regex)


def table_of(regex: Regex) -> TableAutomaton:
    """The DFA of an expression as a table. Raises TooLargeError where it has none."""
    if isinstance(regex, SubAutomaton):
        return SubAutomatonTable(regex)
    found = None if is_length_bound(regex) else automaton_of(regex)
    found = found or PositionAutomaton(regex)
    if isinstance(found, LessWordsAutomaton):
        found = _table(_simplified(regex))
    if not isinstance(found, TableAutomaton):
        raise TooLargeError
    return found


def _joined(vector: Vector) -> VectorAutomaton | VectorProduct | FormatVector | UnionVector:
    """One automaton that reads several expressions. Raises TooLargeError."""
    with contextlib.suppress(TooLargeError):
        return VectorAutomaton(vector)
    found = format_in(vector)
    base = None if found is None else automaton_of(found[0])
    if found is not None and base is not None:
        return FormatVector(vector, base, found, block_of)
    if is_better_apart(vector) or all(map(is_nearly_plain, vector)):
        raise TooLargeError
    if any(map(_dives, vector)):
        with contextlib.suppress(TooLargeError):
            return _side_by_side(vector)
    with contextlib.suppress(TooLargeError):
        return VectorProduct(vector, block_of)
    parts: dict[Regex, None] = {}
    for language in vector:
        take_apart(language, parts, unions=False)
    if not any(map(is_vast, parts)):  # derivatives of others are few
        raise TooLargeError
    return _side_by_side(vector)


def _dives(language: Regex) -> bool:
    """Whether a product would look far for ends: of a format and what must hold beside it."""
    if not isinstance(language, And) or without_words(language) is not None:
        return False
    sequences = (part for part in language.parts if isinstance(part, Concat))
    return not all(part.plain for part in sequences)


def _side_by_side(vector: Vector) -> UnionVector:
    """Several expressions, each read by its own automaton. Raises TooLargeError."""
    alive = each_live(vector)
    if not 1 < len(alive) <= MOST_BESIDE:
        raise TooLargeError
    return UnionVector(vector, [*map(_own_automaton, alive)])


def _own_automaton(language: Regex) -> RegexAutomaton:
    """The automaton of an expression that is read beside others. Raises TooLargeError.

    So for unions and complements, one of which is soon alone, and where derivatives are as fast.
    """
    if language is ANY:
        return LengthAutomaton(ANY)
    costly = isinstance(language, Alt | Not) and not language.plain
    found = None if costly or without_words(language) else automaton_of(language)
    if found is None or takes_derivatives(found) or _is_wide(found):
        raise TooLargeError
    return found


def _is_wide(automaton: RegexAutomaton) -> bool:
    """Whether it reads a pattern beside a format that is itself two automata: too many pairs."""
    if not isinstance(automaton, BesideAutomaton):
        return False
    base, side = automaton.both
    return isinstance(base, SideBySideAutomaton) and not isinstance(side, LengthAutomaton)


def _built(regex: Regex) -> RegexAutomaton:
    found = _chosen(regex)
    if isinstance(found, TableAutomaton | DerivedAutomaton):
        found.find_without_counters = partial(_automaton_without_counters, regex)
    return found


def without_bounds(regex: Regex) -> Regex | None:
    """The expression behind `RegexAutomaton.unbounded`; None if there are no bounds to drop."""
    found = _bare(regex)
    return None if found is None else found[0]


def _bare(regex: Regex) -> tuple[Regex, int] | None:
    """`without_counters` of an expression as its automaton reads it."""
    return without_counters(_simplified(regex) if without_words(regex) is None else regex)


def _automaton_without_counters(regex: Regex) -> WithoutCounters | None:
    """The automaton of an expression without its far bounds; None where that gains nothing."""
    rest, reach = _bare(regex) or (None, 0)
    found = None if rest is None or not reach else _with_distance_to_end(rest, regex)
    return None if found is None else WithoutCounters(found[0], reach - found[1])


def before_far_bounds(regex: Regex) -> tuple[Regex, int]:
    """An expression without its far bounds, and for how many characters that makes no difference.

    The expression itself and INFINITE where it has no such bound, or the number is not known.
    """
    rest, reach = without_far_bounds(regex, FAR)
    if rest is regex:
        return regex, INFINITE
    if is_length_bound(rest):
        return rest, reach - rest.shortest
    found = _with_distance_to_end(rest, regex)
    return (regex, INFINITE) if found is None else (rest, reach - found[1])


def _with_distance_to_end(rest: Regex, bounded: Regex) -> tuple[TableAutomaton, int] | None:
    """The automaton of `rest` (`bounded` without its bounds), and its `longest_distance_to_end`.

    None where that distance is not known, or some prefix of `bounded` is none of `rest`.
    """
    with contextlib.suppress(TooLargeError, BudgetError):
        base = automaton_of(rest)
        if isinstance(base, TableAutomaton):
            with base.lock:
                wait = most_to_end(rest)
                if wait == INFINITE or isinstance(bounded, Not):
                    wait = longest_distance_to_end(base)
                lost = isinstance(bounded, Not) and has_dead_ends(base)
                return None if lost else (base, wait)
    return None


def _chosen(regex: Regex) -> RegexAutomaton:
    """A fresh automaton, by the construction for such expressions (see the module)."""
    if is_length_bound(regex):
        return LengthAutomaton(regex)
    split = without_words(regex)
    if split is not None:
        with contextlib.suppress(TooLargeError):
            return _less_words(*split)
    regex = _simplified(regex)
    with contextlib.suppress(TooLargeError):
        return _table(regex)
    regex = _with_bound_inside(regex)
    if isinstance(regex, SubAutomaton) and not has_halves(regex):
        base = None if (rest := boundless(regex)) is None else automaton_of(rest)
        kind = ListedAutomaton if hasattr(regex.state, "listing") else SteppedSubAutomaton
        return kind(regex.state, None if base is None else WithoutCounters(base, INFINITE))
    if isinstance(regex, Not) and (never := unread(regex)):
        base = automaton_of(regex.body)
        return DerivedAutomaton(regex) if base is None else ComplementAutomaton(base, never)
    parts: list[Any] = [*map(automaton_of, side_by_side(regex))]
    if regex.plain and not all(isinstance(part, TableAutomaton) for part in parts):
        return DerivedAutomaton(regex)  # nothing is explored ahead of either
    if parts and not isinstance(regex, And):
        joint = isinstance(regex, SubAutomaton)
        found: RegexAutomaton = parts.pop()
        for part in reversed(parts):
            found = SideBySideAutomaton(part, found, joint=joint)
        return found
    if parts and tells_endings(parts[0]) and isinstance(parts[1], TableAutomaton):
        with contextlib.suppress(TooLargeError):  # where no common text is found at once
            return BesideAutomaton(*parts)
    return DerivedAutomaton(regex)


def _less_words(language: Regex, others: Regex) -> LessWordsAutomaton:
    """See `without_words`. Raises TooLargeError."""
    base, side = automaton_of(language), automaton_of(others)
    if base is None or not isinstance(side, TableAutomaton):
        raise TooLargeError
    return LessWordsAutomaton(base, side)


@lru_cache(maxsize=1024)
def _simplified(regex: Regex) -> Regex:
    """The expression without what no text can need; ranges of numbers stay whole."""
    if _combines_numbers(regex):
        return regex
    regex = without_impossible_alternatives(regex)
    return regex if regex.plain else without_redundant_bounds(regex)


def _with_bound_inside(regex: Regex) -> Regex:
    """A union with a bound on the length as a union of intersections; others as they are."""
    found = split_length_bound(regex)
    if found is None or not isinstance(found[0], Alt):
        return regex
    return alt(*(intersect(part, found[1]) for part in found[0].parts))


def has_halves(regex: Regex) -> bool:
    """Whether a sub-automaton is two that are read side by side, see `SubAutomatonState`."""
    return isinstance(regex, SubAutomaton) and hasattr(regex.state, "halves")


def side_by_side(regex: Regex) -> list[Regex]:
    """What is read side by side where an expression has no table of states.

    A format and its limit, or all that must hold beside it, or the alternatives of a union, plain
    ones beside others as one; the format alone of its complement. Other expressions have none, nor
    has a union of more than MOST_BESIDE.
    """
    if has_halves(regex):
        halves = cast(Any, regex).state.halves
        return [half if isinstance(half, Regex) else sub_automaton(half) for half in halves]
    if (words := without_words(regex)) is not None:
        return [*words]
    regex = _with_bound_inside(_simplified(regex))
    if isinstance(regex, Not) and unread(regex):
        return [regex.body]
    if isinstance(regex, Alt):
        plain = [part for part in regex.parts if part.plain]
        others = [part for part in regex.parts if not part.plain]
        beside = [part for part in (alt(*plain), *others) if part.longest] if others else plain
        return beside if len(beside) <= MOST_BESIDE else []
    found = only_format(regex)
    if found is None or not isinstance(regex, And):
        return []
    return [found, intersect(*(part for part in regex.parts if part is not found))]


def _table(regex: Regex) -> RegexAutomaton:
    """An automaton whose states kernels can join. Raises TooLargeError where there is none."""
    if regex.plain:
        return _repeated(regex) if _repeats_often(regex) else PositionAutomaton(regex)
    bounded = _bounded(regex)
    if bounded is not None:
        return bounded
    rows = kernel_rows(regex)
    if rows is not None:
        return NumberAutomaton(rows, ends=regex.nullable)
    if isinstance(regex, SubAutomaton) and not is_listed(regex):
        return SubAutomatonTable(regex)
    joint = is_boolean_combination(regex) or _combines_numbers(regex)
    if joint:
        return ProductAutomaton(regex, block_of)
    return DerivedTable(regex) if holds_loops(regex) else ComposedAutomaton(regex, block_of)


def _combines_numbers(regex: Regex) -> bool:
    """Whether an expression is a union of multiples, or numbers less others, as far as is plain."""
    if isinstance(regex, Not):
        return _has_ranges(regex.body)
    if isinstance(regex, And):
        return any(map(_combines_numbers, regex.parts))
    if not isinstance(regex, Alt) or regex.plain:
        return False
    less = any(isinstance(part, And | Not) and _combines_numbers(part) for part in regex.parts)
    return less or _is_union_of_multiples(regex)


def _has_ranges(node: Regex) -> bool:
    """Whether a range of numbers is among the parts of an expression."""
    if isinstance(node, And):
        return any(map(_has_ranges, node.parts))
    return any(constraints_of(part) is not None for part in number_alternatives(node))


def _is_union_of_multiples(regex: Regex) -> bool:
    """Whether a union is one of a few ranges of numbers, with multiples among them."""
    known = [constraints_of(part) for part in number_alternatives(regex)]
    several = 1 < len(known) <= MAX_PARTS and None not in known
    return several and any(c is not None and c.modulus > 1 for c in known)


def _repeats_often(regex: Regex) -> bool:
    """Whether an expression repeats one character class too often to write it out."""
    if not isinstance(regex, Repeat) or not isinstance(regex.body, Chars):
        return False
    return (regex.low if regex.high == INFINITE else regex.high) > MAX_POSITIONS


def _repeated(regex: Regex) -> RegexAutomaton:
    """A repeated character class as a counter. Raises TooLargeError."""
    body, low, high = as_repeat(regex)
    base = PositionAutomaton(repeat(body, 0))
    return CounterAutomaton(base, AllLengths(base, low, high), ends=regex.nullable)


def _bounded(regex: Regex) -> RegexAutomaton | None:
    """An expression with a bound on its length: its DFA without the bound, and a counter beside it.

    None for other expressions, and where the rest has no table or too many states to count in.
    """
    found = split_length_bound(regex)
    if found is None:
        return None
    rest, span = found
    _, low, high = as_repeat(span)
    base = automaton_of(rest)
    least = 0 if rest.shortest >= low else low  # a lower bound that always holds is dropped
    capped = least == 0 and high < INFINITE
    if isinstance(base, SteppedAutomaton):
        if least == 0 and not capped:
            return _chosen(rest)
        if not tells_endings(base) or isinstance(rest, Alt):
            return None
        return BesideAutomaton(base, LengthAutomaton(repeat_counts(ANY_CHAR, least, high)))
    if not isinstance(base, TableAutomaton):
        return None
    bare = _bare(regex)
    counts_more = bare is not None and bare[0] is not rest  # counters that masks cannot ignore
    known: AllLengths | NearestEnds | None = None
    with base.lock:
        if not counts_more and (isinstance(base, PositionAutomaton) or low or not capped):
            with contextlib.suppress(TooLargeError):
                known = AllLengths(base, least, high)
    if known is None and capped:
        with base.lock:
            known = NearestEnds(base, high, most_to_end(rest))
    return None if known is None else CounterAutomaton(base, known, ends=regex.nullable)
