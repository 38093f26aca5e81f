"""Two automata that read a text side by side, state by state: both, either, or one of them.

pair           what all have: states that are pairs
side_by_side   no pair is dead: unions, formats with a limit
beside         a format and another demand: some pairs are dead
complements    all texts but a format's
less_words     a language without some listed texts
format_vectors several expressions that a text is read in, one part of which is a format
union_vectors  several expressions with automata of their own
"""
