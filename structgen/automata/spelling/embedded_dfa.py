"""Lexer states of a text in a regular expression: its lazy DFA embedded into an engine's tables.

A DFA over characters (`regular.lazy_dfa`) is shared by all engines. An `EmbeddedDfa` gives its
states numbers among the lexer states of one engine, by the dozen and before anybody meets them;
kernels spell the characters in bytes. What such a state is in Python is computed only when asked
(`described`): the derivative by the characters that lead to it.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import numpy as np

from structgen.automata.lexer.json_lexemes import Key, Scalar
from structgen.automata.lexer.lexer import (
    QUOTE,
    End,
    LexState,
    Role,
    Target,
    Text,
    only_live_index,
    open_ended_form,
    with_only,
)
from structgen.automata.pushdown.numbering import Numbering
from structgen.automata.pushdown.provenance import (
    BEFORE,
    FREE,
    HALF,
    MOST_HALVES,
    PLACE_BITS,
    UNBOUNDED,
)
from structgen.automata.pushdown.tables import inconsistent_tables
from structgen.kernels.build.loader import kernels
from structgen.regular import byte_groups
from structgen.regular.expressions.logic import alternatives_of
from structgen.regular.expressions.nodes import ANY, SubAutomaton, Words, is_open_ended
from structgen.regular.lazy_dfa.automaton import (
    automaton_of,
    before_far_bounds,
    is_prepared,
    side_by_side,
    takes_derivatives,
    vector_automaton,
    without_bounds,
)
from structgen.regular.lazy_dfa.counters import LengthAutomaton
from structgen.regular.lazy_dfa.pairs.format_vectors import FormatVector
from structgen.regular.lazy_dfa.pairs.union_vectors import UnionVector, each_live
from structgen.regular.lazy_dfa.states import ROOM, Fits, RegexAutomaton, Unbounded
from structgen.regular.lazy_dfa.vectors import WIDE, VectorAutomaton, VectorProduct
from structgen.regular.numbers.language import constraints_of
from structgen.regular.numbers.set_operations import has_single_values
from structgen.regular.regex import EMPTY, EPSILON, Regex
from structgen.util.arrays import with_room

FEWEST, MOST = 10, 200  # lengths of word lists for which a DFA is faster than single steps
WIDE_KEYS = 2  # expressions side by side for which it is in keys, which are mostly read whole


class EmbeddedDfa:
    """A DFA whose states have numbers among the lexer states of an engine.

    place: the index of this object in `Numbering.embedded`.
    """

    def __init__(self, automaton: RegexAutomaton, text: Text, q: int, place: int) -> None:
        """`text`, lexer state q, is the start of the automaton."""
        self._automaton = automaton
        self._text = text
        self.place = place
        self._numbered = 1
        self._loops_written = 1  # of how many states the loops are in the tables
        self._written = 0  # how many explored states have their moves in the tables
        self._free = -1  # the lexer state of all DFA states that any text may follow
        # by outcome (`RegexAutomaton.ends`), -1 if not met yet
        self._terminals = np.full(2, -1, np.int32)
        # the DFA without length bounds, embedded
        self._unbounded: EmbeddedDfa | None = None
        # the DFAs that are read side by side, embedded, by place; see `halves`
        self._halves: dict[int, EmbeddedDfa | None] = {}
        role: Any = text.role
        alive = only_live_index(text.vector) or 0
        self._any, end = _free_and_end(role, len(text.vector), alive)
        self._ends: list[Hashable] = [end]  # the terminal of each outcome from 1 on
        #: equal in all engines that have embedded the same automaton in the same role
        self.kind: tuple[Any, ...] = automaton, text.role, end
        # the lexer state of each DFA state, -1 for `_free`
        self._numbers = np.zeros(max(automaton.made, ROOM), np.int32)
        self._numbers[0] = q

    @property
    def role(self) -> Role:
        """The role of the text."""
        return self._text.role

    @property
    def is_slow(self) -> bool:
        """Whether its states are found one by one in Python."""
        return self._automaton.is_slow

    @property
    def known_free(self) -> int | None:
        """The lexer state that any text may follow, if it has been met."""
        return self._free if self._free >= 0 else None

    def left(self, state: int) -> tuple[int, int] | None:
        """Fewest and most characters that may follow, if nothing else matters; else None."""
        found = self._automaton
        return found.left(state) if isinstance(found, LengthAutomaton) else None

    def free_id(self, numbers: Numbering) -> int:
        """The lexer state that any text may follow."""
        if self._free < 0:
            self._free = numbers.shared_state_id(self._any, (self.number(0) << PLACE_BITS) | FREE)
        return self._free

    def number(self, state: int) -> int:
        """The lexer state of a numbered DFA state."""
        number = int(self._numbers[state])
        return number if number >= 0 else self._free

    def has(self, state: int, q: int) -> bool:
        """Whether lexer state `q` is that DFA state."""
        return 0 <= state < self._numbered and int(self._numbers[state]) == q

    def unbounded(self, numbers: Numbering, state: int) -> tuple[Unbounded, EmbeddedDfa] | None:
        """The state without length bounds, and its embedded DFA; None if there is none."""
        with self._automaton.lock:
            found = self._automaton.unbounded(state)
        if found is None:
            return None
        if self._unbounded is None:
            self._unbounded = self._beside(numbers, unbounded_form(self._text), UNBOUNDED)
        if self._unbounded is None or self._unbounded._automaton is not found.automaton:
            return None
        self._unbounded.number_new(numbers)  # the DFA may have been walked elsewhere
        return found, self._unbounded

    def _beside(self, numbers: Numbering, text: LexState, place: int) -> EmbeddedDfa | None:
        """The embedded DFA of a text that follows from this one's; None if it is none.

        It is embedded also where single steps would do, as for one of several expressions.
        """
        q = numbers.state_id(text, (self.number(0) << PLACE_BITS) | place)
        numbers.targets(q)
        found = embedded_at(numbers, q)
        if found is not None or not isinstance(text, Text):
            return None if found is None else found[0]
        language = _language(text)
        automaton = None if language is None else automaton_of(language)
        if automaton is None or takes_derivatives(automaton):
            return None
        embedded = EmbeddedDfa(automaton, text, q, len(numbers.embedded))
        _embed(numbers, q, embedded)
        numbers.tables.filled[q] = 0
        return embedded

    def halves(self, numbers: Numbering, state: int) -> tuple[Fits, int, list[int]] | None:
        """The lexer states that are read side by side in a state; None if they do not say it all.

        Before them `Halves.fits` and `Halves.free`.
        """
        with self._automaton.lock:
            found = self._automaton.halves(state)
        if found is None or len(found.states) > MOST_HALVES:
            return None
        numbered: Any = [self._half_at(numbers, *each) for each in found.states]
        return None if None in numbered else (found.fits, found.free, numbered)

    def _half_at(
        self, numbers: Numbering, place: int, automaton: RegexAutomaton, state: int
    ) -> int | None:
        """The lexer state of a state that is read beside others; None if it is not embedded."""
        if place not in self._halves:
            form = half_form(self._text, place)
            self._halves[place] = self._beside(numbers, form, HALF + place)
        half = self._halves[place]
        if half is None or half._automaton is not automaton:
            return None
        half.number_new(numbers)
        return half.number(state)

    def number_new(self, numbers: Numbering) -> None:
        """Give all states of the DFA numbers."""
        with self._automaton.lock:
            new = self._automaton.made - self._numbered
            if new:
                numbers.make_room(new)
                self._number(numbers)

    def write_moves(self, numbers: Numbering, state: int) -> None:
        """Explore a state, and write the moves of all states explored since the last call."""
        automaton, role = self._automaton, self._text.role
        with automaton.lock:
            automaton.explore(state)
            begin, end = self._written, automaton.known
            count = int(automaton.first[end] - automaton.first[begin])
            numbers.make_room(automaton.made - self._numbered, count)
            self._written = end
            since = self._loops_written if automaton.loops_are_final else 0
            self._number(numbers)
            self._loops_written = self._numbered
            self._find_terminals(numbers, begin, end)
            flags = spelled_flags(role, numbers.kernel_tables)
            settings = self._free, flags, _looping(quoted=role.quoted), since, self._numbered
            kernels("regular.glushkov").write_states(
                numbers.tables_at,
                automaton.explored(),
                self._numbers,
                _loops(numbers),
                self._terminals,
                settings,
                begin,
                end,
            )

    def _number(self, numbers: Numbering) -> None:
        """Give new DFA states numbers; those that any text may follow share one."""
        automaton, known = self._automaton, self._numbered
        made = self._numbered = automaton.made
        if made == known:
            return
        self._numbers = with_room(self._numbers, made)
        free = kernels("regular.glushkov").number_states(
            numbers.tables_at,
            automaton.came,
            automaton.endless,
            self._numbers,
            known,
            made,
            self.place,
            self._text.role.recorded,
        )
        if free:
            self.free_id(numbers)

    def _find_terminals(self, numbers: Numbering, begin: int, end: int) -> None:
        """Number the terminals with which the text can end, each where that is first possible."""
        found = self._automaton
        for how, terminal in enumerate(self._ends, 1):
            if self._terminals[how] >= 0 or terminal is None:
                continue
            ending = kernels("regular.glushkov").first_ending(
                found.order, found.ends, how, begin, end
            )
            if ending >= 0:
                place = QUOTE if self._text.role.quoted else BEFORE
                self._terminals[how] = numbers.terminal_id(terminal, (self.number(ending), place))


class EmbeddedVectorDfa(EmbeddedDfa):
    """An embedded DFA that reads several expressions side by side."""

    def __init__(
        self,
        automaton: VectorAutomaton | VectorProduct | FormatVector | UnionVector,
        text: Text,
        q: int,
        place: int,
    ) -> None:
        """See `EmbeddedDfa`."""
        super().__init__(automaton, text, q, place)
        self._outcomes = automaton.outcomes.listed
        self._ends = []
        self.kind = automaton, text.role, None  # terminals follow from outcomes
        free, role = automaton.outcomes.place, text.role
        if free is not None:  # else no state is one that any text may follow
            self._any = _free_and_end(role, len(text.vector), free)[0]  # type: ignore[arg-type]

    def _half_at(
        self, numbers: Numbering, place: int, automaton: RegexAutomaton, state: int
    ) -> int | None:
        vector: Any = self._text.vector
        if each_live(vector)[place] is ANY:  # free strings have no DFA
            form = half_form(self._text, place)
            return numbers.state_id(form, (self.number(0) << PLACE_BITS) | HALF + place)
        return super()._half_at(numbers, place, automaton, state)

    def _find_terminals(self, numbers: Numbering, begin: int, end: int) -> None:
        for fits in self._outcomes[len(self._ends) :]:
            if isinstance(self.role, Scalar):
                found: Target = self.role.end_of(fits)
            else:
                found = self.role.end(tuple([EPSILON if fit else EMPTY for fit in fits]))
            self._ends.append(found.terminal if isinstance(found, End) else None)
        more = 1 + len(self._ends) - len(self._terminals)
        self._terminals = np.append(self._terminals, np.full(max(more, 0), -1, np.int32))
        super()._find_terminals(numbers, begin, end)


@lru_cache(maxsize=1024)
def _free_and_end(role: Any, count: int, place: int) -> tuple[LexState, Hashable]:
    """A text that is free at one index of a vector, and the terminal it ends with, if any."""
    ended = Text(with_only((EMPTY,) * count, place, EPSILON), role)
    end = role.end(ended.vector)
    return open_ended_form(ended), end.terminal if isinstance(end, End) else None


def spelled_flags(role: Role, k: Any) -> int:
    """The flags that the kernels' tables have for all states of a text."""
    spelled: int = k.QUOTED * role.quoted | k.ESCAPES * role.escapes
    scalars: int = k.SCALARS * isinstance(role, Scalar)
    return spelled | scalars


def _loops(numbers: Numbering) -> Any:
    """The loops of lexer states, `trie.loops.Loops`, grown to hold all of them."""
    room = len(numbers.tables.filled)
    if room > len(numbers.loops.often):
        numbers.loops = type(numbers.loops)(*(with_room(part, room) for part in numbers.loops))
    return numbers.loops


def _looping(*, quoted: bool) -> int:
    """The byte groups whose characters a text can hold unescaped."""
    return int(byte_groups.quoted()) if quoted else ~byte_groups.BROKEN_BIT


def loop_on_all(numbers: Numbering, q: int, *, quoted: bool) -> None:
    """Write that any characters may follow a lexer state for ever."""
    loops = _loops(numbers)
    loops.groups[q] = _looping(quoted=quoted)
    loops.often[q] = 255


def write_state(numbers: Numbering, q: int, text: Text) -> bool:
    """Embed a DFA at lexer state `q` where that is faster than single steps; else False."""
    language = _worth_entering(text)
    if language is None:
        return _is_wide(text) and embed_vector(numbers, q)
    automaton = automaton_of(language)
    if automaton is None:
        return False
    _embed(numbers, q, EmbeddedDfa(automaton, text, q, len(numbers.embedded)))
    return True


def _embed(numbers: Numbering, q: int, embedded: EmbeddedDfa) -> None:
    numbers.embedded.append(embedded)
    embedded.write_moves(numbers, 0)
    k, within = numbers.kernel_tables, numbers.tables.state_info
    within[q, k.HIGH_SURROGATE], within[q, k.DEPTH] = embedded.place, 0


def write_moves(numbers: Numbering, q: int) -> bool:
    """Write the moves of lexer state `q` if it belongs to an embedded DFA; False for others."""
    found = embedded_at(numbers, q)
    if found is None:
        return False
    embedded, state = found
    embedded.write_moves(numbers, state)
    return True


def embedded_at(numbers: Numbering, q: int) -> tuple[EmbeddedDfa, int] | None:
    """The embedded DFA and DFA state of a lexer state; None for others, and in saved tables."""
    k, within = numbers.kernel_tables, numbers.tables.state_info
    place, state = int(within[q, k.HIGH_SURROGATE]), int(within[q, k.DEPTH])
    if not 0 <= place < len(numbers.embedded):
        return None
    embedded: EmbeddedDfa = numbers.embedded[place]
    return (embedded, state) if embedded.has(state, q) else None


def shared_key(numbers: Numbering, q: int) -> tuple[Any, ...] | None:
    """A key that is equal for the same lexer state in all engines; None for other lexer states.

    The DFA state, the automaton, the role, and the terminal it ends with (None if there are
    several).
    """
    k, within = numbers.kernel_tables, numbers.tables.state_info
    found = embedded_at(numbers, q) if within[q, k.KIND] == k.SPANS_TEXT else None
    return None if found is None else (found[1], *found[0].kind)


def described(numbers: Numbering, q: int) -> Text:
    """The description of a lexer state of an embedded DFA, by derivatives. Raises ArtifactError."""
    k, within = numbers.kernel_tables, numbers.tables.state_info
    letters = []
    text = None
    while text is None and within[q, k.KIND] in {k.SPANS_TEXT, k.SPANS_UNKNOWN}:
        letters.append(int(within[q, k.FROM_BYTE]))
        q = int(within[q, k.FROM_STATE])
        if q < 0:
            raise inconsistent_tables()
        text = numbers.described(q)
    expressions = _expressions(text) if isinstance(text, Text) else None
    if not letters or not isinstance(text, Text) or expressions is None:
        raise inconsistent_tables()
    for letter in reversed(letters):
        expressions = tuple([language.after(letter) for language in expressions])
    return Text(expressions, text.role)


def unbounded_form(state: LexState) -> LexState:
    """A text without its length bounds."""
    if not isinstance(state, Text):
        return state
    language = _language(state)
    if language is None:
        return _far_form(state)[0]
    found = without_bounds(language)
    return state if found is None else _with(state, found)


def half_form(state: LexState, place: int) -> LexState:
    """One of the texts that are read side by side for a text."""
    text: Any = state
    language = _language(text)
    if language is not None:
        return _with(text, side_by_side(language)[place])
    found, vector = each_live(text.vector)[place], text.vector
    return Text(with_only((EMPTY,) * len(vector), vector.index(found), found), text.role)


def _far_form(text: Text) -> tuple[Text, int]:
    """A text without its far bounds, and for how many characters that makes no difference."""
    found = [before_far_bounds(x) for x in _expressions(text) or ()]
    rest = tuple([language for language, _ in found])
    if not found or rest == text.vector:
        return text, 0
    return Text(rest, text.role), min(free for _, free in found)


def far_id(numbers: Numbering, q: int, longest: int) -> int | None:
    """A lexer state without far bounds that is equal to `q` for so many characters, or None.

    For texts in several expressions, some of which have length bounds.
    """
    text = numbers.state(q)
    if not isinstance(text, Text) or only_live_index(text.vector) is not None:
        return None
    found, free = _far_form(text)
    return numbers.state_id(found, (q << PLACE_BITS) | UNBOUNDED) if free >= longest else None


def embed_vector(numbers: Numbering, q: int) -> bool:
    """Embed one DFA for a text in several expressions; False if `q` is no such text.

    This is faster than single steps where many characters are read, or the expressions are many.
    """
    text = numbers.state(q)
    if not isinstance(text, Text) or text.role.surrogates or embedded_at(numbers, q) is not None:
        return False
    expressions = _expressions(text)
    if expressions is None or only_live_index(expressions) is not None:
        return False
    if not text.role.quoted and not are_many_numbers(expressions):
        return False
    automaton = vector_automaton(expressions)
    if automaton is None:
        return False
    _embed(numbers, q, EmbeddedVectorDfa(automaton, text, q, len(numbers.embedded)))
    numbers.tables.filled[q] = 0
    return True


def _is_wide(text: Text) -> bool:
    """Whether a text is in so many languages that single steps are slow.

    Or in patterns, each of which would soon be alone and get an automaton of its own.
    """
    alive = [language for language in text.vector if language is not EMPTY]
    most = WIDE_KEYS if isinstance(text.role, Key) else WIDE
    left = text.role.quoted and not any(map(is_open_ended, alive))
    return len(alive) >= (2 if left else most)


def are_many_numbers(vector: tuple[Regex, ...]) -> bool:
    """Whether many languages of numbers are read, most of which have no single values.

    Few characters follow in a number, so that one automaton does not pay for few, nor for a list.
    """
    alive = [language for language in vector if language is not EMPTY]
    return len(alive) >= WIDE and 2 * sum(map(has_single_values, alive)) <= len(alive)


def _expressions(text: Text) -> tuple[Regex, ...] | None:
    """The languages of a text if all are expressions; else None."""
    vector: Any = text.vector
    return vector if all(isinstance(language, Regex) for language in vector) else None


def _language(text: Text) -> Regex | None:
    """The only live language of a text if it is an expression; else None."""
    place = only_live_index(text.vector)
    language = None if place is None else text.vector[place]
    return language if isinstance(language, Regex) else None


def _worth_entering(text: Text) -> Regex | None:
    """The expression of a text, if a DFA for it is faster than single steps; else None.

    It is where a text starts in one expression. Where one alternative is left of several, a DFA
    pays only for plain expressions with many texts, for lists of FEWEST to MOST words, and for
    formats, whose DFAs were prepared. In the midst of a number it does not, nor for some numbers by
    their texts: few characters follow.
    """
    language = _language(text)
    if language is None or _is_some_numbers(text.role, language):
        return None
    words = language.high - language.low if isinstance(language, Words) else 0
    alone = len(text.vector) == 1 + isinstance(text.role, Key)  # beside the names of keys
    if alone or FEWEST <= words <= MOST or is_prepared(language):
        return language
    return None if text.narrow or not language.plain else language


def _is_some_numbers(role: Any, language: Regex) -> bool:
    """Whether a language has some numbers by their texts, or the rests of numbers."""
    if not isinstance(role, Scalar) or role.quoted:
        return False
    parts = alternatives_of(language)
    stepped = all(part.plain or isinstance(part, SubAutomaton) for part in parts)
    return stepped and constraints_of(language) is None


def _with(text: Text, language: Regex) -> Text:
    """A text with another expression in the place of its only live one."""
    return Text(with_only(text.vector, only_live_index(text.vector) or 0, language), text.role)
