"""Regular expressions closed under union, intersection and complement, walked by derivatives.

The derivative of r by a character c is the language of all rests of members of r that start with c
(Brzozowski 1964); `moves` gives derivatives by disjoint sets of characters (Owens, Reppy and Turon
2009, "Regular-expression derivatives re-examined"). Nodes are hash-consed, so the same form is the
same object, and a node doubles as a DFA state. Bounded repeats are never written out: the
derivative of x{m,n} is x'x{m-1,n-1}.

This module is what other packages import of `expressions`: `base` and `nodes` say what a node is
and knows, `build` and `logic` construct nodes in normal form, `derivatives` holds the derivation
rule of each kind, `search` decides emptiness and finds shortest members, `estimates` what is read
of languages that have too many states.
"""

from __future__ import annotations

from structgen.regular.expressions import derivatives, search  # noqa: F401  rules are attached
from structgen.regular.expressions.base import EMPTY, EPSILON, INFINITE, Regex
from structgen.regular.expressions.build import chars, concat, literal, repeat, sub_automaton, words
from structgen.regular.expressions.estimates import (
    nonempty_by_estimates,
    readable,
    readable_together,
)
from structgen.regular.expressions.logic import alt, complement, intersect
from structgen.regular.expressions.nodes import ANY, ANY_CHAR, SubAutomatonState, matches
from structgen.regular.expressions.search import min_length, shortest
from structgen.regular.lazy_dfa.automaton import product_has_member
from structgen.regular.lazy_dfa.shortest_texts import shortest_text

__all__ = [
    "ANY", "ANY_CHAR", "EMPTY", "EPSILON", "INFINITE", "Regex", "SubAutomatonState",
    "alt", "chars", "complement", "concat", "intersect", "literal",
    "matches", "min_length", "readable", "readable_together", "repeat", "shortest",
    "sub_automaton", "words",
]  # fmt: skip

search.product_search = product_has_member  # which stands above the search that uses it
search.by_estimates = nonempty_by_estimates
search.table_search = shortest_text
