"""Potentials: factors that weight a text while it is written, beyond the constraint."""
