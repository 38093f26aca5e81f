"""Samplers of the model's own distribution over texts, given that the text fits the spec.

Masking renormalises at each step and ignores how likely a text is to end well from there, so it
distorts the distribution of whole texts. The samplers here correct that, or estimate by how much.
START HERE:

interfaces       how samplers see a model, a potential and a context
posterior        the distribution to sample: model, constraint, potentials, a budget of tokens
results          Sample and Samples: texts with importance weights
registry         the samplers by name, and `draw`
samplers         masking, rejection, AWRS, ASAp, CARS, SMC, best-of-n
potentials       critics: conditions and weights beyond grammars
search           the best texts instead of drawn ones: beam, best-first, Monte Carlo tree search

The names (`__init__.pyi`) are loaded on first use.
"""

from structgen.util.lazy import names_of_stub

__getattr__, __dir__ = names_of_stub(__name__, __file__)
