"""Figures show the counts and times that they are given, in colours of the page."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from jsonschemabench.plots import DARK, LIGHT, MARKS, coverage, distribution, role, short_time, tail
from jsonschemabench.running.outcomes import OUTCOMES
from jsonschemabench.running.times import histogram

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

TIMES = {"structgen": histogram([1000, 2000, 4000]), "peer": histogram([10**6] * 50)}
COUNTS = {"$ref and $id": {"structgen": {"pass": 3, "accepted invalid": 1}, "peer": {"pass": 4}}}
PLOTS = {
    "coverage": coverage("c", "title", COUNTS, OUTCOMES),
    "distribution": distribution("d", "title", TIMES),
    "tail": tail("t", "title", TIMES),
}


def texts(svg: str) -> list[str]:
    """The texts of a figure."""
    return [
        "".join(found.itertext())
        for found in ET.fromstring(svg).iter()
        if found.tag.endswith("}text")
    ]


@pytest.mark.parametrize("name", PLOTS)
def test_every_colour_follows_the_page(name: str) -> None:
    """No colour is fixed, and each variable is one that the page defines."""
    svg = PLOTS[name].svg("x")
    assert re.findall(r"(?:fill|stroke|color): ?#", svg) == []
    assert set(re.findall(r"var\(--([a-z0-9-]+)\)", svg)) <= LIGHT.keys()
    assert LIGHT.keys() == DARK.keys() == MARKS.keys()


@pytest.mark.parametrize("name", PLOTS)
def test_ids_have_the_prefix_and_references_lead_to_them(name: str) -> None:
    """Two figures on a page cannot take each other's parts."""
    svg = PLOTS[name].svg("run-1")
    ids = set(re.findall(r'\bid="([^"]*)"', svg))
    used = set(re.findall(r'(?:url\(#|href="#)([^")]*)', svg))
    assert ids
    assert used <= ids
    assert all(found.startswith("run-1-") for found in ids)


def test_names_are_shown_as_they_are() -> None:
    """A dollar starts no formula, and text stays text."""
    found = texts(PLOTS["coverage"].svg("x"))
    assert {"$ref and $id", "structgen", "peer", "75.0 %", "100 %", "▲ 1"} <= set(found)


@pytest.mark.parametrize("name", ["名前", "a" * 200, "<b>&", "\x00\ud800", "\u202eabc", "$x$"])
def test_any_name_can_be_drawn(name: str) -> None:
    """Scripts that the font lacks, markup, control characters, formulas, and long names."""
    groups = {name: {name: {"pass": 1}}}
    assert len(texts(coverage("c", "t", groups, OUTCOMES).svg("x"))) > 3
    assert len(texts(tail("t", "t", {name: TIMES["peer"]}).svg("x"))) > 3


@pytest.mark.parametrize("times", [[1], [1, 1], [5, 10**12], [0]])
def test_few_or_far_times_can_be_drawn(times: list[int]) -> None:
    """One time alone, equal ones, and twelve powers of ten."""
    found = {"e": histogram(times)}
    for plot in (distribution("d", "t", found), tail("t", "t", found)):
        assert plot.file("png").startswith(b"\x89PNG")


def test_the_same_input_gives_the_same_figure() -> None:
    """So that pages can be compared."""
    assert PLOTS["tail"].svg("x") == PLOTS["tail"].svg("x")
    assert PLOTS["tail"].file("svg") == PLOTS["tail"].file("svg")


def test_the_bars_are_as_long_as_the_shares() -> None:
    """A quarter of the bar is of the colour of the outcome that a quarter has."""
    svg = PLOTS["coverage"].svg("x")
    found: dict[str, list[float]] = {}
    for path, name in re.findall(r'<path d="([^"]*)"[^>]*style="fill: var\(--([a-z-]+)\)', svg):
        across = [float(x) for x in re.findall(r"[ML] ([\d.]+)", path)]
        found.setdefault(name, []).append(max(across) - min(across))
    widest = max(found["pass"])
    assert sorted(round(width / widest, 3) for width in found["pass"] if width > 30)[-2:] == [
        0.75,
        1,
    ]
    assert any(round(width / widest, 3) == 0.25 for width in found["accepted-invalid"])


@pytest.mark.parametrize("peers", [["new", "unconstrained"], ["new", "newer"], ["llguidance"]])
def test_an_engine_looks_the_same_in_every_figure(peers: list[str]) -> None:
    """Whoever else is in it; and no two engines look alike."""
    alone = tail("t", "t", {"xgrammar": TIMES["peer"]}).svg("x")
    among = tail("t", "t", dict.fromkeys([*peers, "xgrammar"], TIMES["peer"])).svg("x")
    (colour,) = set(re.findall(r"--(engine-\d)", alone))
    found = set(re.findall(r"--(engine-\d)", among))
    assert colour in found
    assert len(found) == len(peers) + 1


def test_outcomes_and_times_have_names() -> None:
    """Each outcome has a colour of its own; ticks have units."""
    assert len({role(outcome) for outcome in OUTCOMES}) == len(OUTCOMES)
    assert role("something new") in LIGHT
    ticks: Any = [short_time(10.0**power) for power in range(-9, 3, 2)]
    assert ticks == ["1 ns", "100 ns", "10 µs", "1 ms", "100 ms", "10 s"]
