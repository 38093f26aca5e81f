"""Formats: for each value of the `format` keyword the language of its strings."""
