"""Fixture: one thread for the small demo models."""

from tests.generation.conftest import one_thread

__all__ = ["one_thread"]
