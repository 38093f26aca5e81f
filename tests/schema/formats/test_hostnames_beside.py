"""Host names beside other demands: all that have no A-label, and no text that is none."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator

import pytest

import structgen as sg
from structgen.errors import BudgetError, ValidationError
from structgen.masks import bitmask
from structgen.regular.expressions.logic import alt, complement, intersect
from structgen.regular.lazy_dfa.automaton import automaton_of
from structgen.regular.regex import ANY_CHAR, Regex, matches, readable, repeat
from structgen.regular.syntax.ecma import parse
from structgen.schema.formats.formats import format_built
from tests.helpers.automata import accepts
from tests.regular.lazy_dfa.test_beside import masks_are_exact

HOST, IPV6 = format_built("hostname"), format_built("ipv6")
Fits = Callable[[str], bool]


def texts() -> Iterator[str]:
    """Names, some with A-labels right and wrong, and texts that are nearly names."""
    rnd = random.Random(4)
    codes = ("xn--mnchen-3ya", "XN--4gbwdl", "xn--a", "xn--x-", "xn-a", "xn", "x--n", "xn--999")
    labels = (*codes, "a", "www", "a-b", "1", "-a", "a-", "", "a_b", "A" * 63, "b" * 64, "a--b")
    for _ in range(400):
        yield ".".join(rnd.choices(labels, k=rnd.randrange(1, 5)))
    yield from (".".join(["a" * 61] * 4 + ["b" * k]) for k in (1, 4, 5, 6))


def has_code(text: str) -> bool:
    """Whether a label begins like an A-label."""
    return any(label[:4].lower() == "xn--" for label in text.split("."))


def ends(language: Regex, text: str) -> bool:
    """Whether the automaton of a language reads a text."""
    automaton = automaton_of(language)
    assert automaton is not None
    return accepts(automaton, text)


def is_host(text: str) -> bool:
    """Whether a text is a host name, as the format alone says."""
    return matches(HOST, text)


ENDING = r"^[a-zA-Z.-]*[a-w]$"
PATTERN = parse(ENDING)
LANGUAGES: dict[str, tuple[Regex, Fits]] = {
    "short": (intersect(HOST, repeat(ANY_CHAR, 2, 12)), lambda t: is_host(t) and 2 <= len(t) <= 12),
    "long": (intersect(HOST, repeat(ANY_CHAR, 0, 180)), lambda t: is_host(t) and len(t) <= 180),
    "pattern": (
        intersect(HOST, PATTERN),
        lambda t: is_host(t) and re.search(ENDING, t) is not None,
    ),
    "not": (complement(HOST), lambda t: not is_host(t)),
    "not not": (complement(complement(HOST)), is_host),
    "not both": (
        complement(intersect(HOST, PATTERN)),
        lambda t: not (is_host(t) and re.search(ENDING, t) is not None),
    ),
    "union": (
        intersect(alt(HOST, IPV6), repeat(ANY_CHAR, 0, 20)),
        lambda t: (is_host(t) or matches(IPV6, t)) and len(t) <= 20,
    ),
    "not a union": (
        complement(alt(HOST, IPV6)),
        lambda t: not is_host(t) and not matches(IPV6, t),
    ),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_only_names_with_a_labels_are_left_out(name: str) -> None:
    """What is read fits, and what fits is read if no label begins with `xn--`."""
    whole, fits = LANGUAGES[name]
    language = readable(whole)
    found = {True: 0, False: 0}
    for text in (*texts(), "::1", "2001:db8::ff00:42:8329"):
        verdict = ends(language, text)
        assert verdict == matches(language, text)
        assert fits(text) or not verdict, text
        assert verdict or not fits(text) or has_code(text), text
        found[verdict] += 1
    assert min(found.values()) > 10


def test_names_of_some_length_have_a_labels() -> None:
    """A length from 63 characters on leaves room for them."""
    for schema in ({"maxLength": 100}, {"minLength": 3, "maxLength": 255}, {"minLength": 12}):
        spec = {"type": "string", "format": "hostname", **schema}
        sg.check(spec, '"www.xn--4gbwdl.example"')
        for wrong in ("xn--a" * 3, "a" * 101 + "." * 200):
            with pytest.raises(ValidationError):
                sg.check(spec, f'"{wrong}"')


@pytest.mark.parametrize(
    "more",
    [
        {"maxLength": 30},
        {"pattern": r"\.ab$"},
        {"not": {"pattern": "^a"}},
        {"maxLength": 90},
        {"anyOf": [{"format": "hostname"}, {"format": "ipv4"}], "maxLength": 40},
    ],
)
def test_masks_hold_exactly_the_tokens_that_may_come(more: dict[str, object]) -> None:
    """Each token alone, read by the automaton, says the same as its bit."""
    masks_are_exact({"type": "string", "format": "hostname", **more}, "aab-.xn0")


def test_masks_of_keys_hold_exactly_the_tokens_that_may_come() -> None:
    """Keys are read as values are, and compared with those that came before."""
    words = [b"", b'{"', b'":', b',"', b'"', b"ab", b"a.b", b'.ab":', b"xn--", b"mnchen-3ya"]
    words += [bytes((byte,)) for byte in range(256) if bytes((byte,)) not in words]
    vocabulary = sg.Vocabulary(words, eos_ids=[0])
    schema = {"propertyNames": {"format": "hostname"}, "additionalProperties": {"const": 1}}
    constraint = sg.compile({"type": "object", **schema}, vocabulary)
    text = b'{"xn--mnchen-3ya.ab":1,"a.b":1,"a.ab":1}'
    state = constraint.start
    for byte in text:
        allowed = {*bitmask.ids_of(constraint, state).tolist()} - {0}
        steps = {t: constraint.advance_bytes(state, words[t]) for t in range(1, len(words))}
        assert allowed == {t for t, step in steps.items() if step != sg.DEAD}
        state = constraint.advance_bytes(state, bytes((byte,)))
    assert constraint.is_accepting(state)


def test_estimates_of_estimates_are_these_themselves() -> None:
    """Objects of which exactly one fits, told apart by formats of which one has a length."""
    formats = {"hostname": 60, "ipv4": 20, "uri": 200}
    branches = [
        {"properties": {"a": {"type": "string", "format": name, "maxLength": most}}}
        for name, most in formats.items()
    ]
    spec = {"type": "object", "required": ["a"], "oneOf": branches}
    for text, fits in {"x.org": True, "http://x.org": True, "1.2.3.4": False, "-": False}.items():
        if fits:
            sg.check(spec, {"a": text})
        else:
            with pytest.raises(ValidationError):
                sg.check(spec, {"a": text})


A_LABEL = '"xn--mnchen-3ya"'  # a host name


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        ({"oneOf": [{"format": "hostname"}, {"pattern": "^xn--"}]}, False),
        ({"oneOf": [{"format": "idn-hostname", "maxLength": 20}, {"pattern": "^xn"}]}, False),
        ({"not": {"format": "idn-hostname", "pattern": "^xn--"}}, False),
        ({"not": {"not": {"format": "hostname"}}}, True),
        ({"if": {"format": "hostname", "pattern": "^xn--"}, "then": {"maxLength": 3}}, False),
        ({"if": {"format": "hostname", "pattern": "^xn--"}, "else": False}, None),
    ],
)
def test_what_is_left_out_is_let_in_nowhere(schema: dict[str, object], fits: bool | None) -> None:
    """Where a host name must not be, no A-label is one by mistake; some may be left out (None)."""
    spec = {"type": "string", **schema}
    try:
        sg.check(spec, A_LABEL)
        found = True
    except (ValidationError, BudgetError):
        found = False
    assert fits is None or found == fits


def test_nothing_is_called_impossible_that_is_left_out() -> None:
    """Where all texts would be, none is; the shortest one may take too long to find."""
    spec = {"type": "string", "format": "hostname", "pattern": "^xn--"}
    sg.check(spec, A_LABEL)
    with contextlib.suppress(BudgetError):
        sg.compile(spec, sg.Vocabulary([bytes((i,)) for i in range(256)]))


@pytest.mark.parametrize("name", ["hostname", "idn-hostname"])
def test_names_as_keys_are_read_beside_many_patterns(name: str) -> None:
    """One automaton reads all patterns and the format, also where some share a kind of value."""
    kinds = "integer", "string", "null", "boolean"
    endings = "com", "org", "net", "de", "fr", "uk", "io", "dev"
    patterns = {rf"\.{end}$": {"type": kinds[at % 4]} for at, end in enumerate(endings)}
    schema = {"type": "object", "patternProperties": patterns, "propertyNames": {"format": name}}
    vocabulary = sg.Vocabulary([bytes((i,)) for i in range(256)])
    constraint = sg.compile(schema, vocabulary)
    values = {"integer": 1, "string": "", "null": None, "boolean": True}
    for host in ("www.example", "-a", "a..b", "a", "1.2"):
        for end, kind in itertools.product((*endings, "es"), kinds):
            text = json.dumps({f"{host}.{end}": values[kind]}, separators=(",", ":"))
            found = constraint.advance_bytes(constraint.start, text.encode())
            wanted = end == "es" or patterns[rf"\.{end}$"]["type"] == kind
            assert (found != sg.DEAD) == (wanted and is_host(f"{host}.{end}")), text
