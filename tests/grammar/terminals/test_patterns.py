"""The two languages of a pattern of Python's `re` say what `re.match` says."""

from __future__ import annotations

import itertools
import re
import sys
import warnings
from contextlib import suppress
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from structgen.errors import BudgetError, PatternError, UnsupportedSchemaError
from structgen.grammar.terminals.lists import LONG_LIST
from structgen.grammar.terminals.one_end import behind_its_end, repeats_what_ends_in_one_place
from structgen.grammar.terminals.one_unambiguous import is_one_unambiguous
from structgen.grammar.terminals.patterns import (
    KEYWORD,
    Matches,
    matches_behind,
    matches_of,
)
from structgen.grammar.terminals.python_chars import class_set, literal_set, word_characters
from structgen.grammar.terminals.python_language import in_any_case, lookbehind_language
from structgen.grammar.terminals.python_regex import Node, outside_lookbehinds, parse, parsed
from structgen.regular.charset import CharSet
from structgen.regular.regex import Regex, matches
from tests.grammar.reference import ends_ahead

ATOMS = ["a", "b", "ab", ".", "[ab]", "[^a]", r"\w", r"\W", r"\s", "(?i:A)", "(?s:.)", r"\b", "$"]
LOOKS = ["(?={})", "(?!{})", "(?<=a)", "(?<!b)", r"\B", "(?m:$)", r"\Z"]
QUANTIFIERS = ["", "", "", "*", "+", "?", "*?", "+?", "??", "{1,2}", "{0,2}?", "*+", "{2}"]


def length(pattern: str, text: str, at: int = 0) -> int | None:
    """How long the match of `re` at some place of a text is."""
    found = re.compile(pattern).match(text, at)
    return None if found is None else found.end() - at


def ours(found: Matches, text: str, at: int = 0) -> int | None:
    """The same from the two languages."""
    if found.lookbehind is not None:
        found = behind(found.lookbehind, text[:at])
    if found.lookahead is not None:
        return max((end - at for end in ends_ahead(found.lookahead, text, at)), default=None)
    ends = range(at, len(text) + 1)
    inside = [end for end in ends if matches(found.language, text[at:end])]
    longest = max((end for end in ends if matches(found.longer, text[at:end])), default=at - 1)
    last = max(inside, default=None)
    return None if last is None or last < longest else last - at


@given(
    st.lists(st.text("ab.", max_size=3), min_size=1, max_size=6),
    st.sampled_from(["", "(?:{})", "a(?:{})b?"]),
    st.text("ab.", max_size=7),
)
def test_of_a_list_of_texts_the_first_that_fits_matches(
    listed: list[str], around: str, text: str
) -> None:
    """As `re` has it, in whatever order they are listed; long lists are told at once."""
    far = [f"z{i}" for i in range(LONG_LIST)]
    pattern = "|".join(map(re.escape, [*listed, *far]))
    if around:
        pattern = around.format(pattern)
    assert ours(matches_of(pattern), text) == length(pattern, text)


def behind(pattern: Node, text: str) -> Matches:
    """The languages of a pattern behind a text."""
    residuals = {}
    for wanted in map(lookbehind_language, outside_lookbehinds(pattern)):
        rest = wanted
        for char in text:
            rest = rest.after(ord(char))
        residuals[wanted] = rest
    return _behind(pattern, frozenset(residuals.items()))


@cache
def _behind(pattern: Node, residuals: frozenset[tuple[Regex, Regex]]) -> Matches:
    return matches_behind(pattern, dict(residuals))


@st.composite
def patterns(draw: st.DrawFn, *, looks: bool) -> str:
    """A pattern with choices, groups, and quantifiers of each kind."""

    def choice(depth: int) -> str:
        return "|".join(sequence(depth) for _ in range(draw(st.integers(1, 3))))

    def sequence(depth: int) -> str:
        return "".join(piece(depth) for _ in range(draw(st.integers(0, 3))))

    def piece(depth: int) -> str:
        kind = draw(st.integers(0, 5))
        if looks and kind == 0:
            return draw(st.sampled_from(LOOKS)).format(draw(st.sampled_from(ATOMS[:8])))
        if depth and kind <= 2:
            body = f"(?:{choice(depth - 1)})"
        else:
            body = draw(st.sampled_from(ATOMS[: 13 if looks else 11]))
        if body in (r"\b", "$"):
            return body
        if len(body) > 1 and body.isalpha():
            body = f"(?:{body})"
        return body + draw(st.sampled_from(QUANTIFIERS))

    return choice(2)


TEXTS = st.lists(st.text("abA \n", max_size=7), min_size=6, max_size=12)


def found_in(pattern: str) -> Matches:
    """The languages of a pattern; the example does not count where they are refused."""
    try:
        re.compile(pattern)
        return matches_of(pattern)
    except (re.error, UnsupportedSchemaError, BudgetError):
        assume(False)
        raise


def assert_means_the_same_anywhere(pattern: str, texts: list[str]) -> None:
    """At each place of each text."""
    found = found_in(pattern)
    for text in texts:
        for at in range(len(text) + 1):
            assert ours(found, text, at) == length(pattern, text, at), (text, at)


@pytest.mark.thorough
@settings(max_examples=80)
@given(patterns(looks=False), TEXTS)
def test_patterns_match_what_re_matches(pattern: str, texts: list[str]) -> None:
    """The first match that backtracking finds, not the longest."""
    found = found_in(pattern)
    assert [ours(found, text) for text in texts] == [length(pattern, text) for text in texts]


@pytest.mark.thorough
@settings(max_examples=80)
@given(patterns(looks=True), TEXTS)
def test_assertions_hold_where_re_says(pattern: str, texts: list[str]) -> None:
    """Lookarounds that are not refused mean the same wherever in a text the terminal starts."""
    assert_means_the_same_anywhere(pattern, texts)


WORDS = st.lists(st.text("abi", max_size=3), min_size=1, max_size=4).map("|".join)


@settings(max_examples=150)
@given(
    WORDS,
    st.sampled_from(
        [
            "(?!(%s)(?!%s))%s%s*",
            "(%s)(?!%s)",
            "(?i:(?!(%s)(?!%s))%s%s+)",
            "(?!(%s)(?!%s))%s%s* *1",
            "(?!(%s)(?!%s))%s%s* (?!1)",
        ]
    ),
    st.sampled_from(["[ab]", "[a-z]", "[abi1]", "[i\u0131]"]),
    st.sampled_from(["[ab]", "[a-z]", "a"]),
    st.lists(st.text("abiAI1 ", max_size=6), min_size=6, max_size=12),
)
def test_words_and_names_other_than_words(
    words: str, shape: str, kind: str, first: str, texts: list[str]
) -> None:
    """Whether or not the words have only the characters that names have."""
    pattern = shape % (words, kind, first, kind)[: shape.count("%s")]
    assert_means_the_same_anywhere(pattern, texts)


@settings(max_examples=150)
@given(
    st.lists(st.text("abi", min_size=1, max_size=3), min_size=1, max_size=4),
    st.sampled_from([r"(?!%s)[a-z]\w*", r"(?!(?:%s))\w\w*", r"(?!%s|(?:aa\b|b1\b))[ab]\w*"]),
    st.sampled_from(["", r"\b", r"\B", "(?! )", r"\b *1"]),
    st.lists(st.text("abi1 \u0131", max_size=6), min_size=6, max_size=12),
)
def test_names_other_than_words_that_end_by_themselves(
    words: list[str], shape: str, behind: str, texts: list[str]
) -> None:
    """A boundary behind each of the words, and perhaps behind the name."""
    pattern = shape % "|".join(word + r"\b" for word in words) + behind
    assert_means_the_same_anywhere(pattern, texts)


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(["a", " ", "[a1]*", " *", "(?:a|1)?", "(?:a| )*", "(?:a*b)?", "(?=a)"]),
        min_size=1,
        max_size=4,
    ).map("".join),
    st.sampled_from([r"\b", r"\B", r"\b1?", r"\B a?"]),
    st.lists(st.text("ab1 ", max_size=6), min_size=6, max_size=12),
)
def test_boundaries_behind_what_may_be_left_out(
    before: str, boundary: str, texts: list[str]
) -> None:
    """What stands before a boundary is known if the parts end in letters alone, or in none."""
    assert_means_the_same_anywhere("a" + before + boundary, texts)


OPTIONAL = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "a?", "b*", "a??", "b*?", "(?:)"]),
    lambda part: st.one_of(
        st.lists(part, min_size=1, max_size=3).map("".join),
        st.lists(part, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.lists(part, min_size=1, max_size=3).map(lambda parts: f"(?>{'|'.join(parts)})"),
        st.tuples(part, st.sampled_from(["*", "+?", "{1,2}", "{1,3}", "{2}", "{2,}?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(
    OPTIONAL,
    st.sampled_from(["a", "b", "(?!a)"]),
    st.lists(st.text("abc", max_size=6), min_size=8),
)
def test_turns_that_read_nothing_and_groups_that_stay_as_they_are(
    pattern: str, behind: str, texts: list[str]
) -> None:
    """A turn that must come may read nothing and still be followed by another one."""
    found = found_in(pattern + behind)
    for text in texts:
        assert ours(found, text) == length(pattern + behind, text), text


@pytest.mark.parametrize("body", ["ab|a", "a|b+", "[ab]", "ab?", "(?>ab|a)"])
@pytest.mark.parametrize("count", ["*", "+", "?", "{0,2}", "{1,2}"])
def test_possessive_is_what_an_atomic_group_is(body: str, count: str) -> None:
    """Not by `re`, which had it wrong at first."""
    one, other = (matches_of(p) for p in (f"(?:{body}){count}+b", f"(?>(?:{body}){count})b"))
    for text in map("".join, itertools.product("ab", repeat=5)):
        assert ours(one, text) == ours(other, text) == length(f"(?>(?:{body}){count})b", text)


GREEDY = st.recursive(
    st.sampled_from(["a", "b", "c", "[ab]", "[^a]"]),
    lambda part: st.one_of(
        st.lists(part, min_size=1, max_size=3).map("".join),
        st.lists(part, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(part, st.sampled_from(["*", "+", "?", "{2}", "{1,2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=400)
@given(GREEDY, st.lists(st.text("abcd", max_size=7), min_size=6, max_size=12))
def test_what_reads_one_way_prefers_the_longest(pattern: str, texts: list[str]) -> None:
    """The longest beginning of a text that `re` matches whole."""
    if is_one_unambiguous(parse(pattern)):
        for text in texts:
            whole = [end for end in range(len(text) + 1) if re.fullmatch(pattern, text[:end])]
            assert max(whole, default=None) == length(pattern, text)


@settings(max_examples=400)
@given(
    GREEDY,
    st.sampled_from(["+", "{1,2}", "{2,3}", "*", "{3}"]),
    st.lists(st.text("abcd", max_size=7), min_size=6),
)
def test_turns_that_end_in_one_place_are_as_many_as_can_be(
    body: str, count: str, texts: list[str]
) -> None:
    """The longest beginning of a text that `re` matches whole, also where turns are counted."""
    pattern = f"(?:{body}){count}"
    if repeats_what_ends_in_one_place(parse(pattern)):
        for text in texts:
            whole = [end for end in range(len(text) + 1) if re.fullmatch(pattern, text[:end])]
            assert max(whole, default=None) == length(pattern, text)


ENDS = st.sampled_from(["", "", "(?!a)", "(?!b)", "(?![abc])", "(?!.)"])


@settings(max_examples=400)
@given(
    st.lists(st.tuples(GREEDY, ENDS).map("".join), min_size=1, max_size=3),
    st.sampled_from(["%s", "d(?:%s)", "(?:%s)|ab(?:d|(?!b))", "(?:d|da)(?:%s)"]),
    st.lists(st.text("abcd", max_size=6), min_size=6, max_size=10),
)
def test_what_can_end_in_one_place_matches_there(
    ways: list[str], around: str, texts: list[str]
) -> None:
    """Each way through a pattern may have characters of its own that must not follow it."""
    pattern = around % "|".join(ways)
    if behind_its_end(parse(pattern)) is not None:
        assert_means_the_same_anywhere(pattern, texts)


@pytest.mark.parametrize("word", ["if", "_", "a1", "K_9", "9"])
@pytest.mark.parametrize(
    ("look", "is_read_at_once"),
    [
        (r"\b", True),
        (r"(?!\w)", True),
        ("(?![0-9A-Za-z_])", True),
        ("(?!])", False),
        ("(?![]a])", False),
        ("(?!a|b)", False),
        (r"(?![\w.])", False),
    ],
)
def test_keywords_are_read_as_other_patterns_are(
    word: str, look: str, is_read_at_once: bool
) -> None:
    """In their own case and in any."""
    for pattern in (word + look, f"(?i:{word}{look})"):
        assert (KEYWORD.fullmatch(pattern) is not None) is is_read_at_once
        assert matches_of(pattern) == matches_behind(parse(pattern), {})


@pytest.mark.parametrize(
    ("pattern", "has_one_end"),
    [
        (r"in(?!\w)", True),
        (r"(in|int|i1)(?!\w)", True),
        (r"0x[0-9a-f]+(?!\w)|[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?(?![\w.])", True),
        (r"in(?!\w)|in(?![a-z])", False),
        (r"(0x[0-9a-f]+|[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?)(?![\w.])", True),
        (r'"""("{0,2}[^"])*"""|""(?!")|"[^"]+"', True),
        (r'[rR](?:""(?!")|"[^"]+"|\'[^\']*\')', True),
        (r'"([^"\\]|\\[0-3][0-7]{2}|\\[0-7]{1,2})*"', True),
        (r'".*?"', False),
        (r"a(?!b)|ab", True),
        (r"a(?!b)|ac", False),
        (r"(in|int)", False),
        (r"(in(?!t))*", False),
        (r"(?=a)a", False),
        (r"(?!a)", False),
    ],
)
def test_which_patterns_end_in_one_place(pattern: str, has_one_end: bool) -> None:
    """Numbers, words, strings; not what may stop early, nor what looks elsewhere."""
    assert (behind_its_end(parse(pattern)) is not None) is has_one_end


@pytest.mark.parametrize(
    ("pattern", "repeats"),
    [
        (r'([^"\\]|\\["n]|\\u[0-9a-f]{4}){1,2000}', True),
        (r"(a|ab){1,2000}", False),
        (r"(a|ba?){1,2000}", False),
        (r"(ab|b){1,2000}?", False),
    ],
)
def test_which_patterns_repeat_what_ends_in_one_place(pattern: str, repeats: bool) -> None:
    """However many turns there may be."""
    assert repeats_what_ends_in_one_place(parse(pattern)) is repeats


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        (r"[a-z_][a-z0-9_]*", True),
        (r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", True),
        (r'"([^"\\]|\\.)*"', True),
        (r"a{2,3}b|", True),
        (r"a?(ab)?", False),
        (r"(|a)", False),
        (r"(a{1,2}){1,2}", False),
        (r"(a*)*", False),
        (r"a*?b", False),
        (r"a(?!b)", False),
    ],
)
def test_which_patterns_read_one_way(pattern: str, told: bool) -> None:
    """No two places that may come next share a character; what may end goes on first."""
    assert is_one_unambiguous(parse(pattern)) == told


@pytest.mark.parametrize(
    "pattern",
    [
        r'"(.*?)(?<!\\)(\\\\)*?"',
        r"(?!(?:if|else)\b)[A-Za-z_]\w*",
        r"in\b",
        r"\d+(?![\w.])",
        r"\+(?!\+)",
        r"(?m:#[^\n]*$)",
        r"/\*(.|\n)*?\*/",
        r"[a-z]++",
        r"(?>if)x?",
        r"(?>a|ab)c",
        r"(?>i(?:f|fa)*)\.",
        r"(?:b?|a){1,2}b",
        r"(a*)(ab)?",
        r"(?:a|ab)(?:c|bcd)?",
        r"(|a)*b",
        r"(?x) a b # comment",
        r"a(?#comment)b",
        r"(?P<name>a|b)+",
    ],
)
def test_idioms_of_real_grammars(pattern: str) -> None:
    """Patterns that grammars have, on all short texts of the characters that matter to them."""
    letters = "".join(dict.fromkeys('if"\\1+#*/a b\n.c'))
    wanted = [c for c in letters if c in pattern or c in "ia \n1."][:7]
    found = matches_of(pattern)
    texts = [""]
    for _ in range(4):
        texts += [text + letter for text in texts for letter in wanted if len(text) < 4]
        texts = list(dict.fromkeys(texts))
    assert [t for t in texts if ours(found, t) != length(pattern, t)] == []


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"(a)\1", "backreference"),
        (r"(a)?(?(1)b|c)", "backreference"),
        (r"a?(?=\ba)a", "inside a lookahead"),
        (r"(?=a?(?<!b)a)\w", "inside a lookahead"),
        (r"(?:(?=\ba)a)+", "inside a lookahead"),
        (r"(?<=\ba)b", "inside a lookbehind"),
        (r"(?>a*b)c", "atomic group"),
        (r"(?:a|bc){2}+", "possessive"),
    ],
)
def test_what_is_not_a_language_of_the_match_alone_is_refused(pattern: str, said: str) -> None:
    """By name."""
    with pytest.raises(UnsupportedSchemaError, match=said):
        matches_of(pattern)


@pytest.mark.parametrize("pattern", [r"^a", r"\Aa", r"\ba", r"(?<=b)a", "b?(?<!ab)a"])
def test_what_looks_at_the_text_before_is_refused_where_nobody_knows_it(pattern: str) -> None:
    """Where the text before is known, it is the pattern that it becomes there."""
    with pytest.raises(UnsupportedSchemaError, match="text before"):
        parse(pattern)
    assert matches_of(pattern).lookbehind is not None


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bif\b", r"\b(if|else)x?", r"\b[ab]\w*", r"\B\w+?b", "^(a|b)", "(?m:^)a*",
        "(?<![ab])b{1,2}", r"(?:\b|a)b", r"(?:(?<=a)|^)b|a", r"(?!a)\b\w", r"\b(?:a*|b)",
        r"\b(?!ab\b)[ab]\w*", r"(?<!a)(?<=\s)(?=[ab])\w", r"\b\W+", r"(?:\bab?)+",
        r"a??(?<=ba)b", r"(?<=ab|ba)[^b]",
        r"(?=\ba|b)\w+", r"(?!\b(?:ab|b)\b)\w+", r"(?!(?=\b)a|\s)(?:a|ab)", r"(?=(?<!a)b|aa)[ab]",
    ],
)  # fmt: skip
def test_what_is_left_of_a_pattern_behind_each_text(pattern: str) -> None:
    """At every place of all short texts."""
    found = matches_of(pattern)
    assert found.lookbehind is not None
    texts = ["".join(t) for n in range(5) for t in itertools.product("ab \n", repeat=n)]
    for text in texts:
        for at in range(len(text) + 1):
            assert ours(found, text, at) == length(pattern, text, at), (text, at)


def test_what_is_no_pattern_gets_its_position() -> None:
    """As Python's own parser has it."""
    with pytest.raises(PatternError) as caught:
        matches_of("ab(c")
    assert caught.value.position == 2


def test_usual_patterns_are_plain_languages() -> None:
    """Where order does not matter, the language is an ordinary expression, and one object."""
    for pattern in (r"[a-z_]\w*", r"\d+(\.\d+)?", r'"[^"]*"', "x{3,2000}", "[ \n]+"):
        found = matches_of(pattern)
        assert found.language is found.longer
        assert found.language.plain


def test_large_counts_are_not_written_out() -> None:
    """A hundred thousand turns are a count."""
    found = matches_of("(ab?){1,100000}")
    assert matches(found.language, "ab" * 3)


@pytest.mark.parametrize("flags", [0, re.IGNORECASE, re.ASCII, re.IGNORECASE | re.ASCII])
def test_characters_and_classes_are_those_of_re(flags: int) -> None:
    """Every character of Unicode, with and without case, for letters that fold in odd ways."""
    sre = re._constants
    everything = "".join(chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF)

    def members(pattern: str) -> CharSet:
        runs = (match.span() for match in re.finditer(f"(?:{pattern})+", everything, flags))
        spans = ((ord(everything[low]), ord(everything[high - 1])) for low, high in runs)
        return CharSet.of(spans)

    for letter in "kKsſİıßµΣςǅ1":
        assert literal_set(ord(letter), flags) is members(re.escape(letter))
    assert class_set(((sre.RANGE, (0x61, 0x7A)),), flags) is members("[a-z]")
    negated = (sre.NEGATE, None), (sre.LITERAL, 0x4B), (sre.CATEGORY, sre.CATEGORY_DIGIT)
    assert class_set(negated, flags) is members(r"[^K\d]")
    assert word_characters(flags & re.ASCII) is members(r"\w")
    assert class_set(((sre.CATEGORY, sre.CATEGORY_SPACE),), flags) is members(r"\s")


@given(st.text("[]^-&~|a\\", max_size=8))
def test_what_re_warns_of_is_kept_from_the_user(pattern: str) -> None:
    """Signs in classes that are kept for operations on sets."""
    parsed.cache_clear()
    with warnings.catch_warnings(), suppress(re.error):
        warnings.simplefilter("error")
        parsed(pattern)


@given(
    st.text(
        "abkKs\u017f\u0130\u0131Ii1_-. \u00dfS\u03a3\u03c2\u00b5\u01c5\ud800#\\][",
        min_size=1,
        max_size=5,
    )
)
def test_literals_in_any_case_are_as_patterns_have_them(text: str) -> None:
    """With letters that fold in odd ways, and what no text holds."""
    assert in_any_case(text) is matches_of(f"(?i:{re.escape(text)})").language
