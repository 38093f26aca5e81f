"""Reads grammars in Lark's language, with Lark's own loader.

Lark's classes read the text, resolve imports, `%extend`, `%override` and templates, and name the
anonymous terminals; its patterns become regular languages in `terminals.patterns`. Only the
expansion of repetitions and options is not Lark's, which writes out every combination of them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from lark import GrammarError as LarkGrammarError
from lark import UnexpectedInput
from lark import load_grammar as lark_loader
from lark.grammar import NonTerminal, Symbol
from lark.lexer import Pattern, PatternRE, PatternStr, TerminalDef

from structgen.errors import BudgetError, PatternError, SpecError, UnsupportedSchemaError
from structgen.grammar.bnf import MAX_RULES, Bnf
from structgen.grammar.expressions import (
    Choice,
    Expression,
    Name,
    Nested,
    Repeat,
    Sequence,
    Text,
)
from structgen.grammar.ir import Grammar, Indentation, Lexing, Place, Terminal
from structgen.grammar.readers.lark_errors import in_own_words
from structgen.grammar.readers.lark_files import MAIN, Files
from structgen.grammar.readers.lark_lalr import lalr_of
from structgen.grammar.readers.lark_text import OPEN, LarkText
from structgen.grammar.terminals.patterns import Matches, matches_of
from structgen.regular.regex import EMPTY, Regex, literal, words
from structgen.schema.json_schema import JsonSchema
from structgen.spec.base import Spec

_LARK: Any = lark_loader  # what Lark itself compiles grammars with; not typed throughout
_IGNORED = re.compile(r"__IGNORE_(\d+)")  # as Lark names what `%ignore` has no name for
_RANGE = re.compile(r"\[(.)-(.)\]")
_WORD = re.compile(r"\w+")
_TERMINAL = re.compile(r"\s*(_?[A-Z][A-Z_0-9]*)(?:\.-?[0-9]+)?\s*:.*")


def read(
    text: LarkText,
    files: Files,
    *,
    start: str = "start",
    lexing: Lexing = "free",
    layout: Indentation | None = None,
    final: str = "",
    refs: Mapping[str, Spec] | None = None,
) -> Grammar:
    """The grammar of a text. final: see `ir.Grammar`. refs: what declared terminals are.

    Raises GrammarError (with line, column, rule) for a broken text, UnsupportedSchemaError for what
    is not regular or has no meaning here, BudgetError for what is too large.
    """

    def load(base: str | None, path: str) -> tuple[str, str]:
        try:
            name, imported = files.load(base, path)
        except SpecError as error:
            error.location = error.location or _imported_at(path, text, files)
            raise
        LarkText(imported, name).check_sizes()
        others = (of for other, of in files.texts.items() if other != name)
        words = {*_WORD.findall("\n".join([text.lark, *others]))}
        return name, _without_unused(imported, words)

    text.check_sizes()
    with _translated(text, files):
        builder = _LARK.GrammarBuilder(import_paths=[load])
        builder.load_grammar(text.lark, MAIN)
        builder.validate()
        grammar = _Reader(text, builder, layout, refs or {}).grammar(start, lexing)
    if final and final not in grammar.terminals:
        raise SpecError(
            f"there is no terminal {final!r}",
            expected="a terminal of the grammar as `final`",
            hint="define it, and use it where the text may end",
        )
    return replace(grammar, final=final)


def _without_unused(text: str, words: Container[str]) -> str:
    """A file without the terminals that nobody names, where terminals of one line are all it has.

    Lark copies all that a file defines for each grammar that imports it. words: those that other
    files have.
    """
    lines = text.split("\n")
    defined: dict[str, int] = {}
    for i, line in enumerate(lines):
        found = _TERMINAL.fullmatch(line)
        if found is not None:
            defined[found[1]] = i
        elif line.strip() and not line.lstrip().startswith("//"):
            return text
    used = {name for name in defined if name in words}
    todo = [*used]
    while todo:
        fresh = {*_WORD.findall(lines[defined[todo.pop()]])} & defined.keys() - used
        used |= fresh
        todo += fresh
    kept = {defined[name] for name in used}
    return "\n".join(line if i in kept else "" for i, line in enumerate(lines))


def _imported_at(path: str, text: LarkText, files: Files) -> str:
    """Where a file is imported: in the grammar, or in the one that was read last."""
    read_last = LarkText(files.texts.get(files.last, ""), files.last)
    name = re.split(r"[./\\]", path.removesuffix(".lark"))[-1]
    return str(read_last.used(name) or text.used(name) or "")


@contextmanager
def _translated(text: LarkText, files: Files) -> Iterator[None]:
    """Raise Lark's errors as structgen's."""
    try:
        yield
    except (LarkGrammarError, UnexpectedInput) as error:
        where = text
        if files.last != MAIN:
            where = LarkText(files.texts[files.last], files.last)
        raise in_own_words(error, text, where) from error
    except RecursionError as error:
        raise BudgetError(
            "the grammar is nested too deeply", hint="give inner groups rules of their own"
        ) from error


class _ToPattern(_LARK.TerminalTreeToPattern):  # type: ignore[misc]  # Lark is not typed
    """Lark's joining of the pieces of a terminal into one pattern, with open counts."""

    def expr(self, parts: list[Any]) -> Any:
        """See Lark's."""
        if len(parts) == 4 and int(parts[3]) == OPEN:
            inner = parts[0]
            return PatternRE(f"(?:{inner.to_regexp()}){{{int(parts[2])},}}", inner.flags)
        return super().expr(parts)


class _Reader:
    """Turns Lark's parse trees into rules and terminals."""

    def __init__(
        self,
        text: LarkText,
        builder: Any,
        layout: Indentation | None,
        refs: Mapping[str, Spec],
    ) -> None:
        self.text = text
        self.layout = layout
        schemas = {name: JsonSchema(schema) for name, schema in text.schemas.items()}
        self.nested: dict[str, Spec] = {**refs, **schemas, **text.tokens_named}
        self.bnf = Bnf()
        self.rule = ""  # the one that is being read
        self.built = builder.build()
        self.expressions: list[Expression] = []
        built = self.built
        self.rules: list[Any] = []
        for name, parameters, tree, options in built.rule_defs:
            copied = None if tree is None else _LARK.nr_deepcopy_tree(tree)
            self.rules.append((name, parameters, copied, options))
        self.ignore = tuple(str(name) for name in built.ignore)
        self.declared = {str(name) for name, (tree, _) in built.term_defs if tree is None}
        self.named = {str(name) for name, _ in built.term_defs}
        self.terminals = self._patterns(built.term_defs)

    def _patterns(self, definitions: list[Any]) -> list[TerminalDef]:
        """Each defined terminal as one pattern."""
        found: list[TerminalDef] = []
        to_pattern = _LARK.PrepareLiterals() * _ToPattern()
        for name, (tree, priority) in definitions:
            if tree is None:
                continue
            expansions = list(tree.find_data("expansion"))
            if len(expansions) == 1 and not expansions[0].children:
                raise LarkGrammarError(f"Terminals cannot be empty ({name})")
            pattern = to_pattern.transform(_LARK.nr_deepcopy_tree(tree))
            found.append(TerminalDef(name, pattern, priority))
        return found

    def grammar(self, start: str, lexing: Lexing) -> Grammar:
        """The grammar with all rules, and the terminals that they use."""
        anonymous = _LARK.PrepareAnonTerminals(self.terminals)
        steps = (
            _LARK.PrepareLiterals()
            * _LARK.ValidateSymbols()
            * anonymous
            * _LARK.ApplyTemplates(self.rules)
        )
        index = 0
        while index < len(self.rules):  # templates in use append theirs
            name, parameters, tree, options = self.rules[index]
            index += 1
            if index > MAX_RULES or len(name) > 10_000:
                raise BudgetError(
                    "the templates of the grammar make no end of rules",
                    location=str(self.text.defined(name) or ""),
                    hint="a template must not use itself with ever larger arguments",
                )
            if parameters:
                continue
            if tree is None:
                self._refuse_declared(name, "rule")
            anonymous.rule_options = options
            self.rule = str(name)
            expression = self._expression(steps.transform(tree))
            self.expressions.append(expression)
            self.bnf.add(str(name), expression, self.text.defined(name))
        self._add_terminals(start)
        grammar = self.bnf.grammar(start, self.ignore, lexing, self.layout)
        if lexing != "longest" or any(t.nested is not None for t in grammar.terminals.values()):
            return grammar
        return replace(grammar, lalr=lalr_of(self.built, start, self.expressions))

    def _expression(self, tree: Any) -> Expression:
        """The expression of a right-hand side of a rule, or of a part of it."""
        if isinstance(tree, Symbol):
            return self._name(tree)
        parts = tree.children
        match tree.data:
            case "expansions":
                return Choice(tuple(self._expression(part) for part in parts))
            case "expansion":
                return Sequence(tuple(self._expression(part) for part in parts))
            case "maybe":
                return Repeat(self._expression(parts[0]), 0, 1)
            case "expr":
                return self._repeat(self._expression(parts[0]), [str(part) for part in parts[1:]])
            case _:  # alias, value
                return self._expression(parts[0])

    def _name(self, symbol: Symbol) -> Expression:
        name = str(symbol.name)
        if isinstance(symbol, NonTerminal) or name not in self.declared:
            return Name(name)
        if name in self.text.lists:
            return Text(words(self.text.lists[name]))
        if name not in self.nested:
            return Name(name)
        place = self.text.places.get(name) or self.text.used(name)
        return Nested(self.nested[name], place)

    def _repeat(self, body: Expression, operator: list[str]) -> Expression:
        match operator:
            case ["?"]:
                return Repeat(body, 0, 1)
            case ["*"]:
                return Repeat(body, 0, None)
            case ["+"]:
                return Repeat(body, 1, None)
            case _:
                low, high = int(operator[1]), int(operator[-1])
        if high == OPEN:
            return Repeat(body, low, None)
        if high < low:
            raise self.text.error(
                f"{low} to {high} times is impossible",
                self.text.used("~", self.rule) or self.text.defined(self.rule) or Place(1, 1),
                rule=self.rule,
                expected="the lower count first",
            )
        return Repeat(body, low, high)

    def _add_terminals(self, start: str) -> None:
        """Define the terminals that rules use or that are ignored.

        Only those that the start leads to have to say what their texts are.
        """
        used = {name for rule in self.bnf.rules.values() for a in rule.alternatives for name in a}
        used.update(self.ignore)
        if self.layout is not None:
            used.add(self.layout.newline)
        reached = self._reached(start)
        for definition in self.terminals:
            if definition.name in used:
                try:
                    self.bnf.terminals[definition.name] = self._terminal(definition)
                except UnsupportedSchemaError:
                    if definition.name in reached:
                        raise
                    self.bnf.terminals[definition.name] = self._without_text(definition.name)
        layout = self.layout
        made_up = () if layout is None else (layout.indent, layout.dedent)
        for name in sorted(self.declared & used - set(self.bnf.terminals)):
            if name in reached and name not in made_up:
                self._refuse_declared(name, "terminal")
            self.bnf.terminals[name] = self._without_text(name)

    def _without_text(self, name: str) -> Terminal:
        return Terminal(name, EMPTY, place=self.text.defined(name))

    def _reached(self, start: str) -> set[str]:
        """The rules and terminals that the start leads to, and what is ignored."""
        found, todo = {start, *self.ignore}, [start]
        while todo:
            rule = self.bnf.rules.get(todo.pop())
            fresh = {name for a in rule.alternatives for name in a} - found if rule else set()
            found |= fresh
            todo += fresh
        return found

    def _terminal(self, definition: TerminalDef) -> Terminal:
        name, pattern = str(definition.name), definition.pattern
        place = self._place(definition)
        try:
            matches = _matches(pattern)
            if matches.language.nullable or pattern.min_width == 0:
                raise self.text.error(
                    f"the terminal {self._shown(definition)} may be empty",
                    place or Place(1, 1),
                    expected="terminals of at least one character",
                    hint="make it optional where rules use it",
                )
        except PatternError as error:
            rule = name if name in self.named else ""
            raise self.text.error(str(error.problem), place or Place(1, 1), rule=rule) from error
        except (UnsupportedSchemaError, BudgetError) as error:
            error.location = str(place or "")
            error.problem = f"{error.problem}, in terminal {self._shown(definition)}"
            raise
        return Terminal(
            name,
            matches.language,
            longer=matches.longer,
            lookahead=matches.lookahead,
            lookbehind=matches.lookbehind,
            text=pattern.value if isinstance(pattern, PatternStr) else None,
            flags=frozenset(pattern.flags),
            priority=definition.priority,
            max_width=pattern.max_width,
            pattern_length=len(pattern.value),
            shown=self._shown(definition),
            place=place,
        )

    def _shown(self, definition: TerminalDef) -> str:
        """How messages name a terminal; an anonymous one as it is written."""
        name, pattern = str(definition.name), definition.pattern
        ignored = _IGNORED.fullmatch(name)
        if ignored is not None and int(ignored[1]) < len(self.text.ignored):
            return self.text.ignored[int(ignored[1])]
        if name in self.named:
            return name
        ends = _RANGE.fullmatch(pattern.value)
        as_written = f'"{ends[1]}".."{ends[2]}"' if ends else f"/{pattern.to_regexp()}/"
        return as_written if pattern.raw is None else str(pattern.raw)

    def _place(self, definition: TerminalDef) -> Place | None:
        defined = self.text.defined(definition.name)
        if defined is not None:
            return defined
        ends = _RANGE.fullmatch(definition.pattern.value)
        if definition.pattern.raw is None and ends is not None:
            return self.text.used(f'"{ends[1]}"')
        return None if definition.pattern.raw is None else self.text.used(definition.pattern.raw)

    def _refuse_declared(self, name: str, what: str) -> None:
        raise UnsupportedSchemaError(
            f"the {what} {name!r} is declared but says nothing of its text",
            keyword="%declare",
            location=str(self.text.used(name) or ""),
            expected="a definition, or a spec for it in refs",
            hint="for indentation give layout=structgen.Indentation(...)",
        )


def _matches(pattern: Pattern) -> Matches:
    """The match condition of a terminal: for a literal its text, for a pattern see `matches_of`."""
    if isinstance(pattern, PatternStr) and not pattern.flags:
        return Matches(literal(pattern.value), EMPTY)
    found = matches_of(pattern.to_regexp())
    language: Regex = found.language
    fixed = language.plain and language.shortest == language.longest
    return Matches(language, EMPTY) if fixed and found.longer is language else found
