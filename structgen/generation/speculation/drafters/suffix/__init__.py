"""Drafts that continue what followed the same tokens before."""
