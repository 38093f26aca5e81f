"""Constraints that were saved to files load, and have the masks that they had.

The files and what they are compared with are written anew by `python -m tests.guards.write
artifacts`, which is right only where the number of the format has been raised.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import structgen as sg
from tests.guards import artifacts, replay, specs, vocabularies

KEPT = artifacts.kept()
ANEW = "raise the number of the format, then run `python -m tests.guards.write artifacts`"
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def test_all_kinds_are_kept_in_little_room() -> None:
    """Each kind of spec has its file, and together they are small."""
    assert list(KEPT) == artifacts.KINDS
    sizes = [artifacts.path_of(name).stat().st_size for name in artifacts.KINDS]
    assert sum(sizes) < 200_000


@pytest.mark.parametrize("name", artifacts.KINDS)
def test_a_kept_file_loads_and_has_the_same_masks(name: str, tmp_path: Path) -> None:
    """From a file of before: the masks of before; and so after it is saved again."""
    text = replay.stored(KEPT[name]["text"])
    with artifacts.unpacked(name) as path:
        assert artifacts.noted(path, text) == KEPT[name]["note"]
        loaded = sg.load(path, vocabularies.named("small"))
        assert loaded.spec == specs.makers()[name]()
        loaded.save(tmp_path / "again")
    assert artifacts.noted(tmp_path / "again", text) == KEPT[name]["note"]


@pytest.mark.parametrize("name", artifacts.KINDS)
def test_the_format_is_the_one_that_is_written_down(name: str) -> None:
    """Versions, header and arrays of a file that is written now are those of the kept file."""
    old: dict[str, Any] = KEPT[name]["layout"]
    with artifacts.unpacked(name) as path:
        assert artifacts.layout_of(path) == old
    found = artifacts.different(old, artifacts.saved_now(name, replay.stored(KEPT[name]["text"])))
    if found:
        pytest.fail("\n".join([f"the format of {name} has changed: {ANEW}", *found]), pytrace=False)
