"""Reads grammars in Lark's language, with Lark's own loader.

Lark's classes resolve imports, `%extend`, `%override` and templates (see `loading`), and name the
anonymous terminals; its patterns become regular languages in `terminals.patterns`. The parser of
the text is not Lark's (see `syntax`), nor is the expansion of repetitions and options, of which
Lark writes out every combination, nor what llguidance and XGrammar add to the language (see
`text`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from re import _constants as sre
from re import _parser as sre_parser
from typing import Any

from lark import GrammarError as LarkGrammarError
from lark import UnexpectedInput
from lark import load_grammar as lark_loader
from lark.exceptions import VisitError
from lark.grammar import NonTerminal, Symbol
from lark.lexer import Pattern, PatternRE, PatternStr, TerminalDef

from structgen.errors import (
    BudgetError,
    PatternError,
    SpecError,
    StructgenError,
    UnsupportedSchemaError,
)
from structgen.grammar.bnf import Bnf
from structgen.grammar.expressions import (
    Choice,
    Expression,
    Name,
    Nested,
    Repeat,
    Sequence,
    Text,
    without_empty,
)
from structgen.grammar.ir import Capture, Grammar, Indentation, Lexing, Place, Terminal
from structgen.grammar.readers.lark.errors import in_own_words, visit_in_own_words
from structgen.grammar.readers.lark.files import MAIN, Files
from structgen.grammar.readers.lark.lalr import lalr_of
from structgen.grammar.readers.lark.languages import has_marks, language_of_tree, mark_alone
from structgen.grammar.readers.lark.loading import definitions_of
from structgen.grammar.readers.lark.source import LarkSource
from structgen.grammar.readers.lark.text import OPEN, Instance, LarkText, Lexeme
from structgen.grammar.readers.lark.trees import named_literals, pattern_of, with_arguments
from structgen.grammar.terminals.first_match import first_match
from structgen.grammar.terminals.patterns import KEYWORD, Matches, matches_of
from structgen.grammar.terminals.python_language import in_any_case
from structgen.grammar.terminals.python_regex import parsed
from structgen.regular.regex import (
    ANY_CHAR,
    EMPTY,
    EPSILON,
    Regex,
    intersect,
    literal,
    repeat,
    words,
)
from structgen.schema.json_schema import JsonSchema
from structgen.spec.base import Spec
from structgen.util.cancellation import checkpoint

_LARK: Any = lark_loader  # what Lark itself compiles grammars with; not typed throughout
_IGNORED = re.compile(r"__IGNORE_(\d+)")  # as Lark names what `%ignore` has no name for
_WORD = re.compile(r"\w+")
_TERMINAL = re.compile(r"\s*(_?[A-Z][A-Z_0-9]*)(?:\.-?[0-9]+)?\s*:.*")
_RANGE = re.compile(r"\[(.)-(.)\]")
_ANY_CASE = frozenset("i")  # the flags of a literal without case
_COUNTS = {"?": (0, 1), "*": (0, OPEN), "+": (1, OPEN)}
_COUNT = re.compile(r"\{\d*,?\d*\}")
#: what may mean something else where more stands before or behind: alternatives, references, counts
_AMONG_OTHERS = re.compile(r"[|{]|\\[0-9]|\(\?")
_WIDEST = int(getattr(sre_parser, "MAXWIDTH", sre.MAXREPEAT))  # as `re` has it
MAX_INSTANCES = 20_000  # of rules with a parameter, and of templates
_INSTANCE = re.compile(r"::|\{")  # behind the name of a rule with a parameter, or a template


def _no_grammar(text: str, name: str) -> Spec:
    raise KeyError(name or text)


def read(
    text: LarkText,
    files: Files,
    *,
    start: str = "start",
    lexing: Lexing = "free",
    layout: Indentation | None = None,
    final: str = "",
    refs: Mapping[str, Spec] | None = None,
    nested: Callable[[str, str], Spec] = _no_grammar,
) -> Grammar:
    """The grammar of a text. final: see `ir.Grammar`. refs: what declared terminals are.

    nested: the spec of a grammar inside, given its text (of `%lark`) or else its name (of `@name`).

    Raises GrammarError (with line, column, rule) for a broken text, UnsupportedSchemaError for what
    is not regular or has no meaning here, BudgetError for what is too large.
    """

    def load(base: str | None, path: str) -> tuple[str, str]:
        try:
            name, imported = files.load(base, path)
        except SpecError as error:
            error.location = error.location or _imported_at(path, text, files)
            raise
        _check_sizes(imported, name)
        others = (of for other, of in files.texts.items() if other != name)
        words = {*_WORD.findall("\n".join([text.lark, *others]))}
        return name, _without_unused(imported, words)

    text.check_sizes()
    with _translated(text, files):
        built = definitions_of(text.lark, files, load)
        specs = {**(refs or {}), **_nested_specs(text, nested)}
        grammar = _Reader(text, built, layout, specs, lexing).grammar(start)
    if final and final not in grammar.terminals:
        raise SpecError(
            f"there is no terminal {final!r}",
            expected="a terminal of the grammar as `final`",
            hint="define it, and use it where the text may end",
        )
    return replace(grammar, final=final)


@lru_cache(maxsize=64)  # of files, which many grammars import
def _check_sizes(text: str, name: str) -> None:
    LarkSource(text, name).check_sizes()


def _nested_specs(text: LarkText, nested: Callable[[str, str], Spec]) -> dict[str, Spec]:
    """The specs inside a grammar, by the terminal in their place."""
    found: dict[str, Spec] = {name: JsonSchema(schema) for name, schema in text.schemas.items()}
    found |= text.tokens_named
    found |= {name: nested(inner, "") for name, inner in text.grammars.items()}
    for name, wanted in text.references.items():
        try:
            found[name] = nested("", wanted)
        except KeyError:
            raise text.error(
                f"there is no grammar {wanted!r}",
                text.places[name],
                expected="a grammar by this name in `grammars`",
            ) from None
    return found


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
    except VisitError as error:
        raise visit_in_own_words(error, text) from error
    except RecursionError as error:
        raise BudgetError(
            "the grammar is nested too deeply", hint="give inner groups rules of their own"
        ) from error


class _ToPatterns(_LARK.PrepareLiterals, _LARK.ValidateSymbols):  # type: ignore[misc]
    """Two of Lark's steps at once: literals as patterns, and no nodes around values."""


class _ToSymbols(_LARK.PrepareAnonTerminals, _LARK.ApplyTemplates):  # type: ignore[misc]
    """Two of Lark's steps at once: patterns as terminals with a name, templates as rules."""

    def __init__(self, terminals: list[TerminalDef], rules: list[Any]) -> None:
        _LARK.PrepareAnonTerminals.__init__(self, terminals)
        _LARK.ApplyTemplates.__init__(self, rules)

    def template_usage(self, parts: list[Any]) -> NonTerminal:
        """See Lark's, which takes long to copy the tree of a template."""
        template, *arguments = parts
        name = f"{template.name}{{{','.join(one.name for one in arguments)}}}"
        if name not in self.created_templates:
            self.created_templates.add(name)
            found = next(rule for rule in self.rule_defs if rule[0] == template.name)
            _, parameters, tree, options = found
            given = dict(zip(parameters, arguments, strict=True))
            self.rule_defs.append((name, [], with_arguments(tree, given), options))
        return NonTerminal(name)


class _ToPattern(_LARK.TerminalTreeToPattern):  # type: ignore[misc]  # Lark is not typed
    """Lark's joining of the pieces of a terminal into one pattern, with open counts.

    What a pattern was made of is noted, so that its widths are known without parsing it.
    """

    def expansion(self, parts: list[Any]) -> Any:
        """See Lark's."""
        found = super().expansion(parts)
        if len(parts) > 1 and all(map(_stands_for_itself, parts)):
            found.made_of = _in_a_row, parts
        return found

    def expansions(self, parts: list[Any]) -> Any:
        """See Lark's, which orders the alternatives by their widths."""
        for part in parts if len(parts) > 1 else ():
            _measure(part)
        found = super().expansions(parts)
        if len(parts) > 1:
            found.made_of = _either, parts
        return found

    def expr(self, parts: list[Any]) -> Any:
        """See Lark's."""
        inner, operator = parts[0], str(parts[1])
        low, high = _COUNTS.get(operator) or (int(parts[2]), int(parts[-1]))
        if len(parts) == 4 and high == OPEN:
            found: Any = PatternRE(f"(?:{inner.to_regexp()}){{{low},}}", inner.flags)
        else:
            found = super().expr(parts)
        found.made_of = partial(_times, low, high), [inner]
        return found


class _Reader:
    """Turns Lark's parse trees into rules and terminals."""

    def __init__(
        self,
        text: LarkText,
        built: Any,
        layout: Indentation | None,
        nested: Mapping[str, Spec],
        lexing: Lexing,
    ) -> None:
        """built: Lark's grammar. nested: the specs inside, by their terminals."""
        self.text = text
        self.layout = layout
        self.lexing: Lexing = lexing
        self.nested = nested
        self.bnf = Bnf()
        self.rule = ""  # the one that is being read
        self.parameter: int | None = None  # its, if it has one
        self.wanted: list[tuple[str, int]] = []  # rules with values of their parameters
        self.known: set[tuple[str, int]] = set()  # the same
        self.languages: dict[str, Regex] = {}  # of terminals that no pattern can say
        self.stretches: set[str] = set()  # terminals that are a `%regex`, which may end anywhere
        self.leaves_out = False  # whether some terminal may be empty
        self._by_name: dict[str, TerminalDef] = {}
        self._left_out: dict[str, Expression] = {}  # terminals by name, see `_with_empty`
        self.built = built
        self.expressions: list[Expression] = []
        self.rules = [
            (name, parameters, self._own(tree), options)
            for name, parameters, tree, options in built.rule_defs
        ]
        self.ignore = tuple(str(name) for name in built.ignore)
        self.declared = {str(name) for name, (tree, _) in built.term_defs if tree is None}
        self.named = {str(name) for name, _ in built.term_defs}
        self.terminals = self._patterns(built.term_defs)

    def _own(self, tree: Any) -> Any:
        """A tree that may be changed: a copy where Lark will make its tables of the original."""
        wanted = self.lexing == "longest" and tree is not None
        return _LARK.nr_deepcopy_tree(tree) if wanted else tree

    def _patterns(self, definitions: list[Any]) -> list[TerminalDef]:
        """Each defined terminal as one pattern."""
        found: list[TerminalDef] = []
        to_pattern, known = _ToPattern(), dict[int, Pattern]()
        trees: dict[str, Any] = {}
        markers = {lexeme.marker for lexeme in self.text.lexemes.values()}
        for name, (tree, priority) in definitions:
            if tree is None:
                continue
            if [getattr(one, "children", one) for one in tree.children] == [[]]:
                raise LarkGrammarError(f"Terminals cannot be empty ({name})")
            plain = not (self.text.has_marks or markers or self.text.lexemes)
            if plain:
                try:
                    pattern = pattern_of(tree, to_pattern, known)
                except Exception:  # noqa: BLE001  Lark's own steps say what is wrong
                    plain = False
                else:
                    found.append(TerminalDef(name, pattern, priority))
                    continue
            if next(tree.find_data("template_usage"), None) is not None:
                place = self.text.used("{", name) or self._place_of(name) or Place(1, 1)
                raise self.text.error(
                    f"the terminal {self._called(name)!r} uses a template",
                    place,
                    rule=self._called(name),
                    expected="terminals, strings and patterns",
                )
            prepared = _LARK.PrepareLiterals().transform(self._own(tree))
            if str(name) in self.text.lexemes or has_marks(self.text, prepared):
                trees[str(name)] = prepared
                pattern = PatternRE(f"(?:{name})")  # nothing but a place for its name
            else:
                with self._counted(str(name)):
                    pattern = to_pattern.transform(prepared)
                if str(name) in markers:
                    trees[str(name)] = prepared
            found.append(TerminalDef(name, pattern, priority))
        for name, tree in trees.items():
            with self._placed(name):
                self.languages[name] = language_of_tree(self.text, tree)
            if isinstance(mark_alone(self.text, tree), Regex):
                self.stretches.add(name)
        return found

    @contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        """Say in which terminal a count is out of order."""
        try:
            yield
        except LarkGrammarError as error:
            place = self.text.used("~", name) or self._place_of(name) or Place(1, 1)
            problem = str(error)[:1].lower() + str(error)[1:]
            raise self.text.error(problem, place, rule=self._called(name)) from error

    @contextmanager
    def _placed(self, name: str) -> Iterator[None]:
        """Add the place of a terminal to the errors of its language."""
        try:
            yield
        except PatternError as error:
            place = self._place_of(name) or Place(1, 1)
            raise self.text.error(str(error.problem), place, rule=self._called(name)) from error
        except (UnsupportedSchemaError, BudgetError) as error:
            error.location = str(self._place_of(name) or "")
            error.problem = f"{error.problem}, in terminal {self._called(name)}"
            raise

    def _place_of(self, name: str) -> Place | None:
        return self.text.places.get(name) or self.text.defined(name)

    def _called(self, name: str) -> str:
        """What messages call a rule or terminal."""
        return self.text.written.get(name, name)

    def grammar(self, start: str) -> Grammar:
        """The grammar with all rules, and the terminals that they use."""
        lexing = self.lexing
        to_patterns, to_symbols = _ToPatterns(), _ToSymbols(self.terminals, self.rules)
        parametric: dict[str, Any] = {}
        index = 0
        while index < len(self.rules):  # templates in use append theirs
            checkpoint()
            name, parameters, tree, options = self.rules[index]
            index += 1
            if len(to_symbols.created_templates) > MAX_INSTANCES or len(name) > 10_000:
                raise BudgetError(
                    f"the templates of the grammar make more than {MAX_INSTANCES} rules, or rules "
                    "without end",
                    location=str(self.text.defined(name) or ""),
                    hint="a template must not use itself, or others twice, with larger arguments",
                )
            if parameters:
                continue
            if tree is None:
                self._refuse_declared(name, "rule")
            to_symbols.rule_options = options
            self.rule = str(name)
            if not named_literals(tree, to_symbols):
                tree = to_symbols.transform(to_patterns.transform(tree))
            if self.rule in self.text.parametric:
                parametric[self.rule] = tree
                continue
            self._add(self.rule, self._expression(tree))
        self._instantiate(parametric)
        start = self._with_skips(start)
        self._add_terminals(start)
        ignore = () if self.text.options else self.ignore
        grammar = self.bnf.grammar(start, ignore, lexing, self.layout)
        grammar = replace(grammar, captures=self._captures(lexing))
        if lexing != "free" and self.text.lexemes:
            raise self._ordered_lexemes(lexing)
        nested = any(t.nested is not None for t in grammar.terminals.values())
        is_larks = not (self.text.extends_terminals or self.text.options or self.leaves_out)
        if lexing != "longest" or nested or not is_larks:
            return grammar
        return replace(grammar, lalr=lalr_of(self.built, start, self.expressions))

    def _add(self, name: str, expression: Expression) -> None:
        self.expressions.append(expression)
        source = self.text.defined(name.partition("::")[0])
        self.bnf.add(name, expression, source)

    def _instantiate(self, parametric: Mapping[str, Any]) -> None:
        """Add the rules with a parameter, for each value that is used."""
        for done, (rule, value) in enumerate(self.wanted):  # more are wanted on the way
            if done >= MAX_INSTANCES:
                raise BudgetError(
                    f"rules with a parameter are used with more than {MAX_INSTANCES} values",
                    location=str(self.text.defined(rule) or ""),
                    hint="bound what is counted with %if, or count fewer things side by side",
                )
            self.rule, self.parameter = rule, value
            self._add(_instance(rule, value), self._expression(parametric[rule]))
        self.parameter = None

    def _with_skips(self, start: str) -> str:
        """The start, with ignored text as the options of the grammar have it.

        Without them it may stand anywhere, as Lark has it.
        """
        options = self.text.options
        if options is None or not self.ignore or not options.initial_skip:
            return start
        name = f"{start}/skipped"
        self._add(name, Sequence((self._skip, Name(start))))
        return name

    @cached_property
    def _skip(self) -> Expression:
        """Ignored text, as the options of the grammar have it."""
        options = self.text.options
        ignored = Choice(tuple(Name(name) for name in self.ignore))
        return Repeat(ignored, 0, 1 if options is not None and options.skips_once else None)

    def _skipping(self, lexeme: Expression) -> Expression:
        """A lexeme, with what may be ignored behind it where that is not for the lexer to do."""
        if self.text.options is None or not self.ignore:
            return lexeme
        return Sequence((lexeme, self._skip))

    def _captures(self, lexing: Lexing) -> dict[str, Capture]:
        """What is captured, by rule or terminal. Raises GrammarError where that is not known."""
        asked = [*self.text.captures, *(one.rule for one in self.text.lexemes.values())]
        if self.text.captures and (lexing != "free" or self.layout is not None):
            raise self.text.error(
                "captures need free lexing, and no layout",
                self.text.defined(asked[0]) or Place(1, 1),
                rule=self._called(asked[0]),
                expected='lexing="free"',
            )
        captures = self.text.captures
        found = {
            rule: Capture(captures[name])
            for rule in self.bnf.rules
            if (name := _INSTANCE.split(rule)[0]) in captures
        }
        for terminal, lexeme in self.text.lexemes.items():
            options = lexeme.options
            if lexeme.marker and (options.capture or options.stop_capture or options.hides):
                body, marker = self.languages[terminal], self.languages[lexeme.marker]
                found.pop(lexeme.rule, None)
                found[terminal] = Capture(
                    options.capture, options.stop_capture, body, marker, hides=options.hides
                )
        return found

    def _ordered_lexemes(self, lexing: Lexing) -> SpecError:
        lexeme = next(iter(self.text.lexemes.values()))
        return self.text.error(
            f"a lexeme with an end of its own cannot be read with lexing={lexing!r}",
            self.text.defined(lexeme.rule) or Place(1, 1),
            rule=self._called(lexeme.rule),
            expected='lexing="free"',
        )

    def _expression(self, tree: Any) -> Expression:
        """The expression of a right-hand side of a rule, or of a part of it."""
        if isinstance(tree, Symbol):
            return self._name(tree)
        parts = tree.children
        match tree.data:
            case "expansions":
                if self.text.has_marks:
                    parts = [part for part in parts if self._is_there(part)]
                return Choice(tuple([self._expression(part) for part in parts]))
            case "expansion":
                if self.text.has_marks:
                    parts = [part for part in parts if self._condition(part) is None]
                return Sequence(tuple([self._expression(part) for part in parts]))
            case "maybe":
                return Repeat(self._expression(parts[0]), 0, 1)
            case "expr":
                return self._repeat(self._expression(parts[0]), [str(part) for part in parts[1:]])
            case _:  # alias, value
                return self._expression(parts[0])

    def _is_there(self, alternative: Any) -> bool:
        """Whether an alternative is there for the parameter of the rule that is being read."""
        parts = getattr(alternative, "children", ())
        conditions = [found for part in parts if (found := self._condition(part)) is not None]
        if conditions and self.parameter is None:
            raise self._without_parameter("a condition")
        return all(condition(self.parameter) for condition in conditions)

    def _condition(self, part: Any) -> Any:
        """The condition that a symbol stands for, if it does."""
        if not isinstance(part, Symbol):
            return None
        definition = self._definitions.get(str(part.name))
        return None if definition is None else self.text.mark_of(definition.pattern.value)

    @property
    def _definitions(self) -> dict[str, TerminalDef]:
        """All terminals by name, with those that Lark has named for the strings in rules so far."""
        for definition in self.terminals[len(self._by_name) :]:
            self._by_name[str(definition.name)] = definition
        return self._by_name

    def _without_parameter(self, what: str, place: Place | None = None) -> SpecError:
        return self.text.error(
            f"{what} wants a parameter, and the rule has none",
            place or self.text.defined(self.rule) or Place(1, 1),
            rule=self._called(self.rule),
            expected=f"{self._called(self.rule)}::_ as the name of the rule",
        )

    def _name(self, symbol: Symbol) -> Expression:
        name = str(symbol.name)
        if name in self.text.instances:
            return self._instance(self.text.instances[name], self.text.places[name])
        if isinstance(symbol, NonTerminal):
            if name in self.text.parametric:
                raise self.text.error(
                    f"the rule {name!r} has a parameter",
                    self.text.used(name, self.rule) or Place(1, 1),
                    rule=self._called(self.rule),
                    expected=f"{name}::value",
                )
            return Name(name)
        if name not in self.declared:
            return self._skipping(self._with_empty(name))
        if name in self.text.lists:
            return self._skipping(Text(words(self.text.lists[name])))
        if name not in self.nested:
            return self._skipping(Name(name))
        place = self.text.places.get(name) or self.text.used(name)
        return self._skipping(Nested(self.nested[name], place))

    def _instance(self, use: Instance, place: Place) -> Expression:
        """The rule for a value of its parameter."""
        rule = self._called(use.rule)
        if use.rule not in self.text.parametric:
            problem = f"the rule {rule!r} has no parameter"
            expected = f"{rule}::_ where it is defined"
            raise self.text.error(problem, place, rule=self._called(self.rule), expected=expected)
        if use.depends and self.parameter is None:
            raise self._without_parameter(f"the use of {rule!r}", place)
        value = use.change(self.parameter or 0)
        if (use.rule, value) not in self.known:
            self.known.add((use.rule, value))
            self.wanted.append((use.rule, value))
        return Name(_instance(use.rule, value))

    def _with_empty(self, name: str) -> Expression:
        """A terminal by its name; one that may be empty may be left out."""
        found = self._left_out.get(name)
        if found is not None:
            return found
        found = Name(name)
        with suppress(StructgenError):  # raised again where the terminal is needed
            language = self._matches(self._definitions[name]).language
            if language.nullable:
                self.leaves_out = True
                found = Sequence(()) if language is EPSILON else Repeat(found, 0, 1)
        self._left_out[name] = found
        return found

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
        return Repeat(body, low, high) if high else Sequence(())

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

    def _matches(self, definition: TerminalDef) -> Matches:
        """When a terminal matches. Raises PatternError, UnsupportedSchemaError, BudgetError."""
        lexeme = self.text.lexemes.get(definition.name)
        if lexeme is not None:
            return Matches(self._lexeme_language(definition.name, lexeme), EMPTY)
        language = self.languages.get(definition.name)
        if language is None:
            return _matches(definition.pattern)
        return Matches(language, EMPTY if definition.name in self.stretches else language)

    def _lexeme_language(self, name: str, lexeme: Lexeme) -> Regex:
        """The texts of a rule with options."""
        body, options = self.languages[name], lexeme.options
        if lexeme.marker:
            return first_match(body, self.languages[lexeme.marker], options.most)
        if options.lazy:
            return first_match(body, most=options.most)
        return intersect(body, repeat(ANY_CHAR, 0, options.most))

    def _terminal(self, definition: TerminalDef) -> Terminal:
        checkpoint()
        name, pattern = str(definition.name), definition.pattern
        place = self._place(definition)
        try:
            matches = self._matches(definition)
            language, longer = matches.language, matches.longer
            if language.nullable:
                if matches.lookahead is not None or matches.lookbehind is not None:
                    raise self.text.error(
                        f"the terminal {self._shown(definition)} may be empty and looks around",
                        place or Place(1, 1),
                        expected="terminals of at least one character where they look around",
                        hint="make it optional where rules use it",
                    )
                language, longer = without_empty(language), without_empty(longer)
        except PatternError as error:
            rule = name if name in self.named else ""
            raise self.text.error(str(error.problem), place or Place(1, 1), rule=rule) from error
        except (UnsupportedSchemaError, BudgetError) as error:
            error.location = str(place or "")
            error.problem = f"{error.problem}, in terminal {self._shown(definition)}"
            raise
        lexeme = self.text.lexemes.get(name)
        return Terminal(
            name,
            language,
            longer=longer,
            lookahead=matches.lookahead,
            lookbehind=matches.lookbehind,
            commits=lexeme is not None and (lexeme.options.lazy or bool(lexeme.marker)),
            text=pattern.value if isinstance(pattern, PatternStr) else None,
            flags=frozenset(pattern.flags),
            priority=definition.priority,
            max_width=_max_width(pattern, language),
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
            return self._called(name)
        ends = _RANGE.fullmatch(pattern.value)
        as_written = f'"{ends[1]}".."{ends[2]}"' if ends else f"/{pattern.to_regexp()}/"
        return as_written if pattern.raw is None else self._called(str(pattern.raw))

    def _place(self, definition: TerminalDef) -> Place | None:
        defined = self._place_of(definition.name)
        if defined is not None:
            return defined
        ends = _RANGE.fullmatch(definition.pattern.value)
        if definition.pattern.raw is None and ends is not None:
            return self.text.used(f'"{ends[1]}"')
        raw = definition.pattern.raw
        return None if raw is None else self.text.used(self._called(str(raw)))

    def _refuse_declared(self, name: str, what: str) -> None:
        raise UnsupportedSchemaError(
            f"the {what} {name!r} is declared but says nothing of its text",
            keyword="%declare",
            location=str(self.text.used(name) or ""),
            expected="a definition, or a spec for it in refs",
            hint="for indentation give layout=structgen.Indentation(...)",
        )


def _max_width(pattern: Pattern, language: Regex) -> int:
    r"""The greatest width of a pattern's matches, as Lark has it; it trips over `\\p{x}`."""
    try:
        _measure(pattern)
        return int(pattern.max_width)
    except Exception:  # noqa: BLE001  of `re` or of `regex`, as Lark likes
        return language.longest


def _measure(pattern: Pattern) -> None:
    """Note a pattern's widths in it, as Lark does, by those of what it was made of if it can.

    Lark parses it once more for them; what `re` does not read is left to Lark.
    """
    if not isinstance(pattern, PatternRE) or pattern._width is not None:
        return
    joined, parts = getattr(pattern, "made_of", (None, ()))
    for part in parts:
        _measure(part)
    if joined is not None and all(isinstance(p, PatternStr) or p._width for p in parts):
        pattern._width = joined([(p.min_width, p.max_width) for p in parts])
        return
    text = pattern.to_regexp()
    keyword = KEYWORD.fullmatch(text)
    if keyword is not None:
        pattern._width = [len(keyword[2])] * 2
        return
    with suppress(re.error, OverflowError):
        pattern._width = [int(width) for width in parsed(text).getwidth()]


def _stands_for_itself(pattern: Pattern) -> bool:
    """Whether a pattern means the same among others, which Lark writes without parentheses."""
    if isinstance(pattern, PatternStr) or pattern.flags or hasattr(pattern, "made_of"):
        return True
    plain = _COUNT.sub("", pattern.value)
    return plain[:1] not in "*+?{" and not _AMONG_OTHERS.search(plain)


def _in_a_row(widths: list[tuple[int, int]]) -> list[int]:
    """The widths of a concatenation."""
    return [min(sum(widths_of), _WIDEST) for widths_of in zip(*widths, strict=True)]


def _either(widths: list[tuple[int, int]]) -> list[int]:
    """The widths of an alternation."""
    least, most = zip(*widths, strict=True)
    return [min(least), max(most)]


def _times(low: int, high: int, widths: list[tuple[int, int]]) -> list[int]:
    """The widths of a repetition."""
    [(least, most)] = widths
    widest = _WIDEST if high == OPEN and most else most * high
    return [min(low * least, _WIDEST), min(widest, _WIDEST)]


def _matches(pattern: Pattern) -> Matches:
    """The match condition of a terminal: for a literal its text, for a pattern see `matches_of`."""
    if isinstance(pattern, PatternStr) and not pattern.flags:
        return Matches(literal(pattern.value), EMPTY)
    if isinstance(pattern, PatternStr) and pattern.flags == _ANY_CASE:
        return Matches(in_any_case(pattern.value), EMPTY)
    found = matches_of(pattern.to_regexp())
    language: Regex = found.language
    fixed = language.plain and language.shortest == language.longest
    return Matches(language, EMPTY) if fixed and found.longer is language else found


def _instance(rule: str, value: int) -> str:
    """The name of a rule with a parameter for one of its values."""
    return f"{rule}::{value}"
