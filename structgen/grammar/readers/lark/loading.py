"""Lark's definitions of the rules and terminals of a grammar, those that it imports among them.

All is Lark's but the parser of the text, which takes long to be made and to read (see `syntax`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any

from lark import GrammarError as LarkGrammarError
from lark import Tree
from lark import lexer as lark_lexer
from lark import load_grammar as lark_loader
from lark.exceptions import VisitError
from lark.grammar import Symbol

from structgen.grammar.readers.lark.files import MAIN, Files
from structgen.grammar.readers.lark.syntax import NoGrammarError, statements_of
from structgen.grammar.readers.lark.trees import values_of

_LARK: Any = lark_loader  # what Lark itself compiles grammars with; not typed throughout
Load = Callable[[str | None, str], tuple[str, str]]


def definitions_of(text: str, files: Files, load: Load) -> Any:
    """Lark's grammar of a text. load: the name and text of an imported file, by folder and path.

    Raises Lark's errors, and what `load` raises.
    """
    try:
        builder = _Builder(load)
        builder.load_grammar(text, MAIN)
        return builder.build()
    except (NoGrammarError, LarkGrammarError, VisitError, RecursionError):
        files.last = MAIN  # Lark reads it once more, and knows where it stumbles
    _make_lark_s_parser()
    builder = _LARK.GrammarBuilder(import_paths=[load])
    builder.load_grammar(text, MAIN)
    return builder.build()


class _Builder(_LARK.GrammarBuilder):  # type: ignore[misc]
    """Lark's builder of grammars with another parser."""

    def __init__(self, load: Load) -> None:
        super().__init__()
        self._load = load

    def load_grammar(
        self,
        grammar_text: str,
        grammar_name: str = MAIN,
        mangle: Callable[[str], str] | None = None,
    ) -> None:
        """See Lark's."""
        statements = statements_of(grammar_text)
        imports: dict[tuple[str, ...], tuple[str | None, dict[str, str]]] = {}
        for one in statements:
            if one.data == "import":
                path, base, names = self._unpack_import(one, grammar_name)
                known = imports.setdefault(path, (base, {}))
                if known[0] != base:
                    raise NoGrammarError
                known[1].update(names)
        for path, (base, names) in imports.items():
            self.do_import(path, base, names, mangle)
        for one in statements:
            match one.data:
                case "term" | "rule":
                    self._define(*self._unpack_definition(one, mangle))
                case "override":
                    self._define(*self._unpack_definition(one.children[0], mangle), override=True)
                case "extend":
                    self._extend(*self._unpack_definition(one.children[0], mangle))
                case "ignore" if mangle is None:
                    self._ignore(*one.children)
                case "declare":
                    symbols: list[Any] = one.children
                    for symbol in symbols:
                        name = symbol.name if mangle is None else mangle(symbol.name)
                        self._define(name, symbol.is_term, None)
        self._resolve_terminals()

    def _unpack_definition(self, tree: Any, mangle: Callable[[str], str] | None) -> Any:
        """See Lark's, which copies a tree before it renames what is in it."""
        name, is_term, tree, parameters, options = super()._unpack_definition(tree, None)
        if mangle is None:
            return name, is_term, tree, parameters, options
        todo = [tree]
        for node in todo:
            for i, child in enumerate(node.children):
                if isinstance(child, Symbol):
                    node.children[i] = child.renamed(mangle)  # type: ignore[no-untyped-call]
                elif isinstance(child, Tree):
                    todo.append(child)
        return mangle(name), is_term, tree, tuple(map(mangle, parameters)), options

    def _resolve_terminals(self) -> None:
        """Put the trees of terminals in place of their names in other terminals, as Lark does."""
        trees = {name: one.tree for name, one in self._definitions.items() if one.is_term}
        uses: dict[str, list[Any]] = {}
        for name, tree in trees.items():
            uses[name] = []
            for value in values_of(tree) if tree is not None else ():
                item = value.children[0]
                if isinstance(item, Symbol):
                    if trees.get(item.name) is None:
                        raise NoGrammarError
                    uses[name].append(value)
        names = {name: [value.children[0].name for value in found] for name, found in uses.items()}
        if not _leads_on(names):
            raise NoGrammarError
        for value in chain.from_iterable(uses.values()):
            value.children[0] = trees[value.children[0].name]

    def validate(self) -> None:
        """See Lark's. Raises NoGrammarError where something is wrong."""
        definitions = self._definitions
        fine = definitions.keys() >= {*self._ignore_names}
        for one in definitions.values():
            parameters = {*one.params}
            fine &= len(parameters) == len(one.params) and definitions.keys().isdisjoint(parameters)
            for value in values_of(one.tree) if not (one.is_term or one.tree is None) else ():
                item = value.children[0]
                if isinstance(item, Symbol):
                    fine &= item.name in definitions or item.name in parameters
                elif item.data == "template_usage" and item.children[0].name not in parameters:
                    template = definitions.get(item.children[0].name)
                    fine &= template is not None and len(template.params) == len(item.children) - 1
                fine &= value.data != "alias"
        if not fine:
            raise NoGrammarError

    def do_import(
        self,
        dotted_path: tuple[str, ...],
        base_path: str | None,
        aliases: dict[str, str],
        base_mangle: Callable[[str], str] | None = None,
    ) -> None:
        """See Lark's."""
        mangle = _LARK._get_mangle("__".join(dotted_path), aliases, base_mangle)
        name, text = self._load(base_path, "/".join(dotted_path) + _LARK.EXT)
        inner = _Builder(self._load)
        inner.load_grammar(text, name, mangle)
        inner._remove_unused(map(mangle, aliases))
        if inner._definitions.keys() & self._definitions.keys():
            raise NoGrammarError
        self._definitions.update(inner._definitions)


def _leads_on(names: Mapping[str, Iterable[str]]) -> bool:
    """Whether no name leads back to itself. names: those that each one leads to."""
    try:
        TopologicalSorter(names).prepare()
    except CycleError:
        return False
    return True


def _make_lark_s_parser() -> None:
    """Let Lark make its parser of grammars, which it keeps, in a tenth of the time.

    With interegular installed, Lark looks for overlaps among the terminals of its own language.
    """
    checks = lark_lexer.has_interegular
    try:
        lark_lexer.has_interegular = False
        _LARK._get_parser()
    finally:
        lark_lexer.has_interegular = checks
