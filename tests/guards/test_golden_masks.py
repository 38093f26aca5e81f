"""Masks are bit for bit what they were: at every prefix of a kept text of some 600 specs.

`masks.json` has the texts and short digests of the masks, `replay.py` says how they are read. After
a change that is meant, `python -m tests.guards.write masks` writes them anew and lists what has
changed.
"""

from __future__ import annotations

import pytest

from tests.guards import replay, specs, vocabularies

VOCABULARIES = ["small", "demo", "large"]
CHUNK = 20
TOLD = 8  # differences that a failure shows
ANEW = "run `python -m tests.guards.write masks` if this is meant"

GOLDEN = replay.golden()
MAKERS = specs.makers()
NAMES = list(GOLDEN["specs"])
PLAIN = [name for name in NAMES if not name.startswith("shipped/")]
CHUNKS = [PLAIN[i : i + CHUNK] for i in range(0, len(PLAIN), CHUNK)] + [
    [name] for name in NAMES if name.startswith("shipped/")
]
REAL = [name for name in NAMES if "real" in GOLDEN["specs"][name].get("rows", {})]
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def names_of(chunk: list[str]) -> str:
    """The first and the last name of a chunk, as the id of its test."""
    return chunk[0] if len(chunk) == 1 else f"{chunk[0]}..{chunk[-1]}"


def compared(chunk: list[str], real: bool = False) -> list[str]:
    """What differs between what was kept of some specs and what they are now.

    real: with the real vocabulary alone, not with the others.
    """
    found = []
    for name in chunk:
        kept = GOLDEN["specs"][name]
        names = [v for v in kept.get("rows", VOCABULARIES) if (v == "real") == real]
        try:
            got = replay.replayed(MAKERS[name], kept.get("texts", [""]), names)
            found += replay.differences(name, MAKERS[name], kept, got)
        except AssertionError as error:
            found.append(f"{name}: {error}")
    return found


def fail_if(found: list[str]) -> None:
    """Fail with the first of some differences."""
    if found:
        shown = "\n".join(found[:TOLD])
        pytest.fail(f"{len(found)} differences; {ANEW}\n{shown}", pytrace=False)


def test_every_spec_has_its_masks() -> None:
    """Specs and records have the same names, and there are many of each."""
    assert sorted(MAKERS) == sorted(NAMES), ANEW
    assert len(NAMES) > 550
    assert sum("error" in GOLDEN["specs"][name] for name in NAMES) < len(NAMES) / 5


@pytest.mark.parametrize("name", VOCABULARIES)
def test_the_vocabularies_are_those_of_the_record(name: str) -> None:
    """Another token, or another order, would change every mask."""
    assert vocabularies.named(name).hash == GOLDEN["vocabularies"][name]


@pytest.mark.parametrize("chunk", CHUNKS, ids=names_of)
def test_masks_are_what_they_were(chunk: list[str]) -> None:
    """Rows, ends, shortest and forced texts, and errors of some specs, with three vocabularies."""
    fail_if(compared(chunk))


def test_masks_of_a_real_vocabulary_are_what_they_were() -> None:
    """The same for some specs with Llama 3's 128,000 tokens."""
    path = vocabularies.real_path()
    if not path.exists():
        pytest.skip(f"no outside data at {path} (set {vocabularies.WHERE})")
    if not REAL:
        pytest.skip("the record was written without it")
    assert vocabularies.named("real").hash == GOLDEN["vocabularies"]["real"]
    fail_if(compared(REAL, real=True))
