"""In: a command line. Out: JSON on stdout, all else on stderr, and an exit status."""
