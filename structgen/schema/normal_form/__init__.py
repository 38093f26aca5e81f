"""Schemas in normal form: one entry for each JSON type, closed under and, or and not."""
