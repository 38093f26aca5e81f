"""Hash-consed regular expressions in normal form, and what each node knows of itself."""
