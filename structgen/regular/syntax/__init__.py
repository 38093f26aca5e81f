"""Patterns as people write them: ECMA-262 with flag `u`, assertions and Unicode classes."""
