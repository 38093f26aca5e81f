"""Tests the measurement of masking on posteriors that can be enumerated."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from html.parser import HTMLParser

import numpy as np
import pytest

import structgen as sg
from structgen.generation.sampling.alignment import Alignment, kl_aligned, kl_masked, measure
from structgen.generation.sampling.alignment_page import page
from structgen.generation.sampling.exact import kl
from structgen.generation.sampling.interfaces import Tokens
from structgen.generation.sampling.posterior import Posterior
from structgen.generation.sampling.results import Estimate
from structgen.generation.sampling.samplers.independent import Rejection
from structgen.generation.sampling.table import TableModel
from tests.generation.sampling.toys import (
    LETTERS,
    letters,
    masked_law,
    posterior_distribution,
    seventeen,
)


@pytest.fixture(scope="module")
def seventeen_measured() -> Alignment:
    """The seventeen strings."""
    return measure(seventeen(), 500, 1)


def test_the_seventeen_strings(seventeen_measured: Alignment) -> None:
    """Z = 17/32, KL(masked || aligned) = 0.7538 nats; half of the masked texts are the rare one."""
    found = seventeen_measured
    truth = posterior_distribution(seventeen())
    backwards = kl(truth, masked_law(seventeen()))
    for estimate, exact in (
        (found.satisfied, 17 / 32),
        (found.kl_masked, 0.7538),
        (found.kl_aligned, backwards),
    ):
        assert abs(estimate.value - exact) < 4 * estimate.standard_error
        assert estimate.standard_error < 0.1
    assert (found.exact, found.sampler, found.unfinished) == (True, "cars", 0.0)
    rare = next(one for one in found.texts if one.text == "00000")
    assert found.texts[0] == rare
    assert abs(rare.masked - 1 / 2) < 0.1
    assert abs(rare.aligned - 1 / 17) < 0.05
    assert 0.4 * 500 < found.effective_sample_size < 0.65 * 500
    assert found.trustworthy


def test_positions_and_spots_of_the_seventeen_strings(seventeen_measured: Alignment) -> None:
    """The first token loses nothing; behind a 0 each of the four others loses half."""
    found = seventeen_measured
    assert [one.index for one in found.positions] == list(range(5))
    assert sum(one.distortion for one in found.positions) == pytest.approx(1)
    assert found.positions[0].distortion == pytest.approx(0)
    assert all(one.distortion == pytest.approx(1 / 4) for one in found.positions[1:])
    assert all(one.reached == 1 for one in found.positions)
    assert {spot.text for spot in found.spots} == {"0", "00", "000", "0000"}
    for spot in found.spots:
        assert spot.removed == pytest.approx(1 / 2)
        assert [text for text, _ in (*spot.wanted, *spot.left)] == ["1", "0"]
        assert [p for _, p in (*spot.wanted, *spot.left)] == pytest.approx([1 / 2, 1])


@pytest.mark.thorough
@pytest.mark.parametrize("pattern", ["aaa|b[abc]{2}", "(ab|ba)*c?", "a*b|c{2,3}"])
def test_estimates_cover_the_enumerated_figures(pattern: str) -> None:
    """Over twenty seeds both divergences lie within two standard errors nearly always."""
    exact = masked_law(letters(pattern, 5)), posterior_distribution(letters(pattern, 5))
    wanted = kl(*exact), kl(*reversed(exact))
    misses = np.zeros(2)
    for seed in range(20):
        found = measure(letters(pattern, 5), 200, seed)
        for i, one in enumerate((found.kl_masked, found.kl_aligned)):
            misses[i] += abs(one.value - wanted[i]) > 2 * one.standard_error + 1e-9
    assert (misses <= 4).all()


def test_equal_weights_are_no_distortion() -> None:
    """A mask that removes the same everywhere: both divergences are 0, with no error."""
    logs = np.full(50, -3.0)
    assert kl_masked(logs).value == pytest.approx(0)
    assert kl_masked(logs).standard_error == pytest.approx(0)
    backwards = kl_aligned(logs, np.full(50, 1 / 50), Estimate(-3.0, 0.0))
    assert [backwards.value, backwards.standard_error] == pytest.approx([0, 0])
    assert math.isnan(kl_masked(logs[:1]).standard_error)


def _objects() -> Posterior:
    """Objects with two members whose values are single letters."""
    pieces = [b'{"a":"', b'","b":[', b"]}", b"x", b"y", b'"', b"1", b"<", b"\xe2\x80\xae"]
    vocabulary = sg.Vocabulary([*pieces, *(bytes([i]) for i in range(32, 127))], eos_ids=[])
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["x", "yy", "<"]}, "b": {"type": "array", "maxItems": 0}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    constraint = sg.compile(sg.JsonSchema(schema, whitespace="compact"), vocabulary)
    model = TableModel(vocabulary.size, lambda _: [1.0] * vocabulary.size)
    return Posterior(model, constraint, max_tokens=40)


def test_fields_of_json_are_compared() -> None:
    """Each leaf by its pointer, empty containers too; shares of a field sum to 1."""
    found = measure(_objects(), 60, 2, "smc")
    assert {field.pointer for field in found.fields} == {"/a", "/b"}
    for field in found.fields:
        assert sum(one.masked for one in field.values) == pytest.approx(1)
        assert sum(one.aligned for one in field.values) == pytest.approx(1)
    constant = next(field for field in found.fields if field.pointer == "/b")
    assert [one.text for one in constant.values] == ["[]"]
    assert constant.distance == pytest.approx(0)
    assert not found.exact


def test_what_masking_never_writes_counts_all_the_same() -> None:
    """Masked texts miss what the model means: the exact sampler's own estimate tells the truth."""

    def distribution(seen: Tokens) -> list[float]:
        if not seen:
            return [0.999, 0.001, 0, 0, 0, 0]
        return [1e-9, 0, 0, 1 - 1e-9, 0, 0] if seen == (0,) else [1, 0, 0, 0, 0, 0]

    constraint = sg.compile(sg.Regex("aa|ba"), LETTERS)
    found = measure(Posterior(TableModel(6, distribution), constraint, max_tokens=2), 30, 0)
    assert [one.text for one in found.texts if one.masked] == ["aa"]
    assert 0.0005 < found.satisfied.value < 0.002  # by the masked texts alone it would be 1e-9
    assert found.effective_sample_size < 1
    assert not found.trustworthy


def test_an_exact_sampler_that_finds_nothing_is_replaced() -> None:
    """Where rejection is hopeless, particles take over, and the result says so."""
    model = TableModel(6, lambda seen: [1e-7, 0.5, 0.2, 0.2, 0.1, 0.1])
    posterior = Posterior(model, sg.compile(sg.Regex("aaa|aab"), LETTERS), max_tokens=4)
    found = measure(posterior, 20, 0, Rejection(max_attempts=50))
    assert (found.sampler, found.exact) == ("smc", False)


class _Tags(HTMLParser):
    """Collects the names of elements, and attributes that could load something."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One element."""
        self.names.append(tag)
        self.links += [name for name, _ in attrs if name in {"src", "href", "srcset"}]
        if tag not in {"meta", "rect", "line"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Its end."""
        if tag not in {"rect", "line"}:
            assert self.open.pop() == tag


@pytest.mark.parametrize("make", [seventeen, _objects])
def test_the_page_needs_nothing_else(make: Callable[[], Posterior]) -> None:
    """Well nested, no link, no script, and what comes from outside is escaped."""
    found = measure(make(), 30, 3, "smc")
    text = page(found, "<b>title</b>", "<script>alert(1)</script>")
    tags = _Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.links == []
    assert "script" not in tags.names
    assert "b" not in tags.names
    assert tags.names.count("svg") == 2
    assert "default-src 'none'" in text
    assert not re.search(r"url\(|@import|https?:", text)


def test_the_figures_as_json(seventeen_measured: Alignment) -> None:
    """Strict JSON, with the figures under their names."""
    data = json.loads(json.dumps(seventeen_measured.to_json(), allow_nan=False))
    assert data["satisfied"]["value"] == seventeen_measured.satisfied.value
    assert len(data["positions"]) == 5
    assert data["texts"][0]["text"] == "00000"
