"""Potentials: judgements that weigh a text while it is written."""
