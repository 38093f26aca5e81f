"""A reader of the escapes and character classes of ECMA-262 patterns (flag `u`).

See `ecma` for what is read beyond that.
"""

from __future__ import annotations

import re
from functools import lru_cache

from structgen.errors import PatternError, StructgenError, UnsupportedSchemaError
from structgen.regular import lone_surrogates
from structgen.regular.charset import ALL, CharSet
from structgen.regular.syntax.dialects import ECMA, POSIX, Dialect
from structgen.regular.syntax.unicode import (
    DIGIT,
    WORD,
    either_case,
    needs_regex,
    property_set,
)

_HEX = frozenset("0123456789abcdefABCDEF")
DIGITS = frozenset("0123456789")
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_CLASSES = {"d": DIGIT, "D": ~DIGIT, "w": WORD, "W": ~WORD}
_FOREIGN_ESCAPES = {
    "A": "write ^ for the start of the text",
    "Z": "write $ for the end of the text",
    "z": "write $ for the end of the text",
    "G": "leave it out: a search starts anywhere",
    "Q": r"escape each character by itself, as in \.",
    "E": r"escape each character by itself, as in \.",
    "h": r"write [ \t] for horizontal white space",
    "R": r"write (?:\r\n|\n|\r) for a line end",
    "a": r"write \x07 for the bell character",
    "e": r"write \x1b for the escape character",
    "N": "write [^\\n] for anything but a line feed",
    "X": "write . for one character",
}
_CATEGORIES = frozenset("CLMNPSZ")  # general categories of one letter
_PLAIN_MEMBERS = re.compile(r"[^\\\[\]^&-]+(?=\])").match


@lru_cache(maxsize=256)
def _set_of(letters: str) -> CharSet:
    """The set of some characters; words in either case have the same few over and over."""
    return CharSet.chars(letters)


class Reader:
    """A pattern that is read from left to right; `at` is the offset of the next character.

    flags: the letters of `ims` that are in force here. surrogates: whether texts may have unpaired
    ones (see `regular.lone_surrogates`).
    """

    def __init__(self, pattern: str, dialect: Dialect = ECMA, *, surrogates: bool = False) -> None:
        self.pattern = pattern
        self.dialect = dialect
        self.surrogates = surrogates
        self.at = 0
        self.flags: frozenset[str] = frozenset()

    def members(self, chars: CharSet) -> CharSet:
        """A set, with flag `i` in either case."""
        return either_case(chars) if "i" in self.flags else chars

    def error(self, problem: str, *, at: int = -1, hint: str = "") -> PatternError:
        """A syntax error at offset `at`, by default here."""
        position = self.at if at < 0 else at
        return PatternError(problem, pattern=self.pattern, position=position, hint=hint)

    def refusal(self, what: str, at: int, hint: str) -> StructgenError:
        """The error for a construct that is legal but cannot be enforced."""
        return UnsupportedSchemaError(
            f"{what} at offset {at} of the pattern is not supported",
            keyword="pattern",
            location=f"pattern {self.pattern!r}",
            hint=hint,
        )

    def peek(self, text: str) -> bool:
        """Does the pattern go on with `text`?"""
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Read `text` if the pattern goes on with it."""
        if self.peek(text):
            self.at += len(text)
            return True
        return False

    def next(self) -> str:
        """Read one character; "" at the end."""
        letter = self.pattern[self.at : self.at + 1]
        self.at += len(letter)
        return letter

    def character_escape(self, start: int) -> CharSet | int:
        """An escape that is legal inside and outside classes: a set, or one code point."""
        letter = self.next()
        if letter in _CLASSES:
            return _CLASSES[letter]
        if letter in ("s", "S"):
            return self.dialect.space if letter == "s" else ~self.dialect.space
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter in ("p", "P"):
            return self.property(start, negated=letter == "P")
        if letter == "u":
            return self.unicode_escape(start)
        if letter == "x":
            return self.hexadecimal(start, 2)
        if letter == "c":
            control = self.next()
            if not (control.isascii() and control.isalpha()):
                raise self.error(r"'\c' without a letter", at=start, hint=r"as in \cJ")
            return ord(control) % 32
        if letter == "0":
            if self.pattern[self.at : self.at + 1] in DIGITS and self.at < len(self.pattern):
                raise self.error("an octal escape", at=start, hint=r"write it as \x00")
            return 0
        if letter == "":
            raise self.error("a backslash at the end", at=start)
        if letter.isascii() and letter.isalnum():
            hint = _FOREIGN_ESCAPES.get(letter, "remove the backslash if the letter is meant")
            raise self.error(rf"'\{letter}', which is not ECMA-262", at=start, hint=hint)
        return ord(letter)

    def property(self, start: int, *, negated: bool) -> CharSet:
        r"""The rest of `\p{...}`, or of `\pL` where the dialect has it."""
        end = self.pattern.find("}", self.at)
        if end > 0 and self.take("{"):
            name = self.pattern[self.at : end]
            self.at = end + 1
        elif self.dialect.letters and self.pattern[self.at : self.at + 1] in _CATEGORIES:
            name = self.next()
        else:
            raise self.error(r"'\p' without '{...}'", at=start, hint=r"as in \p{Lu}")
        if self.dialect.caret and name.startswith("^"):
            name, negated = name[1:], not negated
        found = self.property_named(name, start)
        if self.surrogates:
            found = lone_surrogates.property_members(name, found)
        return ~found if negated else found

    def property_named(self, name: str, start: int) -> CharSet:
        """The set of a property; PatternError for an unknown one, a refusal for lack of data."""
        if self.dialect.posix and name.lower() in POSIX:
            return POSIX[name.lower()]
        names = [name]
        prefix = self.dialect.scripts
        if prefix is not None and name.startswith(prefix):
            names += [name[len(prefix) :], f"Script={name[len(prefix) :]}"]
        for known in map(property_set, names):
            if known is not None:
                return known
        what = rf"the property '\p{{{name}}}'"
        if any(map(needs_regex, names)):
            hint = "run: pip install regex, which has data for it; or spell the ranges out"
            raise self.refusal(what, start, hint)
        hint = r"\p{Lu}, \p{Script=Greek} and \p{Alphabetic} are some that are"
        raise self.error(f"{what}, which is unknown", at=start, hint=hint)

    def hexadecimal(self, start: int, count: int) -> int:
        """Exactly `count` hexadecimal digits."""
        digits = self.pattern[self.at : self.at + count]
        if len(digits) < count or not _HEX.issuperset(digits):
            raise self.error(f"an escape that wants {count} hexadecimal digits", at=start)
        self.at += count
        return int(digits, 16)

    def unicode_escape(self, start: int) -> int:
        r"""The rest of `\uXXXX`, `\u{X...}` or of a surrogate pair."""
        if self.take("{"):
            end = self.pattern.find("}", self.at)
            digits = self.pattern[self.at : end] if end > 0 else ""
            if not digits or not _HEX.issuperset(digits) or int(digits, 16) > 0x10FFFF:
                raise self.error("an impossible code point", at=start, hint=r"as in \u{1F600}")
            self.at = end + 1
            return int(digits, 16)
        first = self.hexadecimal(start, 4)
        if 0xD800 <= first <= 0xDBFF and self.peek("\\u"):
            digits = self.pattern[self.at + 2 : self.at + 6]
            if len(digits) == 4 and _HEX.issuperset(digits) and int(digits, 16) >> 10 == 0x37:
                self.at += 6
                return 0x10000 + ((first - 0xD800) << 10) + (int(digits, 16) - 0xDC00)
        return first

    def char_class(self, start: int) -> CharSet:
        """The inside of a class after its `[`, up to and with its `]`."""
        negated = self.take("^")
        members = self.operand(start)
        while self.take("&&"):
            members = members & self.operand(start)
        self.take("]")
        return ALL - members if negated else members

    def operand(self, start: int) -> CharSet:
        """The members of a class up to its end, or to a `&&` where the dialect has it."""
        plain = None if self.surrogates else _PLAIN_MEMBERS(self.pattern, self.at)
        if plain:
            self.at = plain.end()
            return self.members(_set_of(plain[0]))
        found: list[tuple[int, int]] = []  # of characters
        classes: list[tuple[int, int]] = []  # of what has been read as a set
        while not (self.peek("]") or (self.dialect.operators and self.peek("&&"))):
            within = self.nested(start)
            if within is not None:
                classes += within.ranges
                continue
            first = self.class_atom(start)
            here = self.at
            if self.peek("-") and not self.peek("-]") and self.take("-"):
                last = self.class_atom(start)
                if isinstance(first, int) and isinstance(last, int):
                    if last < first:
                        raise self.error("a range out of order", at=here)
                    found.append((first, last))
                    continue
                found.append((0x2D, 0x2D))
                self.add_member(last, found, classes)
            self.add_member(first, found, classes)
        if self.surrogates:
            return self.members(lone_surrogates.members(found) | CharSet.of(classes))
        return self.members(CharSet.of([*found, *classes]))

    @staticmethod
    def add_member(
        member: CharSet | int, found: list[tuple[int, int]], classes: list[tuple[int, int]]
    ) -> None:
        """Add a character to `found`, or a set to `classes`."""
        if isinstance(member, int):
            found.append((member, member))
        else:
            classes += member.ranges

    def nested(self, start: int) -> CharSet | None:
        """A class within a class, `[:name:]` or Java's, where the dialect has them."""
        if self.dialect.brackets and self.peek("[:"):
            name = self.pattern[self.at + 2 : max(self.pattern.find(":]", self.at), 0)]
            found = POSIX.get(name.removeprefix("^"))
            if found is None:
                raise self.error("a class '[:...:]' that is none", hint="as in [[:alnum:]]")
            self.at += len(name) + 4
            return ~found if name.startswith("^") else found
        if self.dialect.operators and self.take("["):
            return self.char_class(start)
        return None

    def class_atom(self, start: int) -> CharSet | int:
        """One member of a class."""
        here = self.at
        letter = self.next()
        if not letter:
            raise self.error("a '[' without its ']'", at=start, hint=r"close it, or write \[")
        if letter != "\\":
            return ord(letter)
        if self.take("b"):
            return 8
        return ord("-") if self.take("-") else self.character_escape(here)
