"""`SampleCompare`: draw from the target's distribution, keep the child with that token."""

from __future__ import annotations

import numpy as np

from structgen.generation.speculation.interfaces import Fork, Plan
from structgen.generation.speculation.tree import Scheme


class SampleCompare:
    """Draws a token from the target's distribution; a child with that token is kept.

    Right for any children, however they were chosen, and reproducible: with the same random numbers
    it writes the very tokens that are written without drafts.
    """

    schemes = frozenset(Scheme)
    lossless = True

    def plan(self, fork: Fork) -> Plan:
        """Nothing is accepted on other grounds: the residual is the distribution itself."""
        return Plan(np.zeros(len(fork.drawn) + len(fork.points)), fork.p)
