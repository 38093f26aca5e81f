"""Small helpers that know nothing of grammars or models."""
