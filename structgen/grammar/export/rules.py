"""Rules and their text in GBNF.

A rule is an expression (`grammar.expressions`) whose regular parts are plain: characters, literals,
lists of words, sequences, alternatives and repetitions, which GBNF can write as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Hashable, Iterator
from itertools import groupby
from typing import NamedTuple

from structgen.grammar.embedded.tokens import Token
from structgen.grammar.expressions import (
    Choice,
    Expression,
    Name,
    Nested,
    Repeat,
    Sequence,
    Text,
    choice,
    repeated,
    sequence,
)
from structgen.regular.charset import ALL, CharSet
from structgen.regular.expressions.build import text_of
from structgen.regular.expressions.nodes import Alt as RegexAlt
from structgen.regular.expressions.nodes import Chars, Concat, Words
from structgen.regular.expressions.nodes import Repeat as RegexRepeat
from structgen.regular.regex import EPSILON, INFINITE, Regex

ROOT = "root"
MOST_COUNTED = 1000  # by one quantifier; llama.cpp refuses more than 2,000
FEW_WORDS = 8  # that are written one by one; of more, those that begin alike are joined
SHORT = 24  # characters of a helper that is written out wherever it is used
LINE = 120  # characters of a helper that is written out where it is used once
_QUANTIFIERS = {(0, 1): "?", (0, None): "*", (1, None): "+"}
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


class Written(NamedTuple):
    """A piece of GBNF.

    binding: CHOICE, ROW, COUNTED or ONE, how closely its parts are bound. symbols: about how many
    rules llama.cpp makes of it.
    """

    text: str
    binding: int
    symbols: int = 1

    def inside(self, least: int) -> str:
        """The piece where a binding of `least` is needed: in brackets if it has none."""
        return self.text if self.binding >= least else f"({self.text})"


CHOICE, ROW, COUNTED, ONE = range(4)
NO_TEXT = Written('""', ONE)


class Rules:
    """Rules by name, those that users know and helpers, which may be written out where used."""

    def __init__(self) -> None:
        self._bodies: dict[str, Expression] = {}
        self._stems: dict[str, str] = {ROOT: ROOT}  # of each name
        self._known: set[str] = {ROOT}
        self._helpers: dict[Hashable, Name] = {}

    def name(self, stem: str, *, known: bool = False) -> str:
        """A new name like `stem`, in the letters that GBNF has. known: whether users know it."""
        stem = re.sub(r"[^a-zA-Z0-9]+", "-", stem).strip("-") or "rule"
        found = _free(stem, self._stems)
        self._stems[found] = stem
        if known:
            self._known.add(found)
        return found

    def define(self, name: str, body: Expression) -> None:
        """Say what a rule is."""
        self._bodies[name] = body

    def helper(self, key: Hashable, stem: str, body: Expression) -> Name:
        """The rule for `body`, made once for each key."""
        if key not in self._helpers:
            name = self.name(stem)
            self.define(name, body)
            self._helpers[key] = Name(name)
        return self._helpers[key]

    def text(self, start: Expression) -> str:
        """The whole grammar: the rule `root`, then all that it leads to."""
        self._bodies[ROOT] = start
        self._write_helpers_out()
        self._name_anew()
        order = [ROOT, *(name for name in reversed(self._inner_first()) if name != ROOT)]
        writer = _Writer(self)
        lines = [f"{name} ::= {writer.written(self._bodies[name]).text}\n" for name in order]
        return "".join((*lines, *writer.lines))

    def _write_helpers_out(self) -> None:
        """Put short helpers, and those that are used once, where they are used."""
        order = self._inner_first()
        uses = Counter(used for name in order for used in _names(self._bodies[name]))
        bodies: dict[str, Expression] = {}
        for name in order:
            body = self._bodies[name] = _replaced(self._bodies[name], bodies)
            if name in self._known or name in _names(body):
                continue
            if _length(body) <= (LINE if uses[name] == 1 else SHORT):
                bodies[name] = body
        only = self._bodies[ROOT]
        if isinstance(only, Name) and uses[only.name] == 1 and only.name not in self._known:
            self._bodies[ROOT] = self._bodies[only.name]

    def _name_anew(self) -> None:
        """Number the helpers that are left without gaps."""
        order = self._inner_first()
        taken = self._known.intersection(order)
        names: dict[str, Expression] = {}
        bodies: dict[str, Expression] = {}
        for name in reversed(order):
            found = name
            if name not in self._known:
                found = _free(self._stems[name], taken)
                taken.add(found)
            names[name] = Name(found)
            bodies[found] = self._bodies[name]
        self._bodies = {name: _replaced(body, names) for name, body in bodies.items()}
        self._stems = {name: name for name in taken}

    def _inner_first(self) -> list[str]:
        """The rules that `root` leads to, each behind those that it uses if there is no loop."""
        found: list[str] = []
        seen = {ROOT}
        stack = [(ROOT, _names(self._bodies[ROOT]))]
        while stack:
            name, used = stack[-1]
            inner = next((one for one in used if one not in seen), None)
            if inner is None:
                found.append(name)
                stack.pop()
            else:
                seen.add(inner)
                stack.append((inner, _names(self._bodies[inner])))
        return found


def _free(stem: str, taken: Container[str]) -> str:
    """`stem`, or the first of stem-2, stem-3, ... that is not taken."""
    found, number = stem, 2
    while found in taken:
        found, number = f"{stem}-{number}", number + 1
    return found


def _names(expression: Expression) -> Iterator[str]:
    """The rules that an expression uses, as often as it does, from left to right."""
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, Name):
            yield node.name
        elif isinstance(node, Sequence | Choice):
            stack.extend(reversed(node.parts))
        elif isinstance(node, Repeat):
            stack.append(node.body)


def _replaced(expression: Expression, bodies: dict[str, Expression]) -> Expression:
    """An expression with the bodies of some rules in place of their names."""
    match expression:
        case Name():
            return bodies.get(expression.name, expression)
        case Sequence():
            return sequence(*(_replaced(part, bodies) for part in expression.parts))
        case Choice():
            return choice(*(_replaced(part, bodies) for part in expression.parts))
        case Repeat():
            body = _replaced(expression.body, bodies)
            return repeated(body, expression.low, expression.high)
    return expression


class _Writer:
    """Writes expressions. rules: for names of what has to be a rule of its own; such `lines`."""

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules
        self.lines: list[str] = []

    def written(self, expression: Expression) -> Written:
        """An expression in GBNF."""
        match expression:
            case Name():
                return Written(expression.name, ONE)
            case Text():
                return self._language(expression.language)
            case Sequence():
                return _row([self.written(part) for part in expression.parts])
            case Choice():
                return self._either([self.written(part) for part in expression.parts])
            case Repeat():
                return self._times(self.written(expression.body), expression.low, expression.high)
            case Nested(spec=Token() as token):
                number = token.ranges[0][0] if token.ranges else -1
                named = token.text.decode() or f"<[{number}]>"
                return Written("!" * token.negated + named, ONE)
        raise TypeError(f"{expression!r} is not written out")

    def _language(self, language: Regex) -> Written:
        """A plain regular language in GBNF."""
        text = text_of(language)
        if text:
            return Written(_quoted(text), ONE)
        match language:
            case Chars():
                return Written(_class(language.chars), ONE)
            case Words():
                return self._words(language.members())
            case Concat():
                return _row([self._language(part) for part in language.parts_in_order])
            case RegexAlt():
                return self._either([self._language(part) for part in language.parts])
            case RegexRepeat():
                high = None if language.high == INFINITE else language.high
                return self._times(self._language(language.body), language.low, high)
        if language is EPSILON:
            return NO_TEXT
        raise TypeError(f"{language!r} is not plain")

    def _words(self, words: list[str]) -> Written:
        """Sorted words; of many those with the same first letter are joined, as in a trie."""
        if len(words) <= FEW_WORDS:
            return self._either([Written(_quoted(word), ONE) for word in words])
        parts = [] if words[0] else [NO_TEXT]
        for _, group in groupby((word for word in words if word), key=lambda word: word[0]):
            alike = [*group]
            begun = _begun_alike(alike[0], alike[-1])
            rests = [word[len(begun) :] for word in alike]
            first = Written(_quoted(begun), ONE)
            parts.append(first if len(rests) == 1 else _row([first, self._words(rests)]))
        return self._either(parts)

    def _either(self, parts: list[Written]) -> Written:
        """Alternation; with the empty text among the alternatives, the others are optional."""
        listed = [*dict.fromkeys(parts)]
        found = [part for part in listed if part.text != NO_TEXT.text]
        if not found:
            return NO_TEXT
        joined = found[0]
        if len(found) > 1:
            text = " | ".join(part.text for part in found)
            joined = Written(text, CHOICE, 1 + sum(part.symbols for part in found))
        return joined if len(found) == len(listed) else self._times(joined, 0, 1)

    def _times(self, body: Written, low: int, high: int | None) -> Written:
        """Repetition. What llama.cpp refuses to count is counted by several rules."""
        if body is NO_TEXT or high == 0:
            return NO_TEXT
        if (low, high) == (1, 1):
            return body
        last = low if high is None else high
        if last > 1 and self._rules is not None:
            if body.symbols * last > MOST_COUNTED:
                body = self._named(body)
            if low > MOST_COUNTED:
                rest = None if high is None else high - low
                return _row([self._exactly(body, low), self._times(body, 0, rest)])
            if last > MOST_COUNTED:
                return _row([self._times(body, low, low), self._up_to(body, last - low)])
        counts = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
        text = body.inside(ONE) + _QUANTIFIERS.get((low, high), counts)
        return Written(text, COUNTED, 1 + body.symbols * max(last, 1))

    def _exactly(self, body: Written, count: int) -> Written:
        """A body exactly `count` times."""
        if count <= MOST_COUNTED:
            return self._times(body, count, count)
        many, rest = divmod(count, MOST_COUNTED)
        thousand = self._named(self._times(body, MOST_COUNTED, MOST_COUNTED))
        return _row([self._exactly(thousand, many), self._times(body, rest, rest)])

    def _up_to(self, body: Written, count: int) -> Written:
        """A body at most `count` times: fewer than all thousands, or these and the rest."""
        if count <= MOST_COUNTED:
            return self._times(body, 0, count)
        many, rest = divmod(count, MOST_COUNTED)
        thousand = self._named(self._times(body, MOST_COUNTED, MOST_COUNTED))
        below = _row([self._up_to(thousand, many - 1), self._times(body, 0, MOST_COUNTED - 1)])
        all_of_them = _row([self._exactly(thousand, many), self._times(body, 0, rest)])
        return self._either([below, all_of_them])

    def _named(self, body: Written) -> Written:
        """A piece as a rule of its own."""
        if self._rules is None or body.symbols == 1:
            return body
        name = self._rules.name("counted")
        self.lines.append(f"{name} ::= {body.text}\n")
        return Written(name, ONE)


def _begun_alike(first: str, last: str) -> str:
    """What two words, and all that are sorted between them, begin with."""
    count = 0
    while first[count : count + 1] and first[count : count + 1] == last[count : count + 1]:
        count += 1
    return first[:count]


def _length(expression: Expression) -> int:
    return len(_Writer().written(expression).text)


def _row(parts: list[Written]) -> Written:
    """Concatenation."""
    found = [part for part in parts if part.text != NO_TEXT.text]
    if len(found) < 2:
        return found[0] if found else NO_TEXT
    text = " ".join(part.inside(ROW) for part in found)
    return Written(text, ROW, 1 + sum(part.symbols for part in found))


def _quoted(text: str) -> str:
    """A literal."""
    return '"' + "".join('\\"' if letter == '"' else _letter(letter) for letter in text) + '"'


def _class(members: CharSet) -> str:
    """A class of characters, by its members or by what it lacks, whichever is shorter."""
    if members is ALL:
        return "."
    inside, outside = _ranges(members), _ranges(ALL - members)
    return f"[{inside}]" if len(inside) <= len(outside) else f"[^{outside}]"


def _ranges(members: CharSet) -> str:
    found = []
    for first, last in members.ranges:
        found.append(_member(first))
        if last > first:
            found.append(("-" if last > first + 1 else "") + _member(last))
    return "".join(found)


def _member(code: int) -> str:
    letter = chr(code)
    return f"\\x{code:02X}" if letter in "^-[]" else _letter(letter)


def _letter(letter: str) -> str:
    """A character as itself where it can be seen, else by an escape."""
    code = ord(letter)
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    return (
        f"\\x{code:02X}"
        if code < 0x80
        else f"\\u{code:04X}"
        if code < 0x10000
        else f"\\U{code:08X}"
    )
