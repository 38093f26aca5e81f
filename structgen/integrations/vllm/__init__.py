"""structgen behind vLLM's `structured_outputs`, and as a logits processor for single requests."""
