"""Languages said to be infinite are, from every prefix on; counts and lists of words are right."""

from __future__ import annotations

import re
from itertools import product

import pytest

from structgen.regular import infinite
from structgen.regular.infinite import (
    ENOUGH,
    every_prefix_is_infinite,
    few_words,
    has_words,
    is_infinite,
    least_count,
    scarce_from,
)
from structgen.regular.regex import Regex, alt, complement, intersect, repeat, words
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built

WORD = "[Cc][Oo][Ll][Ll][Ee][Cc][Tt][Ii][Oo][Nn]"
PATTERNS = [
    "x", "^x", "^x$", "x$", "^[a-z]+$", "^[a-z]*[0-9]$", "^(ab|cd)*$", "^(ab|cd+)$", "^(?!x).*$",
    "^[a-f]{8}-[a-f]{4}$", "^[a-z]{1,255}$", "^(?!.*foo)(?!.*bar).*baz.*$", "^(a+|b[0-9]{40})$",
    f"^{WORD}|{WORD}s|core$", f"^({WORD}\\.)*{WORD}x?y?z?$", f"^({WORD})+(\\.{WORD}){{3}}[a-z]*$",
    f"^(?!{WORD}$)[a-zA-Z_]+{WORD}.*$", f"^a{{2,9}}$|{WORD}|^b$", "^(ab|[\\s\\S]+cd|ef)$",
]  # fmt: skip


def runs_out(language: Regex) -> bool:
    """Whether some state of a language has no moves, by a walk over all of them."""
    seen, todo = set[Regex](), [language]
    while todo:
        state = todo.pop()
        after = {target for _, target in state.moves()}
        if not after:
            return True
        todo += after - seen
        seen |= after
    return False


def test_all_texts_but_finitely_many_are_infinite() -> None:
    """A complement is if its body is finite; one of an infinite body may be finite itself."""
    assert is_infinite(complement(words(["a", "bc"])))
    assert is_infinite(complement(parse("^[a-z]{1,9}$")))
    assert not is_infinite(complement(parse("^$|^[^a]|^.{2}")))  # "a" alone


@pytest.mark.parametrize("few", [1, 5, infinite.FEW])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_prefix_is_infinite_where_no_state_is_without_moves(
    pattern: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer does not depend on whether states are walked or taken from an automaton."""
    monkeypatch.setattr(infinite, "FEW", few)
    every_prefix_is_infinite.cache_clear()
    assert every_prefix_is_infinite(parse(pattern)) != runs_out(parse(pattern))
    every_prefix_is_infinite.cache_clear()


BOUNDED = [
    ("^[^x]{0,9}$", None, 9), ("^[^x]+$", 40, 40), ("^[a-z]{2,30}$", None, 27), ("^[a-z]+$", 3, 0),
    ("^x[ab]{0,30}$", None, 15), ("^(a|bb)*$", 40, 17), ("^a+$", 90, 0), ("^[a-z]+$", None, 0),
    ("^([a-z]{1,9}|[0-9]+)$", 40, 0), ("^[a-z]{2,30}[0-9]?$", None, 0), ("^x{3}$", None, 0),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "most", "expected"), BOUNDED)
def test_texts_are_scarce_near_a_bound_on_their_length(
    pattern: str, most: int | None, expected: int
) -> None:
    """As many letters before it as it takes to write more words than anybody does."""
    language = parse(pattern)
    if most is not None:
        language = intersect(language, repeat(parse("^[^]$"), 0, most))
    assert scarce_from(language) == expected


@pytest.mark.parametrize("pattern", ["^[ab]{0,5}$", "^a[ab]{2,4}$", "^(a|bb)*$", "^a*b?a+$"])
def test_before_they_are_scarce_each_text_begins_many_words(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted by brute force."""
    monkeypatch.setattr(infinite, "PLENTY", 4)
    scarce_from.cache_clear()
    language = intersect(parse(pattern), repeat(parse("^[^]$"), 0, 6))
    found = scarce_from(language)
    scarce_from.cache_clear()
    assert found > 0
    texts = ["".join(letters) for n in range(7) for letters in product("ab", repeat=n)]
    members = [text for text in texts if len(text) < 7 and re.fullmatch(pattern[1:-1], text)]
    for text in texts:
        begun = sum(word.startswith(text) for word in members)
        assert not begun or len(text) >= found or begun >= 4


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_least_length_makes_no_difference_to_infinite_prefixes(pattern: str) -> None:
    """It takes finitely many words away, and many states would count it."""
    language = intersect(parse(pattern), repeat(parse("^[^]$"), 255))
    assert every_prefix_is_infinite(parse(pattern)) <= every_prefix_is_infinite(language)


def test_a_text_found_anywhere_is_infinite_without_a_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lists stand beside it; of these no state is walked."""
    monkeypatch.setattr(infinite, "MANY", -1)
    monkeypatch.setattr(infinite, "FEW", -1)
    every_prefix_is_infinite.cache_clear()
    assert every_prefix_is_infinite(
        alt(*map(parse, ["^ES(5|6|2015)$", "^lib[.][a-z]{9}$", "^[Ee]5|[Ee]6|[Ee]7$"]))
    )
    assert not every_prefix_is_infinite(parse("^ES(5|6|2015)$|^[a-z]+1$"))
    every_prefix_is_infinite.cache_clear()


def test_keys_of_some_patterns_but_not_of_two_at_once_are_infinite_without_a_walk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A letter that none of the patterns has may be appended, again and again."""
    monkeypatch.setattr(infinite, "MANY", -1)
    monkeypatch.setattr(infinite, "FEW", -1)
    every_prefix_is_infinite.cache_clear()
    found = [*map(parse, ("ax", "bx", "cx", "dx"))]
    both = [intersect(found[0], found[1]), intersect(found[1], found[3])]
    assert every_prefix_is_infinite(intersect(alt(*found), complement(alt(found[2], *both))))
    every_prefix_is_infinite.cache_clear()


SOME = ["x", "ab", "^[a-z]+$", "^x", "x$", "^(ab|cd+)$", "^.*$", "^[\\s\\S]$", "^.?$"]


@pytest.mark.parametrize("second", SOME)
@pytest.mark.parametrize("first", SOME)
def test_intersections_and_complements_are_infinite_where_no_state_is_without_moves(
    first: str, second: str
) -> None:
    """As keys are that several patterns tell apart."""
    one, other = parse(first), parse(second)
    for language in (
        intersect(one, other),
        intersect(one, complement(other)),
        intersect(complement(one), complement(other)),
    ):
        if not language.is_empty():
            assert every_prefix_is_infinite(language) != runs_out(language)


@pytest.mark.parametrize("signs", [*product([True, False], repeat=3)])
def test_intersections_of_searches_are_infinite_without_a_walk(
    signs: tuple[bool, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What texts must contain, and must not, leaves some letter to append."""
    monkeypatch.setattr(infinite, "MANY", 0)  # then nothing is looked at
    monkeypatch.setattr(infinite, "FEW", -1)
    every_prefix_is_infinite.cache_clear()
    parts = [parse(p) for p in ("dir_(work|share)", "drv_[a-z]+", "^net_[a-z]+[0-9]+")]
    language = intersect(*(p if s else complement(p) for p, s in zip(parts, signs, strict=True)))
    assert every_prefix_is_infinite(language)
    assert not every_prefix_is_infinite(
        intersect(language, parse("x$"))
    )  # which is not seen at once
    every_prefix_is_infinite.cache_clear()


@pytest.mark.parametrize(
    "pattern", ["a.*b", "^a", "(?:xa|b)$", "^(?:a.*)?b", "[^a]|b", "a(?:b.*)+", "[^a]|aa", "[^a]|a"]
)
@pytest.mark.parametrize("other", ["^a$", "ba", "^[ab]*$", "^b.*a"])
def test_languages_called_infinite_have_no_state_without_moves(pattern: str, other: str) -> None:
    """In what one language is not, beside another or what that is not."""
    for language in (
        complement(parse(pattern)),
        intersect(parse(other), complement(parse(pattern))),
        complement(parse(pattern, anchored=True)),
        intersect(complement(parse(other)), complement(parse(pattern))),
    ):
        if not language.is_empty() and every_prefix_is_infinite(language):
            assert not runs_out(language)


FEW = [
    "^a$", "^$", "^(a|b|)$", "^[ab]$", "^a{0,2}b?$", "^(a|ab)(b|bb)$", "^(?:a?){3}$", "^[ab]{2}1?$",
    "^(a[b1]|1)$", "^(?:[ab]|)b{1,2}$",
]  # fmt: skip
MORE = ["^[ab1]{4}$", "^a+$", "b", "^ab|b$", "^(?!a)[ab]$", "^[^b]$", "^[ab]{0,200}$"]


@pytest.mark.parametrize("most", [1, 4, 30])
@pytest.mark.parametrize("pattern", FEW + MORE)
def test_few_words_are_all_words(pattern: str, most: int) -> None:
    """Where any are told they are those that Python's `re` finds, no more than asked for."""
    found = few_words(parse(pattern), most)
    texts = ["".join(x) for n in range(6) for x in product("ab1", repeat=n)]
    if found is not None:
        assert found == {text for text in texts if re.search(pattern, text)}
        assert len(found) <= most
    assert found is not None or most < 30 or pattern in MORE


@pytest.mark.parametrize(
    ("pattern", "exact"),
    [
        ("[ab]{3}-[ab]", True), ("(a|bb)?[ab]{0,2}-{2}", False), ("a?b?", False), ("(a|b|-)", True),
        ("(ab|b){2}a", False), ("(aa|ab|bb|-a)b?", False), ("", True), ("ab", True), ("a*b", False),
        ("(ab|ba){2}[ab]", False), ("[ab]?[ab]{2}", False), ("(a|ab)(b|bb)", False),
    ],
)  # fmt: skip
def test_the_count_of_words_is_a_lower_bound(pattern: str, exact: bool) -> None:
    """At least; parts whose words have one length cannot be mistaken for what is beside them."""
    texts = ("".join(letters) for n in range(7) for letters in product("ab-", repeat=n))
    words = [text for text in texts if re.fullmatch(pattern, text)]
    count = least_count(parse(f"^({pattern})$"))
    assert count > 0
    assert count == len(words) if exact else count <= len(words)


def test_languages_that_are_not_plain_count_no_words() -> None:
    """Nor has the one without any."""
    assert least_count(intersect(parse("a"), complement(parse("b")))) == 0
    assert least_count(alt()) == 0


@pytest.mark.parametrize(
    ("language", "count"),
    [
        (intersect(parse("^[ab]{1,2}$"), parse("^a")), 3),
        (intersect(parse("^[ab]{3}$"), complement(parse("^aaa$"))), 7),
        (intersect(format_built("hostname"), parse("^-")), 0),
    ],
)
def test_words_are_counted_along_a_path(language: Regex, count: int) -> None:
    """At least one, and never more than there are; none where none is found that is read."""
    assert has_words(language, 1) == (count > 0)
    assert not has_words(language, count + 1)


def test_formats_beside_patterns_have_many_words() -> None:
    """Which need not be listed."""
    for name, pattern in (("idn-email", r"@example\.com$"), ("hostname", r"\.org$")):
        assert has_words(intersect(format_built(name), parse(pattern)), 20)


def test_nobody_counts_more_words_than_anybody_asks_for() -> None:
    """However deep counts are nested: numbers with millions of digits would take minutes."""
    language = parse("[ab]")
    for _ in range(40):
        language = repeat(language, 5, 6)
    assert least_count(language) == ENOUGH


@pytest.mark.parametrize(("pattern", "endless"), [("^/.+/$", True), ("^/.{1,3}/$", False)])
def test_patterns_beside_a_format_are_filled_up(pattern: str, endless: bool) -> None:
    """Without a walk of their derivatives, which are many."""
    language = intersect(format_built("regex"), parse(pattern))
    assert infinite._is_filled_up(language) == endless == every_prefix_is_infinite(language)
