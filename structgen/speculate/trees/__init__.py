"""In: laws of the next token, asked for by the level. Out: ways to grow a draft tree from them."""

from structgen.speculate.trees.best_first import BestFirst
from structgen.speculate.trees.interfaces import Law, Laws, TreeBuilder

__all__ = ["BestFirst", "Law", "Laws", "TreeBuilder"]
