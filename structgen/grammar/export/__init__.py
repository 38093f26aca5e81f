"""Export of specs to GBNF: regular languages, grammars and JSON Schemas as rules of one text."""
