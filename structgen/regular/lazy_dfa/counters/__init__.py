"""Automata that count: bounds on length, and repetitions beyond the longest token."""
