"""Regular languages over Unicode characters: expressions, lazy automata, numbers, patterns."""
