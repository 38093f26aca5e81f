"""Transforms of grammars: inlining, removal of useless symbols, left-corner form."""
