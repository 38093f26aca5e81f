r"""A parser of ECMA-262 patterns (flag `u`), as JSON Schema uses them, to regular expressions.

Beyond flag `u` three habits of real schemas are read as ECMA-262's Annex B reads them: a backslash
before punctuation that needs none (`\-`, `\_`, `\:`), a brace or closing bracket on its own, and a
class escape at the end of a class range (`[\w-.]`). Everything else that is not ECMA-262 is an
error that names the construct, unless a dialect has it (`dialects`); what is ECMA-262 but not
regular (a backreference to a group that matches endlessly many texts) is refused by name.

A backreference to a group with few texts is spelled out: the pattern is read once for each text
that the group may have, with the text in the place of both, and once without the group if it may
be unset. That is right where the reference stands behind the group, which is not repeated, nor
in a lookaround without it, and has no reference inside; others are refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import compress, pairwise, product

from structgen.errors import BudgetError, PatternError, UnsupportedSchemaError
from structgen.regular import lone_surrogates
from structgen.regular.charset import ALL, CharSet
from structgen.regular.infinite import few_words
from structgen.regular.regex import (
    EMPTY,
    EPSILON,
    INFINITE,
    Regex,
    alt,
    chars,
    concat,
    intersect,
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
from structgen.regular.syntax.dialects import AUTO, DIALECTS, ECMA, Dialect
from structgen.regular.syntax.escapes import DIGITS, Reader

_GROUP_DEPTH = 100  # groups inside groups
_BARE_ASSERTION = re.compile(r"\^|\$|\\[bB]|\(\?<[=!]").match
_PLAIN_TEXT = re.compile(r"[^\\^$.|?*+()\[{]+(?![?*+{])").match
_FLAGS = re.compile(r"([a-zA-Z]*)(-?)([a-zA-Z]*)([:)])").match
_MODIFIERS = frozenset("ims")  # flags of groups in ECMA-262
_MAX_TEXTS = 256  # of the groups that backreferences name, all combinations
_QUANTIFIERS = {"*": (0, INFINITE), "+": (1, INFINITE), "?": (0, 1)}


@lru_cache(maxsize=1024)
def parse(
    pattern: str, *, anchored: bool = False, dialect: str = ECMA.name, surrogates: bool = False
) -> Regex:
    """The language of all texts in which `pattern` finds a match, or, `anchored`, that are one.

    dialect: a name of `dialects.NAMES`; "auto" takes the one that `dialect_of` finds. surrogates:
    whether texts may have unpaired ones, by the characters of `regular.lone_surrogates`.

    Raises `PatternError` (a subclass of `SpecError`, with the position) for what is no pattern in
    the dialect, `UnsupportedSchemaError` for what is one but cannot be enforced, `BudgetError` for
    one nested too deeply.
    """
    known = DIALECTS[dialect_of(pattern) if dialect == AUTO else dialect]
    try:
        return translate(_read(pattern, known, surrogates), anchored=anchored)
    except (UnsupportedSchemaError, BudgetError) as error:
        if not error.location:
            error.location = f"pattern {pattern!r}"
        raise


@lru_cache(maxsize=1024)
def dialect_of(pattern: str) -> str:
    """The dialect of a pattern: "ecma" where that has a meaning for it, else the first that has.

    "ecma" as well where no dialect has, so that errors speak of it.
    """
    for dialect in DIALECTS.values():
        try:
            _read(pattern, dialect, False)  # as `parse` mostly asks: found once
        except PatternError:
            continue
        except UnsupportedSchemaError:
            if dialect is ECMA:
                break  # legal there
            continue
        except BudgetError:
            pass
        return dialect.name
    return ECMA.name


@lru_cache(maxsize=1024)
def _read(pattern: str, dialect: Dialect, surrogates: bool = False) -> Node:
    """The nodes of a pattern, backreferences spelled out."""
    parser = _Parser(pattern, dialect, surrogates=surrogates)
    node = parser.whole()
    if not parser.referred:
        return node
    numbers = sorted(parser.referred)
    texts: list[list[str | None]] = [[*sorted(parser.texts_of(number))] for number in numbers]
    for number, some in zip(numbers, texts, strict=True):
        some += [None] if number in parser.may_be_unset else []
    parts = []
    for way in product(*texts):
        bound = dict(zip(numbers, way, strict=True))
        to_set = {n for n in parser.may_be_unset if bound[n] is not None}
        parts.append(_Parser(pattern, dialect, bound, to_set, surrogates=surrogates).whole())
    return Choice(tuple(parts))


class _Parser(Reader):
    """Recursive descent over one pattern.

    bound: by number, the text that a group has, where backreferences are spelled out, None for a
    group that is unset. to_set: those of the groups that must not be unset.
    """

    def __init__(
        self,
        pattern: str,
        dialect: Dialect = ECMA,
        bound: Mapping[int, str | None] | None = None,
        to_set: Collection[int] = (),
        *,
        surrogates: bool = False,
    ) -> None:
        super().__init__(pattern, dialect, surrogates=surrogates)
        self.depth = 0
        self.bound, self.to_set = bound or {}, to_set
        self.referred: dict[int, int] = {}  # groups that backreferences name: where the first is
        self.may_be_unset: set[int] = set()  # those of them that may be unset at a reference
        self.groups = 0  # capturing ones, so far
        self._references = 0  # so far
        self._names: dict[str, int] = {}
        self._texts: dict[int, Regex] = {}  # of the groups that are referred to
        # Of each group that has ended: its language if it is one, and the alternative it stands in.
        self._ended: dict[int, tuple[Node, tuple[tuple[int, int], ...]]] = {}
        self._within: tuple[tuple[int, int], ...] = ((0, 0),)  # where, and in which alternative
        self._optional: set[int] = set()  # groups within what a `?` is behind

    def whole(self) -> Node:
        """Read the whole pattern."""
        node = self.choice()
        if self.at < len(self.pattern):
            raise self.error("a ')' without its '('", hint=r"escape it as \) or remove it")
        return node

    def choice(self) -> Node:
        """Alternatives up to a `)` or the end."""
        around, flags, groups = self._within, self.flags, [self.groups]
        parts = [self.sequence()]
        while self.take("|"):
            self._within = (*around[:-1], (around[-1][0], len(parts)))
            groups.append(self.groups)
            parts.append(self.sequence())
        self._within, self.flags = around, flags
        to_set = self._to_set_behind(groups[0])
        if to_set:  # only an alternative with all of them is left
            groups.append(self.groups)
            ranges = pairwise(groups)
            kept = [low < min(to_set) and max(to_set) <= high for low, high in ranges]
            parts = [*compress(parts, kept)] or [EMPTY]
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
            plain = None if "i" in self.flags else _PLAIN_TEXT(self.pattern, self.at)
            if plain:
                text.append(plain[0])
                self.at = plain.end()
                continue
            start, groups = self.at, self.groups
            term = self.term()
            behind = self.at
            node = self.quantified(term, start)
            if self.at > behind and self.groups > groups:
                if self.pattern[behind : self.at] in ("?", "??"):
                    self._optional.update(range(groups + 1, self.groups + 1))
                    node = term if self._to_set_behind(groups) else node
                else:
                    self.refuse_references(groups)  # may have another text each time, or none
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
                return self.start_of("m" in self.flags)
            case "$":
                return self.end_of("$", multiline="m" in self.flags)
            case ".":
                return chars(ALL if "s" in self.flags else ~self.dialect.line_end)
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
                return self.letter(letter)

    def letter(self, letter: str) -> Node | str:
        """A plain character, with flag `i` in either case."""
        if "i" not in self.flags:
            return letter
        return chars(self.members(CharSet.chars(letter)))

    def start_of(self, multiline: bool) -> Node:
        """The start of the text, or of a line."""
        edge = Edge("start")
        if not multiline:
            return edge
        return Choice((edge, Look(chars(self.dialect.line_end), True, False)))

    def end_of(self, anchor: str, *, multiline: bool = False) -> Node:
        """The end of the text, or of a line."""
        edge = Edge("end")
        if multiline:
            return Choice((edge, Look(chars(self.dialect.line_end), False, False)))
        if anchor in self.dialect.trailing:
            return Choice((edge, Look(Sequence((literal("\n"), edge)), False, False)))
        return edge

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
        around, flags, groups = self._within, self.flags, self.groups
        references = self._references
        look = self.group_kind(start)
        if look == "flags":
            self.depth -= 1
            return EPSILON
        number = self.groups if self.groups > groups else 0
        self._within = (*around, (start, 0))
        node = self.choice()
        if not self.take(")"):
            raise self.error("a '(' without its ')'", at=start, hint=r"close it, or write \(")
        self.depth -= 1
        self._within, self.flags = around, flags
        if isinstance(look, tuple):
            self.refuse_references(groups, inside=look[1])
        if number:
            if self._references == references:
                self._ended[number] = node, around
            if number in self.bound and isinstance(node, Regex):
                text = self.bound[number]
                plain = EMPTY if text is None else self.spelled(text)
                node = plain if self.groups == number else intersect(node, plain)
        return Look(node, *look) if isinstance(look, tuple) else node

    def _to_set_behind(self, groups: int) -> list[int]:
        """The groups that must not be unset, of those behind the first `groups`."""
        return [number for number in self.to_set if groups < number <= self.groups]

    def spelled(self, text: str) -> Regex:
        """A text, with flag `i` in either case."""
        return concat(*(chars(self.members(CharSet.chars(letter))) for letter in text))

    def texts_of(self, number: int) -> set[str]:
        """The texts of a group that a backreference names. UnsupportedSchemaError if too many."""
        found = few_words(self._texts[number], _MAX_TEXTS) if number in self._texts else None
        if found is None or len(found) * max(1, len(self.referred) - 1) > _MAX_TEXTS:
            at = self.referred[number]
            raise self.refusal("a backreference to so many texts", at, "spell the texts out")
        return set(found)

    def refuse_references(self, groups: int, *, inside: bool = True) -> None:
        """Refuse references to the groups behind the first `groups`, of whose texts none is known.

        inside: also those that have been read.
        """
        for number in range(groups + 1, self.groups + 1):
            self._ended.pop(number, None)
            if inside and number in self.referred:
                at = self.referred[number]
                raise self.refusal("such a backreference", at, "spell the repeated text out")

    def reference(self, number: int, start: int) -> Node:
        """What a backreference stands for, once its group has a text."""
        node, around = self._ended.get(number, (None, ()))
        if not isinstance(node, Regex):
            raise self.refusal("such a backreference", start, "spell the repeated text out")
        if number in self._optional or self._within[: len(around)] != around:
            self.may_be_unset.add(number)
        self.referred.setdefault(number, start)
        self._references += 1
        self._texts[number] = node
        text = self.bound.get(number, "")
        if text is None:  # a reference to an unset group is empty in ECMA-262, and fails elsewhere
            return EPSILON if self.dialect.name == ECMA.name else EMPTY
        return self.spelled(text)

    def group_kind(self, start: int) -> tuple[bool, bool] | str | None:
        """Read `?:`, `?<name>` or the mark of a lookaround: (behind, negative).

        "flags" for flags that stand for the rest of the group around, whose `)` has been read.
        """
        if not self.take("?"):
            self.groups += 1
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
        if any(map(self.take, self.dialect.named)):
            end = self.pattern.find(">", self.at)
            name = self.pattern[self.at : end] if end > 0 else ""
            if not name.replace("$", "_").isidentifier():
                raise self.error("a group name that is none", hint="write (?<name>...)")
            self.at = end + 1
            self.groups += 1
            self._names[name] = self.groups
            return None
        if self.peek("P"):
            hint = "write (?<name>...)" if self.peek("P<") else "ECMA-262 has no (?P...)"
            raise self.error("Python's group syntax '(?P'", at=start, hint=hint)
        found = _FLAGS(self.pattern, self.at)
        if not found or not found[1] + found[3]:
            raise self.error("an unknown kind of group '(?'", at=start)
        on, _, off, end_ = found.groups()
        known = _MODIFIERS | set(self.dialect.inline_flags)
        if end_ == ")" and not self.dialect.inline_flags:
            hint = f"write (?{on}:...) around what they are for"
            what = f"the inline flags '(?{on}{found[2]}{off})', which are not ECMA-262"
            raise self.error(what, at=start, hint=hint)
        if not known.issuperset(on + off) or len({*on, *off}) < len(on + off):
            what = f"the flags '(?{on}{found[2]}{off}{end_}'"
            raise self.error(what, at=start, hint="flags are i, m and s, each once")
        self.at = found.end()
        self.flags = (self.flags | (_MODIFIERS & set(on))) - set(off)
        return "flags" if end_ == ")" else None

    def escape(self, start: int) -> Node | str:
        r"""What a backslash outside classes stands for."""
        if self.take("b"):
            return Edge("boundary")
        if self.take("B"):
            return Edge("inside")
        anchor = self.pattern[self.at : self.at + 1]
        if anchor and anchor in self.dialect.anchors:
            self.at += 1
            return self.start_of(False) if anchor == "A" else self.end_of(anchor)
        if self.take("k"):
            if not _count_groups(self.pattern)[1]:
                raise self.error(r"'\k' without a named group", at=start)
            end = self.pattern.find(">", self.at)
            name = self.pattern[self.at + 1 : end] if self.peek("<") and end > 0 else ""
            if name not in self._names:
                raise self.refusal("such a backreference", start, "spell the repeated text out")
            self.at = end + 1
            return self.reference(self._names[name], start)
        digits = self.pattern[self.at : self.at + 1]
        if digits in DIGITS and digits not in ("", "0"):
            while self.pattern[self.at : self.at + 1] in DIGITS and self.at < len(self.pattern):
                self.at += 1
            number = self.pattern[start + 1 : self.at]
            if len(number) < 6 and int(number) <= _count_groups(self.pattern)[0]:
                return self.reference(int(number), start)
            raise self.error(f"a reference to group {number}, which does not exist", at=start)
        found = self.character_escape(start)
        if isinstance(found, CharSet):
            return chars(self.members(found))
        if self.surrogates and not lone_surrogates.members([(found, found)]):
            return EMPTY  # a character that stands for another one
        if lone_surrogates.FIRST <= found <= lone_surrogates.LAST:
            return chr(found + lone_surrogates.SHIFT) if self.surrogates else EMPTY
        return self.letter(chr(found))


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
