"""Automata embedded in an expression as one of its parts."""
