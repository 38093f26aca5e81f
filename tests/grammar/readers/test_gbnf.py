"""Grammars in GBNF are read as llama.cpp reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

import structgen as sg
from structgen.errors import (
    BudgetError,
    GrammarError,
    StructgenError,
    ValidationError,
)
from structgen.grammar.specs import Gbnf
from tests.grammar.reference import accepts


@pytest.mark.parametrize(
    ("grammar", "fits", "fails"),
    [
        ('root ::= "ab" [c-e]', ["abc", "abe"], ["ab", "abf"]),
        ("root ::= [^a-c\\n]", ["d", "\r"], ["a", "\n", ""]),
        ("root ::= [a-] [\\]\\\\] [x^]", ["a]x", "-\\^"], ["b]x"]),
        ('root ::= "\\x41\\u00e9\\U0001F600\\t\\n\\"\\\\"', ['Aé\U0001f600\t\n"\\'], ["A"]),
        ("root ::= . .", ["a\n", "é☃"], ["a", "abc"]),
        ('root ::= "a"* "b"+ "c"?', ["b", "aabbc"], ["a", "cc"]),
        ('root ::= "ab"{2} | "c"{1,} | "d"{0,2}', ["abab", "ccc", "", "dd"], ["ab", "ddd"]),
        ('root ::= ("a" | b "c") b\nb ::= "x"', ["ax", "xcx"], ["x"]),
        ('root ::= "a" # c "b"\n# d\n  b\n\n\tb ::= "z"', ["az"], ["a", "ab"]),
        ('root ::= "a"\n  | a_b\n  "c"+\n  ?\na_b ::=\n"b"', ["a", "bc", "b"], ["ac", "b?"]),
        ('root # c\n ::= "a" b\n\nb\n::= "c"\n"d"', ["acd"], ["a", "ac"]),
        ('root ::= "a"\n)\n', None, None),
        ('root ::= (\n "a" # comment\n | "b"\n)\n', ["a", "b"], ["ab"]),
        ('root ::= "a" |\n  "b"', ["a", "b"], ["c"]),
        ('root ::=\n  "a"\r\nb ::= "b"\r\n', ["a"], ["b"]),
        ('root ::= "(" root ")" | ""', ["", "(())"], ["(", "())"]),
        ('root ::= root "a" | "b"', ["baa"], ["a"]),
        ('root ::= "a"\nroot ::= "b"', ["b"], ["a"]),
        ('root ::= [] "a" "" [^]', ["a"], [""]),
        ('root ::= a-1*\na-1 ::= "x"', ["", "xx"], ["y"]),
        ('root ::= "a"*?', ["", "aa"], ["b"]),
    ],
)
def test_texts(grammar: str, fits: list[str] | None, fails: list[str] | None) -> None:
    """Every construct of the language, on texts that do and do not fit."""
    if fits is None or fails is None:
        with pytest.raises(GrammarError):
            Gbnf(grammar).rules()
        return
    rules = Gbnf(grammar).rules()
    assert [text for text in fits + fails if accepts(rules, text)] == fits


def test_the_root_may_be_named() -> None:
    """llama.cpp takes its name as well."""
    assert accepts(Gbnf('s ::= "a"', root="s").rules(), "a")


@pytest.mark.parametrize(
    ("grammar", "problem", "line", "column"),
    [
        ('root ::= "a" b', "'b' is used but not defined", 1, 14),
        ('root ::= "a\\q"', "no escape '\\q'", 1, 12),
        ('root ::= "\\xZZ"', "escape is incomplete", 1, 11),
        ('root ::= "\\U00110000"', "no character 00110000", 1, 11),
        ("root ::= [a-", "has no end", 1, 10),
        ('root ::= "a', "has no end", 1, 10),
        ('root ::= ("a"', "has no ')'", 1, 10),
        ('root ::= ("a" ]', "']' does not fit", 1, 15),
        ('ä ::= "x"', "'ä' starts no rule", 1, 1),
        ('root ::= "a"\n"b"\n=', "'=' does not fit", 3, 1),
        ("root ::= *", "nothing to repeat", 1, 11),
        ('root ::= "a"{3,2}', "not in order", 1, 13),
        ('root ::= "a"{,2}', "no number", 1, 14),
        ('root ::= "a"{2', "no count", 1, 15),
        ('root := "a"', "no '::='", 1, 6),
        ('other ::= "a"', "no rule 'root'", 0, 0),
    ],
)
def test_wrong_grammars_get_line_and_column(
    grammar: str, problem: str, line: int, column: int
) -> None:
    """And the line with a caret, where there is one."""
    with pytest.raises(GrammarError) as caught:
        Gbnf(grammar).rules()
    assert problem in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.excerpt.endswith(" " * (column + 3) + "^") or line == 0


def test_hostile_grammars() -> None:
    """Deep groups are refused; large counts and thousands of rules are read."""
    with pytest.raises(BudgetError, match="nested too deeply"):
        Gbnf("root ::= " + "(" * 20_000 + '"a"' + ")" * 20_000).rules()
    counted = Gbnf('root ::= a{1,100000}\na ::= "(" a ")" | "x"').rules()
    assert len(counted.rules) < 60
    many = "\n".join(f'r{i} ::= r{i + 1} "x{i}" | r{i}' for i in range(3000))
    assert len(Gbnf(f'root ::= r0\n{many}\nr3000 ::= "y"').rules().rules) == 3002


def test_all_errors_are_typed() -> None:
    """Cutting a grammar anywhere gives a grammar or a typed error."""
    text = 'root ::= ("a\\x41" | [^b-d\\]] b{2,3}) # c\nb ::= (\n . )*\n'
    broken = 0
    for cut in range(len(text)):
        try:
            Gbnf(text[:cut]).rules()
        except StructgenError:
            broken += 1
    assert 0 < broken < len(text)


def test_the_sql_grammar(data_dir: Path) -> None:
    """The grammar of the benchmark, in both languages, on its texts."""
    texts = (data_dir / "cfg" / "texts.txt").read_text().splitlines()
    short = min(texts, key=len)[:60]
    rules = Gbnf.from_file(data_dir / "cfg" / "sql.gbnf").rules()
    assert accepts(rules, "SELECT a FROM b;")
    assert not accepts(rules, short)


PAIRS = """root ::= pair+
pair ::= key "=" value "\\n"
key ::= [a-z]+
value ::= [0-9]+ | "(" value ")"
"""


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        ("a=1", 3, 'more of [0-9]+, or "\\n" (in pair, in root)'),
        ("a=x\n", 2, '"(", [0-9]+ (in pair, in root)'),
        ("a=(1\n", 4, 'more of [0-9]+, or ")" (in value, in pair, in root)'),
        ("", 0, "[a-z]+ (in root)"),
        ("a1", 1, 'more of [a-z]+, or "=" (in pair, in root)'),
    ],
)
def test_a_wrong_text_is_told_what_the_rules_as_written_expect(
    text: str, offset: int, expected: str
) -> None:
    """Although rules that are regular, as `key` is, are read as parts of others."""
    with pytest.raises(ValidationError) as caught:
        sg.check(Gbnf(PAIRS), text)
    assert caught.value.offset == offset
    assert caught.value.expected == expected
