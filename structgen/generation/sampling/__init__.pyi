from structgen.generation.sampling.api import posterior_of as posterior_of, sample as sample
from structgen.generation.sampling.context import Context as Context
from structgen.generation.sampling.exact import exact_law as exact_law
from structgen.generation.sampling.language_model import LanguageModel as LanguageModel
from structgen.generation.sampling.posterior import Posterior as Posterior
from structgen.generation.sampling.potentials.joined import join as join
from structgen.generation.sampling.potentials.monitors import (
    Monitor as Monitor,
    Monitored as Monitored,
)
from structgen.generation.sampling.potentials.names_python import PythonNames as PythonNames
from structgen.generation.sampling.potentials.names_sql import (
    SqlNames as SqlNames,
    prepares as prepares,
)
from structgen.generation.sampling.potentials.potentials import (
    Critic as Critic,
    Product as Product,
    TextCritic as TextCritic,
)
from structgen.generation.sampling.potentials.predicates import (
    OnText as OnText,
    OnTokens as OnTokens,
    OnValue as OnValue,
)
from structgen.generation.sampling.potentials.second_model import SecondModel as SecondModel
from structgen.generation.sampling.registry import FAMILIES as FAMILIES, draw as draw
from structgen.generation.sampling.results import (
    Estimate as Estimate,
    Sample as Sample,
    Samples as Samples,
)
from structgen.generation.sampling.samplers.best_of import BestOf as BestOf
from structgen.generation.sampling.samplers.independent import (
    Awrs as Awrs,
    Mask as Mask,
    Rejection as Rejection,
)
from structgen.generation.sampling.samplers.prefix_trie import PrefixTrie as PrefixTrie
from structgen.generation.sampling.samplers.smc import Smc as Smc
from structgen.generation.sampling.samplers.trie_samplers import Asap as Asap, Cars as Cars
from structgen.generation.sampling.search.beam import Beam as Beam
from structgen.generation.sampling.search.best_first import BestFirst as BestFirst
from structgen.generation.sampling.search.monte_carlo import MonteCarlo as MonteCarlo
from structgen.generation.sampling.table import TableModel as TableModel
from structgen.spec.partial_json import PartialValue as PartialValue, read_partial as read_partial
