"""Fixture: one thread for the tiny models of other libraries."""

from tests.generation.conftest import one_thread

__all__ = ["one_thread"]
