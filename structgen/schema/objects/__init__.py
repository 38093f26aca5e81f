"""Objects: which keys may come, which must, and what their values settle."""
