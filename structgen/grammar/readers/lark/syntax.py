"""Reads the text of a Lark grammar into the trees that Lark's own parser of grammars makes of it.

Lark has a parser made for its language of grammars, and reads a grammar slowly with it; here the
same tokens are read by recursive descent. Whatever is not a grammar is left to Lark, which says
what is wrong with it.
"""

from __future__ import annotations

import re
from typing import Any

from lark import Token, Tree
from lark.grammar import NonTerminal, Symbol, Terminal

_TOKEN = re.compile(
    r"""(?P<REGEXP>/(?!/)(?:\\/|\\\\|[^/])*?/[imslux]*)
      |(?P<ignored>\s*//[^\n]*|\s*\#[^\n]*|\\[ ]*\n|[ \t]+)
      |(?P<STRING>"(?:\\"|\\\\|[^"\n])*?"i?)
      |(?P<RULE>_?[a-z][_a-z0-9]*)
      |(?P<TERMINAL>_?[A-Z][_A-Z0-9]*)
      |(?P<OR>(?:\r?\n)+\s*\||\|)
      |(?P<LINE>(?:\r?\n)+\s*)
      |(?P<NUMBER>[+-]?\d+)
      |(?P<RULE_MODIFIERS>(?:!|![?]?|[?]!?)(?=[_a-z]))
      |(?P<OP>[+*]|[?](?![a-z_]))
      |(?P<sign>%ignore|%import|%declare|%override|%extend|->|\.\.|[.~:,()\[\]{}])
      |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_ENDS = ("OR", "LINE", ")", "]", "->")  # what may stand behind an alternative


class NoGrammarError(Exception):
    """The text is no grammar, as far as is known here."""


def statements_of(text: str) -> list[Tree[Any]]:
    """The trees of all statements. Raises NoGrammarError, RecursionError."""
    return _Statements(text).all()


class _Statements:
    """Tokens, and how far they are read."""

    def __init__(self, text: str) -> None:
        self._tokens = [m for m in _TOKEN.finditer(f"{text}\n") if m.lastgroup != "ignored"]
        self._kinds = [m[0] if m.lastgroup == "sign" else m.lastgroup for m in self._tokens]
        self._kinds.append("END")
        self._at = 0

    def all(self) -> list[Tree[Any]]:
        """All statements."""
        found: list[Tree[Any]] = []
        if not self._tokens:
            raise NoGrammarError
        while self._kinds[self._at] != "END":
            if not self._takes("LINE"):
                found.append(self._statement())
        return found

    def _takes(self, kind: str) -> bool:
        """Whether a token comes next, which is read then."""
        if self._kinds[self._at] != kind:
            return False
        self._at += 1
        return True

    def _text(self, kind: str) -> str:
        """The text of the next token, which is of some kind."""
        if self._kinds[self._at] != kind:
            raise NoGrammarError
        self._at += 1
        return self._tokens[self._at - 1][0]

    def _token(self, *kinds: str) -> Token:
        """The next token, which is of one of some kinds."""
        kind = self._kinds[self._at]
        if kind not in kinds:
            raise NoGrammarError
        found = self._tokens[self._at]
        self._at += 1
        return Token(kind, found[0], found.start())

    def _statement(self) -> Tree[Any]:
        match self._kinds[self._at]:
            case "%override" | "%extend" as sign:
                self._at += 1
                return _tree(sign[1:], [self._definition()])
            case "%ignore":
                self._at += 1
                found = _tree("ignore", [self._expansions()])
            case "%declare":
                self._at += 1
                found = _tree("declare", [self._symbol()])
                while self._kinds[self._at] != "LINE":
                    found.children.append(self._symbol())
            case "%import":
                self._at += 1
                found = self._import()
            case _:
                return self._definition()
        self._text("LINE")
        return found

    def _definition(self) -> Tree[Any]:
        """A rule or terminal."""
        if self._kinds[self._at] == "TERMINAL":
            parts: list[Any] = [self._token("TERMINAL")]
            if self._takes("."):
                parts.append(self._token("NUMBER"))
            kind = "term"
        else:
            is_modified = self._kinds[self._at] == "RULE_MODIFIERS"
            modifiers = [self._token("RULE_MODIFIERS")] if is_modified else []
            parts = [_tree("rule_modifiers", modifiers), self._token("RULE")]
            parameters: list[Any] = []
            if self._takes("{"):
                parameters.append(self._token("RULE"))
                while self._takes(","):
                    parameters.append(self._token("RULE"))
                self._text("}")
            priority = [self._token("NUMBER")] if self._takes(".") else []
            parts += [_tree("template_params", parameters), _tree("priority", priority)]
            kind = "rule"
        self._text(":")
        parts.append(self._expansions())
        self._text("LINE")
        return _tree(kind, parts)

    def _import(self) -> Tree[Any]:
        kind = "import_rel" if self._takes(".") else "import_lib"
        path: list[Any] = [self._name()]
        while self._takes("."):
            path.append(self._name())
        parts: list[Any] = [_tree(kind, path)]
        if self._takes("->"):
            parts.append(self._name())
        elif self._takes("("):
            names: list[Any] = [self._name()]
            while self._takes(","):
                names.append(self._name())
            self._text(")")
            parts.append(Tree("name_list", names))
        return _tree("import", parts)

    def _name(self) -> Token:
        return self._token("RULE", "TERMINAL")

    def _symbol(self) -> Symbol:
        if self._kinds[self._at] == "RULE":
            return NonTerminal(self._text("RULE"))
        name = self._text("TERMINAL")
        return Terminal(name, filter_out=name.startswith("_"))

    def _expansions(self) -> Tree[Any]:
        """Alternatives, perhaps none of which says anything."""
        found = [self._alternative()]
        while self._takes("OR"):
            found.append(self._alternative())
        return _tree("expansions", found)

    def _alternative(self) -> Tree[Any]:
        parts = []
        while self._kinds[self._at] not in _ENDS:
            parts.append(self._piece())
        found = _tree("expansion", parts)
        if self._takes("->"):
            found = _tree("alias", [found, NonTerminal(self._text("RULE"))])
        return found

    def _piece(self) -> Tree[Any]:
        """A value or group, perhaps any number of times."""
        if self._takes("("):
            found = self._expansions()
            self._text(")")
        elif self._takes("["):
            found = _tree("maybe", [self._expansions()])
            self._text("]")
        else:
            found = self._value()
        kind = self._kinds[self._at]
        if kind == "OP":
            return _tree("expr", [found, self._token("OP")])
        if kind != "~":
            return found
        self._at += 1
        parts = [found, Token("TILDE", "~"), self._token("NUMBER")]
        if self._takes(".."):
            parts.append(self._token("NUMBER"))
        return _tree("expr", parts)

    def _value(self) -> Tree[Any]:
        kind = self._kinds[self._at]
        if kind in {"RULE", "TERMINAL"}:
            symbol = self._symbol()
            if kind == "TERMINAL" or not self._takes("{"):
                return _tree("value", [symbol])
            values = [self._value()]
            while self._takes(","):
                values.append(self._value())
            self._text("}")
            return _tree("value", [_tree("template_usage", [symbol, *values])])
        token = self._token("STRING", "REGEXP")
        if kind == "STRING" and self._takes(".."):
            return _tree("value", [_tree("range", [token, self._token("STRING")])])
        return _tree("value", [_tree("literal", [token])])


def _tree(kind: str, parts: list[Any]) -> Tree[Any]:
    return Tree(kind, parts)
