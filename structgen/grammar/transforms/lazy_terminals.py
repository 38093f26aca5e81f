"""Leaves terminals whose automata would be large to the automata of patterns, which are lazy.

The automaton of a terminal is made as a whole, with what it needs to be told apart from others. A
terminal that may end wherever it matches needs nothing of that. So it can as well be a regular
language inside the grammar, whose states are made when a text comes to them (and see `regular`).

Only where terminals have no order ("free" lexing). Three steps lead there: a terminal that nothing
that follows can make longer may end wherever it matches; a long list of such terminals in a rule is
one terminal; one with many states stands for a language inside. Lists of words are no such: the
minimal automaton of thousands of words is made at once by a kernel, also of words in any case. A
terminal that is large only by such lists, or as its parts stand beside each other, becomes a rule
of its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, ClassVar, Self

from structgen.automata.pushdown.machine import Machine, TextMachine
from structgen.errors import BudgetError
from structgen.grammar import expressions
from structgen.grammar.analysis.follow_sets import follow_sets
from structgen.grammar.bnf import Bnf
from structgen.grammar.expressions import Choice, Expression, Sequence, Text
from structgen.grammar.ir import Grammar, Terminal
from structgen.grammar.terminals.byte_dfa import explored
from structgen.grammar.terminals.leftmost_first import MatchState
from structgen.grammar.terminals.lists import LONG_LIST, has_few_states
from structgen.grammar.terminals.python_language import language_of
from structgen.grammar.terminals.python_regex import has_assertions
from structgen.regular.charset import NONE, CharSet, union_all
from structgen.regular.expressions.borders import UndecidedError, last_moves
from structgen.regular.expressions.nodes import (
    Alt,
    Chars,
    Concat,
    Literal,
    Repeat,
    SubAutomaton,
    Words,
)
from structgen.regular.regex import (
    EMPTY,
    EPSILON,
    INFINITE,
    Regex,
    alt,
    concat,
    literal,
    repeat,
    words,
)
from structgen.spec.base import ANY_BYTE, MachineSpec
from structgen.util.bits import ones

MANY_STATES = 256  # of a terminal; about, by the characters that are written in it
FEW_WRITTEN = 8  # characters behind something endless that cannot be many states
MOST_STATES = 256  # byte states that are looked at where few characters may be many states
CONTINUING = frozenset(range(0x80, 0xC0))  # the last byte of a character that is not ASCII
MOST_PARTS = 32  # of a large terminal that becomes a rule
ONE_PIECE = 32  # characters written in parts that follow each other and stay one piece


@dataclass(frozen=True, eq=False)
class LazyText(MachineSpec):
    """The non-empty texts of a regular language inside a grammar. shown: how messages name it."""

    texts: Regex
    shown: str
    kind: ClassVar[str] = "text"

    def machine(self) -> Machine[Any]:
        """See `MachineSpec.machine`."""
        return TextMachine(self.texts, self.shown)

    def last_bytes(self) -> frozenset[int]:
        """See `Spec.last_bytes`."""
        try:
            ranges = union_all([last for _, last in last_moves(self.texts)]).ranges
        except UndecidedError:
            return ANY_BYTE
        found = {byte for low, high in ranges for byte in range(low, min(high, 0x7F) + 1)}
        return frozenset(found) | (CONTINUING if any(high > 0x7F for _, high in ranges) else set())

    def to_json(self) -> dict[str, Any]:
        """A grammar has it as a terminal, from which it is made again."""
        return {}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """There is no other way to make one than from its grammar."""
        raise NotImplementedError


def with_lazy_terminals(grammar: Grammar) -> Grammar:
    """The same texts, with languages inside in place of terminals with many states."""
    laid = grammar.layout is not None or grammar.variants is not None or grammar.final
    commits = any(t.commits for t in grammar.terminals.values())  # and has to be read beside others
    if grammar.lexing != "free" or laid or commits:
        return grammar
    grammar = _with_parts_apart(_with_lists(_with_free_terminals(grammar)))
    terminals = {
        name: replace(t, language=EMPTY, nested=LazyText(t.language, str(t)))
        if is_free(t) and is_large(t.language)
        else t
        for name, t in grammar.terminals.items()
    }
    return replace(grammar, terminals=terminals)


def is_free(terminal: Terminal) -> bool:
    """Whether a terminal may end wherever it matches, whatever comes before and behind."""
    return terminal.longer is EMPTY and _looks_at_no_more(terminal)


def _looks_at_no_more(terminal: Terminal) -> bool:
    """Whether a terminal is free but for its longer texts."""
    return (
        terminal.lookahead is None
        and terminal.lookbehind is None
        and terminal.nested is None
        and not terminal.commits
    )


def _with_free_terminals(grammar: Grammar) -> Grammar:
    """Terminals may end anywhere if nothing that can follow begins so that they could be longer."""
    numbers = {name: i for i, name in enumerate(grammar.terminals)}
    listed = list(grammar.terminals.values())
    if all(is_free(t) for t in listed):
        return grammar
    follow, _ = follow_sets(grammar, numbers)
    first = cache(lambda j: _first(listed[j]))
    begins_of = cache(lambda some: _all_of([first(j) for j in ones(some)]))
    ignored = sum(1 << numbers[name] for name in grammar.ignore)
    terminals = dict(grammar.terminals)
    for i, terminal in enumerate(listed):
        if terminal.longer is EMPTY or not _looks_at_no_more(terminal):
            continue
        behind = follow[i] | ignored
        if ignored >> i & 1:
            behind = (1 << len(listed)) - 1
        begins = begins_of(behind)
        if _is_apart(_alphabet(terminal.longer), begins) or (
            is_large(terminal.language)
            and _is_apart(_continuing(alt(terminal.language, terminal.longer)), begins)
        ):
            terminals[terminal.name] = replace(terminal, longer=EMPTY)
    return replace(grammar, terminals=terminals)


def _is_apart(some: CharSet | None, others: CharSet | None) -> bool:
    """Whether characters are not among others; False where either are unknown."""
    return some is not None and others is not None and not some & others


def _all_of(sets: list[CharSet | None]) -> CharSet | None:
    """The characters of some sets together, None where one is unknown."""
    known = [one for one in sets if one is not None]
    return union_all(known) if len(known) == len(sets) else None


def _first(terminal: Terminal) -> CharSet | None:
    """The characters with which a terminal can begin, None where that is not known."""
    if terminal.nested is not None or terminal.language is EMPTY:
        return None
    return union_all([chars for chars, _ in terminal.language.moves()])


@lru_cache(maxsize=4096)
def _alphabet(language: Regex) -> CharSet | None:
    """All characters written in an expression, None where it is not plain."""
    match language:
        case Chars():
            return language.chars
        case Literal() | Words():
            texts = [language.text] if isinstance(language, Literal) else language.members()
            return CharSet.chars("".join(texts))
        case Repeat():
            return _alphabet(language.body)
        case Concat() | Alt():
            parts = language.parts if isinstance(language, Alt) else language.parts_in_order
            return _all_of([_alphabet(part) for part in parts])
        case SubAutomaton() if (whole := _all_that_matches(language)) is not None:
            return _alphabet(whole)
    return NONE if language is EPSILON else None


@lru_cache(maxsize=4096)
def _continuing(language: Regex) -> CharSet | None:
    """The characters behind a text, which is not empty, with which a longer one goes on, or more.

    Of the language without its counts, which has all that it has. None where that is not known.
    """
    try:
        start = _uncounted(language)
    except ValueError:
        return None
    todo = [after for _, after in start.steps()]
    found, seen = NONE, set(todo)
    while todo:
        if len(seen) > MOST_STATES:
            return None
        state = todo.pop()
        for chars, after in state.steps():
            if state.nullable:
                found |= chars
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return found


def _uncounted(language: Regex) -> Regex:
    """A language with at least its texts, in which nothing is counted. ValueError if unknown."""
    match language:
        case Repeat():
            high = None if language.high > 1 else 1
            return repeat(_uncounted(language.body), min(language.low, 1), high)
        case Concat():
            return concat(*map(_uncounted, language.parts_in_order))
        case Alt():
            return alt(*map(_uncounted, language.parts))
        case SubAutomaton():
            whole = _all_that_matches(language)
            if whole is None:
                raise ValueError(language)
            return _uncounted(whole)
    return language


@lru_cache(maxsize=256)
def _all_that_matches(language: SubAutomaton) -> Regex | None:
    """For the texts that a pattern prefers all those it can match; None if that is not known."""
    state = language.state
    if not isinstance(state, MatchState) or has_assertions(state.program.root):
        return None
    return language_of(state.program.root)


def _with_lists(grammar: Grammar) -> Grammar:
    """Of a rule with many alternatives that are one terminal each, one terminal of all of them."""
    rules, terminals = dict(grammar.rules), dict(grammar.terminals)
    for rule in grammar.rules.values():
        if len(rule.alternatives) < LONG_LIST:
            continue
        listed = [a[0] for a in rule.alternatives if len(a) == 1 and a[0] in terminals]
        listed = [name for name in listed if is_free(terminals[name])]
        if len(listed) < LONG_LIST:
            continue
        name, languages = f"{rule.name}/any", [terminals[one].language for one in listed]
        texts = [one.text for one in languages if isinstance(one, Literal)]
        language = alt(words(texts), *(one for one in languages if not isinstance(one, Literal)))
        terminals[name] = Terminal(name, language, shown=rule.source_rule or rule.name)
        gone = {(one,) for one in listed}
        rest = tuple(a for a in rule.alternatives if a not in gone)
        rules[rule.name] = replace(rule, alternatives=((name,), *rest))
    if len(terminals) == len(grammar.terminals):
        return grammar
    used = {name for rule in rules.values() for a in rule.alternatives for name in a}
    kept = {n: t for n, t in terminals.items() if n in used or n in grammar.ignore}
    return replace(grammar, rules=rules, terminals=kept)


def _with_parts_apart(grammar: Grammar) -> Grammar:
    """Rules in place of large terminals whose parts are small."""
    rules, terminals = dict(grammar.rules), dict(grammar.terminals)
    for name, terminal in grammar.terminals.items():
        language = terminal.language
        if not is_free(terminal) or name in grammar.ignore or name in grammar.captures:
            continue
        if not is_large(language):
            continue
        parts = _apart(language, str(terminal))
        if parts is None:
            continue
        bnf = Bnf()
        bnf.add(name, parts, terminal.place)
        del terminals[name]
        rules |= bnf.rules
        terminals |= bnf.terminals
    return replace(grammar, rules=rules, terminals=terminals)


def _apart(language: Regex, shown: str) -> Expression | None:
    """An expression of a language, of parts that are small; None if there is none.

    Each list of words whose automaton is made at once is a part of its own.
    """
    if _is_small(language):
        return Text(language, shown)
    only_by_lists = not is_large_as_a_whole(language)
    match language:
        case Words() | Alt() if only_by_lists and has_few_states(language):
            return Text(language, shown)
        case Repeat() if only_by_lists or _written_once(language):
            body = _apart(language.body, shown)
            high = None if language.high == INFINITE else language.high
            return body and expressions.Repeat(body, language.low, high)
        case Concat() if only_by_lists or (
            len(language.parts_in_order) <= MOST_PARTS and not _runs_on(language)
        ):
            parts = _all_apart(_runs(language.parts_in_order), shown)
            return Sequence(parts) if parts else None
        case Alt() if only_by_lists or len(language.parts) <= MOST_PARTS:
            parts = _all_apart(language.parts, shown)
            return Choice(parts) if parts else None
    return None


def _is_small(language: Regex) -> bool:
    """Whether a language is small, also without the empty text, and has no lists of words."""
    return not _has_lists(language) and not is_large(expressions.without_empty(language))


def _runs_on(language: Concat) -> bool:
    """Whether an endless part can go on with what begins the next, as in `[ab]*a[ab]{12}`.

    As a rule of its parts such a language would be read at many places of the rule at once, where
    these are counted.
    """
    rest: Regex = language
    while isinstance(rest, Concat):
        part, rest = rest.head, rest.tail
        if part.longest == INFINITE and _counts(rest):
            begins = union_all([chars for chars, _ in rest.moves()])
            if not _is_apart(_continuing(part), begins):
                return True
    return False


def _counts(language: Regex) -> bool:
    """Whether something in a language is counted, or that is not known."""
    match language:
        case Repeat():
            return not _written_once(language) or _counts(language.body)
        case Concat() | Alt():
            parts = language.parts if isinstance(language, Alt) else language.parts_in_order
            return any(map(_counts, parts))
        case SubAutomaton():
            whole = _all_that_matches(language)
            return whole is None or _counts(whole)
    return not isinstance(language, Chars | Literal | Words)


def _written_once(language: Repeat) -> bool:
    """Whether a repeat, with its counts written out, has its body once."""
    return language.low <= 1 and language.high in (1, INFINITE)


def _all_apart(languages: Iterable[Regex], shown: str) -> tuple[Expression, ...] | None:
    found = [_apart(language, shown) for language in languages]
    parts = tuple(part for part in found if part is not None)
    return parts if len(parts) == len(found) else None


def _runs(parts: Iterable[Regex]) -> Iterator[Regex]:
    """Parts that follow each other; those that are small together are one."""
    run = EPSILON
    for part in parts:
        longer = concat(run, part)
        if run is EPSILON or (written(longer) <= ONE_PIECE and _is_small(longer)):
            run = longer
        else:
            yield run
            run = part
    yield run


def _has_lists(language: Regex) -> bool:
    """Whether there are lists of words in a language whose automata are made at once."""
    return written(language, lists=False) < written(language)


def is_large(language: Regex) -> bool:
    """Whether the automaton of a terminal has many states, or takes long to be made."""
    if has_few_states(language):
        return False
    return written(language) > MANY_STATES or _has_many_states(language)


def is_large_as_a_whole(language: Regex) -> bool:
    """`is_large` for the texts of a grammar, in which a list of words is a terminal of its own."""
    return written(language, lists=False) > MANY_STATES or _has_many_states(language)


@lru_cache(maxsize=4096)
def _has_many_states(language: Regex) -> bool:
    """Whether a language that few characters say has many states."""
    whole = _all_that_matches(language) if isinstance(language, SubAutomaton) else None
    try:
        for one in (whole, language):  # the first is found sooner, and has no more states
            if one is not None and _may_multiply(one):
                explored((_with_short_lists(one),), MOST_STATES)
    except BudgetError:
        return True
    return False


def _with_short_lists(language: Regex) -> Regex:
    """An expression with one word in place of each list whose automaton is made at once."""
    match language:
        case Words() if has_few_states(language):
            return literal(min(language.members()))
        case Alt() if has_few_states(language):
            return language.parts[0]
        case Repeat():
            return repeat(_with_short_lists(language.body), language.low, language.high)
        case Concat():
            return concat(*map(_with_short_lists, language.parts_in_order))
        case Alt():
            return alt(*map(_with_short_lists, language.parts))
    return language


def _may_multiply(language: Regex) -> bool:
    """Whether an expression counts behind something endless: sets of states may be many."""
    match language:
        case Repeat():
            return _may_multiply(language.body)
        case Alt():
            return any(map(_may_multiply, language.parts))
        case Concat():
            behind = written(language, lists=False)
            for part in language.parts_in_order:
                behind -= written(part, lists=False)
                counts = part.longest == INFINITE and behind > FEW_WRITTEN
                if counts or _may_multiply(part):
                    return True
            return False
        case SubAutomaton():
            whole = _all_that_matches(language)
            return whole is None or _may_multiply(whole)
    return not isinstance(language, Chars | Literal | Words)


@lru_cache(maxsize=4096)
def written(language: Regex, *, lists: bool = True) -> int:
    """How many characters there are in an expression whose counts are written out.

    lists: whether those of lists of words count that have automata made at once.
    """
    match language:
        case Literal():
            return len(language.text)
        case Words():
            return sum(map(len, language.members())) if lists or is_large(language) else 1
        case Alt() if not lists and has_few_states(language):
            return 1
        case Repeat():
            last = language.low if language.high == INFINITE else language.high
            return max(1, last) * written(language.body, lists=lists)
        case Concat():
            return sum(written(part, lists=lists) for part in language.parts_in_order)
        case Alt():
            return sum(written(part, lists=lists) for part in language.parts)
        case SubAutomaton():
            whole = _all_that_matches(language)
            return 1 if whole is None else written(whole, lists=lists)
    return 1
