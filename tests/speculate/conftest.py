"""In: nothing. Out: one thread for the tiny models that draft and are drafted for."""

from tests.decode.conftest import one_thread

__all__ = ["one_thread"]
