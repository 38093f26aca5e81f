r"""Regular languages as rules: plain ones as they are, others by their deterministic automaton.

Intersections, complements, lookaround, formats and ranges of numbers are languages that GBNF has no
word for. They are walked by derivatives, and each state becomes a rule: characters, and the rule of
the next state. With `spelled`, each character is written as the texts that stand for it: inside
JSON strings a line break is `\n`.
"""

from __future__ import annotations

from collections.abc import Callable

from structgen.errors import UnsupportedSchemaError
from structgen.grammar.export.rules import Rules
from structgen.grammar.expressions import (
    NOTHING,
    Expression,
    Name,
    Text,
    choice,
    repeated,
    sequence,
    without_empty,
)
from structgen.regular.charset import CharSet, one_character
from structgen.regular.expressions.build import as_repeat, repeat_counts
from structgen.regular.expressions.nodes import (
    Alt,
    And,
    Chars,
    Concat,
    Literal,
    Repeat,
    Words,
    is_length_bound,
)
from structgen.regular.regex import INFINITE, Regex, alt, chars, concat

MOST_STATES = 2000  # of one automaton that is written out

Spelling = Callable[[CharSet], Regex]


class Languages:
    """Makes expressions of regular languages, with the rules that they need."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def expression(
        self, language: Regex, stem: str, where: Callable[[], str], spelled: Spelling = chars
    ) -> Expression:
        """A language that is not empty. stem: how rules are named; where: its location, for errors.

        Raises UnsupportedSchemaError where an automaton has too many states.
        """
        if language.plain:
            return Text(_plain(language, spelled))

        def inner(part: Regex) -> Expression:
            return self.expression(part, stem, where, spelled)

        match language:
            case Concat():
                return sequence(*map(inner, language.parts_in_order))
            case Alt():
                return choice(*(inner(part) for part in language.parts if not part.is_empty()))
            case Repeat() if not language.body.is_empty():
                high = None if language.high == INFINITE else language.high
                return repeated(inner(without_empty(language.body)), language.low, high)
            case And() if (counted := _counted(language)) is not None:
                return inner(counted)
        return self._automaton(language, stem, where, spelled)

    def _automaton(
        self, language: Regex, stem: str, where: Callable[[], str], spelled: Spelling
    ) -> Expression:
        """The rules of the states of a deterministic automaton; the name of the first."""
        states = _states(language)
        if states is None:
            raise UnsupportedSchemaError(
                f"an automaton of {stem} has more than {MOST_STATES} states",
                location=where(),
                expected="what GBNF can say in few rules",
                hint="leave the constraint out, or a bound on the length beside it",
            )
        key = ("state", spelled)
        names = {state: (key, state) for state in states}
        made: dict[Regex, Name] = {}
        for state in states:  # all names come first, as states lead to each other
            made[state] = self._rules.helper(names[state], stem, NOTHING)
        for state in states:
            loop = next((c for c, target in state.moves() if target is state), None)
            ways: list[Expression] = [
                sequence(Text(spelled(members)), made[target])
                for members, target in state.moves()
                if target is not state
            ]
            body = choice(*ways, NOTHING) if ways and state.nullable else NOTHING
            if ways and not state.nullable:
                body = choice(*ways)
            if loop is not None:
                body = sequence(repeated(Text(spelled(loop)), 0, None), body)
            self._rules.define(made[state].name, body)
        return made[language]


def _states(language: Regex) -> list[Regex] | None:
    """The states of the automaton of a language, the language first; None if they are too many."""
    seen, todo = {language: None}, [language]
    while todo:
        for _, target in todo.pop().moves():
            if target not in seen:
                seen[target] = None
                todo.append(target)
                if len(seen) > MOST_STATES:
                    return None
    return list(seen)


def _counted(language: And) -> Regex | None:
    """Characters of one set whose number has further bounds, with all of them; None for others."""
    bounds = [as_repeat(part) for part in language.parts if is_length_bound(part)]
    others = [as_repeat(part) for part in language.parts if not is_length_bound(part)]
    if len(others) != 1 or not isinstance(others[0][0], Chars):
        return None
    _, lows, highs = zip(*others, *bounds, strict=True)
    return repeat_counts(others[0][0], max(lows), min(highs))


def _plain(language: Regex, spelled: Spelling) -> Regex:
    """A plain language with each character as it is spelled; its repeats are never of nothing."""
    match language:
        case Chars():
            return spelled(language.chars)
        case Literal():
            return language if spelled is chars else _text(language.text, spelled)
        case Words():
            if spelled is chars:
                return language
            return alt(*(_text(word, spelled) for word in language.members()))
        case Concat():
            return concat(*(_plain(part, spelled) for part in language.parts_in_order))
        case Alt():
            return alt(*(_plain(part, spelled) for part in language.parts))
        case Repeat():
            body = without_empty(language.body)
            return repeat_counts(_plain(body, spelled), language.low, language.high)
    return language


def _text(text: str, spelled: Spelling) -> Regex:
    return concat(*(spelled(one_character(letter)) for letter in text))
