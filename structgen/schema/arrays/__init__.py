"""Arrays: which items may come, how many, how many of a kind (`contains`), and none twice.

`matcher` reads arrays without counts and comparisons, `contains` those whose items are counted, and
`unique_items` those whose items must differ (`uniqueItems`), or must not all differ.
"""
