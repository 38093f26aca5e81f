"""In: a model, constraints and a sampler. Out: text that fits, its value and its probabilities."""
