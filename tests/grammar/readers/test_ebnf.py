"""Grammars in EBNF of either style are read as the standards say."""

from __future__ import annotations

import pytest

from structgen.errors import BudgetError, GrammarError, SpecError, StructgenError
from structgen.errors import UnsupportedSchemaError as Unsupported
from structgen.grammar.specs import Ebnf
from tests.grammar.reference import accepts

ISO = r"""
(* ISO 14977, of itself a small part *)
letter = "a" | 'b' | "c" ;
decimal digit = "0" | "1" | "2" ;
meta identifier = letter, { letter | decimal digit } ;
"""

XML = """
[4]  NameStartChar ::= ":" | [A-Z] | "_" | [a-z] | [#xC0-#xD6]  /* shortened */
[4a] NameChar      ::= NameStartChar | "-" | [0-9] | #xB7
[5]  Name          ::= NameStartChar (NameChar)*
[17] PITarget      ::= Name - (('X' | 'x') ('M' | 'm') ('L' | 'l'))  [ vc: a constraint ]
[16] PI            ::= '<?' PITarget (S (Char* - (Char* '?>' Char*)))? '?>'
[3]  S             ::= (#x20 | #x9 | #xD | #xA)+
[2]  Char          ::= #x9 | [#x20-#xD7FF]
"""


@pytest.mark.parametrize(
    ("grammar", "fits", "fails"),
    [
        (ISO + "s = meta identifier;", ["a", "b0c1"], ["0a", ""]),
        ('s = "a", ["b"], {"c"} ;', ["a", "ab", "acc"], ["b"]),
        ('s = 2 * "a", 0 * "b" , (3 * ("c" | "d")) .', ["aacdc"], ["aacd", "abcdc"]),
        ("s = (/ 'a' /), (: 'b' / 'c' ! 'd' :) ;", ["", "abcd"], ["aa"]),
        ("s = 'a' | ;", ["", "a"], ["b"]),
        ("s = letters - 'b', 'x' ; letters = 'a' | 'b' | 'c' ;", ["ax", "cx"], ["bx"]),
        ('s = ? /[a-c]{2}/ ?, "\'" ;', ["ab'"], ["a'"]),
        ("s = 'a', (* not (this) *) s | 'b' ;", ["aab"], ["a"]),
        ("(* (* a *) *) s = 'a' (* b (* c *) d *), (**) 'e' ;", ["ae"], ["a"]),
        ("s = {'a'}-, ['b']- ;", ["ab", "aab"], ["b", "a", ""]),
        ("s = '(', {s}-, ')' | 'x' ;", ["x", "(x)", "(x(xx))"], ["()", "(())"]),
        ('s ::= "a"? [b-d#xE9]* (e | #x46)+', ["F", "abéxF"], ["a"]),
        ("s ::= [^a-c] 'x'", ["dx"], ["ax"]),
        ("s ::= a b\na ::= 'x' b\nb ::= 'y'", ["xyy"], ["xy"]),
    ],
)
def test_texts(grammar: str, fits: list[str], fails: list[str]) -> None:
    """Every construct of both styles, on texts that do and do not fit."""
    rules = Ebnf(grammar + ("\ne ::= 'x'" if "(e |" in grammar else ""), start="s").rules()
    assert [text for text in fits + fails if accepts(rules, text)] == fits


WIRTH = """
(* rules end with a dot *)
Module   = "MODULE" name ";" {Import} [Body] "END" name "." .
Import   = "IMPORT" name ";".
Body     = "BEGIN" name { ";" name }.
name     = letter {letter | digit} .
letter   = "a" … "z" .
digit    = `0`..`9` .
"""

MANUAL = """
chunk ::= block

block ::= {stat} [retstat]
stat ::=  ‘;’ |
     ‘do’ block ‘end’ |
     name ‘=’ exp
retstat ::= ‘return’ [exp {‘,’ exp}] [‘;’]
exp ::= name | “nil”
name ::= <a-letter> {<a-letter>}
<a-letter> ::= 'x' | 'y'
"""

HYPHENS = """
const-decl-lst = const-decl { ';' const-decl } ;
const-decl     = letter+ '=' digit* sign? ;
letter = lower - 'b' ;
lower = 'a' | 'b' | 'c' ;
two words = 'd' ;
digit = 'e' | two words letter ;
sign = lower-letter ;
"""


@pytest.mark.parametrize(
    ("grammar", "fits", "fails"),
    [
        (WIRTH, ["MODULEa;ENDz.", "MODULEa;IMPORTb9;BEGINa;bENDa."], ["MODULEa;END9.", "MODULE"]),
        (MANUAL, ["", "x=nil;doyy=xendreturn", "returnx,y;"], ["z=x", "x=", "return;;"]),
        (HYPHENS, ["a=", "ca=eedab", "a=;c=e"], ["=", "b=", "a=a"]),
        ("<s> ::= 'a' <t u> | 'b'\n<t u> ::= <s>", ["b", "aab"], ["a"]),
        ("s := 'a' 2 * t\nt := 'b' | 'c' d\n  d := 'e'", ["abce", "abb"], ["ab", "abcd"]),
        ("s = a b\n c = 'x' ; a b = 'y' ; a = 'z' ;", ["y"], ["zx"]),
        ("s = 'a'? ? /b/ ? ;", ["b", "ab"], ["a", ""]),
    ],
)
def test_notations_near_the_standard(grammar: str, fits: list[str], fails: list[str]) -> None:
    """As manuals have them: no commas, other signs, no end of rules, hyphens, brackets, ranges."""
    rules = Ebnf(grammar).rules()
    assert [text for text in fits + fails if accepts(rules, text)] == fits


def test_the_first_rule_is_the_start() -> None:
    """Unless another is named."""
    grammar = "a = 'x' ; b = 'y' ;"
    assert accepts(Ebnf(grammar).rules(), "x")
    assert accepts(Ebnf(grammar, start="b").rules(), "y")


def test_the_grammar_of_xml_is_read() -> None:
    """Numbers, comments and constraints as in the recommendation; differences of regular rules."""
    rules = Ebnf(XML, start="PI").rules()
    assert accepts(rules, "<?a b?c?>")
    assert not accepts(rules, "<?xml?>")
    assert not accepts(rules, "<?a ?>?>")


def test_the_style_may_be_said() -> None:
    """A `::=` in a string does not make a grammar one of the W3C's."""
    assert accepts(Ebnf("a = '::=' ;").rules(), "::=")
    assert accepts(Ebnf("a ::= 'x'", style="w3c").rules(), "x")
    option = "a ::= [b] 'x'\nb ::= 'y'"
    assert accepts(Ebnf(option, style="iso").rules(), "x")
    assert not accepts(Ebnf(option).rules(), "x")
    assert accepts(Ebnf(option + " {b}").rules(), "x")
    assert accepts(Ebnf("a ::= [{}(*)] /* no { */ '{'").rules(), "}{")
    with pytest.raises(SpecError, match="style"):
        Ebnf("a ::= 'x'", style="abnf").rules()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("grammar", "problem", "line", "column"),
    [
        ('a = "x" b;', "'b' is used but not defined", 1, 9),
        ('a = "x" = "y";', "'=' does not fit", 1, 9),
        ("a = 'x' ; b = 'y'", "the rule has no end", 1, 18),
        ("a = 'ab'..'z' ;", "ends of a range", 1, 5),
        ("a = 'z' … 'a' ;", "ends of a range", 1, 5),
        ("a = 'x'", "the rule has no end", 1, 8),
        ('a = "x', "no end", 1, 5),
        ("a = ('x' ;", "';' does not fit", 1, 10),
        ("a = ['x'", "no ']'", 1, 5),
        ("a = 'x' (* (* *) ;", "comment has no end", 1, 9),
        ("a ::= 'x' #x110000", "no character 110000", 1, 11),
        ("a ::= [b#x110000]", "no character 110000", 1, 9),
        ("a = b;", "'b' is used but not defined", 1, 5),
        ("a = 'x';\na = 'y';", "defined twice", 2, 1),
        ("1 = 'x';", "'1' starts no rule", 1, 1),
        ("a ::= 'x' )", "')' does not fit", 1, 11),
        ("a ::= [b-a]", "range out of order", 1, 7),
        ("a ::= [b", "no ']'", 1, 7),
        ("a ::= 'x' -", "nothing after '-'", 1, 12),
        ("a = ? /(/ ? ;", "not one of Python's", 1, 5),
        ("", "no rules", 0, 0),
    ],
)
def test_wrong_grammars_get_line_and_column(
    grammar: str, problem: str, line: int, column: int
) -> None:
    """With the rule that is being read."""
    with pytest.raises(GrammarError) as caught:
        Ebnf(grammar).rules()
    assert problem in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "grammar",
    ["a = ? any letter ? ;", "a ::= a - 'x' | 'y'", "a = a - 'x' ;", "a = {b}- ; b = ['x', a] ;"],
)
def test_what_has_no_meaning_here_is_refused(grammar: str) -> None:
    """Prose, and differences of recursive rules."""
    with pytest.raises(Unsupported) as caught:
        Ebnf(grammar).rules()
    assert caught.value.location.startswith("line 1 column ")


def test_hostile_grammars() -> None:
    """Nesting is refused; both styles."""
    for grammar in ("a ::= " + "(" * 20_000, "a = " + "(" * 20_000):
        with pytest.raises(BudgetError):
            Ebnf(grammar).rules()


@pytest.mark.parametrize("text", ["a = 'b', [c], {2 * d - \"x\"} ; c = 'x' ;", XML])
def test_all_errors_are_typed(text: str) -> None:
    """Cutting a grammar anywhere gives a grammar or a typed error."""
    broken = 0
    for cut in range(0, len(text), 3):
        try:
            Ebnf(text[:cut]).rules()
        except StructgenError:
            broken += 1
    assert broken
