r"""A parser of ECMA-262 patterns (flag `u`), as JSON Schema uses them, to regular expressions.

Beyond flag `u` three habits of real schemas are read as ECMA-262's Annex B reads them: a backslash
before punctuation that needs none (`\-`, `\_`, `\:`), a brace or closing bracket on its own, and a
class escape at the end of a class range (`[\w-.]`). Everything else that is not ECMA-262 is an
error that names the construct; what is ECMA-262 but not regular (backreferences), or without data
in Python (scripts), is refused by name.
"""

from __future__ import annotations

import re
from functools import lru_cache

from structgen.errors import BudgetError, UnsupportedSchemaError
from structgen.regular.charset import CharSet
from structgen.regular.regex import (
    EMPTY,
    EPSILON,
    INFINITE,
    Regex,
    alt,
    chars,
    concat,
    literal,
    repeat,
)
from structgen.regular.syntax.assertions import (
    Choice,
    Edge,
    Look,
    Loop,
    Node,
    Sequence,
    translate,
)
from structgen.regular.syntax.escapes import DIGITS, Reader
from structgen.regular.syntax.unicode import LINE_END

_GROUP_DEPTH = 100  # groups inside groups
_BARE_ASSERTION = re.compile(r"\^|\$|\\[bB]|\(\?<[=!]").match
_PLAIN_TEXT = re.compile(r"[^\\^$.|?*+()\[{]+(?![?*+{])").match
_QUANTIFIERS = {"*": (0, INFINITE), "+": (1, INFINITE), "?": (0, 1)}


@lru_cache(maxsize=1024)
def parse(pattern: str, *, anchored: bool = False) -> Regex:
    """The language of all texts in which `pattern` finds a match, or, `anchored`, that are one.

    Raises `PatternError` (a subclass of `SpecError`, with the position) for what is no ECMA-262
    pattern, `UnsupportedSchemaError` for what is one but cannot be enforced, `BudgetError` for one
    nested too deeply.
    """
    try:
        return translate(_Parser(pattern).whole(), anchored=anchored)
    except (UnsupportedSchemaError, BudgetError) as error:
        if not error.location:
            error.location = f"pattern {pattern!r}"
        raise


class _Parser(Reader):
    """Recursive descent over one pattern."""

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.depth = 0

    def whole(self) -> Node:
        """Read the whole pattern."""
        node = self.choice()
        if self.at < len(self.pattern):
            raise self.error("a ')' without its '('", hint=r"escape it as \) or remove it")
        return node

    def choice(self) -> Node:
        """Alternatives up to a `)` or the end."""
        parts = [self.sequence()]
        while self.take("|"):
            parts.append(self.sequence())
        plain = [part for part in parts if isinstance(part, Regex)]
        others = [part for part in parts if not isinstance(part, Regex)]
        if not others:
            return alt(*plain)
        every = (*others, alt(*plain)) if plain else tuple(others)
        return every[0] if len(every) == 1 else Choice(every)

    def sequence(self) -> Node:
        """Terms up to a `|`, a `)` or the end."""
        parts: list[Node] = []
        text: list[str] = []
        run: list[Regex] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            plain = _PLAIN_TEXT(self.pattern, self.at)
            if plain:
                text.append(plain[0])
                self.at = plain.end()
                continue
            start = self.at
            node = self.quantified(self.term(), start)
            if isinstance(node, str):
                text.append(node)
                continue
            if text:
                run.append(literal("".join(text)))
                text = []
            if isinstance(node, Regex):
                run.append(node)
                continue
            if run:
                parts.append(concat(*run))
                run = []
            parts.append(node)
        if text:
            run.append(literal("".join(text)))
        if run:
            parts.append(concat(*run))
        if len(parts) < 2:
            return parts[0] if parts else EPSILON
        return Sequence(tuple(parts))

    def term(self) -> Node | str:
        """One atom or assertion without its quantifier; a plain character comes as text."""
        start = self.at
        letter = self.next()
        match letter:
            case "^":
                return Edge("start")
            case "$":
                return Edge("end")
            case ".":
                return chars(~LINE_END)
            case "(":
                return self.group(start)
            case "[":
                return chars(self.char_class(start))
            case "\\":
                return self.escape(start)
            case "*" | "+" | "?":
                raise self.error(f"nothing for {letter!r} to repeat", at=start)
            case "{" if _counts(self.pattern, start):
                raise self.error("nothing for '{...}' to repeat", at=start)
            case _:
                return letter

    def quantified(self, atom: Node | str, atom_at: int) -> Node | str:
        """Read the quantifier after the atom at offset `atom_at`, if there is one."""
        start = self.at
        counts = _QUANTIFIERS.get(self.pattern[start : start + 1])
        if counts:
            self.at += 1
        else:
            found = _counts(self.pattern, start)
            if found is None:
                return atom
            low, high, self.at = found
            if high < low:
                raise self.error("the counts of '{...}' are out of order", at=start)
            if max(low, 0 if high == INFINITE else high) >= INFINITE:
                raise self.error("a count of '{...}' is beyond all measure", at=start)
            counts = low, high
        self.take("?")
        following = self.pattern[self.at : self.at + 1]
        if following in _QUANTIFIERS or _counts(self.pattern, self.at):
            hint = "ECMA-262 has no possessive quantifiers" if following == "+" else ""
            raise self.error("a quantifier after a quantifier", hint=hint)
        low, high = counts
        if not isinstance(atom, Regex | str) and _BARE_ASSERTION(self.pattern, atom_at):
            raise self.error("a quantifier after an assertion", at=start)
        if isinstance(atom, str):
            atom = literal(atom)
        if isinstance(atom, Regex):
            return repeat(atom, low, None if high == INFINITE else high)
        return Loop(atom, low, high)

    def group(self, start: int) -> Node:
        """The inside of a group after its `(`, up to and with its `)`."""
        self.depth += 1
        if self.depth > _GROUP_DEPTH:
            raise BudgetError(
                f"groups more than {_GROUP_DEPTH} deep", hint="flatten or split the pattern"
            )
        look = self.group_kind(start)
        node = self.choice()
        if not self.take(")"):
            raise self.error("a '(' without its ')'", at=start, hint=r"close it, or write \(")
        self.depth -= 1
        return node if look is None else Look(node, *look)

    def group_kind(self, start: int) -> tuple[bool, bool] | None:
        """Read `?:`, `?<name>` or the mark of a lookaround: (behind, negative)."""
        if not self.take("?"):
            return None
        for mark, look in (
            (":", None),
            ("=", (False, False)),
            ("!", (False, True)),
            ("<=", (True, False)),
            ("<!", (True, True)),
        ):
            if self.take(mark):
                return look
        if self.take("<"):
            end = self.pattern.find(">", self.at)
            name = self.pattern[self.at : end] if end > 0 else ""
            if not name.replace("$", "_").isidentifier():
                raise self.error("a group name that is none", hint="write (?<name>...)")
            self.at = end + 1
            return None
        if self.peek("P"):
            hint = "write (?<name>...)" if self.peek("P<") else "ECMA-262 has no (?P...)"
            raise self.error("Python's group syntax '(?P'", at=start, hint=hint)
        flags = self.pattern[self.at :].split(")")[0].split(":")[0]
        if flags.strip("ims-") == "" and flags:
            if self.peek(flags + ":"):
                what = f"the group with flags '(?{flags}:'"
                raise self.refusal(what, start, "spell the cases out, as in [aA]")
            raise self.error(
                f"the inline flags '(?{flags})', which are not ECMA-262",
                at=start,
                hint="spell the cases out, as in [aA]",
            )
        raise self.error("an unknown kind of group '(?'", at=start)

    def escape(self, start: int) -> Node | str:
        r"""What a backslash outside classes stands for."""
        if self.take("b"):
            return Edge("boundary")
        if self.take("B"):
            return Edge("inside")
        if self.take("k"):
            if not _count_groups(self.pattern)[1]:
                raise self.error(r"'\k' without a named group", at=start)
            raise self.refusal("a backreference", start, "spell the repeated text out")
        digits = self.pattern[self.at : self.at + 1]
        if digits in DIGITS and digits not in ("", "0"):
            while self.pattern[self.at : self.at + 1] in DIGITS and self.at < len(self.pattern):
                self.at += 1
            number = self.pattern[start + 1 : self.at]
            if len(number) < 6 and int(number) <= _count_groups(self.pattern)[0]:
                raise self.refusal("a backreference", start, "spell the repeated text out")
            raise self.error(f"a reference to group {number}, which does not exist", at=start)
        found = self.character_escape(start)
        if isinstance(found, CharSet):
            return chars(found)
        return EMPTY if 0xD800 <= found <= 0xDFFF else chr(found)


def _counts(pattern: str, at: int) -> tuple[int, int, int] | None:
    """A `{m}`, `{m,}` or `{m,n}` at an offset: both counts and the offset after it."""
    if pattern[at : at + 1] != "{":
        return None
    end = pattern.find("}", at)
    low, comma, high = pattern[at + 1 : end].partition(",") if end > 0 else ("", "", "")
    if not low or not DIGITS.issuperset(low + high) or len(low + high) > 4000:
        return None
    least = int(low)
    most = int(high) if high else INFINITE if comma else least
    return least, most, end + 1


def _count_groups(pattern: str) -> tuple[int, bool]:
    """How many capturing groups there are, and whether any has a name."""
    count, named, at, in_class = 0, False, 0, False
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\":
            at += 1
        elif in_class:
            in_class = letter != "]"
        elif letter == "[":
            in_class = True
        elif letter == "(":
            has_name = pattern.startswith("?<", at + 1) and pattern[at + 3 : at + 4] not in "=!"
            count += has_name or pattern[at + 1 : at + 2] != "?"
            named = named or has_name
        at += 1
    return count, named
