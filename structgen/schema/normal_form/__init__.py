"""Schemas in normal form: one entry per JSON type, closed under conjunction and negation.

`forms` defines it, `logic` negates it, `expressions` names subschemas without expanding them, and
`costs` decides which normal forms are empty. `progress` has what the matchers of arrays and objects
share.
"""
