"""Expression trees: the right-hand sides of rules as people write them.

The readers and the combinators build them; `bnf` turns them into rules. Neighbouring regular parts
that may end anywhere are joined while the tree is built, so that `[a-z] [a-z0-9]*` becomes one
terminal, not two rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from structgen.grammar.ir import Place
from structgen.regular.expressions.build import repeat_counts
from structgen.regular.expressions.nodes import Alt as RegexAlt
from structgen.regular.expressions.nodes import Concat as RegexConcat
from structgen.regular.expressions.nodes import Repeat as RegexRepeat
from structgen.regular.regex import ANY, ANY_CHAR, EMPTY, EPSILON, Regex, alt, concat, repeat
from structgen.regular.regex import intersect as both

if TYPE_CHECKING:
    from structgen.spec.base import Spec


@dataclass(frozen=True, eq=False, slots=True)
class Name:
    """A rule or terminal by its name."""

    name: str
    place: Place | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Text:
    """A regular part whose text may end wherever it matches. words: how messages name it."""

    language: Regex
    words: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Nested:
    """A text of another spec (a JSON Schema, a grammar, ...)."""

    spec: Spec
    place: Place | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Sequence:
    """Concatenation: parts one after the other."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """Alternation: one of several parts."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Repeat:
    """Repetition: a body `low` to `high` times; None is no upper bound."""

    body: Expression
    low: int
    high: int | None


@dataclass(frozen=True, eq=False, slots=True)
class Difference:
    """The texts of `most` that are not texts of `less`; both have to be regular."""

    most: Expression
    less: Expression
    place: Place | None = None


Expression = Name | Text | Nested | Sequence | Choice | Repeat | Difference
NOTHING = Sequence(())
_LONGEST = 60  # characters of the words for one part
_COUNTS = {(0, 1): "?", (0, None): "*", (1, None): "+", (1, 1): ""}


def sequence(*parts: Expression) -> Expression:
    """The concatenation of parts; neighbours that are regular become one `Text`."""
    joined: list[Expression] = []
    for part in parts:
        inner = part.parts if isinstance(part, Sequence) else (part,)
        for one in inner:
            last = joined[-1] if joined else None
            if isinstance(one, Text) and isinstance(last, Text):
                joined[-1] = Text(concat(last.language, one.language), _in_a_row(last, one))
            else:
                joined.append(one)
    return joined[0] if len(joined) == 1 else Sequence(tuple(joined))


def choice(*parts: Expression) -> Expression:
    """The alternation of parts; those that are regular become one `Text`."""
    flat = [one for p in parts for one in (p.parts if isinstance(p, Choice) else (p,))]
    regular = [part for part in flat if isinstance(part, Text)]
    if len(regular) > 1:
        others = [part for part in flat if not isinstance(part, Text)]
        flat = [Text(alt(*(part.language for part in regular)), _either(regular)), *others]
    return flat[0] if len(flat) == 1 else Choice(tuple(flat))


def repeated(body: Expression, low: int, high: int | None) -> Expression:
    """The body `low` to `high` times. Raises SpecError unless 0 <= low <= high."""
    if isinstance(body, Text):
        return Text(repeat(body.language, low, high), _times(body, low, high))
    if (low, high) == (1, 1):
        return body
    return NOTHING if high == 0 else Repeat(body, low, high)


def _in_a_row(first: Text, second: Text) -> str:
    """How messages name two parts in a row: by both, or by the first if that gets too long."""
    if not first.words or first.words.endswith("..."):
        return first.words
    words = f"{first.words} {second.words}"
    return words if second.words and len(words) <= _LONGEST else f"{first.words} ..."


def _either(parts: list[Text]) -> str:
    """How messages name an alternation; "" if that gets too long."""
    words = " | ".join(part.words for part in parts)
    return f"({words})" if len(words) <= _LONGEST and all(part.words for part in parts) else ""


def _times(body: Text, low: int, high: int | None) -> str:
    """How messages name a repetition, in the notation of regular expressions."""
    if not body.words:
        return ""
    counts = _COUNTS.get((low, high), f"{{{low}}}" if low == high else f"{{{low},{high or ''}}}")
    closed = " " not in body.words or (body.words[0] == "(" and body.words[-1] == ")")
    return f"{body.words}{counts}" if closed else f"({body.words}){counts}"


def without_empty(language: Regex) -> Regex:
    """The language without the empty text."""
    if not language.nullable:
        return language
    if language is EPSILON:
        return EMPTY
    if isinstance(language, RegexRepeat):
        return repeat_counts(without_empty(language.body), 1, language.high)
    if isinstance(language, RegexConcat):
        head, tail = without_empty(language.head), without_empty(language.tail)
        return alt(concat(head, language.tail), tail)
    if isinstance(language, RegexAlt):
        return alt(*(without_empty(part) for part in language.parts))
    return both(language, concat(ANY_CHAR, ANY))
