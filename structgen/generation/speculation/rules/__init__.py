"""Acceptance rules: which child of a draft node is kept, as a plan of probabilities.

    SampleCompare       a draw from the distribution; right for any children
    RecursiveRejection  speculative sampling, its multi-round form, and RSD without replacement
    KSeq                SpecTr's rule for a settled number of independent draws
    OptimalTransport    accepts most of all lossless rules; for forks with few tokens
    Typical, Judge, Reflective   change the distribution of the text, and are refused unless that is
wanted

Children that were chosen without chance need no rule of their own: whatever token comes of a plan,
a child with that token is kept, so what a rule leaves of the distribution falls on them.
"""

from structgen.generation.speculation.rules.lossless import KSeq, RecursiveRejection, SampleCompare
from structgen.generation.speculation.rules.lossy import Judge, Reflective, Typical
from structgen.generation.speculation.rules.optimal import OptimalTransport, optimal_acceptance

__all__ = [
    "Judge",
    "KSeq",
    "OptimalTransport",
    "RecursiveRejection",
    "Reflective",
    "SampleCompare",
    "Typical",
    "optimal_acceptance",
]
