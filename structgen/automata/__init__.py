"""Automata over bytes: the interface of all specs, lexer states, and the pushdown engine."""
