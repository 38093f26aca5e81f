"""Regular languages: patterns, expressions with derivatives, emptiness, and lazily built DFAs."""
