"""What is captured of a text is what the rules have read of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark as LarkParser
from lark import Tree

import structgen as sg
from structgen.errors import GrammarError, SpecError
from structgen.grammar.specs import Lark
from structgen.spec.base import ReadToken

SUMS = """
start: sum
sum: product | sum "+" product
product: atom | product "*" atom
atom: NUMBER | "(" sum ")"
NUMBER: /[0-9]+/
"""


def captured(grammar: str, text: str, **options: Any) -> list[tuple[str, str]]:
    """Names and texts of what is captured."""
    return [(one.name, one.text) for one in Lark(grammar, **options).captures(text)]


@pytest.mark.parametrize(
    ("grammar", "text", "expected"),
    [
        ('start: "x" a "!"\na[capture]: b+\nb[capture="one"]: /[a-z]/', "xab!",
         [("one", "a"), ("one", "b"), ("a", "ab")]),
        ("start[capture]: /.*/", "", [("start", "")]),
        ('start[capture]: a "z"\na[capture, lazy]: /[a-z]+!/', "xy!z",
         [("a", "xy!"), ("start", "xy!z")]),
        ('start[capture="all"]: a "z"\na[capture, suffix="!"]: /[a-z]*/', "xy!z",
         [("a", "xy"), ("all", "xy!z")]),
        ('start[capture="all"]: a "z" a\na[stop="!"]: /[a-z]*/', "xy!zw!", [("all", "xyzw")]),
        ('start[capture]: a "z"\na[capture, stop=/!+;/, stop_capture="end"]: /[a-z]*/', "xy!!;z",
         [("end", "!!;"), ("a", "xy"), ("start", "xyz")]),
        ('start: a "Z"\na[capture, suffix=/b?a/, stop_capture="end"]: "b"', "baZ",
         [("end", "a"), ("a", "b")]),
        ('start: a "!"\na[max_chars=2, capture, stop=">", stop_capture="end"]: /[a-z]*/', "ab!",
         [("a", "ab")]),
        ('start: a b\na[capture]: "x"?\nb[capture]: "x"', "x", [("a", ""), ("b", "x")]),
        ('start: (a ",")* a?\na[capture]: "a" "b"?\n%ignore " "', " ab , a ,  ",
         [("a", "ab"), ("a", "a")]),
        ('start: a\na[capture]: a "+" a | "1"', "1+1+1",
         [("a", "1"), ("a", "1"), ("a", "1+1"), ("a", "1"), ("a", "1+1+1")]),
        ('start: "(" %lark { start[capture="in"]: a "."\n a[stop="b", capture]: "a" } ")"',
         "(ab.)", [("a", "a"), ("in", "a.")]),
        ('start: h+ t\nh[capture="tool"]: f "1"\nf[lazy]: T "<"\nt[capture]: T\nT: /(.|\\n)*/',
         "a<1b<1c", [("tool", "a<1"), ("tool", "b<1"), ("t", "c")]),
        ('start[capture]: "[" %json {"type": "integer"} "]"', "[12]", [("start", "[12]")]),
        ('start: a "y"\na[capture]: /\\bx+(?=y)/', "xxy", [("a", "xx")]),
        ("start: n::0\nn::_[capture]: /a/ n::incr(_) %if lt(_, 1) | /b/", "ab",
         [("n", "b"), ("n", "ab")]),
    ],
)  # fmt: skip
def test_captures(grammar: str, text: str, expected: list[tuple[str, str]]) -> None:
    """In the order in which they end; markers are where they belong."""
    assert captured(grammar, text) == expected


@given(st.recursive(st.integers(0, 99).map(str), lambda inner: st.one_of(
    st.tuples(inner, inner).map("+".join), st.tuples(inner, inner).map("*".join),
    inner.map(lambda text: f"({text})")), max_leaves=8))  # fmt: skip
def test_captures_are_the_trees_of_lark(text: str) -> None:
    """Of an unambiguous grammar: all subtrees, children first, with their places."""
    parser = LarkParser(SUMS, parser="earley", propagate_positions=True)
    expected = [
        (str(tree.data), text[tree.meta.start_pos : tree.meta.end_pos], tree.meta.start_pos)
        for tree in post_order(parser.parse(text))
        if tree.data != "start"
    ]
    grammar = re.sub(r"^(sum|product|atom):", r"\1[capture]:", SUMS, flags=re.MULTILINE)
    found = Lark(grammar).captures(text)
    assert [(one.name, one.text, one.start) for one in found] == expected


def post_order(tree: Any) -> list[Any]:
    """The subtrees of a tree, children first."""
    children = [child for child in tree.children if isinstance(child, Tree)]
    return [*(one for child in children for one in post_order(child)), tree]


def test_long_texts_are_read_without_recursion() -> None:
    """Repetitions and recursion at either end cost no more than steps."""
    rules = 'a[capture]: "a"\nright: "r" right | "."'
    text = "a" * 3000 + "r" * 3000 + "."
    assert len(captured(f"start: a* right\n{rules}", text)) == 3000


def test_tokens_stand_where_they_were_read() -> None:
    """A token that stands for itself is no text for the lexemes around it; its text is shown."""
    spec = Lark(
        'start: <think> hm </think> ok "."\nhm[capture]: /(.|\\n)*/\n'
        'ok[capture]: x <[7]>\nx: %lark { start: "y" end? \n end[capture]: <end> }'
    )
    written = [(3, "<think>", True), (7, "o</", False), (4, "</think>", True), (9, "y", False),
               (5, "<end>", True), (7, "o</", False), (8, ".", False)]  # fmt: skip
    text, tokens = "", []
    for number, piece, apart in written:
        start = len(text)
        text += piece
        tokens.append(ReadToken(number, piece.encode(), start, len(text), apart))
    found = [(one.name, one.text) for one in spec.captures(text, tokens)]
    assert found == [("hm", "o</"), ("end", "<end>"), ("ok", "y<end>o</")]
    with pytest.raises(SpecError):
        spec.captures(text, tokens[1:])


def test_texts_that_do_not_fit_have_no_captures() -> None:
    """The error says so; a grammar without captures has none of any text."""
    with pytest.raises(SpecError, match="not one of the grammar's"):
        captured('start[capture]: "a"', "b")
    assert captured('start: "a"', "a") == []
    assert sg.JsonSchema({}).captures("1") == ()


@pytest.mark.parametrize(
    ("grammar", "options", "problem"),
    [
        ('start: a\na[capture]: "a"', {"lexing": "viable"}, "captures need free lexing"),
        ('start: a\na[capture]: "a"', {"lexing": "longest"}, "captures need free lexing"),
    ],
)
def test_where_captures_cannot_be_told_they_are_refused(
    grammar: str, options: dict[str, Any], problem: str
) -> None:
    """With line and column."""
    with pytest.raises(GrammarError, match=problem) as caught:
        Lark(grammar, **options).rules()
    assert caught.value.line > 0


def test_what_a_model_writes_comes_with_its_captures() -> None:
    """In the result of generation."""
    from structgen import demo

    grammar = 'start: "name: " name "\\n"\nname[capture, suffix=";"]: /[A-Z][a-z]*/'
    generator = sg.Generator(demo.model_path())
    result = generator.generate("Ada.", sg.Lark(grammar), temperature=0, max_tokens=40)
    [name] = result.captures
    assert result.text == f"name: {name.text};\n"
    assert (name.name, name.start, name.end) == ("name", 6, 6 + len(name.text))
