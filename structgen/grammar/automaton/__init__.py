"""The byte automaton of a grammar: its tables, token masks, completions and messages."""
