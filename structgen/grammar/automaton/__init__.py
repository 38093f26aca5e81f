"""The automaton that reads a grammar's texts: its tables, masks and completions."""
