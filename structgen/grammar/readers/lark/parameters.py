"""Rules with a parameter, as llguidance has them: a rule for each value of a 64-bit number.

`perm::_` defines a rule with a parameter, `perm::set_bit(0)` uses it, and `%if bit_clear(0)` behind
an alternative says for which values it is there. `reader` reads both from their text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Condition = Callable[[int], bool]
Change = Callable[[int], int]

BITS = 64
_ALL = (1 << BITS) - 1
_WORD = re.compile(r"[ \t]*(0[xX][0-9a-fA-F]+|\d+|[a-z_]+|[\[\]():,])")
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_CHANGES = ("_", "set_bit", "clear_bit", "bit_and", "bit_or", "incr", "decr")
_CONDITIONS = (
    *("true", "and", "or", "not", "bit_set", "bit_clear", "is_ones", "is_zeros"),
    *_COMPARISONS,
    *(f"bit_count_{name}" for name in _COMPARISONS),
)


class ParameterError(Exception):
    """What is wrong. at: the offset in the text; expected: what might stand there."""

    def __init__(self, problem: str, at: int, expected: str = "") -> None:
        super().__init__(problem)
        self.at, self.expected = at, expected


class ParameterReader:
    """Reads what is said of parameters from a text. at: the offset of what comes next."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at

    def change(self) -> tuple[Change, bool]:
        """Read the argument of a rule; whether it depends on the parameter of the rule around it.

        Raises ParameterError.
        """
        start, word = self.at, self._next("a number or a function of the parameter")
        if word[0].isdigit():
            value = self._number_of(word, start, _ALL)
            return (lambda _: value), False
        match word:
            case "_":
                return (lambda p: p), True
            case "set_bit" | "clear_bit":
                [bit] = self._in_brackets(self._bit)
                if word == "set_bit":
                    return (lambda p: p | 1 << bit), True
                return (lambda p: p & ~(1 << bit)), True
            case "bit_and" | "bit_or":
                [mask] = self._in_brackets(lambda: self._number(_ALL))
                if word == "bit_and":
                    return (lambda p: p & mask), True
                return (lambda p: p | mask), True
            case "incr" | "decr":
                [(first, last)] = self._in_brackets(self._bits)
                full = (1 << last - first) - 1
                if word == "incr":  # it stays where it cannot grow
                    return (lambda p: p + (1 << first) * (p >> first & full != full)), True
                return (lambda p: p - (1 << first) * (p >> first & full != 0)), True
        raise ParameterError(f"there is no function {word!r}", start, " or ".join(_CHANGES))

    def condition(self) -> Condition:
        """Read a condition on the parameter. Raises ParameterError."""
        start, word = self.at, self._next("a condition")
        match word:
            case "true":
                if self._peek() == "(":
                    self._expect("(")
                    self._expect(")")
                return lambda _: True
            case "and" | "or":
                one, other = self._in_brackets(self.condition, self.condition)
                if word == "and":
                    return lambda p: one(p) and other(p)
                return lambda p: one(p) or other(p)
            case "not":
                [inner] = self._in_brackets(self.condition)
                return lambda p: not inner(p)
            case "bit_set" | "bit_clear":
                [bit] = self._in_brackets(self._bit)
                wanted = int(word == "bit_set")
                return lambda p: p >> bit & 1 == wanted
            case "is_ones" | "is_zeros":
                [(first, last)] = self._in_brackets(self._bits)
                full = (1 << last - first) - 1
                value = full if word == "is_ones" else 0
                return lambda p: p >> first & full == value
        counted = word.startswith("bit_count_")
        compare = _COMPARISONS.get(word.removeprefix("bit_count_"))
        if compare is None:
            problem = f"there is no condition {word!r}"
            raise ParameterError(problem, start, " or ".join(_CONDITIONS))
        most = BITS if counted else _ALL
        (first, last), than = self._in_brackets(self._bits, lambda: self._number(most))
        full = (1 << last - first) - 1
        if counted:
            return lambda p: compare((p >> first & full).bit_count(), than)
        return lambda p: compare(p >> first & full, than)

    def _in_brackets(self, *parts: Callable[[], Any]) -> list[Any]:
        """Read arguments in brackets."""
        self._expect("(")
        found = []
        for i, part in enumerate(parts):
            if i:
                self._expect(",")
            found.append(part())
        self._expect(")")
        return found

    def _bits(self) -> tuple[int, int]:
        """Read which bits are meant: all (`_`), or from one on up to another (`[0:3]`)."""
        start = self.at
        if self._peek() == "_":
            self._expect("_")
            return 0, BITS
        if self._peek() != "[":
            raise ParameterError("this says not which bits", start, "'_' or [first:last + 1]")
        self._expect("[")
        first = self._bit()
        self._expect(":")
        last = self._number(BITS)
        if last <= first:
            problem = f"the bits from {first} on up to {last} are none"
            raise ParameterError(problem, start, "the lower bit first")
        self._expect("]")
        return first, last

    def _bit(self) -> int:
        return self._number(BITS - 1)

    def _number(self, most: int) -> int:
        start = self.at
        return self._number_of(self._next("a number"), start, most)

    def _number_of(self, word: str, start: int, most: int) -> int:
        if not word[0].isdigit():
            raise ParameterError(f"{word!r} is no number", start, "a number")
        value = int(word, 0) if word[:2] in ("0x", "0X") else int(word)
        if value > most:
            raise ParameterError(f"{value} is too large", start, f"at most {most}")
        return value

    def _peek(self) -> str:
        found = _WORD.match(self._text, self.at)
        return "" if found is None else found[1]

    def _next(self, expected: str) -> str:
        found = _WORD.match(self._text, self.at)
        if found is None:
            raise ParameterError("something of the parameter is missing here", self.at, expected)
        self.at = found.end()
        return found[1]

    def _expect(self, sign: str) -> None:
        start = self.at
        if self._next(repr(sign)) != sign:
            raise ParameterError("this does not fit here", start, repr(sign))
