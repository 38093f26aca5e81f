"""Arrays: which items may come, how many, and that none comes twice."""
