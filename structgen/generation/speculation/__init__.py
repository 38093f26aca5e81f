"""Speculative decoding: the same distribution of texts, in fewer forward passes of the model.

A drafter proposes a tree of tokens, the model reads it in one pass, and the longest path that the
model itself would have written is kept: `generate(..., speculate="auto")`. START HERE:

names            what `speculate=` may be
speculation      Speculation = a drafter, an acceptance rule, a length policy
loop             the decode loop; verify.py is one step of it, tree.py the draft tree
drafters/        drafts without a model: forced and copied text, suffixes, n-grams, Jacobi guesses
models/, heads/  drafts by smaller models, other vocabularies, some layers of the model, heads
trees/           ways to grow a tree from next-token distributions
rules/           acceptance rules, each a plan whose distribution is tested by enumeration
policies/        how much to draft, by measured costs and acceptance
replay           what a drafter would have saved on recorded texts, without a model

What is preserved is the masked distribution: each token as the model would draw it, given that the
constraint allows it. `weight` and `structgen.generation.sampling` are there for the distribution
given that the whole text fits. The names below are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structgen.util.lazy import importing

_HOMES = {
    "AcceptRule": "structgen.generation.speculation.interfaces",
    "Adl": "structgen.generation.speculation.policies.lengths",
    "AutoDrafter": "structgen.generation.speculation.auto",
    "Bandit": "structgen.generation.speculation.policies.bandit",
    "Budget": "structgen.generation.speculation.interfaces",
    "Confidence": "structgen.generation.speculation.policies.stopping",
    "Context": "structgen.generation.speculation.tree",
    "CopyDrafter": "structgen.generation.speculation.drafters.copy",
    "CostTable": "structgen.generation.speculation.policies.costs",
    "Del": "structgen.generation.speculation.policies.exit_layer",
    "Disco": "structgen.generation.speculation.policies.stopping",
    "Drafter": "structgen.generation.speculation.interfaces",
    "DraftTree": "structgen.generation.speculation.tree",
    "Draws": "structgen.generation.speculation.tree",
    "Fixed": "structgen.generation.speculation.policies.lengths",
    "ForcedDrafter": "structgen.generation.speculation.drafters.forced",
    "Fork": "structgen.generation.speculation.interfaces",
    "HeadDrafter": "structgen.generation.speculation.heads.drafter",
    "HybridDrafter": "structgen.generation.speculation.drafters.hybrid",
    "JacobiDrafter": "structgen.generation.speculation.drafters.jacobi",
    "Judge": "structgen.generation.speculation.rules",
    "KSeq": "structgen.generation.speculation.rules",
    "LayerSkipDrafter": "structgen.generation.speculation.models",
    "LengthPolicy": "structgen.generation.speculation.interfaces",
    "LookaheadDrafter": "structgen.generation.speculation.drafters.jacobi",
    "masked_law": "structgen.generation.speculation.masked",
    "ModelDrafter": "structgen.generation.speculation.models",
    "NAMES": "structgen.generation.speculation.names",
    "OptimalTransport": "structgen.generation.speculation.rules",
    "Plan": "structgen.generation.speculation.interfaces",
    "RecursiveRejection": "structgen.generation.speculation.rules",
    "RecyclingDrafter": "structgen.generation.speculation.drafters.ngrams",
    "Reflective": "structgen.generation.speculation.rules",
    "RetrievalDrafter": "structgen.generation.speculation.drafters.retrieval",
    "Round": "structgen.generation.speculation.interfaces",
    "SampleCompare": "structgen.generation.speculation.rules",
    "Scheme": "structgen.generation.speculation.tree",
    "Session": "structgen.generation.speculation.interfaces",
    "Sized": "structgen.generation.speculation.policies.lengths",
    "Speculation": "structgen.generation.speculation.speculation",
    "StandDrafter": "structgen.generation.speculation.drafters.ngrams",
    "Stats": "structgen.generation.speculation.stats",
    "StoppingPolicy": "structgen.generation.speculation.interfaces",
    "SuffixDrafter": "structgen.generation.speculation.drafters.suffix",
    "SuffixIndex": "structgen.generation.speculation.drafters.suffix_index",
    "TableTarget": "structgen.generation.speculation.table_target",
    "TextDrafter": "structgen.generation.speculation.models",
    "Thompson": "structgen.generation.speculation.policies.lengths",
    "Threshold": "structgen.generation.speculation.policies.stopping",
    "TrigramDrafter": "structgen.generation.speculation.drafters.ngrams",
    "Typical": "structgen.generation.speculation.rules",
}
__all__ = [
    "NAMES",
    "AcceptRule",
    "Adl",
    "AutoDrafter",
    "Bandit",
    "Budget",
    "Confidence",
    "Context",
    "CopyDrafter",
    "CostTable",
    "Del",
    "Disco",
    "DraftTree",
    "Drafter",
    "Draws",
    "Fixed",
    "ForcedDrafter",
    "Fork",
    "HeadDrafter",
    "HybridDrafter",
    "JacobiDrafter",
    "Judge",
    "KSeq",
    "LayerSkipDrafter",
    "LengthPolicy",
    "LookaheadDrafter",
    "ModelDrafter",
    "OptimalTransport",
    "Plan",
    "RecursiveRejection",
    "RecyclingDrafter",
    "Reflective",
    "RetrievalDrafter",
    "Round",
    "SampleCompare",
    "Scheme",
    "Session",
    "Sized",
    "Speculation",
    "StandDrafter",
    "Stats",
    "StoppingPolicy",
    "SuffixDrafter",
    "SuffixIndex",
    "TableTarget",
    "TextDrafter",
    "Thompson",
    "Threshold",
    "TrigramDrafter",
    "Typical",
    "masked_law",
]

if TYPE_CHECKING:
    from structgen.generation.speculation.auto import AutoDrafter as AutoDrafter
    from structgen.generation.speculation.drafters.copy import CopyDrafter as CopyDrafter
    from structgen.generation.speculation.drafters.forced import ForcedDrafter as ForcedDrafter
    from structgen.generation.speculation.drafters.hybrid import HybridDrafter as HybridDrafter
    from structgen.generation.speculation.drafters.jacobi import (
        JacobiDrafter as JacobiDrafter,
    )
    from structgen.generation.speculation.drafters.jacobi import (
        LookaheadDrafter as LookaheadDrafter,
    )
    from structgen.generation.speculation.drafters.ngrams import (
        RecyclingDrafter as RecyclingDrafter,
    )
    from structgen.generation.speculation.drafters.ngrams import StandDrafter as StandDrafter
    from structgen.generation.speculation.drafters.ngrams import (
        TrigramDrafter as TrigramDrafter,
    )
    from structgen.generation.speculation.drafters.retrieval import (
        RetrievalDrafter as RetrievalDrafter,
    )
    from structgen.generation.speculation.drafters.suffix import (
        SuffixDrafter as SuffixDrafter,
    )
    from structgen.generation.speculation.drafters.suffix_index import (
        SuffixIndex as SuffixIndex,
    )
    from structgen.generation.speculation.heads.drafter import HeadDrafter as HeadDrafter
    from structgen.generation.speculation.interfaces import AcceptRule as AcceptRule
    from structgen.generation.speculation.interfaces import Budget as Budget
    from structgen.generation.speculation.interfaces import Drafter as Drafter
    from structgen.generation.speculation.interfaces import Fork as Fork
    from structgen.generation.speculation.interfaces import LengthPolicy as LengthPolicy
    from structgen.generation.speculation.interfaces import Plan as Plan
    from structgen.generation.speculation.interfaces import Round as Round
    from structgen.generation.speculation.interfaces import Session as Session
    from structgen.generation.speculation.interfaces import StoppingPolicy as StoppingPolicy
    from structgen.generation.speculation.masked import masked_law as masked_law
    from structgen.generation.speculation.models import LayerSkipDrafter as LayerSkipDrafter
    from structgen.generation.speculation.models import ModelDrafter as ModelDrafter
    from structgen.generation.speculation.models import TextDrafter as TextDrafter
    from structgen.generation.speculation.names import NAMES as NAMES
    from structgen.generation.speculation.policies.bandit import Bandit as Bandit
    from structgen.generation.speculation.policies.costs import CostTable as CostTable
    from structgen.generation.speculation.policies.exit_layer import Del as Del
    from structgen.generation.speculation.policies.lengths import Adl as Adl
    from structgen.generation.speculation.policies.lengths import Fixed as Fixed
    from structgen.generation.speculation.policies.lengths import Sized as Sized
    from structgen.generation.speculation.policies.lengths import Thompson as Thompson
    from structgen.generation.speculation.policies.stopping import Confidence as Confidence
    from structgen.generation.speculation.policies.stopping import Disco as Disco
    from structgen.generation.speculation.policies.stopping import Threshold as Threshold
    from structgen.generation.speculation.rules import Judge as Judge
    from structgen.generation.speculation.rules import KSeq as KSeq
    from structgen.generation.speculation.rules import OptimalTransport as OptimalTransport
    from structgen.generation.speculation.rules import RecursiveRejection as RecursiveRejection
    from structgen.generation.speculation.rules import Reflective as Reflective
    from structgen.generation.speculation.rules import SampleCompare as SampleCompare
    from structgen.generation.speculation.rules import Typical as Typical
    from structgen.generation.speculation.speculation import Speculation as Speculation
    from structgen.generation.speculation.stats import Stats as Stats
    from structgen.generation.speculation.table_target import TableTarget as TableTarget
    from structgen.generation.speculation.tree import Context as Context
    from structgen.generation.speculation.tree import DraftTree as DraftTree
    from structgen.generation.speculation.tree import Draws as Draws
    from structgen.generation.speculation.tree import Scheme as Scheme


__getattr__ = importing(__name__, _HOMES)
