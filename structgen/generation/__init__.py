"""Text generation: constrained decoding, sampling, speculative decoding, penalties."""
