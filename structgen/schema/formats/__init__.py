"""Formats: the exact language of the strings that have each `format`."""
