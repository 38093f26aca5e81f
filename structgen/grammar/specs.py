"""The specs of grammars as text: `Lark`, `Gbnf` and `Ebnf`.

Each reads its text into one `ir.Grammar`, which one automaton reads; so does
`combinators.Grammar`, for grammars made by Python calls.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from structgen.automata.interface import Automaton, Stored
from structgen.automata.pushdown.engine import Engine
from structgen.automata.pushdown.machine import TextMachine
from structgen.errors import ArtifactError, BudgetError, SpecError
from structgen.grammar.ir import Grammar as GrammarRules
from structgen.grammar.ir import Indentation, Lexing
from structgen.schema.coerce import coerce
from structgen.spec.base import Captured, ReadToken, Spec
from structgen.spec.registry import spec_of
from structgen.util.arguments import check_kind

if TYPE_CHECKING:
    from structgen.grammar.readers.ebnf import Style
    from structgen.grammar.transforms.useless import Finding
    from structgen.regular.regex import Regex

SHOWN = "text of the grammar"  # how messages name all of it
_REFERENCE = re.compile(r"@([A-Za-z0-9_-]+)")
_GRAMMAR_NAME = re.compile(r"[A-Za-z0-9_-]+")


class GrammarSpec(Spec):
    """The texts of a context-free grammar.

    plain: whether terminals may end wherever they match (no lexer), so that only characters count.
    """

    plain: ClassVar[bool] = True

    @abstractmethod
    def rules(self) -> GrammarRules:
        """The grammar as written, with rules and terminals that no text uses still in it.

        Raises GrammarError (line, column, rule), UnsupportedSchemaError or BudgetError.
        """

    def rules_as_written(self) -> GrammarRules:
        """The same grammar with no rule inlined in another, for messages."""
        return self.rules()

    def regular_language(self) -> Regex | None:
        """The texts as a regular language where no rule is recursive; None where that is not known.

        Raises what `rules` raises.
        """
        return None

    def captures(self, text: str, tokens: Sequence[ReadToken] = ()) -> tuple[Captured, ...]:
        """See `Spec.captures`."""
        from structgen.grammar.captures import captured, has_captures

        grammar = self.rules()
        return captured(grammar, text, tokens) if has_captures(grammar) else ()

    def findings(self) -> list[Finding]:
        """Rules that no text fits and rules that nothing leads to, in the order of the grammar."""
        from structgen.grammar.transforms.useless import findings

        return findings(self.rules())

    def as_rules(self) -> GrammarRules | None:
        """The rules by which another grammar can take these texts in; None if it cannot."""
        return self.rules() if self.plain else None

    def automaton(self, saved: Stored | None = None) -> Automaton:
        """See `Spec.automaton`. Raises UnsatisfiableSchemaError when no text fits the start.

        Texts that are a large regular language are read as those of a pattern are: nothing is made
        before a text asks for it.
        """
        from structgen.grammar.automaton.automaton import GrammarAutomaton
        from structgen.grammar.embedded.automaton import NestingAutomaton

        if saved is None:
            language = self._large_language()
            return _automaton_of(self.rules()) if language is None else _read_lazily(language)
        if "nested" in saved.header:
            return NestingAutomaton.restored(_prepared(self.rules()), saved)
        if "rules" in saved.header:
            return GrammarAutomaton.restored(saved)
        return Engine.restored(self._machine, saved)

    def _large_language(self) -> Regex | None:
        """The texts as a regular language if its automaton would be large, else None."""
        from structgen.grammar.transforms.lazy_terminals import is_large_as_a_whole

        language = self.regular_language()
        if language is None or not is_large_as_a_whole(language) or language.is_empty():
            return None
        return language

    def _machine(self) -> TextMachine:
        """The machine that reads the texts if they are a regular language. Raises ArtifactError."""
        from structgen.grammar.transforms.regular import regular_language

        language = self._large_language() or regular_language(_prepared(self.rules()))
        if language is None:
            raise ArtifactError("the file holds no automaton of a grammar")
        return TextMachine(language, SHOWN)

    def expected(self, automaton: Automaton, at: int, read: bytes) -> str:
        """See `Spec.expected`; regular rules that are one terminal are named one by one."""
        if self.plain:
            with suppress(BudgetError):
                automaton = _automaton_of(self.rules_as_written())
                at, _ = automaton.run(automaton.start, read)
        return automaton.expected(at)


@dataclass(frozen=True)
class Lark(GrammarSpec):
    r"""The texts of a grammar in the language of Lark (lark-parser.readthedocs.io).

    grammar: its text; `%json {...}` in a rule stands for a JSON text of that schema. start: the
    rule to start from.
    lexing: which terminals the lexer looks for at each point. "free": as Lark's Earley parser with
    its dynamic lexer, each terminal is matched by itself wherever the grammar allows it. "longest":
    as Lark's LALR parser with the contextual lexer, of the terminals in the row of the parser's
    state the first in Lark's order of priority and length. "viable": of those that can come next.
    An LALR state may allow more terminals than can come next where a rule is used in several
    places; where Lark then reads one of these, it fails. Where Lark makes no tables, and with specs
    inside, "longest" is "viable". With any of them, a text of a spec inside may end wherever the
    spec's texts may, and the lexer takes no notice of it: both are read side by side. Terminals may
    look at the text before them (`\b`, `^`, a lookbehind), which is what the grammar has read.
    import_paths: folders for `%import`. path: the file that the text is from, for `%import .name`.
    layout: how indentation makes terminals. final: a terminal that the end of the text stands for
    where it is missing, as a line break may be behind the last line. refs: what terminals under
    `%declare` are. grammars: what `@name` is: specs, or texts in this language, which may name one
    another but not go round in circles.
    """

    grammar: str
    start: str = "start"
    lexing: Lexing = "free"
    import_paths: Sequence[str] = field(default=(), compare=False)
    path: str | None = field(default=None, compare=False)
    layout: Indentation | None = None
    final: str = ""
    refs: Mapping[str, Any] = field(default_factory=dict)
    grammars: Mapping[str, Any] = field(default_factory=dict)
    imported: Mapping[str, str] | None = field(default=None, repr=False, compare=False)
    kind: ClassVar[str] = "lark"
    plain: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_text(self.grammar, "Lark.from_file")
        for name in ("refs", "grammars"):
            given = getattr(self, name)
            check_kind(name, given, Mapping, "a mapping of names to specs", error=SpecError)
        object.__setattr__(self, "refs", {name: coerce(s) for name, s in self.refs.items()})
        object.__setattr__(self, "grammars", _resolved(self.grammars))

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> Self:
        """The grammar in a file (UTF-8). Raises OSError, and SpecError for what is not UTF-8."""
        return cls(_read(path), path=str(path), **options)

    def rules(self) -> GrammarRules:
        """See `GrammarSpec.rules`."""
        return self._read()[0]

    def _read(self) -> tuple[GrammarRules, dict[str, str]]:
        """The grammar, and the texts of the grammars that it imports, by name."""
        from structgen.grammar.readers.lark.files import Files
        from structgen.grammar.readers.lark.reader import read
        from structgen.grammar.readers.lark.text import LarkText

        folder = Path(self.path).parent if self.path is not None else None
        files = Files(folder, self.import_paths, self.imported)
        rules = read(
            LarkText(self.grammar, takes_lists=self.lexing == "free"),
            files,
            start=self.start,
            lexing=self.lexing,
            layout=self.layout,
            final=self.final,
            refs=self.refs,
            nested=self._nested,
        )
        return rules, files.texts

    def _nested(self, text: str, name: str) -> Spec:
        """The spec of a grammar inside, by its text or its name. Raises KeyError for the name."""
        if name:
            found: Spec = self.grammars[name]
            return found
        return Lark(text, import_paths=self.import_paths, path=self.path, grammars=self.grammars)

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`; with the texts of all grammars that this one imports."""
        imported = self.imported if self.imported is not None else self._read()[1]
        return {
            "grammar": self.grammar,
            "start": self.start,
            "lexing": self.lexing,
            "layout": None if self.layout is None else asdict(self.layout),
            "final": self.final,
            "refs": {name: _nested(spec) for name, spec in self.refs.items()},
            "grammars": {name: _nested(spec) for name, spec in self.grammars.items()},
            "imported": dict(imported),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Lark:
        """The spec that `to_json` described."""
        layout = data.pop("layout", None)
        if layout is not None:
            layout["opens"] = tuple(layout["opens"])
            layout["closes"] = tuple(layout["closes"])
            layout = Indentation(**layout)
        refs, grammars = (
            {name: spec_of(spec) for name, spec in data.pop(field, {}).items()}
            for field in ("refs", "grammars")
        )
        return cls(**data, layout=layout, refs=refs, grammars=grammars)


@dataclass(frozen=True)
class Gbnf(GrammarSpec):
    """The texts of a grammar in GBNF, the language of llama.cpp.

    grammar: its text. root: the rule to start from.
    """

    grammar: str
    root: str = "root"
    kind: ClassVar[str] = "gbnf"

    def __post_init__(self) -> None:
        _check_text(self.grammar, "Gbnf.from_file")

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> Self:
        """The grammar in a file (UTF-8). Raises OSError, and SpecError for what is not UTF-8."""
        return cls(_read(path), **options)

    def rules(self) -> GrammarRules:
        """See `GrammarSpec.rules`."""
        from structgen.grammar.readers.gbnf import read

        return read(self.grammar, self.root)

    def rules_as_written(self) -> GrammarRules:
        """See `GrammarSpec.rules_as_written`."""
        from structgen.grammar.readers.gbnf import read

        return read(self.grammar, self.root, inlines_rules=False)

    def regular_language(self) -> Regex | None:
        """See `GrammarSpec.regular_language`."""
        from structgen.grammar.readers.gbnf import regular_language

        return regular_language(self.grammar, self.root)

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {"grammar": self.grammar, "root": self.root}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Gbnf:
        """The spec that `to_json` described."""
        return cls(**data)


@dataclass(frozen=True)
class Ebnf(GrammarSpec):
    """The texts of a grammar in EBNF.

    grammar: its text. start: the rule to start from, by default the first. style: "iso" (ISO
    14977: `a = "x", {b} ;`, and what manuals make of it: module `grammar.readers.iso_ebnf`), "w3c"
    (`a ::= "x" [a-z]*`), or "auto": "w3c" if there is a `::=` and no brace.
    """

    grammar: str
    start: str | None = None
    style: Style = "auto"
    kind: ClassVar[str] = "ebnf"

    def __post_init__(self) -> None:
        _check_text(self.grammar, "Ebnf.from_file")

    @classmethod
    def from_file(cls, path: str | Path, **options: Any) -> Self:
        """The grammar in a file (UTF-8). Raises OSError, and SpecError for what is not UTF-8."""
        return cls(_read(path), **options)

    def rules(self) -> GrammarRules:
        """See `GrammarSpec.rules`."""
        from structgen.grammar.readers.ebnf import read

        return read(self.grammar, self.start, self.style)

    def rules_as_written(self) -> GrammarRules:
        """See `GrammarSpec.rules_as_written`."""
        from structgen.grammar.readers.ebnf import read

        return read(self.grammar, self.start, self.style, inlines_rules=False)

    def regular_language(self) -> Regex | None:
        """See `GrammarSpec.regular_language`."""
        from structgen.grammar.readers.ebnf import regular_language

        return regular_language(self.grammar, self.start, self.style)

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {"grammar": self.grammar, "start": self.start, "style": self.style}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Ebnf:
        """The spec that `to_json` described."""
        return cls(**data)


def grammar_class(text: str) -> type[Gbnf | Lark]:
    """The language that a grammar looks like: `::=` stands in GBNF alone."""
    return Gbnf if "::=" in text else Lark


def _automaton_of(rules: GrammarRules) -> Automaton:
    from structgen.grammar.automaton.automaton import GrammarAutomaton
    from structgen.grammar.embedded.automaton import NestingAutomaton
    from structgen.grammar.embedded.specs import has_embedded_specs
    from structgen.grammar.transforms.regular import regular_language

    grammar = _prepared(rules)
    language = regular_language(grammar)
    if language is not None and not language.is_empty():
        return _read_lazily(language)
    return NestingAutomaton(grammar) if has_embedded_specs(grammar) else GrammarAutomaton(grammar)


def _prepared(rules: GrammarRules) -> GrammarRules:
    """The rules as their automaton reads them: without lookbehinds, with lazy terminals."""
    from structgen.grammar.lookaround.without_lookbehinds import without_lookbehinds
    from structgen.grammar.transforms.lazy_terminals import with_lazy_terminals

    return with_lazy_terminals(without_lookbehinds(rules))


def _read_lazily(language: Regex) -> Automaton:
    return Engine(lambda: TextMachine(language, SHOWN))


def _check_text(grammar: object, instead: str) -> None:
    if not isinstance(grammar, str):
        raise SpecError(
            f"the grammar is {grammar!r}", expected="its text", hint=f"for a file use {instead}"
        )


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(
            f"the grammar is not UTF-8: byte {error.start}", location=str(path)
        ) from error


def _resolved(grammars: Mapping[str, Any]) -> dict[str, Spec]:
    """The specs by name; a text in Lark's language gets those that it names.

    Raises SpecError for a name that is none and for texts that name each other in a circle.
    """
    found: dict[str, Spec] = {}
    open_names: list[str] = []

    def spec_named(name: str) -> Spec:
        if name in open_names:
            circle = " -> ".join(f"@{one}" for one in [*open_names, name])
            raise SpecError(f"the grammars name each other in a circle: {circle}")
        if name not in found:
            given = grammars[name]
            if isinstance(given, str):
                open_names.append(name)
                wanted = {inner for inner in _REFERENCE.findall(given) if inner in grammars}
                inside = {inner: spec_named(inner) for inner in sorted(wanted)}
                found[name] = Lark(given, grammars=inside)
                open_names.pop()
            else:
                found[name] = coerce(given)
        return found[name]

    for name in grammars:
        if not _GRAMMAR_NAME.fullmatch(name):
            expected = "letters, digits, '_' and '-'"
            raise SpecError(f"{name!r} cannot be the name of a grammar", expected=expected)
        spec_named(name)
    return found


def _nested(spec: Spec) -> dict[str, Any]:
    portable = spec.portable()
    return {"kind": portable.kind, **portable.to_json()}
