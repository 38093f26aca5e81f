"""Cache a function of an object, for as long as the object lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

K = TypeVar("K")
T = TypeVar("T")


def per_object(make: Callable[[K], T]) -> Callable[[K], T]:
    """`make`, remembered for as long as its argument lives. Threads get the same value.

    The value must not hold the argument, or neither would ever be freed.
    """
    known: WeakKeyDictionary[K, T] = WeakKeyDictionary()

    @wraps(make)
    def get(of: K) -> T:
        found = known.get(of)
        return known.setdefault(of, make(of)) if found is None else found

    return get
