"""Answers that fit, from APIs that take no masks."""
