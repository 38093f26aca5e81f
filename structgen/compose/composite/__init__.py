"""Specs one after another: an automaton whose parts are automata."""
