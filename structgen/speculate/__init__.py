"""In: a model, a drafter. Out: the same law of texts as without it, in fewer forward passes."""
