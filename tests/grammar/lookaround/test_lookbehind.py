"""Grammars whose terminals look at the text before them read what Lark reads.

Lark's Earley parser decides, which hands the whole text to `re`; nothing of ours is taken for
granted.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from lark import Lark

import structgen as sg
from structgen.automata.interface import Automaton
from structgen.errors import (
    BudgetError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    ValidationError,
)
from structgen.grammar.lookaround.prefix_dfa import PrefixDfa
from structgen.regular.charset import CharSet
from structgen.regular.regex import ANY, ANY_CHAR, chars, concat
from tests.grammar.laws import check_masks, reads
from tests.grammar.reference import lark_accepts

# Name: grammar, and the letters of its texts.
GRAMMARS = {
    "a keyword": (
        r"""start: (IF | NAME | NUM)+
        IF: /\bif\b/
        NAME: /[fi]+/
        NUM: /1(?<!i1)/
        %ignore " "
        """,
        "if1 ",
    ),
    "no sign before": ('start: (X | M)+\nX: /(?<!-)x/\nM: "-" | "y"', "x-y"),
    "two characters before": ("start: (A | B | C)+\nA: /(?<=ab)c/\nB: /a/\nC: /b/", "abc"),
    "two characters, one of them its own": (
        "start: (A | B | C)+\nA: /c(?<=bc)a?/\nB: /a|b/\nC: \"c\" B",
        "abc",
    ),
    "the start of the text": ('start: (A | B)*\nA: /^a/\nB: /b|ab/\n%ignore "c"', "abc"),
    "the start, whatever the flags": ('start: (A | B)*\nA: /(?m:\\Aab?|b)/\nB: "c"', "abc"),
    "the start of a line": ("start: (A | B)*\nA: /^a/m\nB: /b|\\n/", "ab\n"),
    "inside a word": ("start: (A | B)*\nA: /\\Ba/\nB: /b|-/", "ab-"),
    "at a place that moves": ("start: (A | B)*\nA: /a*\\bb/\nB: /b|-/", "ab-"),
    "ahead as well": ("start: (A | B)*\nA: /(?<!b)[ab]+(?=-)|-/\nB: /b/", "ab-"),
    "ahead, with ends of two kinds": (
        "start: (A | B)*\nA: /[ab]+?(?=-|ab)/\nB: /(?<=b)[ab]-?|-a/",
        "ab-",
    ),
    "one of several": (r"start: (/\ba/ | /(?<=b)a/ | /\Bb/ | B)*" + '\nB: "-" | "-b"', "ab-"),
    "rules that may be empty": (
        r"start: x y x" + "\nx: A?\ny: | B y\nA: /\\ba/\nB: /(?<!b)b/\n%ignore / +/",
        "ab ",
    ),
    "recursion": (
        'start: "(" start ")" start | A |\nA: /(?<=[(])a|(?<![a(])aa/\n%ignore "-"',
        "(a)-",
    ),
    "recursion on both sides": ('start: start A start | B\nA: /(?<=b)-|a/\nB: /\\bb|a/', "ab-"),
    "what is ignored looks behind": (
        'start: (A | B)+\nA: "a"\nB: /\\bb/\n%ignore /(?<=a) +|-/\n%ignore /^-/',
        "ab -",
    ),
    "what is ignored is wanted, too": (
        'start: (A | " " B)+\nA: /(?<! )a/\nB: /(?<= )b|a/\n%ignore " "',
        "ab ",
    ),
    "counts": ("start: A~2..3 B?\nA: /(?<!a)a|b/\nB: /(?<=bb)a/", "ab"),
    "priorities": ('start: (A | B)+\nA.2: /\\bab?/\nB: /[ab]/\n%ignore "-"', "ab-"),
}  # fmt: skip


def short_texts(letters: str, most: int) -> list[str]:
    """All texts of some letters, the shortest first."""
    return ["".join(t) for n in range(most + 1) for t in itertools.product(letters, repeat=n)]


def check(grammar: str, letters: str, most: int, seed: int) -> int:
    """A grammar reads what Lark reads; nothing leads to a dead end; how many short texts fit."""
    parser = Lark(grammar, parser="earley", lexer="dynamic", ambiguity="resolve")
    texts = short_texts(letters, most)
    told = {text: lark_accepts(parser, text) for text in texts}
    fits = {text for text in texts if told[text]}
    known = [text for text in texts if told[text] is not None]
    try:
        automaton = sg.Lark(grammar).automaton()
    except UnsatisfiableSchemaError:
        assert not fits
        return 0
    assert {text for text in known if reads(automaton, text)} == fits
    few = texts[: sum(len(letters) ** n for n in range(4))]
    check_ends(automaton, few, fits, lambda whole: lark_accepts(parser, whole) is not False)
    check_masks(automaton, [text.encode() for text in texts if 0 < len(text) < 4], seed)
    check_walk(automaton, parser, letters, seed)
    return len(fits)


def check_ends(
    automaton: Automaton, texts: list[str], fitting: set[str], fits: Callable[[str], bool | None]
) -> None:
    """Texts that begin a fitting one are read; from where others lead to, some end fits."""
    begun = {text[:end] for text in fitting for end in range(len(text) + 1)}
    completions = automaton.completions()
    for text in texts:
        at, _ = automaton.run(automaton.start, text.encode())
        assert at >= 0 or text not in begun, text
        if at >= 0 and text not in begun:
            whole = text + completions.shortest(at).decode()
            assert fits(whole), whole


def check_walk(automaton: Automaton, parser: Lark, letters: str, seed: int) -> None:
    """Random letters that masks allow lead on, and from where they lead Lark reads an end."""
    draw, at, text = random.Random(seed), automaton.start, b""
    for _ in range(12):
        following = [byte for byte in automaton.next_bytes(at) if chr(byte) in letters]
        if not following:
            break
        text += bytes((draw.choice(following),))
        at, _ = automaton.run(automaton.start, text)
    text += automaton.completions().shortest(at)
    assert lark_accepts(parser, text.decode()) is not False, text


@pytest.mark.parametrize("name", GRAMMARS)
def test_grammars_read_what_lark_reads(name: str) -> None:
    """All short texts."""
    grammar, letters = GRAMMARS[name]
    assert check(grammar, letters, {2: 7, 3: 5, 4: 4}[len(letters)], 1)


LOOKING = [
    r"\ba", r"\bab\b", r"(?<!-)a", r"(?<=a)b", r"(?<=ab)a", r"(?<!ab)b", r"^a", r"\Ab", r"(?m:^)b",
    r"\Bb", r"b+(?<=ab)", r"(?<![ab])[ab]+", r"(?:\ba|b)+", r"a*\b-", r"(?<=\n)a", r"-(?<!--)",
    r"(?:(?<=a)|^)b", r"(?<!a)b(?=a)", r"(?<=b)[ab]+(?!-)", r"\w+\b", r"(?:^|(?<=-))a?b",
    r"[ab-]*?(?<=a-)b",
]  # fmt: skip
OTHERS = ["a", "b", "-", r"[ab]+", r"\n", r"-+", "ab", r"a?b", r"[ab](?!-)"]
IGNORED = ['" "', "/ +/", "/-/", "/(?<!a) /", "/ +(?=a)/", r"/\b-/"]


def random_grammar(draw: random.Random) -> str:
    """Three rules over two to four terminals, of which most look behind."""
    names = [f"T{i}" for i in range(draw.randint(2, 4))]
    kinds = [LOOKING if draw.random() < 0.6 else OTHERS for _ in names]
    lines = [f"{name}: /{draw.choice(kind)}/" for name, kind in zip(names, kinds, strict=True)]

    def sequence(sizes: list[int]) -> str:
        parts = draw.choices([*names, *names, "r", "s"], k=draw.choice(sizes))
        return " ".join(
            part + draw.choice(["", "", "", "?", "*", "+"]) if part in names else part
            for part in parts
        )

    for rule, sizes in {"start": [1, 2, 3], "r": [0, 1, 1, 2, 2, 3], "s": [0, 1, 2, 3]}.items():
        ways = dict.fromkeys(sequence(sizes) for _ in range(draw.randint(1, 3)))
        lines.append(f"{rule}: {' | '.join(ways)}")
    if draw.random() < 0.6:
        lines.append(f"%ignore {draw.choice(IGNORED)}")
    return "\n".join(lines)


@pytest.mark.thorough
def test_random_grammars_read_what_lark_reads() -> None:
    """Of all shapes; most of them fit some short text."""
    fitting = 0
    for seed in range(80):
        grammar = random_grammar(random.Random(seed))
        letters = "ab- " if "%ignore" in grammar else "ab-\n"
        try:
            fitting += check(grammar, letters, 4, seed) > 0
        except AssertionError as error:
            raise AssertionError(grammar) from error
    assert fitting > 40


KEYWORDS = r"""start: (IF expr | NAME "=" expr)*
expr: term (("+" | AND) term)*
term: NAME | NUM | "(" expr ")"
IF: /\bif\b/
AND: /\band\b/
NAME: /\b(?!(if|and)\b)[a-z]+/
NUM: /[0-9]+/
%ignore /\s+/
"""


def test_errors_speak_of_the_grammar_as_it_is_written() -> None:
    """Its terminals, each once, and its rules; what the rules are told apart by is not seen."""
    with pytest.raises(ValidationError) as caught:
        sg.check(sg.Lark(KEYWORDS), "a = b and x if (c + !)")
    told = str(caught.value)
    assert "at byte 20" in told
    assert '"(", /\\s+/, NAME, NUM (in expr, in term, in start)' in told
    with pytest.raises(ValidationError) as caught:
        sg.check(sg.Lark(KEYWORDS), "if")  # which begins a name, too
    assert 'expected more of NAME, or "(", "=", /\\s+/, NUM (in start)' in str(caught.value)


def test_what_is_useless_is_what_is_useless_as_it_is_written() -> None:
    """Not what only some texts before leave without a text."""
    assert sg.Lark(KEYWORDS).findings() == []
    found = sg.Lark(f"{KEYWORDS}\nother: NUM expr\nround: round").findings()
    assert [(one.kind, one.name) for one in found] == [
        ("unreachable", "other"),
        ("unproductive", "round"),
    ]


def test_white_space_between_terminals_spares_searching() -> None:
    """The usual keywords and names are proved free of dead ends; without white space it is seen."""
    automaton = sg.Lark(KEYWORDS).automaton()
    assert not automaton.is_checked  # type: ignore[attr-defined]
    alone = sg.Lark("start: (IF | N)+\nIF: /\\bif\\b/\nN: /[a-z]+|-/\nM: /1/").automaton()
    at, _ = alone.run(alone.start, b"a")
    assert bytes(alone.next_bytes(at)) == b"-abcdefghijklmnopqrstuvwxyz"


def test_a_stored_automaton_reads_the_same() -> None:
    """And one joined with rules reads what both do."""
    spec = sg.Lark(KEYWORDS)
    automaton = spec.automaton()
    again = spec.automaton(automaton.stored())
    both = sg.all_of(spec, sg.regex("[a-z= ]*")).automaton()
    for text in ("if a", "ifa", "a=b and c", "a=band c", "a=b andc", "a = 1and 2", ""):
        assert reads(again, text) == reads(automaton, text)
        assert reads(both, text) == (reads(automaton, text) and "1" not in text)


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        ('start: A %json {"type": "object"}', "specs inside the grammar"),
        ("start: A _NL\n_NL: /\\n */\n%declare _IN _OUT", "a layout"),
    ],
)
def test_beside_what_it_is_refused(grammar: str, said: str) -> None:
    """With the place of the terminal."""
    layout = sg.Indentation("_NL", "_IN", "_OUT") if "_IN" in grammar else None
    spec = sg.Lark("A: /\\ba/\n" + grammar, layout=layout)
    with pytest.raises(UnsupportedSchemaError, match=said) as caught:
        spec.automaton()
    assert caught.value.location == "line 1 column 1"


def test_too_many_kinds_of_text_are_refused() -> None:
    """A character some places before is remembered for each of these places."""
    with pytest.raises(BudgetError, match="more than 32 kinds") as caught:
        sg.Lark("start: (A | B)+\nA: /(?<=a.{5})a/\nB: /[ab]/").automaton()
    assert caught.value.location == "line 2 column 1"


def test_too_many_rules_are_refused() -> None:
    """Each of nine kinds of text before a rule, and behind each place in it."""
    parts = [f"r{i}: (s{i} | A) r{i + 1} s{i} r{i + 1}\ns{i}: B r{i + 1} | A*" for i in range(60)]
    rules = "\n".join(["start: r0", *parts, "r60: (A | B)*"])
    with pytest.raises(BudgetError, match="more than 150000 places") as caught:
        sg.Lark(f"{rules}\nA: /(?<=a...)a|b/\nB: /[ab]/").automaton()
    assert caught.value.location == "line 123 column 1"


def test_what_excludes_every_text_is_told() -> None:
    """No terminal can stand behind the other."""
    with pytest.raises(UnsatisfiableSchemaError, match="no text fits the rule 'start'"):
        sg.Lark("start: A B\nA: /a/\nB: /\\bb/").automaton()


def test_kinds_of_text_are_as_few_as_can_be() -> None:
    """Those that no lookbehind tells apart are one."""
    word = concat(ANY, chars(CharSet.of([(0x61, 0x7A)])))
    assert PrefixDfa([word]).count == 2
    assert PrefixDfa([word, concat(ANY, ANY_CHAR)]).count == 3  # nothing before, a letter, another
    assert PrefixDfa([concat(ANY, ANY)]).count == 1
    assert PrefixDfa([concat(word, chars(CharSet.chars("b")))]).count == 3


def test_long_rules_do_not_multiply_their_ways() -> None:
    """Forty places with two ways each are a few rules for each place."""
    parts = " ".join(["A", "B"] * 20)
    grammar = f"start: {parts}\nA: /\\ba|[b-]/\nB: /(?<!-)[ab-]/"
    automaton = sg.Lark(grammar).automaton()
    assert reads(automaton, "-" + "ab" * 19 + "b") == bool(
        lark_accepts(Lark(grammar, parser="earley", lexer="dynamic"), "-" + "ab" * 19 + "b")
    )
    assert automaton.size["bytes"] < 4_000_000
