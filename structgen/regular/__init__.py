"""Regular languages: patterns, expressions with derivatives, emptiness, and lazily built DFAs."""

from structgen.regular import regex as regex  # puts the parts of expressions together
