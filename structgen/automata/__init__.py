"""In: languages of terminals and a syntax on top. Out: byte automata and a pushdown machine."""
