"""Terminals: Python patterns as regular languages, and byte automata that read them."""
