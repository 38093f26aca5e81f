"""Workspaces of the kernels are used again, and what is left in them changes no mask."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import structgen
from structgen import Constraint, Regex, Vocabulary
from structgen.masks.registry import masks_of
from structgen.masks.shared import SPARE, shared_masks

TOKENS = [*(bytes((b,)) for b in range(256)), b"ab", b"abc", b"cab", b"bca", b'"a', b'":']


@pytest.fixture
def vocabulary() -> Vocabulary:
    """One that no other test has used."""
    return Vocabulary([*TOKENS, None], eos_ids=[len(TOKENS)])


def first_mask(constraint: Constraint) -> list[int]:
    """The tokens with which a text may begin."""
    row = np.zeros(constraint.vocabulary.words, np.int32)
    constraint.fill_mask(constraint.start, row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def test_constraints_work_in_the_same_workspaces(vocabulary: Vocabulary) -> None:
    """A mask that is made has given its workspace back, so however many constraints need few."""
    workspaces = shared_masks(vocabulary).workspaces
    first = structgen.compile(Regex("(a|b).*"), vocabulary)
    first_mask(first)
    spare = [*workspaces._spare]
    assert spare
    made = [structgen.compile(Regex(f"{letter}.*"), vocabulary) for letter in "abcabc"]
    for constraint, letter in zip(made, b"abcabc", strict=True):
        assert {TOKENS[token][0] for token in first_mask(constraint)} == {letter}
    assert {*map(id, workspaces._spare)} == {*map(id, spare)}


def test_a_mask_is_written_though_another_constraint_had_the_workspace(
    vocabulary: Vocabulary,
) -> None:
    """Edits that were found and not written are found again."""
    masks = [
        masks_of(structgen.compile(Regex(p), vocabulary).automaton, vocabulary) for p in ("a+", "b")
    ]
    starts = [structgen.compile(Regex(p), vocabulary).automaton.start for p in ("a+", "b")]
    wanted = [one.row(at).tolist() for one, at in zip(masks, starts, strict=True)]
    row = np.zeros(vocabulary.words, np.int32)
    for one, at in zip(masks, starts, strict=True):
        one.write(at, row)
        one.cached_position(at)
    for one, at, expected in zip(masks, starts, wanted, strict=True):
        one.write(at, row)
        assert row.tolist() == expected


@pytest.mark.thorough
def test_what_a_walk_left_behind_changes_no_mask(vocabulary: Vocabulary) -> None:
    """Words that were changed, and not collected, are forgotten before the next walk."""
    common = shared_masks(vocabulary)
    wanted = first_mask(structgen.compile({"type": "object"}, vocabulary))
    gc.collect()
    for workspace in common.workspaces._spare:
        workspace.scratch.bits[:3], workspace.scratch.touched[:4] = -1, [3, 0, 1, 2]
        workspace.scratch.stack[:], workspace.scratch.changed[:] = 7, -1
    assert common.workspaces._spare
    assert first_mask(structgen.compile({"type": "object"}, vocabulary)) == wanted


def test_few_workspaces_are_kept(vocabulary: Vocabulary) -> None:
    """However many constraints there were at once."""
    workspaces = shared_masks(vocabulary).workspaces
    for workspace in [workspaces.take() for _ in range(3 * SPARE)]:
        workspaces.give_back(workspace)
    assert len(workspaces._spare) == SPARE
