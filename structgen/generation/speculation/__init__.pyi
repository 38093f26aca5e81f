from structgen.generation.speculation.auto import AutoDrafter as AutoDrafter
from structgen.generation.speculation.drafters.copy import CopyDrafter as CopyDrafter
from structgen.generation.speculation.drafters.forced import ForcedDrafter as ForcedDrafter
from structgen.generation.speculation.drafters.hybrid import HybridDrafter as HybridDrafter
from structgen.generation.speculation.drafters.jacobi import (
    JacobiDrafter as JacobiDrafter,
    LookaheadDrafter as LookaheadDrafter,
)
from structgen.generation.speculation.drafters.ngrams import (
    RecyclingDrafter as RecyclingDrafter,
    StandDrafter as StandDrafter,
    TrigramDrafter as TrigramDrafter,
)
from structgen.generation.speculation.drafters.retrieval import RetrievalDrafter as RetrievalDrafter
from structgen.generation.speculation.drafters.suffix import SuffixDrafter as SuffixDrafter
from structgen.generation.speculation.drafters.suffix_index import SuffixIndex as SuffixIndex
from structgen.generation.speculation.heads.drafter import HeadDrafter as HeadDrafter
from structgen.generation.speculation.interfaces import (
    AcceptRule as AcceptRule,
    Budget as Budget,
    Drafter as Drafter,
    Fork as Fork,
    LengthPolicy as LengthPolicy,
    Plan as Plan,
    Round as Round,
    Session as Session,
    StoppingPolicy as StoppingPolicy,
)
from structgen.generation.speculation.masked import masked_law as masked_law
from structgen.generation.speculation.models import (
    LayerSkipDrafter as LayerSkipDrafter,
    ModelDrafter as ModelDrafter,
    TextDrafter as TextDrafter,
)
from structgen.generation.speculation.names import NAMES as NAMES
from structgen.generation.speculation.policies.bandit import Bandit as Bandit
from structgen.generation.speculation.policies.costs import CostTable as CostTable
from structgen.generation.speculation.policies.exit_layer import Del as Del
from structgen.generation.speculation.policies.lengths import (
    Adl as Adl,
    Fixed as Fixed,
    Sized as Sized,
    Thompson as Thompson,
)
from structgen.generation.speculation.policies.stopping import (
    Confidence as Confidence,
    Disco as Disco,
    Threshold as Threshold,
)
from structgen.generation.speculation.rules import (
    Judge as Judge,
    KSeq as KSeq,
    OptimalTransport as OptimalTransport,
    RecursiveRejection as RecursiveRejection,
    Reflective as Reflective,
    SampleCompare as SampleCompare,
    Typical as Typical,
)
from structgen.generation.speculation.speculation import Speculation as Speculation
from structgen.generation.speculation.stats import Stats as Stats
from structgen.generation.speculation.table_target import TableTarget as TableTarget
from structgen.generation.speculation.tree import (
    Context as Context,
    DraftTree as DraftTree,
    Draws as Draws,
    Scheme as Scheme,
)
