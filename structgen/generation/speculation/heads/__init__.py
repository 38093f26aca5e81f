"""Drafts by heads (Medusa, EAGLE) that were trained on the target's hidden states."""
