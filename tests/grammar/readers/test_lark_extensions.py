"""What llguidance and XGrammar add to Lark's language means here what it means there."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.errors import BudgetError, GrammarError, SpecError, StructgenError
from structgen.grammar.ir import Lexing
from structgen.grammar.specs import Lark
from structgen.spec.registry import spec_of
from tests.grammar.laws import check_completions, check_masks, reads
from tests.grammar.viable import Committed

# With each token all its beginnings.
TOKENS = [b"a", b"b", b"c", b"ab", b"bc", b"bb", b"ca", b"cab", b"abc", b"(", b"(x", b"(xa", b"x",
          b"a)", b">", b"."]  # fmt: skip
PERMUTATION = """
start: some::0 "."
some::_: "a" some::set_bit(0) %if bit_clear(0)
       | "b" some::set_bit(1) %if bit_clear(1)
       | "c" some::set_bit(2) %if bit_clear(2)
       | "" %if is_ones([0:3])
"""
TOOLS = r"""
start: (one | two)* rest
rest: TEXT
one: head /a+/ ")"
two: other /b+/ ")"
head[lazy]: TEXT "(x"
other[suffix="(y"]: TEXT
TEXT: /(.|\n)*/
"""


@pytest.mark.parametrize(
    ("grammar", "fits", "fails"),
    [
        ("start: T\nT: A & B\nA: /[a-c]+/\nB: /[b-d]+/", ["b", "bc"], ["a", "d", "ab", ""]),
        ("start: T\nT: /a/ | /[bc]/ & /[cd]/", ["a", "c"], ["b", "d"]),
        ('start: T\nT: /a/ "b" & /.b/', ["ab"], ["b", "a"]),
        ("start: T\nT: /[ab]+/ & ~/.*aa.*/", ["a", "abab"], ["aa", "baab", ""]),
        ('start: T\nT: /[ab]{2}/ & ~"a"+', ["ab", "ba", "bb"], ["a", "b"]),
        ('start: T\nT: ~~"a"', ["a"], ["b", ""]),
        ("start: ~/a*/ \n", ["b", "ab"], ["", "a", "aa"]),
        ('start: "x" ~("a" | "b") "y"?', ["x", "xc", "xaa", "xcy"], ["xa", "xb", "c"]),
        ('start: ~"b".."d"', ["a", "bb"], ["b", "c"]),
        ('start: "a"~2 ~"a"', ["aab", "aa"], ["aaa", "a"]),
        ('start: "<" %regex {"substring_words": "on a  mat."} ">"',
         ["<>", "<a>", "<a  mat>", "<  mat.>"], ["<o>", "< mat>", "<on mat>"]),
        ('start: T\nT: "<" %regex {"substring_chars": "añb"} ">"', ["<ñb>", "<>"], ["<ab>"]),
        ('start: %regex {"substring_chunks": ["ab", "", "c", "ab"]}',
         ["", "ab", "abc", "cab", "abcab"], ["a", "abab", "cc"]),
        ('start: /a*/ "b"\n%ignore / */', ["b", "aab", "a b"], ["a", "ba"]),
        ('start: "" | "a" ""', ["", "a"], ["aa"]),
        ('start: "a"{0} b{0,0} "c"\nb: "b"~0', ["c"], ["ac", "bc"]),
        ('start: ~%regex {"substring_chars": "ab"} | "c"', ["c", "ba"], ["a", "ab", ""]),
        (r"start: /\p{Lu}[\p{Ll}\d]+\PL/", ["Añ!", "Éa1."], ["aa!", "Aa", "A!"]),
        (r"start: /(?<one>\u{1F600}|[^\P{Nd}0-8])+/", ["😀", "9٣"], ["1", "a"]),
        (r"start: /[](?<a\\p{L}]+/", ["](", "?<a", "\\p{L}"], ["b", "é"]),
        ('start: a-b A-B\na-b: "x"\nA-B: "y"', ["xy"], ["a-b", "x"]),
        ('start: a-b a_b\na-b: "x"\na_b: "y"', ["xy"], ["yx", "xx"]),
        ('start: "[" %lark {\n  start: x\n  x: "y" | "(" x ")" } "]" x\nx: "z"',
         ["[y]z", "[((y))]z"], ["[z]z", "[y]y"]),
        (PERMUTATION, ["abc.", "cab.", "bac."], [".", "ab.", "abca.", "aab."]),
        ('start: n::0\nn::_: "a" n::incr([2:4]) %if lt([2:4], 2) | "b"',
         ["b", "ab", "aab"], ["aaab", "a"]),
        ('start: n::0x3\nn::_: "a" n::decr(_) %if not(is_zeros(_)) | "b" %if true',
         ["b", "aaab"], ["aaaab"]),
        ('start: n::5\nn::_: "x" %if and(bit_set(0), bit_count_eq(_, 2)) | "y" %if eq(_, 4)',
         ["x"], ["y"]),
        ('start: n::5\nn::_: "x" %if or(bit_set(1), lt([0:2], 2)) | "y" %if is_ones([1:3])',
         ["x"], ["y"]),
        ('start: "<" a ">"\na[lazy]: /[a-z]+/', ["<a>"], ["<ab>", "<>"]),
        ('start: "<" a ">"\na[lazy]: /[a-z]*/', ["<>"], ["<a>"]),
        ('start: a "c"\na[suffix="b"]: /[a-z]*/', ["aabc", "bc"], ["abbc", "aac", "aab"]),
        ('start: a "c"\na[stop=END]: /[a-z]*/\nEND: "b" | "!"', ["aabc", "a!c"], ["abbc", "ac"]),
        ('start: a "z"\na[suffix="END"i]: /[a-z]*/', ["xendz", "xENDz"], ["xENz", "xendendz"]),
        ('start: a "."\na[stop=""]: /a*/', [".", "aa."], ["a", "ab."]),
        ('start: "<" a ">"\na[max_chars=2]: /.*/', ["<>", "<ñé>", "<a>>"], ["<abc>"]),
        ('start: a "!"\na[max_chars=2, suffix=">"]: /[a-z]*/', ["aa!", "a>!"], ["a!", "aa>!"]),
        ('%llguidance {"ignore_once": true}\nstart: "a" "b"\n%ignore /[ _]{1,2}/',
         ["ab", "a b", "a _b", "ab "], ["a   b", " ab"]),
        ('%llguidance {"skip_repetition": "once"}\nstart: "a" "b"\n%ignore /[ _]{1,2}/',
         ["ab", "a _b"], ["a   b", " ab"]),
        ('%grammar_options {"allow_initial_skip": true}\nstart: "a" "b"\n%ignore " "',
         ["ab", "  a  b  "], ["a_b"]),
        ('%llguidance {}\nstart: a\na: %json {"type": "null"} "."\n%ignore " "',
         ["null .", "null. "], [" null."]),
        (TOOLS, ["", "te(xt".replace("(x", "( x"), "(xa)", "-(yb)-", "a(xaa)b(yb)(c"],
         ["(x", "(xb)", "(ya)", "-(xa)(x", "(xa"]),
    ],
)  # fmt: skip
def test_what_is_added_to_the_language(grammar: str, fits: list[str], fails: list[str]) -> None:
    """Each addition on texts that do and do not fit; and the masks are those of the texts."""
    spec = Lark(grammar)
    automaton = spec.automaton()
    for text in fits:
        assert reads(automaton, text), text
    for text in fails:
        assert not reads(automaton, text), text
    check_masks(automaton, TOKENS, 1)
    again = spec_of({"kind": spec.kind, **json.loads(json.dumps(spec.to_json()))})
    assert again == spec
    assert all(reads(again.automaton(), text) for text in fits)


WORDS = ["".join(word) for n in range(5) for word in itertools.product("ab", repeat=n)]
LEAVES = {
    '"a"': {"a"},
    '"ab"': {"ab"},
    "/[ab]/": {"a", "b"},
    "/a*/": {word for word in WORDS if not word.strip("a")},
    "/.*b.*/": {word for word in WORDS if "b" in word},
    '%regex {"substring_chars": "abb"}': {"", "a", "b", "ab", "bb", "abb"},
}
TERMINALS = st.recursive(
    st.sampled_from(list(LEAVES)).map(lambda leaf: (leaf, frozenset(LEAVES[leaf]))),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: (f"({p[0][0]} | {p[1][0]})", p[0][1] | p[1][1])),
        st.tuples(inner, inner).map(lambda p: (f"({p[0][0]} & {p[1][0]})", p[0][1] & p[1][1])),
        inner.map(lambda p: (f"~({p[0]})", frozenset(WORDS) - p[1])),
        st.tuples(inner, inner).map(
            lambda p: (f"({p[0][0]} {p[1][0]})",
                       frozenset(a + b for a in p[0][1] for b in p[1][1]) & frozenset(WORDS))
        ),
        inner.map(lambda p: (f"({p[0]})?", p[1] | {""})),
    ),
    max_leaves=6,
)  # fmt: skip


@given(TERMINALS)
def test_terminals_with_and_and_not_are_sets_of_words(drawn: tuple[str, frozenset[str]]) -> None:
    """Union, intersection, complement and concatenation, by enumeration of all short words."""
    written, words = drawn
    automaton = Lark(f'start: T\nT: ({written}) & /[ab]*/ | "c"').automaton()
    for word in WORDS:
        assert reads(automaton, word) == (word in words), word


@given(
    st.sampled_from(["/[ab]*/", "/a+b?/", '("a" | "ba")+', "/(a|ab)*/"]),
    st.sampled_from(['"b"', '"ab"', "/b|aa/", "/b+/"]),
    st.integers(0, 5) | st.none(),
    st.lists(st.text("ab", max_size=6), min_size=8),
)
def test_a_lexeme_with_a_marker_ends_at_the_first(
    body: str, marker: str, most: int | None, texts: list[str]
) -> None:
    """By `re`: the body and a marker, no part of it has both; or as many characters as may be."""
    bound = "" if most is None else f", max_chars={most}"
    automaton = Lark(f'start: "<" (a ">" | "!")\na[suffix={marker}{bound}]: {body}').automaton()
    python = [
        re.sub(r'"(\w+)"', r"\1", part.strip("/")).replace(" ", "") for part in (body, marker)
    ]
    alone, marked = re.compile(python[0]), re.compile(f"(?:{python[0]})(?:{python[1]})")

    def fits(text: str) -> bool:
        begins = [n for n in range(len(text) + 1) if marked.fullmatch(text[:n])]
        if begins:
            return begins == [len(text)] and (most is None or len(text) <= most)
        return most is not None and len(text) == most and alone.fullmatch(text) is not None

    for text in texts:
        assert reads(automaton, f"<{text}>") == fits(text), text


@given(st.lists(st.sampled_from(["a", "b", "ab", "ba", ""]), max_size=6), st.text("ab", max_size=6))
def test_stretches_of_pieces_are_slices(pieces: list[str], text: str) -> None:
    """All slices of the list, joined."""
    slices = {
        "".join(pieces[i:j]) for i in range(len(pieces) + 1) for j in range(i, len(pieces) + 1)
    }
    grammar = f'start: "<" %regex {json.dumps({"substring_chunks": pieces})} ">"'
    automaton = Lark(grammar).automaton()
    for one in [text, *slices]:
        assert reads(automaton, f"<{one}>") == (one in slices), one


COMMITTING = [
    'start: (a "c")* b\na[lazy]: X "bb"\nb: X?\nX: "a" | "b" | "ab"',
    'start: a "c" | b\na[lazy]: /[ab]*b/\nb: "a" "a" "b" "c" "c" | "abc"',
    'start: (a | b)*\na[lazy]: "ab" | "b"\nb: "a" | "ba" | "c"',
    'start: a b | b a\na[suffix="b"]: "a"? "c"?\nb: "ab" | "cb" | "cc" | "a"\n%ignore "aa"',
    'start: (a "a")~0..2 | "b" "b" "c"\na[lazy, max_chars=2]: ~"" & /[ab]*b/',
]


@pytest.mark.parametrize("grammar", COMMITTING)
@given(texts=st.lists(st.text("abc", max_size=7), min_size=6), seed=st.integers(0, 99))
def test_what_commits_ends_what_is_read_beside_it(
    grammar: str, texts: list[str], seed: int
) -> None:
    """By the definition: of what can begin at a place nothing is read past the first commitment."""
    automaton, by_definition = Lark(grammar).automaton(), Committed(grammar)
    for text in texts:
        assert reads(automaton, text) == by_definition.accepts(text), text
    check_masks(automaton, TOKENS, seed)
    check_completions(automaton, by_definition.accepts, texts, seed)


def test_a_text_cannot_stay_in_free_text_behind_a_trigger() -> None:
    """The mask behind a trigger has what must follow it, and not the end."""
    tokens = [b"</s>", b"(x", b"a", b")", b"z", b"(", b"x"]
    constraint = sg.compile(sg.Lark(TOOLS), sg.Vocabulary(tokens, eos_ids=[0]))

    def allowed(state: int) -> list[bytes]:
        row = sg_row(constraint, state)
        return [token for i, token in enumerate(tokens) if row >> i & 1]

    assert allowed(constraint.start) == tokens
    assert allowed(constraint.advance(constraint.start, 1)) == [b"a"]
    assert allowed(constraint.advance_bytes(constraint.start, b"(")) == tokens
    assert allowed(constraint.advance_bytes(constraint.start, b"z(xa)")) == tokens


def sg_row(constraint: Any, state: int) -> int:
    """The mask of a state as an int."""
    import numpy as np

    row = np.zeros(1, np.int32)
    constraint.fill_mask(state, row)
    return int(row[0])


def test_other_grammars_are_named() -> None:
    """Specs of any kind, and texts in the language that name one another."""
    grammars = {
        "pair": 'start: @item ":" @item',
        "item": "start: /[a-z]+/ | @number",
        "number": sg.Regex("[0-9]+"),
        "flag": {"type": "boolean"},
    }
    spec = Lark('start: "<" @pair ">" %lark { start: @flag }?', grammars=grammars)
    again = spec_of({"kind": spec.kind, **json.loads(json.dumps(spec.to_json()))})
    for one in (spec, again):
        for text, fits in (
            ("<a:12>", True),
            ("<1:b>true", True),
            ("<a>", False),
            ("<a:b>x", False),
        ):
            assert reads(one.automaton(), text) == fits, text


def test_grammars_cannot_name_each_other_in_a_circle() -> None:
    """The error names the circle."""
    with pytest.raises(SpecError, match="@left -> @right -> @left"):
        Lark("start: @left", grammars={"left": "start: @right", "right": "start: @left"})
    with pytest.raises(SpecError, match="name of a grammar"):
        Lark("start: @left", grammars={"no name": "start: @right"})


@pytest.mark.parametrize(
    ("grammar", "problem", "line", "column"),
    [
        ('start: A & A\nA: "a"', "'&' joins terminals", 1, 10),
        ("start: T\nT: %json {}", "'%json' in a terminal", 2, 4),
        ('start: T\nT: %lark { start: "a" }', "%lark in a terminal", 2, 4),
        ("start: T\nT: @name", "in a terminal", 2, 4),
        ("start: T\nT: <[3]>", "a token in a terminal", 2, 4),
        ("start: @name", "there is no grammar 'name'", 1, 8),
        ("start: %lark", "no text in braces", 1, 8),
        ('start: %regex {"chars": "a"}', "there is no 'chars'", 1, 8),
        ('start: %regex {"substring_chars": ["a"]}', "is wrong after '%regex'", 1, 8),
        ("start: %regex {}", "has not one member", 1, 8),
        ("start: <[3-1]>", "out of order", 1, 8),
        ('start[budget=1]: "a"', "there is no option 'budget'", 1, 7),
        ('start: a\na[max_tokens=3]: "a"', "'max_tokens' cannot be enforced", 2, 3),
        ('start: a\na[lazy, temperature=0.5]: "a"', "'temperature' cannot be enforced", 2, 9),
        ('start[lazy, lazy]: "a"', "twice", 1, 13),
        ('start[stop="a", suffix="b"]: "a"', "cannot be used together", 1, 24),
        ('start[stop_capture="a"]: "a"', "needs suffix or stop", 1, 20),
        ('start[suffix=""]: "a"', "is empty", 1, 14),
        ("start[suffix=end]: /a/", "no value of suffix", 1, 14),
        ('start[capture="a b"]: "a"', "no value of capture", 1, 15),
        ('start[max_chars="3"]: "a"', "no value of max_chars", 1, 17),
        ('start: T\nT[lazy]: "a"', "the terminal 'T' has options", 2, 2),
        ('start[lazy]: a\na: "a"', "uses the rule 'a'", 1, 14),
        ("start[suffix=MISSING]: /a/", "MISSING", 1, 14),
        ('start: a::1\na: "a"', "'a' has no parameter", 1, 8),
        ('start: a\na::_: "a"', "'a' has a parameter", 1, 8),
        ('start: a::_\na::_: "a"', "wants a parameter", 1, 8),
        ('start: "a" %if bit_set(0)', "wants a parameter", 1, 1),
        ('start: a::0\na::_: "a" %if eq([3:3], 0)', "are none", 2, 18),
        ('start: a::0\na::_: "a" %if eq([64:65], 0)', "64 is too large", 2, 19),
        ('start: a::0\na::_: "a" %if some(_)', "no condition 'some'", 2, 14),
        ('start: a::flip(1)\na::_: "a"', "no function 'flip'", 1, 11),
        ('start: T\nT: "a" %if true', "'%if' in a terminal", 2, 8),
        ('%llguidance {"ignore_once": 1}\nstart: "a"', "not true or false", 1, 1),
        ('%llguidance {"skip_repetition": "twice"}\nstart: "a"', "not 'once'", 1, 1),
        ('%grammar_options {"speed": true}\nstart: "a"', "no option 'speed'", 1, 1),
        ('start: "ab".."c"', "no range of characters", 1, 8),
        (r'start: "\xZZ"', "has an escape that is none", 1, 8),
        ('start: T\nT: "a"{3,2}', "bad Range", 2, 1),
        ("start: T\nT: /a\\b/ & /a/", "an assertion beside", 2, 1),
        ("start: /a?(?=b)/", "may be empty and looks around", 1, 8),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_gets_line_and_column(
    grammar: str, problem: str, line: int, column: int
) -> None:
    """The place is that in the text as written."""
    with pytest.raises(StructgenError) as caught:
        Lark(grammar).automaton()
    assert problem in str(caught.value)
    assert f"line {line} column {column}" in str(caught.value)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("grammar", "problem"),
    [
        ('start: n::0\nn::_: "a" n::incr(_) | "b"', "more than 20000 values"),
        ("start: " + "%lark { start: " * 200 + '"a"' + "}" * 200, "stand in one another"),
        ('start: n::0\nn::_: "a" %if ' + "not(" * 5000 + "true" + ")" * 5000, "too deeply"),
        ("start: %regex " + "[" * 100_000, "too deeply"),
        ('start: a "z"\na[max_chars=5000, suffix="<t>"]: /(.|\\n)*/', "20000 byte states"),
    ],
    ids=["parameter", "lark", "condition", "json", "characters"],
)
def test_what_is_too_much_ends_in_a_budget_error(grammar: str, problem: str) -> None:
    """Endless counts, and nesting without an end."""
    with pytest.raises(BudgetError, match=problem):
        Lark(grammar).automaton()


@pytest.mark.thorough
def test_long_counts_and_long_texts_to_quote_compile() -> None:
    """Thousands of values of a parameter, which are rules in a chain; thousands of words."""
    counts = (
        'start: n::0 "x"\nn::_: "a" n::incr(_) %if lt(_, 1500) | m::_\n'
        'm::_: "b" m::incr(_) %if lt(_, 1500) | ""'
    )
    automaton = Lark(counts).automaton()
    for text, fits in (("a" * 700 + "b" * 800 + "x", True), ("a" * 701 + "b" * 800 + "x", False)):
        assert reads(automaton, text) == fits
    words = " ".join(f"word{i * i}" for i in range(4000))
    quoted = json.dumps({"substring_words": words})
    automaton = Lark(f'start: "<" %regex {quoted} ">"').automaton()
    for text, fits in ((words[:-1], False), (words, True), (words.replace("word9 ", ""), False)):
        assert reads(automaton, f"<{text}>") == fits


@pytest.mark.parametrize("lexing", ["viable", "longest"])
def test_lexemes_with_an_end_of_their_own_want_free_lexing(lexing: Any) -> None:
    """Where terminals have an order, the first in it counts."""
    with pytest.raises(GrammarError, match="cannot be read with lexing") as caught:
        Lark('start: a\na[lazy]: "a"', lexing=lexing).rules()
    assert caught.value.line == 2


@pytest.mark.parametrize("lexing", ["free", "viable", "longest"])
def test_terminals_that_lark_has_not_are_read_with_any_lexing(lexing: Any) -> None:
    """Lark's parser cannot be made of them; the lexer reads them all the same."""
    automaton = Lark('start: (T /c*/ "-")+\nT: /[ab]+/ & ~/aa/', lexing=lexing).automaton()
    for text, fits in (("abcc-b-", True), ("aa-", False), ("aac-", False), ("c-", False)):
        assert reads(automaton, text) == fits, text


@pytest.mark.parametrize("lexing", ["free", "viable", "longest"])
@pytest.mark.parametrize("grammar", ["start: %json true", 'start: "x" | ""', 'start: "a" "" ";"'])
def test_additions_that_stand_alone_are_read_with_any_lexing(grammar: str, lexing: Lexing) -> None:
    """Whatever else the text of the grammar has."""
    alone, beside = (
        Lark(text, lexing=lexing) for text in (grammar, f"{grammar}\n%declare X\nother: X{{2}}")
    )
    for text in ("1", "x", "", "a;", "a"):
        assert reads(alone.automaton(), text) == reads(beside.automaton(), text)
