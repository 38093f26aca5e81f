"""In: hidden states of the target. Out: drafts from heads that were trained on them."""
