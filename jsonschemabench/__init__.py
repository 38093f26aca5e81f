"""A benchmark of engines for constrained decoding: what each gets right, and how long it takes."""
