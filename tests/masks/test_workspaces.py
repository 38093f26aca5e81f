"""Workspaces of the kernels are used again, and what is left in them changes no mask."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import structgen
from structgen import Constraint, Regex, Vocabulary
from structgen.masks.pushdown_masks import PushdownMasks
from structgen.masks.shared import SPARE, Workspace, shared_masks

TOKENS = [*(bytes((b,)) for b in range(256)), b"ab", b"abc", b"cab", b"bca", b'"a', b'":']


@pytest.fixture
def vocabulary() -> Vocabulary:
    """One that no other test has used."""
    return Vocabulary([*TOKENS, None], eos_ids=[len(TOKENS)])


def workspace_of(constraint: Constraint) -> Workspace:
    """The workspace of a constraint."""
    walker = constraint._masks
    assert isinstance(walker, PushdownMasks)
    return walker._workspace


def first_mask(constraint: Constraint) -> list[int]:
    """The tokens with which a text may begin."""
    row = np.zeros(constraint.vocabulary.words, np.int32)
    constraint.fill_mask(constraint.start, row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def test_a_workspace_is_used_again_when_its_constraint_is_gone(vocabulary: Vocabulary) -> None:
    """Two constraints at once have two workspaces; the next one has that of one that is gone."""
    workspaces = shared_masks(vocabulary).workspaces
    made = [structgen.compile(Regex(pattern), vocabulary) for pattern in ("a.*", "b.*")]
    for constraint in made:
        first_mask(constraint)
    assert workspace_of(made[0]) is not workspace_of(made[1])
    left = workspace_of(made[0])
    del constraint, made[0]
    gc.collect()
    assert [*workspaces._spare] == [left]
    following = structgen.compile(Regex("c.*"), vocabulary)
    assert [bytes(TOKENS[t])[:1] for t in first_mask(following)] == [b"c", b"c"]
    assert workspace_of(following) is left


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
