"""Texts of Lark grammars are read into the trees that Lark's own parser makes of them."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import GrammarError, Token, Tree, load_grammar
from lark.exceptions import UnexpectedInput
from lark.grammar import Symbol

from structgen.grammar.readers.lark.files import Files
from structgen.grammar.readers.lark.loading import definitions_of
from structgen.grammar.readers.lark.syntax import NoGrammarError, statements_of
from structgen.grammar.readers.lark.trees import pattern_at
from structgen.grammar.shipped import NAMES

TEXT = r"""
%import common (WS, INT)   // what others have
%import .other.name -> mine
%declare _INDENT block
%ignore WS # and comments
start: "a"i /b\/c/i | [x y]+ -> named
    | ("x".."y")~2..3 _pair{INT, "z"} \
      (t | )?
?x.-2: y~3
!?y{p, q}: p q* |
_pair{p, q}: p q
T.2: /[a-z]+/ | INT
%override mine: "m"
%extend T: "t"
"""
PIECES = ["", "\n", " ", "|", "(", "..", "~", "?", "!", "{", "a", "A", '"']


def shape(tree: Any) -> Any:
    """A tree as tuples, with the types of its leaves and where tokens begin."""
    if isinstance(tree, Tree):
        return tree.data, [shape(child) for child in tree.children]
    if isinstance(tree, Symbol):
        return type(tree), tree.name, getattr(tree, "filter_out", None)
    assert isinstance(tree, Token)
    return tree.type, tree.value, None if tree.type == "TILDE" else tree.start_pos


def by_lark(text: str) -> list[Any] | None:
    """The statements as Lark reads them, None for what it refuses."""
    loader: Any = load_grammar
    try:
        return [shape(one) for one in loader._parse_grammar(text, "text").children]
    except (GrammarError, UnexpectedInput):
        return None


def read(text: str) -> list[Any] | None:
    """The statements, None for what is no grammar."""
    try:
        return [shape(one) for one in statements_of(text)]
    except NoGrammarError:
        return None


@pytest.mark.parametrize("name", NAMES)
def test_shipped_grammars_are_read_as_lark_reads_them(name: str) -> None:
    """Each of them."""
    text = (files("structgen.grammars") / f"{name}.lark").read_text(encoding="utf-8")
    assert read(text) == by_lark(text) is not None


@given(st.data())
def test_texts_are_read_as_lark_reads_them(data: st.DataObject) -> None:
    """A text with some of everything, of which a stretch is left out and something is put in."""
    assert read(TEXT) is not None
    places = st.integers(0, len(TEXT))
    begin, end = sorted((data.draw(places), data.draw(places)))
    end = min(end, begin + 40)
    more = data.draw(st.sampled_from(PIECES))
    text = TEXT[:begin] + more + TEXT[end:]
    assert read(text) == by_lark(text)


LETTERS = [*"a/\"'nrtxuN0{} \u00e9\x7f", "\\", "\\\\", '\\"', "\\/", "\\d", "\\x41", "\\u00e9"]


@given(
    st.sampled_from(['"{}"', '"{}"i', "/{}/", "/{}/i", "/{}/ms"]),
    st.lists(st.sampled_from(LETTERS), max_size=6).map("".join),
)
def test_literals_are_the_patterns_that_lark_makes_of_them(form: str, inside: str) -> None:
    """With its ways to read escapes, and errors of the same kind."""
    text = form.replace("{}", inside)
    token = Token("REGEXP" if text.startswith("/") else "STRING", text)
    try:
        wanted = load_grammar._literal_to_pattern(token)  # type: ignore[no-untyped-call]
    except (GrammarError, AssertionError) as error:
        with pytest.raises(type(error)):
            pattern_at(Tree("literal", [token]))
        return
    found = pattern_at(Tree("literal", [token]))
    assert found == wanted
    assert found.raw == wanted.raw


def test_what_is_imported_is_renamed_as_lark_does_it() -> None:
    """Rules with parameters, terminals in terminals, names with an underscore, files in files."""
    texts = {
        "inner.lark": "pair{a, b}: a X b -> named\n_seq{x}: (x | _none)+\n_none: Y\nX.2: /x/ Y~2\n"
        "%import .deep.Y\n",
        "deep.lark": 'Y: "y" _Z\n_Z: "z"i\n',
    }
    main = 'start: pair{"a", _seq} _seq{X} Y\n%import inner (pair, _seq, X)\n%import deep.Y\n'

    def load(_: str | None, path: str) -> tuple[str, str]:
        return path, texts[path]

    builder = load_grammar.GrammarBuilder(import_paths=[load])
    builder.load_grammar(main, "main")
    wanted, found = builder.build(), definitions_of(main, Files(), load)
    for built in (wanted, found):
        built.term_defs = [(str(name), shape(tree), at) for name, (tree, at) in built.term_defs]
        built.rule_defs = [(str(r[0]), [*map(str, r[1])], shape(r[2])) for r in built.rule_defs]
    assert sorted(found.term_defs) == sorted(wanted.term_defs)
    assert sorted(found.rule_defs) == sorted(wanted.rule_defs)
