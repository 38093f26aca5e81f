"""Deterministic automata of regular expressions, whose states are found when they are needed."""
