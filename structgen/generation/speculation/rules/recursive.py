"""`RecursiveRejection`: speculative sampling, one drawn child tried after another.

Let x be drawn from q, and kept with probability min(1, p(x) / q(x)). The token y is then kept with
probability min(p(y), q(y)), something is refused with probability sum max(p - q, 0), and a draw
from the residual distribution, proportional to max(p - q, 0), makes up for it: together p(y). Where
that residual is itself drawn from by trying the next child, the same holds of it, so p is preserved
for any number of children. Each step is exact given those before it, hence the number of children
may depend on what was drawn so far.
"""

from __future__ import annotations

import numpy as np

from structgen.generation.speculation.interfaces import Fork, Plan
from structgen.generation.speculation.rules.residual import residual
from structgen.generation.speculation.tree import Scheme


class RecursiveRejection:
    """Tries the drawn children in their order, each against what those before have left of p.

    With one child this is speculative sampling (Leviathan et al. 2023, theorem 3.5; Chen et al.
    2023); with independent ones multi-round rejection; without replacement it is recursive
    rejection sampling (Jeon et al. 2024, RSD, theorem 3.1; Yang et al. 2024), which knows that what
    was refused does not come again, and so accepts more. O(children * k).
    """

    schemes = frozenset(Scheme)
    lossless = True

    def plan(self, fork: Fork) -> Plan:
        """The probabilities of each child, and of what is left of the distribution."""
        p, q = fork.p, fork.q
        accept = np.zeros(len(fork.children))
        left = 1.0
        for i, x in enumerate(fork.drawn):
            if q is None or left == 0.0 or q[x] == 0.0:
                break
            kept = min(1.0, p[x] / q[x])
            accept[i] = left * kept
            left *= 1.0 - kept
            p = residual(p, q)
            if fork.scheme is not Scheme.IID:
                q = q.copy()
                q[x] = 0.0
                q /= q.sum() or 1.0
        return Plan(accept, left * p)
