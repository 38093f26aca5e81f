"""In: context-free grammars in the languages people write them in. Out: automata over bytes."""
