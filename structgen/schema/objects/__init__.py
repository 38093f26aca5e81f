"""Objects: which keys may come, which must, and what their values decide.

`matcher` reads an object key by key; `key_classes` groups keys that no keyword names; `clauses`
decides whether the disjunctions that negation leaves can be satisfied (the algorithm is explained
there), `quick_check` sees it without a search where it can, by `clause_index` and `tags`, and
`clause_matcher` reads objects that have some.
"""
