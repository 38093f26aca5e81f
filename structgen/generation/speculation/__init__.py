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
given that the whole text fits. The names (`__init__.pyi`) are loaded on first use.
"""

from structgen.util.lazy import names_of_stub

__getattr__, __dir__ = names_of_stub(__name__, __file__)
