"""Specs that must all hold: products of automata."""
