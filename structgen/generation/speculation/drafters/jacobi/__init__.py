"""Drafts from the model's own logits along a chain of guesses."""
