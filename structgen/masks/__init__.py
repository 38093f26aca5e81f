"""In: constraint states. Out: their mask rows, and logits with everything else at -inf."""
