"""Readers of the languages that people write grammars in: Lark, GBNF, EBNF."""
