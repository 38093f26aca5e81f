"""Readers of the notations for grammars: Lark, GBNF, EBNF (ISO 14977 and the W3C's)."""
