"""Grammars read from Lark's language accept the texts that Lark accepts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lark import Lark as LarkParser
from lark.exceptions import LarkError

import structgen as sg
from structgen.errors import (
    BudgetError,
    GrammarError,
    SpecError,
    StructgenError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    ValidationError,
)
from structgen.grammar.ir import Grammar, Indentation, Place
from structgen.grammar.readers.lark import reader
from structgen.grammar.specs import Gbnf, Lark
from structgen.spec.registry import spec_of
from tests.grammar.reference import accepts, lark_accepts

SYMBOLS = st.sampled_from(
    ["a", "b", "c", "A", "B", "C", '"x"', '"y"', '"xy"', "/x+/", "/y?x/", '"X"i', '"x".."z"']
)
OPERATORS = st.sampled_from(["", "", "", "", "?", "*", "+", "~2", "~1..3"])
TERMINALS = [
    'A: "x" | "xy"',
    "B: /y+x?/",
    'C: ("x" | "y")~1..2 "z"?',
    "A: /x|xy/",
    "B: /x*?y/",
    "C: /(?!xy)[xyz]+/",
    'A.2: "x"+',
    'B: A "y"\nA: "x"',
]


@st.composite
def grammars(draw: st.DrawFn) -> str:
    """A small grammar over x, y and z, with recursion of any kind."""

    def expression(depth: int) -> str:
        count = draw(st.integers(0, 3))
        parts = []
        for _ in range(count):
            if depth and draw(st.integers(0, 4)) == 0:
                inner = " | ".join(expression(depth - 1) for _ in range(draw(st.integers(1, 2))))
                part = f"({inner})" if draw(st.booleans()) else f"[{inner}]"
            else:
                part = draw(SYMBOLS)
            parts.append(part + draw(OPERATORS))
        return " ".join(parts)

    lines = [
        f"{name}: " + " | ".join(expression(1) for _ in range(draw(st.integers(1, 3))))
        for name in ("start", "a", "b", "c")
    ]
    wanted: dict[str, str] = {}
    for definition in draw(st.permutations(TERMINALS)):
        names = [line.split(":")[0].split(".")[0] for line in definition.split("\n")]
        if not wanted.keys() & set(names):
            wanted |= dict.fromkeys(names, "")
            lines.append(definition)
    if draw(st.integers(0, 3)) == 0:
        lines.append(draw(st.sampled_from(['%ignore "z"', "%ignore /z+/", "%ignore A"])))
    return "\n".join(lines) + "\n"


@given(grammars(), st.lists(st.text("xyz", max_size=6), min_size=4, max_size=8))
def test_small_grammars_accept_what_lark_accepts(grammar: str, texts: list[str]) -> None:
    """Rules, terminals, options, counts, templates of names, ignored terminals, any recursion."""
    try:
        theirs = LarkParser(grammar, parser="earley", lexer="dynamic", ambiguity="forest")
    except LarkError:
        assume(False)
    ours = Lark(grammar).rules()
    for text in texts:
        expected = lark_accepts(theirs, text)
        assert expected in (None, accepts(ours, text)), text


def read(text: str, **options: Any) -> Grammar:
    """The rules of a Lark grammar."""
    return Lark(text, **options).rules()


@pytest.mark.parametrize(
    ("grammar", "fits", "fails"),
    [
        ('start: "a"~2..3', ["aa", "aaa"], ["a", "aaaa"]),
        ('start: "a"~5..19', ["a" * 5, "a" * 12, "a" * 19], ["a" * 4, "a" * 20]),
        ('start: "a"~40', ["a" * 40], ["a" * 39, "a" * 41]),
        ('start: "a".."c"+', ["abc"], ["d", ""]),
        ('start: "ab"i | /é|x/i', ["aB", "É", "X"], ["b"]),
        ("start: /a  b # c\n/x", ["ab"], ["a b"]),
        ("start: /a.b/s", ["a\nb"], ["ab"]),
        ('start: list{WORD, ","}\nlist{x, y}: x (y x)*\nWORD: /[a-z]+/', ["a,b", "a"], ["a,"]),
        ('start: "a"\n%override start: "b"', ["b"], ["a"]),
        ('start: "a"\n%extend start: "b"', ["a", "b"], ["c"]),
        ("start: INT\n%import common.INT", ["12"], ["-1"]),
        ("start: (NUMBER WS)+\n%import common (NUMBER, WS)", ["1.5e3 2 "], ["1"]),
        ("start: ESCAPED_STRING\n%import common.ESCAPED_STRING", ['"a\\"b"'], ['"a"b"', '"a\\"']),
        ('start: "a" "b"\n%ignore " "', ["a b", " ab  "], ["a-b"]),
        ('start: A A\nA: /a+/', [], ["aa", "aaa"]),
        ("start: /(?!if\\b)\\w+/", ["iff", "a"], ["if", ""]),
        ('start: A\nA: B? "a"\nC: "c"\nB: /b/\n%ignore C\n%ignore B', ["ac", "bab"], ["b"]),
    ],
)  # fmt: skip
def test_features_of_the_language(grammar: str, fits: list[str], fails: list[str]) -> None:
    """What Lark's reference describes, on texts that do and do not fit; Lark agrees."""
    ours = read(grammar)
    theirs = LarkParser(grammar, parser="earley", lexer="dynamic")
    for text in fits + fails:
        assert accepts(ours, text) == (text in fits)
        assert lark_accepts(theirs, text) == (text in fits)


@pytest.mark.parametrize(
    ("braces", "tilde"),
    [
        ("{2}", "~2"),
        ("{1,3}", "~1..3"),
        ("{ 2 , 4 }", "~2..4"),
        ("{,2}", "~0..2"),
        ("{3,}", "~3..20"),
    ],
)
def test_counts_in_braces_are_those_behind_a_tilde(braces: str, tilde: str) -> None:
    """In rules and in terminals; Lark says what these accept."""
    for grammar in ('start: "a"COUNT "b"', 'start: X "b"\nX: ("a" | "c")COUNT "x"'):
        theirs = LarkParser(grammar.replace("COUNT", tilde))
        ours = read(grammar.replace("COUNT", braces))
        for count in range(8):
            for text in ("a" * count + "b", "ac" * (count // 2) + "c" * (count % 2) + "xb"):
                assert accepts(ours, text) == lark_accepts(theirs, text), text


def test_errors_behind_what_lark_does_not_read_keep_their_place() -> None:
    """Counts, tokens and schemas are written otherwise for Lark; errors show the text as it is."""
    for line in (
        'start: "a"{2,} "b"{,3} )',
        'start: <[5]> <x> "a"{1,} )',
        'start: %json {"type": "null"} %json 1 )',
        'start: "a"{7,} %json {\n "type": "null"} "b"{2,} )',
    ):
        with pytest.raises(GrammarError) as caught:
            read(line)
        last = line.rpartition("\n")[2]
        assert (caught.value.line, caught.value.column) == (line.count("\n") + 1, len(last))


def test_terminals_carry_what_decides_lark_s_order() -> None:
    """Priority, width and length of the pattern, flags and literal text, as Lark has them."""
    text = 'start: "if"i NAME A\nNAME.3: /[a-z]{2,5}/\nA: "x" | "yz"\n'
    theirs = {t.name: t for t in LarkParser(text).terminals}
    ours = read(text).terminals
    assert ours.keys() == theirs.keys()
    for name, terminal in ours.items():
        pattern = theirs[name].pattern
        assert terminal.priority == theirs[name].priority
        assert terminal.max_width == pattern.max_width
        assert terminal.pattern_length == len(pattern.value)
        assert terminal.flags == pattern.flags
        assert terminal.text == (pattern.value if pattern.type == "str" else None)


PIECES = [
    '"a"', '"|"', '"3}"', '"*"', "/a|b/", "/[a|]/", "/a{2/", "/,3}/", "/a{0,3}/", "/x*/", r"/\|/",
    "/(a|bc)/", r"/(a)\1/", r"/\0/", '"0"', "/(?!a)b/", "/./s", "/ab/i", "/a+?/",
]  # fmt: skip


@given(
    st.recursive(
        st.sampled_from(PIECES),
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({' '.join(parts)})")
            | st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})")
            | st.tuples(inner, st.sampled_from("?*+") | st.just("~2")).map("".join)
        ),
        max_leaves=6,
    )
)
def test_widths_of_what_is_joined_are_those_that_lark_finds(joined: str) -> None:
    """They order alternatives, and terminals."""
    text = f'start: T\nT: "q" ({joined} | "r")\n'
    try:
        [theirs] = LarkParser(text, lexer="basic").terminals
        [ours] = Lark(text).rules().terminals.values()
    except (GrammarError, BudgetError, UnsupportedSchemaError, LarkError):
        assume(False)
    assert ours.max_width == theirs.pattern.max_width


def test_messages_name_terminals_as_they_are_written() -> None:
    """A literal shows itself, a terminal its name."""
    shown = {
        str(terminal) for terminal in read('start: "if" NAME /x/\nNAME: /a/').terminals.values()
    }
    assert shown == {'"if"', "NAME", "/x/"}


@pytest.mark.parametrize(
    ("grammar", "problem", "line", "column", "rule"),
    [
        ('start: "a"\nb: c\n', "'c' used but not defined", 2, 4, "b"),
        ('start: "a', "string has no end", 1, 8, "start"),
        ('start: (a\na: "x"', "ends too soon", 1, 10, "start"),
        ('start: a )\na: "x"', "')' does not fit", 1, 10, "start"),
        ("start: /a(/", "missing )", 1, 8, ""),
        ('start: "a"\nstart: "b"', "defined more than once", 2, 1, ""),
        ("start: A\nA: B\nB: A", "ecursion", 2, 1, "A"),
        ("start: A\nA: start", "'A' uses the rule 'start'", 2, 4, "A"),
        ('start: b\nb: "b"\n%ignore b', "rule 'b' cannot be ignored", 3, 9, ""),
        ('start: "a"\n%ignore WS', "ignored terminal 'WS' is not defined", 2, 9, ""),
        ('start: "z".."a"', "bad character range z-a", 1, 8, ""),
        ('a: "x"\nstart: "a"~3..2', "3 to 2 times", 2, 11, "start"),
        ("start: x{A}\nA: /a/", "not defined", 1, 8, "start"),
        ('start: %json {"a" 1}', "not JSON", 1, 19, "start"),
        ("start: A\nA: %json {}", "in a terminal", 2, 4, "A"),
        ('start: %json {"x":\n 1} ) "a"', "')' does not fit", 2, 5, "start"),
        ('start: "a" -> A', "lias", 1, 15, "start"),
        ('start: A\nA: "x" q{"a"}\nq{p}: p', "'A' uses a template", 2, 9, "A"),
        ('start: A\nA: q{"a"}\nq{p}: p', "'A' uses a template", 2, 5, "A"),
    ],
)
def test_wrong_grammars_get_line_column_rule_and_caret(
    grammar: str, problem: str, line: int, column: int, rule: str
) -> None:
    """Whatever Lark or its patterns complain about has a place, also where Lark gives none."""
    with pytest.raises(GrammarError, match="(?i)" + re.escape(problem)) as caught:
        read(grammar)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert rule in ("", error.rule)
    shown, caret = error.excerpt.split("\n")
    assert shown.strip() == grammar.split("\n")[line - 1].strip()
    assert caret.index("^") == shown.index(shown.strip()[0]) + column - 1 or line > 1


@pytest.mark.parametrize(
    ("grammar", "problem", "place"),
    [
        ("start: A\n%declare A", "declared", "line 1 column 8"),
        ('start: "x" /(a)\\1/', "backreference", "line 1 column 12"),
        ("start: A\nA: /a?(?=\\bx)x/", "text before", "line 2 column 1"),
        ("start: A\nA: /(?<=^x)y/", "inside a lookbehind", "line 2 column 1"),
    ],
)
def test_what_is_not_regular_is_refused_with_its_place(
    grammar: str, problem: str, place: str
) -> None:
    """Legal for Lark, but not a language of the terminal's own text."""
    with pytest.raises(UnsupportedSchemaError, match=problem) as caught:
        read(grammar)
    assert caught.value.location == place


def test_schemas_and_specs_stand_inside_grammars() -> None:
    """`%json` and refs become nested terminals; lines behind a long schema keep their numbers."""
    grammar = read(
        'start: %json {"type":\n "null"} V\n%declare V\nb: "x"', refs={"V": Gbnf('root ::= "v"')}
    )
    nested = [t.nested for t in grammar.terminals.values() if t.nested is not None]
    assert [spec.kind for spec in nested] == ["json_schema", "gbnf"]
    assert grammar.rules["b"].place == Place(4, 1)


@pytest.mark.parametrize("rest", ['"b" _IN\n%declare _IN', r'"b" ODD' + "\nODD: /(b)\\1/"])
def test_what_nothing_leads_to_need_not_mean_anything(rest: str) -> None:
    """A terminal that is declared only, or not regular, in a rule that is not used."""
    sg.check(sg.Lark(f'start: "a"\nother: {rest}'), "a")
    with pytest.raises(UnsupportedSchemaError):
        sg.Lark(f'start: "a" other\nother: {rest}').automaton()


def test_layout_gives_declared_terminals_a_meaning() -> None:
    """Indent and dedent need no text of their own."""
    layout = Indentation("NL", "IN", "OUT")
    grammar = read(
        'start: "a" NL IN start OUT | "b" NL\nNL: /\\n */\n%declare IN OUT', layout=layout
    )
    assert grammar.layout == layout
    assert {"NL", "IN", "OUT"} <= grammar.terminals.keys()


def test_imports_are_found_beside_the_file_and_in_import_paths(tmp_path: Path) -> None:
    """Relative to the importing file at every step; and a stored copy needs no file."""
    (tmp_path / "library").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "library" / "words.lark").write_text('WORD: "w" DIGIT\n%import common.DIGIT\n')
    (tmp_path / "sub" / "inner.lark").write_text('x: "x" y\n%import .deep.y\n')
    (tmp_path / "sub" / "deep.lark").write_text('y: "y"\n')
    main = tmp_path / "main.lark"
    main.write_text("start: x WORD\n%import .sub.inner.x\n%import words.WORD\n")
    spec = Lark.from_file(main, import_paths=[str(tmp_path / "library")])
    assert accepts(spec.rules(), "xyw1")
    stored = spec_of({"kind": "lark", **json.loads(json.dumps(spec.to_json()))})
    main.unlink()
    (tmp_path / "sub" / "deep.lark").write_text('y: "changed"\n')
    assert stored == spec
    assert isinstance(stored, Lark)
    assert accepts(stored.rules(), "xyw1")
    assert stored.to_json() == json.loads(json.dumps(stored.to_json()))


def test_imported_files_of_terminals_are_read_as_far_as_they_are_used(tmp_path: Path) -> None:
    """With all that these use, wherever it stands; what is not there is missed."""
    words = 'A.2: "a" C\n\n// aside\nB: "b"\nC : D+ "c"\nD: "d" | "e"\nUNUSED: B A\n'
    (tmp_path / "words.lark").write_text(words)
    (tmp_path / "others.lark").write_text("x: A B\n%import words (A, B)\n")
    main = tmp_path / "main.lark"
    main.write_text("start: x D\n%import others.x\n%import words.D\n")
    rules = Lark.from_file(main, import_paths=[str(tmp_path)]).rules()
    assert accepts(rules, "adecbd")
    assert not accepts(rules, "acbd")
    main.write_text("start: E\n%import words.E\n")
    with pytest.raises(GrammarError, match="E"):
        Lark.from_file(main, import_paths=[str(tmp_path)]).rules()


def test_an_error_in_an_imported_grammar_names_its_file(tmp_path: Path) -> None:
    """The excerpt is of the imported text."""
    (tmp_path / "inner.lark").write_text('x: "x"\ny: )\n')
    main = tmp_path / "main.lark"
    main.write_text("start: x\n%import .inner.x\n")
    with pytest.raises(GrammarError, match=r"inner.lark: line 2 column 4"):
        Lark.from_file(main).rules()
    main.write_text("start: x\n%import .missing.x\n")
    with pytest.raises(SpecError, match=r"'missing.lark' is not found"):
        Lark.from_file(main).rules()


@pytest.mark.parametrize(
    "grammar",
    [
        "start: " + "(" * 5000 + '"a"' + ")" * 5000,
        "start: A100\nA0: /a/\n" + "\n".join(f"A{i + 1}: A{i} A{i}" for i in range(100)),
        'start: x{"a"}\nx{y}: x{z{y}}\nz{y}: y',
        'start: "a"~1..9999999',
    ],
)
def test_hostile_grammars_end_in_a_budget_error(grammar: str) -> None:
    """Nesting, doubling, endless templates and counts are refused, not tried."""
    with pytest.raises(BudgetError):
        read(grammar)


def test_templates_that_double_end_in_a_budget_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each uses the next with two arguments: 2 ** 20 rules."""
    monkeypatch.setattr(reader, "MAX_INSTANCES", 500)
    doubling = [f"t{i}{{x}}: t{i + 1}{{a{{x}}}} | t{i + 1}{{b{{x}}}}" for i in range(20)]
    few, rest = doubling[15:], 't20{x}: x\na{x}: x "a"\nb{x}: x "b"'
    with pytest.raises(BudgetError, match="more than 500 rules"):
        read("\n".join(['start: t0{"s"}', *doubling, rest]))
    assert accepts(read("\n".join(['start: t15{"s"}', *few, rest])), "saabab")


def test_sixty_options_are_sixty_rules() -> None:
    """Options are not multiplied out."""
    grammar = read("start: " + " ".join(f'"a{i}"?' for i in range(60)))
    assert len(grammar.rules) == 61
    assert accepts(grammar, "a0a59")


def test_a_start_that_cannot_end_is_unsatisfiable() -> None:
    """The error names rules that need each other."""
    with pytest.raises(UnsatisfiableSchemaError, match=r"start, a") as caught:
        Lark("start: a\na: start").automaton()
    assert caught.value.location == "line 1 column 1"


def test_a_grammar_is_text() -> None:
    """A path is not read by accident."""
    with pytest.raises(SpecError, match="from_file"):
        Lark(Path("x.lark"))  # type: ignore[arg-type]


def test_all_errors_are_typed() -> None:
    """Cutting a grammar anywhere gives a grammar or a typed error."""
    text = 'start: a{"x"}~1..3 | [b] -> c // d\na{x}.2: (x | /y+/i)*\n?b: B\nB: "b".."d"\n%ignore B'
    broken = 0
    for cut in range(len(text)):
        try:
            read(text[:cut])
        except StructgenError:
            broken += 1
    assert 0 < broken < len(text)


def test_what_has_no_name_is_shown_as_it_is_written() -> None:
    """Messages name ignored patterns, ranges and literals with the words of the grammar."""
    spec = sg.Lark(
        """start: "a" (B | "x".."z" | /q{2}/ | "=")
        B: /[0-9]+/
        %ignore /[ \\t]+/
        %ignore "#" /[^\\n]*/  // comments
        %ignore B
          | "-"
        """
    )
    with pytest.raises(ValidationError) as raised:
        sg.check(spec, "a ?")
    for shown in ('"x".."z"', "/q{2}/", '"="', r"/[ \t]+/", r'"#" /[^\n]*/', '| "-"'):
        assert shown in raised.value.expected
    assert "__" not in str(raised.value)
