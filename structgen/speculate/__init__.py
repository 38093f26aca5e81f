"""In: a model, a drafter. Out: the same law of texts as without it, in fewer forward passes.

A drafter guesses a tree of tokens, the model reads it in one pass, and what it would have written
is kept: `generate(..., speculate="auto")`. START HERE:

names            what `speculate=` may be; Speculation = a drafter, an acceptance rule, a policy
loop             the loop; verify.py is one step of it, tree.py what is drafted
drafters/        drafts without a model: forced and copied text, suffixes, n-grams, guesses ahead
models/, heads/  drafts by smaller models, other vocabularies, some layers of the model, heads
trees/           ways to grow a tree from laws of the next token
rules/           acceptance rules, each a plan whose law is tested by enumeration
policies/        how much to draft, by measured costs and what was kept
replay           what a drafter would have gained on recorded texts, without a model

What is preserved is the masked law: each token by the model's law, given that the constraint allows
it. `weight` and `structgen.sample` are there for the law given that the whole text fits. The names
below are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structgen.lazy import importing

_HOMES = {
    "AcceptRule": "structgen.speculate.interfaces",
    "Adl": "structgen.speculate.policies.adl",
    "AutoDrafter": "structgen.speculate.auto",
    "Bandit": "structgen.speculate.policies.bandit",
    "Budget": "structgen.speculate.interfaces",
    "Confidence": "structgen.speculate.policies.stopping",
    "Context": "structgen.speculate.interfaces",
    "CopyDrafter": "structgen.speculate.drafters.copy",
    "CostTable": "structgen.speculate.policies.costs",
    "Del": "structgen.speculate.policies.exit_layer",
    "Disco": "structgen.speculate.policies.disco",
    "Drafter": "structgen.speculate.interfaces",
    "DraftTree": "structgen.speculate.tree",
    "Draws": "structgen.speculate.interfaces",
    "Fixed": "structgen.speculate.policies.fixed",
    "ForcedDrafter": "structgen.speculate.drafters.forced",
    "Fork": "structgen.speculate.interfaces",
    "HeadDrafter": "structgen.speculate.heads.drafter",
    "HybridDrafter": "structgen.speculate.drafters.hybrid",
    "JacobiDrafter": "structgen.speculate.drafters.jacobi",
    "Judge": "structgen.speculate.rules",
    "KSeq": "structgen.speculate.rules",
    "LayerSkipDrafter": "structgen.speculate.models",
    "LengthPolicy": "structgen.speculate.interfaces",
    "LookaheadDrafter": "structgen.speculate.drafters.lookahead",
    "masked_law": "structgen.speculate.laws",
    "ModelDrafter": "structgen.speculate.models",
    "NAMES": "structgen.speculate.names",
    "OptimalTransport": "structgen.speculate.rules",
    "Plan": "structgen.speculate.interfaces",
    "RecursiveRejection": "structgen.speculate.rules",
    "RecyclingDrafter": "structgen.speculate.drafters.recycling",
    "Reflective": "structgen.speculate.rules",
    "RetrievalDrafter": "structgen.speculate.drafters.retrieval",
    "Round": "structgen.speculate.interfaces",
    "SampleCompare": "structgen.speculate.rules",
    "Scheme": "structgen.speculate.interfaces",
    "Session": "structgen.speculate.interfaces",
    "Sized": "structgen.speculate.policies.sized",
    "Speculation": "structgen.speculate.speculation",
    "StandDrafter": "structgen.speculate.drafters.stand",
    "Stats": "structgen.speculate.stats",
    "StoppingPolicy": "structgen.speculate.interfaces",
    "SuffixDrafter": "structgen.speculate.drafters.suffix",
    "SuffixIndex": "structgen.speculate.drafters.suffix_index",
    "TableTarget": "structgen.speculate.table_target",
    "TextDrafter": "structgen.speculate.models",
    "Thompson": "structgen.speculate.policies.thompson",
    "Threshold": "structgen.speculate.policies.stopping",
    "TrigramDrafter": "structgen.speculate.drafters.trigram",
    "Typical": "structgen.speculate.rules",
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
    from structgen.speculate.auto import AutoDrafter as AutoDrafter
    from structgen.speculate.drafters.copy import CopyDrafter as CopyDrafter
    from structgen.speculate.drafters.forced import ForcedDrafter as ForcedDrafter
    from structgen.speculate.drafters.hybrid import HybridDrafter as HybridDrafter
    from structgen.speculate.drafters.jacobi import JacobiDrafter as JacobiDrafter
    from structgen.speculate.drafters.lookahead import LookaheadDrafter as LookaheadDrafter
    from structgen.speculate.drafters.recycling import RecyclingDrafter as RecyclingDrafter
    from structgen.speculate.drafters.retrieval import RetrievalDrafter as RetrievalDrafter
    from structgen.speculate.drafters.stand import StandDrafter as StandDrafter
    from structgen.speculate.drafters.suffix import SuffixDrafter as SuffixDrafter
    from structgen.speculate.drafters.suffix_index import SuffixIndex as SuffixIndex
    from structgen.speculate.drafters.trigram import TrigramDrafter as TrigramDrafter
    from structgen.speculate.heads.drafter import HeadDrafter as HeadDrafter
    from structgen.speculate.interfaces import AcceptRule as AcceptRule
    from structgen.speculate.interfaces import Budget as Budget
    from structgen.speculate.interfaces import Context as Context
    from structgen.speculate.interfaces import Drafter as Drafter
    from structgen.speculate.interfaces import Draws as Draws
    from structgen.speculate.interfaces import Fork as Fork
    from structgen.speculate.interfaces import LengthPolicy as LengthPolicy
    from structgen.speculate.interfaces import Plan as Plan
    from structgen.speculate.interfaces import Round as Round
    from structgen.speculate.interfaces import Scheme as Scheme
    from structgen.speculate.interfaces import Session as Session
    from structgen.speculate.interfaces import StoppingPolicy as StoppingPolicy
    from structgen.speculate.laws import masked_law as masked_law
    from structgen.speculate.models import LayerSkipDrafter as LayerSkipDrafter
    from structgen.speculate.models import ModelDrafter as ModelDrafter
    from structgen.speculate.models import TextDrafter as TextDrafter
    from structgen.speculate.names import NAMES as NAMES
    from structgen.speculate.policies.adl import Adl as Adl
    from structgen.speculate.policies.bandit import Bandit as Bandit
    from structgen.speculate.policies.costs import CostTable as CostTable
    from structgen.speculate.policies.disco import Disco as Disco
    from structgen.speculate.policies.exit_layer import Del as Del
    from structgen.speculate.policies.fixed import Fixed as Fixed
    from structgen.speculate.policies.sized import Sized as Sized
    from structgen.speculate.policies.stopping import Confidence as Confidence
    from structgen.speculate.policies.stopping import Threshold as Threshold
    from structgen.speculate.policies.thompson import Thompson as Thompson
    from structgen.speculate.rules import Judge as Judge
    from structgen.speculate.rules import KSeq as KSeq
    from structgen.speculate.rules import OptimalTransport as OptimalTransport
    from structgen.speculate.rules import RecursiveRejection as RecursiveRejection
    from structgen.speculate.rules import Reflective as Reflective
    from structgen.speculate.rules import SampleCompare as SampleCompare
    from structgen.speculate.rules import Typical as Typical
    from structgen.speculate.speculation import Speculation as Speculation
    from structgen.speculate.stats import Stats as Stats
    from structgen.speculate.table_target import TableTarget as TableTarget
    from structgen.speculate.tree import DraftTree as DraftTree


__getattr__ = importing(__name__, _HOMES)
