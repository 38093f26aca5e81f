"""Masks stay the same with what specs share read from a file, or the file is refused.

Files forged here have right checksums, so that only what reads the numbers stands in their way.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

import structgen as sg
from structgen.constraint.cache import Cache
from structgen.errors import ArtifactError
from structgen.masks.shared import shared_masks
from structgen.masks.shared_file import KIND, SavedParts
from structgen.util import container

TOKENS = [bytes((b,)) for b in range(256)] + [b'{"', b'":', b'", "', b"true", b"ab", b'a"', b"12"]
SPEC = sg.JsonSchema({"properties": {"a": {"type": "string", "maxLength": 3}, "b": True}})
TEXTS = [b"", b"{", b'{"', b'{"ab', b'{"a": "', b'{"a":"x', b'{"b":[1', b'{"b":"\\', b'{"b":tr']


def vocabulary(*more: bytes) -> sg.Vocabulary:
    """A new object each time, for which nothing has been made."""
    tokens = [*TOKENS, *more]
    return sg.Vocabulary([*tokens, None], eos_ids=[len(tokens)])


def masks(constraint: sg.Constraint) -> list[bytes]:
    """The masks after each of the texts."""
    states = [constraint.advance_bytes(constraint.start, text) for text in TEXTS]
    return [bytes(constraint.mask_view(state)) for state in states]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cache in which one spec has been compiled."""
    cache = Cache(tmp_path, max_states=200)
    constraint = cache.compile(SPEC, vocabulary())
    masks(constraint)
    cache.store(constraint)
    return tmp_path


def shared_file(folder: Path) -> Path:
    """The file of what specs share."""
    (path,) = folder.glob("*.sgr")
    return path


def test_what_a_cache_has_for_a_vocabulary_is_not_made_again(folder: Path) -> None:
    """Not even for a spec that the cache does not have; and the masks are those made anew."""
    other = sg.JsonSchema({"properties": {"x": {"type": "string", "maxLength": 2}, "y": True}})
    expected = masks(sg.compile(other, vocabulary()))
    fresh = vocabulary()
    Cache(folder, max_states=0).compile(SPEC, fresh)
    common = shared_masks(fresh)
    before = common.made
    assert masks(sg.compile(SPEC, fresh)) == masks(sg.compile(SPEC, vocabulary()))
    assert masks(sg.compile(other, fresh)) == expected
    assert common.made == before == 0
    assert common.nbytes > 0


def test_files_of_shared_parts_are_bounded_and_cleared(folder: Path) -> None:
    """They count as bytes, not as constraints."""
    cache = Cache(folder)
    assert len(cache) == 1
    assert cache.nbytes == sum(path.stat().st_size for path in folder.glob("*.sg?"))
    Cache(folder, max_bytes=0).compile(sg.Regex("a+"), vocabulary(b"zz"))
    assert not list(folder.glob(f"{shared_name()}*"))
    cache.clear()
    assert not list(folder.glob("*.sg?"))


def shared_name() -> str:
    """How the file for the usual vocabulary is called."""
    return vocabulary().hash[:40]


def test_what_others_have_written_is_kept(folder: Path) -> None:
    """A process that knows less adds to the file."""
    before = len(SavedParts(shared_file(folder), vocabulary()))
    text = {"type": "array", "items": {"type": "string", "maxLength": 1}}
    spec = sg.JsonSchema(text, property_order="any", whitespace="any")
    cache = Cache(folder, max_states=40)
    cache.compile(spec, vocabulary())
    assert len(SavedParts(shared_file(folder), vocabulary())) > before


def test_damage_and_other_vocabularies_are_refused(folder: Path) -> None:
    """A cache goes on without."""
    path = shared_file(folder)
    good = path.read_bytes()
    with pytest.raises(ArtifactError):
        SavedParts(path, vocabulary(b"zz"))
    rng = Random(0)
    for _ in range(60):
        at = rng.randrange(len(good))
        path.write_bytes(good[:at] + bytes((good[at] ^ 1 << rng.randrange(8),)) + good[at + 1 :])
        with pytest.raises(ArtifactError):
            SavedParts(path, vocabulary())
    path.write_bytes(good[: len(good) // 2])
    expected = masks(sg.compile(SPEC, vocabulary()))
    assert masks(Cache(folder, max_states=0).compile(SPEC, vocabulary())) == expected


@pytest.mark.parametrize("seed", range(40))
def test_forged_numbers_lead_nowhere(seed: int, folder: Path) -> None:
    """Whatever stands in whichever array: refused, left out, or masks of some kind; no crash."""
    path, rng = shared_file(folder), Random(seed)
    header, arrays = container.read(path, KIND)
    name = sorted(arrays)[seed % len(arrays)]
    changed = arrays[name].copy()
    flat, info = changed.reshape(-1), np.iinfo(changed.dtype)
    for _ in range(rng.randint(1, 3)):
        number = rng.choice([info.min, info.max, 1, rng.randrange(info.max)])
        flat[rng.randrange(len(flat))] = number
    if seed % 4 == 0:
        changed = changed[: len(changed) // 2]
    container.write(path, KIND, header, arrays | {name: changed})
    assert len(masks(Cache(folder, max_states=0).compile(SPEC, vocabulary()))) == len(TEXTS)
