"""Lexer states: byte automata of terminals, and what they share."""
