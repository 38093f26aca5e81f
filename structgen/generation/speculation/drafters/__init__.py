"""Model-free drafters: they guess the next tokens from the text, the grammar and past logits.

    ForcedDrafter     what the grammar forces; all tokens where only a few are allowed
    CopyDrafter       what followed the same string in the prompt; words of the prompt
    SuffixDrafter     what followed the same tokens, or the same state, in this text and others
    RecyclingDrafter  what the target found likely after the same token (adjacency matrix)
    TrigramDrafter    what it found likely after the same two tokens
    StandDrafter      drawn from the logits that it had after the same n-gram
    LookaheadDrafter  n-grams that Jacobi iterations left behind
    JacobiDrafter     drawn, position by position, from the last iteration's conditionals
    MixtureDrafter    paths to which several of them contribute; the best of all these
    HybridDrafter     the best draft of several, or all in one tree
    RetrievalDrafter  a retrieved tree, pruned by another drafter's probabilities

Most are built on a `Guesser` (`guessing.py`): a cursor into some statistics, and ranked guesses
there.
"""
