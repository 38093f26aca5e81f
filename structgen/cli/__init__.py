"""The command line: results as JSON on stdout, all else on stderr, and an exit status."""
