"""One automaton for several expressions that a text is read in side by side.

A JSON value under `anyOf`, or a key that several schemas know, is in a vector of languages; the end
of the text must say in which of them it is (its outcome). The plain parts that the languages are
made of are read by one position automaton; each part is followed by a position that reads nothing,
so a state says which parts a text is in, and unions, intersections and complements of parts are
evaluated on these bits. That needs no product, but works only where no state can be dead that looks
alive (`parts_of`). Else, as where formats or numbers are among them, the parts are joined in a
product (`VectorProduct`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from structgen.errors import BudgetError
from structgen.regular.expressions.base import EMPTY, INFINITE, Regex
from structgen.regular.expressions.logic import all_begin_differently, alternatives_of
from structgen.regular.expressions.nodes import (
    ANY,
    Alt,
    And,
    Chars,
    Concat,
    Literal,
    Not,
    Repeat,
    Words,
    is_length_bound,
    is_open_ended,
    matches,
    open_ended_index,
    texts_of,
)
from structgen.regular.lazy_dfa.character_classes import TooLargeError
from structgen.regular.lazy_dfa.glushkov import PositionAutomaton
from structgen.regular.lazy_dfa.positions import Program
from structgen.regular.lazy_dfa.product import (
    ProductAutomaton,
    TableOf,
    side_by_side_formula,
)
from structgen.regular.lazy_dfa.states import Array

MAX_OUTCOMES = 65_535  # outcomes that `ends` (uint16) can tell apart
FEW_OUTCOMES = 1000  # that position automata may have
MAX_ENDLESS = 12  # infinite parts whose 2**n combinations are tried
WIDE = 6  # expressions side by side from which on stepping through derivatives is slow
AT_FIRST, LATER = 256, 32  # states that are explored together
MANY_CHARACTERS = 1000  # nearly any
FEW_PARTS = 8  # alternatives of a union that is taken apart

Vector = tuple[Regex, ...]
Outcome = tuple[bool, ...]


class Outcomes:
    """Codes for the outcomes of texts that are read in several expressions: which they are in.

    listed: for each code from 1 on, the expressions, as far as met. 0 is for texts in none. place,
    open_ended: the index of the only open-ended expression (`nodes.open_ended_index`), and the code
    of being in it alone; None and 0 if there is no such expression.
    """

    def __init__(self, vector: Vector) -> None:
        self._codes: dict[Outcome, int] = {}
        self.listed: list[Outcome] = []
        self.place = open_ended_index(vector)
        self.open_ended = 0
        if self.place is not None:
            self.open_ended = self._code(tuple(i == self.place for i in range(len(vector))))

    def _code(self, outcome: Outcome) -> int:
        code = self._codes.setdefault(outcome, len(self._codes) + 1)
        if code > len(self.listed):
            self.listed.append(outcome)
        if code > MAX_OUTCOMES:
            raise BudgetError(
                f"a text may be in more than {MAX_OUTCOMES} combinations of languages",
                hint="use fewer patterns, formats or numbers beside each other",
            )
        return code

    def codes(self, fits: Array) -> Array:
        """uint16[n]: the codes of n texts; fits: bool[n, V], which expressions each is in."""
        found = np.zeros(len(fits), np.uint16)
        some = np.flatnonzero(fits.any(axis=1))
        bits = np.packbits(fits[some], axis=1)
        kinds = bits.view(f"V{bits.shape[1]}").ravel().tolist()  # few states in all differ in them
        codes: dict[bytes, int] = {}
        for row, kind in zip(some.tolist(), kinds, strict=True):
            if kind not in codes:
                codes[kind] = self._code(tuple(fits[row].tolist()))
        found[some] = [codes[kind] for kind in kinds]
        return found


class VectorAutomaton(PositionAutomaton):
    """A DFA that reads several expressions at once; one that is dead does not end the others."""

    def __init__(self, vector: Vector) -> None:
        """Raises TooLargeError, also where it cannot be seen that no state is dead."""
        parts, self._dies = parts_of(vector)
        program = Program(first=1)  # bit 0 is for automata that have one end
        self._vector = vector
        self._places = {part: program.add(part) for part in parts}
        self._open = self._listed = False
        self._begin(program, ends=False)
        self.outcomes = Outcomes(vector)
        self.ends[0] = self._endings(0, 1)[0]

    def _endings(self, begin: int, end: int) -> Array:
        states, known = self.states[begin:end], {EMPTY: np.zeros(end - begin, np.bool_)}
        for part, at in self._places.items():
            known[part] = states[:, at >> 6] >> np.uint64(at & 63) & np.uint64(1) != 0
        return self.outcomes.codes(np.array([fits(x, known) for x in self._vector]).T)

    def _grow_and_find(self, state: int, count: int) -> None:
        known = self.found
        super()._grow_and_find(state, count)
        if self._dies:  # states in which a text is in no expression are dead: cut moves to them
            order, moves = self.search.order[known : self.found], self.search.moves
            to = moves[order]
            moves[order] = np.where((to >= 0) & (self.ends[to] == 0), -1, to)

    def explore(self, state: int) -> None:
        """See `RegexAutomaton.explore`.

        At first tokens lead to many states, later on to few of all that combine those of several
        expressions.
        """
        self.find(state, AT_FIRST if self.found < AT_FIRST else LATER)
        self.write_spans()

    def write_spans(self) -> None:
        """See `TableAutomaton.write_spans`; any text may follow only if the outcome stays."""
        super().write_spans()
        free = self.ends[: self.made] == self.outcomes.open_ended
        self.endless[: self.made] &= free & (not self._dies)


class VectorProduct(ProductAutomaton):
    """The same as a product of automata, for expressions that are not plain.

    Every expression is a formula over the automata; a state is dead where none of them has a text.
    sprawls: whether its first states lead to too many others.
    """

    sprawls = False

    def __init__(self, vector: Vector, table_of: TableOf) -> None:
        """table_of: makes the table of a part. Raises TooLargeError."""
        self._alive = [place for place, language in enumerate(vector) if language is not EMPTY]
        self._width = len(vector)
        parts, lines = side_by_side_formula([vector[place] for place in self._alive])
        self.outcomes = Outcomes(vector)
        nullable = np.array([[language.nullable for language in vector]])
        start = int(self.outcomes.codes(nullable)[0])
        self._join(parts, lines, table_of, (), ends=bool(start))
        self.ends[0] = start

    def _endings(self, begin: int, end: int) -> Array:
        fits = np.zeros((end - begin, self._width), np.bool_)
        fits[:, self._alive] = self.fitting(begin, end).T
        return self.outcomes.codes(fits)

    def write_spans(self) -> None:
        """See `TableAutomaton.write_spans`; any text may follow only if the outcome stays."""
        super().write_spans()
        free, open_ended = self.ends[: self.made], self.outcomes.open_ended
        self.endless[: self.made] &= (free == open_ended) & (open_ended > 0)


def parts_of(vector: Vector) -> tuple[list[Regex], bool]:
    """The plain parts that tell in which languages of a vector a text is, and whether texts "die".

    True: a text can be continued only while it is in some language of the vector. False: whatever
    the parts can read can be continued. Raises TooLargeError, also where neither can be seen.
    """
    if is_better_apart(vector):
        raise TooLargeError
    for unions in (False, True):  # whole unions mean fewer parts
        found: dict[Regex, None] = {}
        for language in vector:
            take_apart(language, found, unions=unions)
        found.pop(EMPTY, None)
        if not all(part.plain for part in found) or not _is_clear(found):
            continue
        known = {EMPTY, *found}
        if all(language in known or _goes_on(language) for language in vector):
            return [*found], False
        dies = _dies(vector, found)
        if dies is not None:
            return [*dict.fromkeys((*found, ANY))], dies
    raise TooLargeError


def is_better_apart(vector: Vector) -> bool:
    """Whether languages are read faster by derivatives, or one of them is soon alone.

    So are plain languages, unless all texts stand beside languages that are anchored.
    """
    if all(language.plain for language in vector):
        return not _are_anchored(vector)
    lasting = [language for language in vector if is_open_ended(language)]
    few = len({*vector} - {EMPTY}) < WIDE
    # after most characters one is left
    return few and len(lasting) > 1 and any(map(_rules_out_many, lasting))


def is_nearly_plain(language: Regex) -> bool:
    """Whether a language is a plain one, perhaps without some of limited length.

    Derivatives of such languages take less than a product.
    """
    parts = language.parts if isinstance(language, And) else (language,)
    bodies = [part.body if isinstance(part, Not) else part for part in parts]
    short = all(part.body.longest < INFINITE for part in parts if isinstance(part, Not))
    return short and all(body.plain for body in bodies)


def _are_anchored(vector: Vector) -> bool:
    """Whether many languages stand beside all texts of which few go on with a text at once.

    They begin differently, or none has any text in its midst.
    """
    others = [language for language in vector if language not in (ANY, EMPTY)]
    if ANY not in vector or sum(len(alternatives_of(x)) for x in others) < WIDE:
        return False
    return all_begin_differently(others) or not any(map(_has_any_text, others))


def _has_any_text(node: Regex) -> bool:
    """Whether nearly any text may stand in a plain expression before its end."""
    if isinstance(node, Concat):
        return any(map(_has_any_text, (node.head, node.tail))) or _is_any_text(node.head)
    if isinstance(node, Repeat):
        return _has_any_text(node.body)
    return isinstance(node, Alt) and any(map(_has_any_text, node.parts))


def _is_any_text(node: Regex) -> bool:
    if isinstance(node, Alt):
        return any(map(_is_any_text, node.parts))
    if not isinstance(node, Repeat) or not isinstance(node.body, Chars):
        return False
    return node.high >= INFINITE and len(node.body.chars) > MANY_CHARACTERS


def _rules_out_many(language: Regex) -> bool:
    return isinstance(language, Not) and language.body.longest == INFINITE


def take_apart(node: Regex, parts: dict[Regex, None], *, unions: bool) -> None:
    """Collect the parts of an expression. unions: whether small plain ones are taken apart."""
    if isinstance(node, Not):
        take_apart(node.body, parts, unions=unions)
    elif isinstance(node, And) or (
        isinstance(node, Alt) and (not node.plain or (unions and len(node.parts) <= FEW_PARTS))
    ):
        for part in node.parts:
            take_apart(part, parts, unions=unions)
    else:
        parts[node] = None


def fits(node: Regex, known: Mapping[Regex, Array]) -> Array:
    """bool[n]: whether each text is in an expression, given for each part whether it is in it."""
    if node in known:
        return known[node]
    if isinstance(node, Not):
        return ~fits(node.body, known)
    joined: Any = np.logical_and if isinstance(node, And) else np.logical_or
    parts: Sequence[Regex] = getattr(node, "parts", ())
    found: Array = joined.reduce([fits(part, known) for part in parts])
    return found


def _dies(vector: Vector, parts: Iterable[Regex]) -> bool | None:
    """Whether texts "die" once they are in no language (see `parts_of`); None if unknown.

    False where every combination of infinite parts leaves the text in some language. True where a
    text once in an infinite part stays in it, and being in fewer parts is never worse: then a text
    that is in no language now never will be.
    """
    if ANY in vector:
        return False
    endless = [part for part in parts if part.longest == INFINITE and part is not ANY]
    if len(endless) > MAX_ENDLESS:
        return None
    cases = np.arange(1 << len(endless))
    known = {part: np.zeros(len(cases), np.bool_) for part in (EMPTY, *parts)}
    known |= {part: (cases >> i & 1) != 0 for i, part in enumerate(endless)}
    some = _some(vector, known)
    if some.all():
        return False
    less = (some[cases & ~(1 << i)] for i in range(len(endless)))
    if not (all(map(_stays, endless)) and all((some <= fewer).all() for fewer in less)):
        return None
    listed = [texts_of(part) for part in parts if part not in endless and part is not ANY]
    if None in listed:
        return None
    # texts of the finite parts: are they in some language just when their infinite parts say so?
    texts = [text for few in listed for text in few or ()]
    fitted = {part: np.array([matches(part, t) for t in texts], np.bool_) for part in known}
    case = sum((fitted[part] << i for i, part in enumerate(endless)), np.zeros(len(texts), int))
    return True if (_some(vector, fitted) == some[case]).all() else None


def _some(vector: Vector, known: Mapping[Regex, Array]) -> Array:
    """bool[n]: whether each text is in some language, given the parts it is in."""
    known = {**known, ANY: np.ones(len(known[EMPTY]), np.bool_)}
    found: Array = np.logical_or.reduce([fits(language, known) for language in vector])
    return found


def _stays(node: Regex) -> bool:
    """Whether every continuation of a member is a member."""
    if isinstance(node, Alt):
        return all(map(_stays, node.parts))
    while isinstance(node, Concat):
        node = node.tail
    return node is ANY


def _goes_on(node: Regex) -> bool:
    """Whether it is plain that every prefix of an expression can be continued to a member.

    So it is of an infinite language less finitely many texts.
    """
    parts = node.parts if isinstance(node, And) else (node,)
    wanted = [part for part in parts if not isinstance(part, Not)]
    if len(wanted) != 1 or not wanted[0].plain or not _is_unbounded(wanted[0]):
        return False
    barred = [part.body for part in parts if isinstance(part, Not)]
    listed = [*map(texts_of, barred)]
    return all(x is not None and all(matches(wanted[0], text) for text in x) for x in listed)


def _is_unbounded(node: Regex) -> bool:
    """Whether every prefix leads to members of any length, by an unbounded repeat at an end."""
    if isinstance(node, Alt):
        return any(map(_is_open, node.parts)) or all(map(_is_unbounded, node.parts))
    if _is_open(node):
        return True
    while isinstance(node, Concat):
        node = node.tail
    return isinstance(node, Repeat) and node.high >= INFINITE


def _is_open(node: Regex) -> bool:
    """Whether members may begin with any text, so that no state is dead."""
    return isinstance(node, Concat) and is_length_bound(node.head) and node.head.longest == INFINITE


def _is_clear(parts: Iterable[Regex]) -> bool:
    """Whether there are at most FEW_OUTCOMES outcomes."""
    texts = 2
    patterns: list[Regex] = []
    for part in parts:
        if isinstance(part, Words):
            texts += part.high - part.low
        elif isinstance(part, Literal):
            texts += 1
        elif part is not ANY:
            patterns.append(part)
    if all_begin_differently(patterns):
        return texts * (1 + len(patterns)) <= FEW_OUTCOMES
    return len(patterns) < 8 and texts << len(patterns) <= FEW_OUTCOMES
