"""Tree builders: ways to grow a draft tree from next-token distributions.

    BestFirst        the most probable continuations (SpecExec); deterministic, for every rule
    Static           a shape settled beforehand; its children picked, drawn, or both
    Sequoia          Static with the shape that is best by what was seen, and by what passes cost
    Dynamic          drawn where a draw has the best prospects (DySpec)
    StochasticBeam   sequences without replacement (RSD)
    Cape             a chain, wider where it is unsure
    Lattice          from guesses for several positions, what fits together
    merge            several trees as one

Which rules are right for what is drawn: `Draws.scheme` says it, and the loop checks it.
"""

from structgen.generation.speculation.trees.drawing import (
    Distribution,
    Distributions,
    LearningBuilder,
    Pick,
    TreeBuilder,
    notify,
)
from structgen.generation.speculation.trees.growing import (
    BestFirst,
    Cape,
    Dynamic,
    Shape,
    Static,
    StochasticBeam,
)
from structgen.generation.speculation.trees.merge import Lattice, merge
from structgen.generation.speculation.trees.planner import Planned, Planner, RankRates, Sequoia

__all__ = [
    "BestFirst",
    "Cape",
    "Distribution",
    "Distributions",
    "Dynamic",
    "Lattice",
    "LearningBuilder",
    "Pick",
    "Planned",
    "Planner",
    "RankRates",
    "Sequoia",
    "Shape",
    "Static",
    "StochasticBeam",
    "TreeBuilder",
    "merge",
    "notify",
]
