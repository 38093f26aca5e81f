"""Constraints: what a spec becomes for a vocabulary; compiled, kept in caches, saved to files."""
