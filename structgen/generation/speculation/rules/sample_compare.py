"""In: forks. Out: SampleCompare, the rule that is right for every drafter."""

from __future__ import annotations

import numpy as np

from structgen.generation.speculation.interfaces import Fork, Plan, Scheme


class SampleCompare:
    """Draws a token from the target's law; a child with that token is kept.

    Right for any children, however they were chosen, and reproducible: with the same random numbers
    it writes the very tokens that are written without drafts.
    """

    schemes = frozenset(Scheme)
    lossless = True

    def plan(self, fork: Fork) -> Plan:
        """Nothing is accepted on other grounds: the residual is the law itself."""
        return Plan(np.zeros(len(fork.drawn) + len(fork.points)), fork.p)
