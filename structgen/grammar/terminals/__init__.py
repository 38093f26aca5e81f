"""Terminals: patterns of Python's `re` as regular languages, and the byte DFAs that read them."""
