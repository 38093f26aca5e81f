"""`Adl`: the draft length follows recent drafts, and grows where all of them was kept."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.policies.checks import check_share, check_some
from structgen.generation.speculation.tree import Context


@dataclass
class _Recent:
    """Moving averages of one text: tokens in a row that were drafted, and kept."""

    drafted: float
    kept: float


@dataclass(frozen=True, eq=False)
class Adl:
    """As long as recent drafts were, and `step` tokens more where all of them has been kept.

    The adaptive draft length of DiffuSpec (Li et al. 2025, section 3.3), for drafters that need
    a length and draft less where they see an end: it goes down to what they really draft,
    and up while the target keeps pace. size: the largest, which is also the first. least: tokens
    in a row that are always drafted. weight: of the newest draft in the averages.
    """

    size: Budget = field(default_factory=lambda: Budget(nodes=16, depth=16, width=1))
    least: int = 2
    step: int = 4
    weight: float = 0.5

    def __post_init__(self) -> None:
        check_share("weight", self.weight)
        check_some("tokens", min(self.least, self.step))

    def budget(self, context: Context) -> Budget:
        """The size for the next draft of this text."""
        recent: _Recent | None = context.notes.get(self)
        if recent is None:
            return self.size
        more = self.step if recent.kept >= recent.drafted else 0
        depth = min(max(math.ceil(recent.drafted) + more, self.least), self.size.depth)
        return replace(self.size, depth=depth, nodes=min(self.size.nodes, depth * self.size.width))

    def observe(self, context: Context, seen: Round) -> None:
        """Count a draft; where there was none, nothing is learned."""
        drafted, kept = max(seen.tree.depths), len(seen.path)
        if not drafted:
            return
        recent = context.notes.setdefault(self, _Recent(drafted, kept))
        recent.drafted += self.weight * (drafted - recent.drafted)
        recent.kept += self.weight * (kept - recent.kept)
