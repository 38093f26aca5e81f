"""Rewrites of a grammar into one that is easier to read by."""
