"""Specs: what a user wants the text to be. Each is a frozen value that makes its automaton."""
