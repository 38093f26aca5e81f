"""Lexer states: byte automata of terminals, and the rows that many specs share."""
