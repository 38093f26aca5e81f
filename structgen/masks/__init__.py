"""Token masks: which tokens may come next. `pushdown_masks` says what a mask is made of."""
