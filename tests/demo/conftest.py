"""In: nothing. Out: one thread for the demo's small models."""

from tests.generation.conftest import one_thread

__all__ = ["one_thread"]
