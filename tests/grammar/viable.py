"""A reference recogniser for `lexing="viable"`, made of Lark's own lexer.

By the definition: at each place Lark's lexer is made for the terminals that can come next by the
rules, and reads one of them. Which ones can is decided by an Earley recogniser (J. Earley, 1970)
that has nothing to do with ours.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any

from lark import Lark, Token
from lark.lexer import BasicLexer
from lark.utils import TextSlice

import structgen as sg
from structgen.grammar.transforms.useless import trimmed
from tests.grammar.reference import ends_of

_NOTHING: tuple[str, ...] = ()
_Item = tuple[str, tuple[str, ...], int, int]  # rule, alternative, place in it, where it began


class Viable:
    """A grammar, read by its definition."""

    def __init__(self, text: str) -> None:
        self.rules = trimmed(sg.Lark(text, lexing="viable").rules())
        self.conf: Any = Lark(text, parser="earley", lexer="basic").lexer_conf
        self._next = cache(self._next_of)
        self._lexer = cache(self._lexer_of)

    def accepts(self, text: str) -> bool:
        """Whether the text fits."""
        at, read = 0, {_NOTHING}
        ignored = {*self.rules.ignore}
        while at < len(text):
            allowed = frozenset().union(*map(self._next, read)) - {"$END"}
            lexer = self._lexer(allowed | ignored)
            found = lexer.match(TextSlice.cast_from(text), at)  # type: ignore[no-untyped-call]
            if found is None:
                return False
            value, name = found
            at += len(value)
            after = set()
            if name in ignored:
                after |= read
            elif name in lexer.callback:
                name = lexer.callback[name](Token(name, value)).type
                if name in ignored:  # a pattern has read it
                    return False
            read = after | {(*seq, name) for seq in read if name in self._next(seq)}
        return any("$END" in self._next(seq) for seq in read)

    def _lexer_of(self, names: frozenset[str]) -> BasicLexer:
        conf = copy(self.conf)
        conf.terminals = [t for t in conf.terminals if t.name in names]
        conf.skip_validation = True
        lexer = BasicLexer(conf)
        lexer.scanner  # noqa: B018  (makes the callbacks, too)
        return lexer

    def _next_of(self, seq: tuple[str, ...]) -> frozenset[str]:
        """What can come behind some terminals: names of terminals, or $END."""
        rules, start = self.rules.rules, self.rules.start
        columns: list[dict[_Item, None]] = [{} for _ in range(len(seq) + 1)]
        columns[0] = {(start, a, 0, 0): None for a in rules[start].alternatives}
        for at, column in enumerate(columns):
            size = -1
            while size != len(column):  # until nothing is new, since rules may be empty
                size = len(column)
                for name, parts, place, begun in list(column):
                    if place == len(parts):
                        for of, others, i, origin in list(columns[begun]):
                            if i < len(others) and others[i] == name:
                                column[of, others, i + 1, origin] = None
                    elif parts[place] in rules:
                        for other in rules[parts[place]].alternatives:
                            column[parts[place], other, 0, at] = None
            if at < len(seq):
                for name, parts, place, begun in column:
                    if place < len(parts) and parts[place] == seq[at]:
                        columns[at + 1][name, parts, place + 1, begun] = None
        found = {
            parts[place] for _, parts, place, _ in columns[-1]
            if place < len(parts) and parts[place] not in rules
        }  # fmt: skip
        ends = any(
            name == start and place == len(parts) and begun == 0
            for name, parts, place, begun in columns[-1]
        )
        return frozenset(found | ({"$END"} if ends else set()))


class Committed(Viable):
    """A grammar with free lexing and terminals that commit, read by its definition.

    Its terminals have no condition on what follows them.
    """

    def __init__(self, text: str) -> None:
        self.rules = trimmed(sg.Lark(text).rules())
        self._next = cache(self._next_of)

    def accepts(self, text: str) -> bool:
        """Whether the text fits. All that can begin at a place is read side by side."""
        read: list[set[tuple[str, ...]]] = [set() for _ in range(len(text) + 1)]
        read[0].add(_NOTHING)
        terminals, ignored = self.rules.terminals, {*self.rules.ignore}
        for at, before in enumerate(read[:-1]):
            wanted = frozenset().union(*map(self._next, before)) - {"$END"} if before else set()
            ends = {name: ends_of(terminals[name], text, at) for name in wanted | ignored}
            commits = {name for name in wanted if terminals[name].commits}
            first = min((end for name in commits for end in ends[name]), default=len(text) + 1)
            for name, places in ends.items() if before else ():
                for end in places:
                    if end < first or (end == first and name in commits):
                        fitting = {(*seq, name) for seq in before if name in self._next(seq)}
                        read[end] |= fitting | (before if name in ignored else set())
        return any("$END" in self._next(seq) for seq in read[-1])
