"""Specs inside a grammar, such as a JSON Schema, read by automata of their own."""
