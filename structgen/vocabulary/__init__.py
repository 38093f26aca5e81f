"""In: tokenizers of any make. Out: the bytes of every token (Vocabulary) and their trie (Trie)."""
