"""Hash-consed regular expressions with intersection and complement, walked by derivatives."""
