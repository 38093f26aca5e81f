"""Context-free grammars as rules, where how a text is cut into lexemes does not matter.

GBNF has no lexer. A grammar whose terminals may end wherever they match has the same texts in it.
With a lexer that takes the longest match, or the first of several terminals, the texts are the same
only where it never has a choice. That has to be shown for each terminal: nothing that may follow
one of its lexemes goes on with the lexeme, be it in the same terminal or in another one, and no
other terminal has the same lexeme. Of places only the terminal before them is looked at, so that
some grammars are refused that could be written.
"""

from __future__ import annotations

from typing import NoReturn

from structgen.errors import StructgenError, UnsupportedSchemaError
from structgen.grammar.analysis.follow_sets import follow_sets
from structgen.grammar.embedded.tokens import Token
from structgen.grammar.export.json_texts import JsonRules
from structgen.grammar.export.languages import Languages
from structgen.grammar.export.left_recursion import LeftRecursion
from structgen.grammar.export.rules import Rules
from structgen.grammar.expressions import Expression, Name, Nested, choice, repeated, sequence
from structgen.grammar.ir import Grammar, Terminal
from structgen.grammar.transforms.useless import trimmed
from structgen.regular.charset import ALL, NONE, CharSet, union_all
from structgen.regular.regex import EMPTY, Regex, complement, concat, intersect
from structgen.schema.json_schema import JsonSchema
from structgen.spec.base import Spec
from structgen.util.bits import ones

MOST_COMPARED = 10_000  # pairs of states of two terminals that are looked at
IGNORED = "ignored"
CUT = "GBNF has no lexer: write the terminals so that each text is cut in one way"


class GrammarRules:
    """The rules of a grammar. repeated_keys: see `export_gbnf`, for schemas inside."""

    def __init__(self, grammar: Grammar, rules: Rules, repeated_keys: bool) -> None:
        self._grammar = trimmed(grammar)
        self._rules = rules
        self._repeated_keys = repeated_keys
        self._languages = Languages(rules)
        self._terminals: dict[str, Expression] = {}
        helpers_last = sorted(self._grammar.rules.values(), key=lambda rule: rule.source_rule != "")
        self._names = {
            rule.name: rules.name(rule.source_rule or rule.name, known=not rule.source_rule)
            for rule in helpers_last
            if rule.name != self._grammar.start
        }

    def start(self) -> Expression:
        """The expression of all texts. Raises what `export_gbnf` raises."""
        grammar = self._grammar
        _check_lexing(grammar)
        ignored = self._ignored()
        start = self._names[grammar.start] = self._rules.name(grammar.start, known=False)
        alternatives = {name: rule.alternatives for name, rule in grammar.rules.items()}
        new_rule = self._rules.name
        written = LeftRecursion(alternatives, self._piece, new_rule, self._rules.define)
        for name in grammar.rules:
            self._rules.define(self._names[name], written.body(name))
        whole = Name(start)
        return whole if ignored is None else sequence(ignored, whole)

    def _ignored(self) -> Expression | None:
        """What is ignored, any number of times; it follows each terminal, and may come first."""
        if not self._grammar.ignore:
            return None
        listed = [self._terminal(self._grammar.terminals[name]) for name in self._grammar.ignore]
        ignored = self._rules.helper(IGNORED, IGNORED, repeated(choice(*listed), 0, None))
        for name, terminal in self._grammar.terminals.items():
            self._terminals[name] = sequence(self._terminal(terminal), ignored)
        return ignored

    def _piece(self, symbol: str) -> Expression:
        """What stands for a symbol in an alternative."""
        if symbol in self._names:
            return Name(self._names[symbol])
        if symbol not in self._terminals:
            self._terminals[symbol] = self._terminal(self._grammar.terminals[symbol])
        return self._terminals[symbol]

    def _terminal(self, terminal: Terminal) -> Expression:
        """The texts of a terminal."""
        where = _where(terminal)
        if terminal.nested is None:
            found = terminal.language
            stem = str(terminal) if str(terminal).isidentifier() else "terminal"
            body = self._languages.expression(found, stem, lambda: where)
            return self._rules.helper(found, stem, body)
        try:
            return self._nested(terminal, terminal.nested.portable())
        except StructgenError as error:
            if not error.location.startswith(where):
                error.location = f"{where} {error.location}".strip()
            raise

    def _nested(self, terminal: Terminal, spec: Spec) -> Expression:
        """The texts of a spec inside, which must not be empty."""
        if isinstance(spec, JsonSchema):
            return JsonRules(spec, self._rules, self._repeated_keys).start()
        if isinstance(spec, Token) and _is_one(spec):
            return Nested(spec)
        language = spec.language()
        if language is None or language.nullable or language.is_empty():
            _refuse(
                terminal,
                f"a spec of the kind {spec.kind!r} stands inside",
                "a JSON Schema, one token, or a pattern of texts that are not empty",
                "write it as rules",
            )
        return self._languages.expression(language, spec.kind, lambda: _where(terminal))


def _is_one(token: Token) -> bool:
    """Whether GBNF has a word for a token: one by its text or number, or any other than that."""
    return bool(token.text) or (len(token.ranges) == 1 and len(set(token.ranges[0])) == 1)


def _check_lexing(grammar: Grammar) -> None:
    """Raise UnsupportedSchemaError where it is not shown that the lexer never has a choice."""
    if grammar.layout is not None:
        newline = grammar.terminals[grammar.layout.newline]
        _refuse(newline, "indentation makes terminals", "no layout", "write brackets instead")
    if grammar.final:
        final = grammar.terminals[grammar.final]
        _refuse(final, "the end of the text stands for it", "no 'final'", "make it optional")
    if grammar.lalr is not None and grammar.lalr.has_conflicts:
        raise UnsupportedSchemaError(
            "GBNF cannot say it: the parser settles conflicts, so some texts are not read",
            keyword="lexing",
            expected="a grammar without conflicts",
            hint="use lexing='free' or 'viable'",
        )
    for terminal in grammar.terminals.values():
        if terminal.lookahead is not None or terminal.lookbehind is not None or terminal.commits:
            _refuse(terminal, "what it matches depends on what is around it", "no lookaround")
    places = _Places(grammar)
    # the lexer takes the first that matches: of one before another, no lexeme may begin the other's
    order = {terminal.name: i for i, terminal in enumerate(grammar.in_larks_order())}
    for i, terminal in enumerate(places.terminals):
        if terminal.nested is not None:
            continue
        if terminal.longer is not EMPTY:
            _check_pair(terminal, terminal, terminal.longer, places.begins_behind(i))
        for other in places.beside(i) if grammar.lexing != "free" else ():
            if other.nested is not None:
                _refuse(terminal, f"it is read beside {other}", "lexing='free'")
            begins = places.begins_behind(i) if order[other.name] < order[terminal.name] else ALL
            _check_pair(terminal, other, other.language, begins)


class _Places:
    """What may stand beside and behind the terminals of a grammar."""

    def __init__(self, grammar: Grammar) -> None:
        self.terminals = list(grammar.terminals.values())
        numbers = {terminal.name: i for i, terminal in enumerate(self.terminals)}
        self._ignored = sum(1 << numbers[name] for name in grammar.ignore)
        follow, first = follow_sets(grammar, numbers)
        self._follow = [found | self._ignored for found in follow]
        self._places = {*self._follow, first | self._ignored}

    def beside(self, i: int) -> list[Terminal]:
        """The other terminals that may come at some place where a terminal may."""
        found = 0
        for place in self._places:
            found |= place if place >> i & 1 else 0
        return [self.terminals[j] for j in ones(found & ~(1 << i))]

    def begins_behind(self, i: int) -> CharSet | None:
        """The characters that may follow a terminal, None where they are not known.

        Of ignored text that may be cut anywhere, the next piece is part of the same lexeme.
        """
        terminal, behind = self.terminals[i], self._follow[i]
        if self._ignored >> i & 1:
            language = terminal.language
            behind = (1 << len(self.terminals)) - 1
            if intersect(concat(language, language), complement(language)).is_empty():
                behind &= ~(1 << i)
        found = [self._begins(j) for j in ones(behind)]
        return None if None in found else union_all([one for one in found if one is not None])

    def _begins(self, i: int) -> CharSet | None:
        if self.terminals[i].nested is not None:
            return None
        return union_all([chars for chars, _ in self.terminals[i].language.moves()])


def _check_pair(
    terminal: Terminal, other: Terminal, language: Regex, begins: CharSet | None
) -> None:
    """Refuse a terminal where another one (or itself) may be read instead of one of its lexemes.

    language: what would be read instead. begins: the characters that may follow.
    """
    found = _instead(terminal.language, language)
    if found is None:
        _refuse(terminal, f"it is not shown how it is told from {other}", "smaller terminals")
    same, goes_on = found
    if same and other is not terminal:
        _refuse(terminal, f"the lexer chooses between it and {other}", "terminals that differ")
    if goes_on and (begins is None or goes_on & begins):
        rest = "itself" if other is terminal else str(other)
        _refuse(
            terminal,
            f"the longest match counts, and what follows may be read as more of {rest}",
            "text behind it that cannot go on with it",
        )


def _instead(one: Regex, other: Regex) -> tuple[bool, CharSet] | None:
    """Whether a text is in both languages, and the characters with which the second goes on.

    Behind a text of the first, that is. None where too many states would have to be looked at.
    """
    seen, todo = {(one, other)}, [(one, other)]
    same, goes_on = False, NONE
    while todo:
        left, right = todo.pop()
        moves = right.moves()
        if left.nullable:
            same = same or right.nullable
            goes_on = goes_on | union_all([chars for chars, _ in moves])
        for chars, after in left.moves():
            for others, behind in moves:
                pair = after, behind
                if chars & others and pair not in seen:
                    seen.add(pair)
                    todo.append(pair)
        if len(seen) > MOST_COMPARED:
            return None
    return same, goes_on


def _where(terminal: Terminal) -> str:
    return str(terminal.place) if terminal.place else ""


def _refuse(terminal: Terminal, problem: str, expected: str, hint: str = CUT) -> NoReturn:
    raise UnsupportedSchemaError(
        f"GBNF cannot say it: of terminal {terminal}, {problem}",
        keyword=terminal.name,
        location=_where(terminal),
        expected=expected,
        hint=hint,
    )
