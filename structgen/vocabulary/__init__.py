"""Tokenizers of any kind as a `Vocabulary`: the bytes of every token, and their trie."""
