"""Drafts from n-grams of what the model found likely before."""
