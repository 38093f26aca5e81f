"""Texts, masks and values of random tags are those of the naive reference."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structgen as sg
from structgen.compose.sequences import FreeText, any_of, sequence
from structgen.compose.tags import Tag, Tagged, Tags
from structgen.errors import BudgetError, SpecError, UnsatisfiableSchemaError, ValidationError
from tests.compose import reference as ref
from tests.helpers import laws

LETTERS = b"ab<>"
END = 4
PATTERNS = ("a*", "b", "(?:a|b)?", "a[ab]", "<?", "(?:>b)*")
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def vocabulary(rng: Random) -> sg.Vocabulary:
    """All single bytes, and some short runs of the letters that matter."""
    tokens = [bytes((byte,)) for byte in range(256)]
    tokens += [bytes(rng.choices(LETTERS, k=rng.randint(2, 4))) for _ in range(24)]
    return sg.Vocabulary([*tokens, b"</s>"], eos_ids=[len(tokens)])


short = st.text("ab<>", min_size=1, max_size=3)


@st.composite
def tags(draw: Any) -> tuple[Tag, ref.Marked]:
    """A tag and its reference."""
    begin, end = draw(short), draw(st.text("ab<>", max_size=2))
    pattern = draw(st.sampled_from([*PATTERNS, None]))
    if pattern is None:
        end = end or ">"
        return Tag(begin, None, end), ref.Marked(begin.encode(), None, end.encode())
    model = ref.Marked(begin.encode(), ref.Pattern(pattern), end.encode())
    return Tag(begin, sg.Regex(pattern), end), model


@st.composite
def tagged_texts(draw: Any) -> tuple[Tags, ref.Text]:
    """Free text with tags and its reference; drawn again when the options are refused."""
    drawn = draw(st.lists(tags(), min_size=1, max_size=3))
    triggers = draw(st.sampled_from([None, 1]))
    named = None if triggers is None else tuple({tag.begin[:triggers] for tag, _ in drawn})
    least = draw(st.integers(0, 2))
    options: dict[str, Any] = {
        "text": draw(st.sampled_from(["around", "before", "none"])),
        "at_least": least,
        "at_most": draw(st.sampled_from([None, least, least + 1])),
    }
    separator, excludes = draw(st.sampled_from(["", "a"])), draw(st.lists(short, max_size=1))
    try:
        spec = Tags(
            tuple(tag for tag, _ in drawn), named, separator=separator, excludes=tuple(excludes),
            **options,
        )  # fmt: skip
        spec.automaton()
    except (SpecError, UnsatisfiableSchemaError):
        spec = Tags(tuple(tag for tag, _ in drawn), text="none", separator=separator)
        options, excludes = {"text": "none"}, []
    model = ref.Text(
        [model for _, model in drawn],
        [trigger.encode() for trigger in spec.triggers or ()],
        separator=separator.encode(),
        excludes=[text.encode() for text in excludes],
        **options,
    )
    return spec, model


@given(tagged_texts())
def test_the_texts_are_those_of_the_reference(drawn: tuple[Tags, ref.Text]) -> None:
    """Every text of up to five letters is accepted iff the reference accepts it."""
    spec, model = drawn
    automaton = spec.automaton()
    for text in ref.texts_up_to(LETTERS, 5):
        at, _ = automaton.run(automaton.start, text)
        assert (at >= 0 and automaton.is_accepting(at)) == model.fits(text), text


@given(tagged_texts(), st.integers(0, 2**32))
def test_masks_are_exact(drawn: tuple[Tags, ref.Text], seed: int) -> None:
    """Tokens that a text goes on with are allowed; allowed tokens lead to reference texts."""
    spec, model = drawn
    rng = Random(seed)
    vocab = vocabulary(rng)
    c = sg.compile(spec, vocab)
    texts = [text for text in ref.texts_up_to(LETTERS, 5) if model.fits(text)]
    for text in rng.sample(texts, min(len(texts), 8)):
        laws.own_tokens_are_allowed(c, text)
    for visit in laws.walk(c, rng, 6):
        allowed = laws.text_tokens(c, visit[1])
        for token in rng.sample(allowed, min(len(allowed), 1)):
            after = c.advance(visit[1], token)
            text_out = visit[0] + vocab.token_bytes(token) + c.shortest_completion(after)
            assert model.fits(text_out), text_out
        laws.ends_are_marked(c, visit[1])
        laws.goes_on(c, visit[1])


@given(tagged_texts(), st.integers(0, 2**32))
def test_a_mask_is_what_advancing_allows(drawn: tuple[Tags, ref.Text], seed: int) -> None:
    """A token's bit is set iff its bytes can be read: triggers cut across tokens included."""
    c = sg.compile(drawn[0], vocabulary(Random(seed)))
    for _, state in laws.walk(c, Random(seed), 5):
        laws.mask_is_advance(c, state)


@given(tagged_texts())
def test_completions_are_shortest(drawn: tuple[Tags, ref.Text]) -> None:
    """No text that goes on from a prefix and fits is shorter than the completion."""
    spec, model = drawn
    automaton = spec.automaton()
    ends = automaton.completions()
    texts = [text for text in ref.texts_up_to(LETTERS, 5) if model.fits(text)]
    for text in texts[:40]:
        for cut in range(len(text) + 1):
            at, _ = automaton.run(automaton.start, text[:cut])
            rest = ends.shortest(at)
            assert model.fits(text[:cut] + rest)
            assert len(rest) <= len(text) - cut


@given(tagged_texts(), st.integers(0, 2**32))
def test_values_put_the_text_together_again(drawn: tuple[Tags, ref.Text], seed: int) -> None:
    """Pieces of text, begins, contents and ends are the text, with separators where no text is."""
    spec, _ = drawn
    c = sg.compile(spec, vocabulary(Random(seed)))
    text, state = laws.walk(c, Random(seed), 6)[-1]
    text_out = (text + c.shortest_completion(state)).decode(errors="replace")
    found = spec.parse(text_out)
    written = ""
    for number, piece in enumerate(found):
        if isinstance(piece, str):
            written += piece
            continue
        tag = spec.tags[piece.tag]
        follows = number and isinstance(found[number - 1], Tagged)
        gap = spec.separator if follows and spec.text != "around" else ""
        written += gap + tag.begin + piece.value + tag.end
    assert written == text_out


# -- by example -----------------------------------------------------------------------------------

WEATHER = {
    "type": "object",
    "properties": {"city": {"enum": ["Bonn", "Oslo"]}},
    "required": ["city"],
    "additionalProperties": False,
}


def mask(c: sg.Constraint, state: int) -> set[bytes]:
    """The tokens that are allowed."""
    return {c.vocabulary.token_bytes(t) for t in laws.mask_of(c, state)}


def test_text_outside_tags_is_free_but_for_the_trigger() -> None:
    """Of all tokens only those are refused that complete the trigger and then go on wrongly."""
    tokens = [bytes((b,)) for b in range(256)]
    odd = [b"<call>x", b"a<call>{", b"<call", b"l>", b'l>{"', b"l>}", b"</call>", b"\xff<ca"]
    vocab = sg.Vocabulary([*tokens, *odd, b"</s>"], eos_ids=[256 + len(odd)])
    c = sg.compile(Tags((Tag("<call>", WEATHER, "</call>"),)), vocab)
    everything = {*tokens, *odd, b"</s>"}
    assert mask(c, c.start) == everything - {b"<call>x"}
    begun = c.advance_bytes(c.start, b"so <cal")
    assert mask(c, begun) == everything - {b"<call>x", b"l>}"}
    inside = c.advance_bytes(begun, b"l>")
    assert mask(c, inside) == {b"{"}
    assert c.is_accepting(begun)
    assert not c.is_accepting(inside)


def test_tokens_may_hold_the_end_of_a_tag_and_what_follows() -> None:
    """One token ends the value, the tag, and begins the next one."""
    tokens = [bytes((b,)) for b in range(256)]
    whole = b'"}</call>, and <call>{"city'
    vocab = sg.Vocabulary([*tokens, whole, b"</s>"], eos_ids=[257])
    c = sg.compile(Tags((Tag("<call>", WEATHER, "</call>"),)), vocab)
    state = c.advance_bytes(c.start, b'<call>{"city":"Bonn')
    assert whole in mask(c, state)
    after = c.advance(state, 256)
    assert c.forced_bytes(after) == b'":'
    assert after == c.advance_bytes(state, whole)


def test_special_tokens_may_stand_where_the_spec_writes_their_text() -> None:
    """As a trigger, within an end, and nowhere else; they lead where their text would lead."""
    tokens = [bytes((b,)) for b in range(256)]
    special = [b"<|tool|>", b"<|end|>", b"<|other|>"]
    vocab = sg.Vocabulary([*tokens, *special, b"</s>"], eos_ids=[259], special_ids=[256, 257, 258])
    spec = Tags((Tag("<|tool|>", WEATHER, "<|end|>"),))
    c = sg.compile(spec, vocab)
    assert mask(c, c.start) & set(special) == {b"<|tool|>"}
    inside = c.advance(c.start, 256)
    assert inside == c.advance_bytes(c.start, b"<|tool|>")
    assert mask(c, inside) & set(special) == set()
    ended = c.advance_bytes(inside, b'{"city":"Oslo"}')
    assert mask(c, ended) & set(special) == {b"<|end|>"}
    assert c.advance(ended, 257) == c.start
    assert c.advance(ended, 258) == sg.DEAD
    half = c.advance_bytes(c.start, b"<|to")
    assert mask(c, half) & set(special) == {b"<|tool|>"}  # anew: the half one stays text


def test_a_section_of_reasoning_comes_first() -> None:
    """Think, then JSON: free text up to the end of the section, then the schema."""
    spec = sequence(Tag("<think>", None, "</think>"), "\n", WEATHER)
    sg.check(spec, '<think>hm {"city": </think>\n{"city": "Bonn"}')
    assert spec.parse('<think>so</think>\n{"city":"Oslo"}') == ["so", "\n", {"city": "Oslo"}]
    with pytest.raises(ValidationError) as refused:
        sg.check(spec, "<think>hm</think> ")
    assert refused.value.offset == 17
    with pytest.raises(ValidationError):
        spec.parse("<think>hm</think>")


def test_any_of_gives_the_value_of_the_first_that_fits() -> None:
    """Alternatives are read side by side; two that are not regular go together, too."""
    spec = any_of(WEATHER, {"type": "array", "items": {"type": "integer"}}, sg.Regex("no+"))
    for text, value in [('{"city":"Bonn"}', {"city": "Bonn"}), ("[1, 2]", [1, 2]), ("noo", "noo")]:
        sg.check(spec, text)
        assert spec.parse(text) == value
    with pytest.raises(ValidationError):
        sg.check(spec, "[1}")


def test_a_saved_constraint_has_the_same_masks(tmp_path: Any) -> None:
    """The file keeps positions and the tables of every part."""
    rng = Random(5)
    vocab = vocabulary(rng)
    spec = Tags((Tag("<a", WEATHER, ">"), Tag("<b", sg.Regex("[ab]+"), ">")), at_least=1)
    c = sg.compile(spec, vocab)
    c.precompute(200)
    c.save(tmp_path / "tags")
    loaded = sg.load(tmp_path / "tags", vocab)
    for seed in range(6):
        laws.same_behaviour(c, loaded, Random(seed))


def test_threads_share_a_constraint() -> None:
    """What threads see is what one thread alone sees."""
    spec = Tags((Tag("<a", WEATHER, ">"), Tag("<b", sg.Regex("[ab]+"), ">")))
    vocab = vocabulary(Random(7))
    laws.threads_agree(lambda: sg.compile(spec, vocab), [1, 2, 3])


def test_tables_that_are_dropped_are_made_again(monkeypatch: Any) -> None:
    """With next to no memory the masks are the same, for old states too."""
    monkeypatch.setattr("structgen.constraint.constraint.CHECK_EVERY", 3)
    spec = Tags((Tag("<a", WEATHER, ">"), Tag("<b", sg.Regex("[ab]+"), ">")))
    vocab = vocabulary(Random(11))
    small, large = sg.compile(spec, vocab, max_bytes=1), sg.compile(spec, vocab)
    small._most = 0  # else twice what it starts with is the least
    first = small.automaton
    for seed in range(4):
        laws.same_behaviour(small, large, Random(seed), 30)
    assert small.automaton is not first
    for text in (b'<a{"ci', b"<bab", b'<a{"city":"Bonn"}> x'):
        states = [c.advance_bytes(c.start, text) for c in (small, large)]
        laws.walk(small, Random(1), 20)
        assert laws.mask_of(small, states[0]) == laws.mask_of(large, states[1])


def test_a_cached_mask_is_the_cold_mask() -> None:
    """A constraint that has been everywhere gives the rows of a fresh one."""
    spec = Tags((Tag("<a", WEATHER, ">"), Tag("<b", None, ">")), at_most=2)
    vocab = vocabulary(Random(9))
    warm = sg.compile(spec, vocab)
    for seed in range(10):
        laws.walk(warm, Random(seed), 20)
    for text in (b"", b"<", b'<a{"ci', b"<bxx", b"<bx><a"):
        cold = sg.compile(spec, vocab)
        rows = np.zeros((2, vocab.words), np.int32)
        warm.fill_mask(warm.advance_bytes(warm.start, text), rows[0])
        cold.fill_mask(cold.advance_bytes(cold.start, text), rows[1])
        assert (rows[0] == rows[1]).all()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Tag("<a>", None), SpecError),
        (lambda: Tags((Tag("", "x"),)), SpecError),
        (lambda: Tags((Tag("<a>", "x"),), text="inside"), SpecError),
        (lambda: Tags((Tag("<a>", "x"),), at_least=2, at_most=1), SpecError),
        (lambda: Tags((Tag("<a>", "x"),), ("<b",)), SpecError),
        (lambda: Tags((Tag("<a>", "x"),), ("<", "<b")), SpecError),
        (lambda: Tags((Tag("<abc>", "x"), Tag("b", "y"))), SpecError),
        (lambda: Tags((), at_least=1), SpecError),
        (lambda: Tags((Tag("<a>", "x"),), at_least=2000), BudgetError),
        (lambda: FreeText(("",)), SpecError),
        (lambda: FreeText("x"), SpecError),  # type: ignore[arg-type]
        (any_of, UnsatisfiableSchemaError),
        (lambda: sequence(3), SpecError),
    ],
)
def test_what_cannot_be_is_refused(make: Any, error: type[Exception]) -> None:
    """Broken options are typed errors."""
    with pytest.raises(error):
        make()


def test_an_end_that_cannot_come_is_refused() -> None:
    """Text that must hold a tag and may not hold its begin has no end."""
    with pytest.raises(UnsatisfiableSchemaError):
        sg.compile(Tags((Tag("<a>", "x"),), at_least=1, excludes=("<",)), vocabulary(Random(1)))


def test_errors_in_a_tag_say_which_tag() -> None:
    """The place of an error in a schema starts with the tag."""
    spec = Tags((Tag("<call>", {"type": "object", "properties": {"a": {"type": "nil"}}}, ">"),))
    with pytest.raises(SpecError) as refused:
        sg.compile(spec, vocabulary(Random(1)))
    assert refused.value.location.startswith("tag '<call>': ")
    assert "/properties/a" in refused.value.location
