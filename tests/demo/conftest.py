"""In: nothing. Out: one thread for the demo's small models."""

from tests.decode.conftest import one_thread

__all__ = ["one_thread"]
