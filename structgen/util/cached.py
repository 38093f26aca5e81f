"""What is cached of an object, for as long as it lives.

A `cached_attribute` costs one dictionary lookup and no lock. `functools.cached_property` does the
same from Python 3.12 on; that of 3.11 takes a lock each time, which takes longer than most of what
is computed here. `CachedHash` caches the hash of a tuple, `per_object` a function of an object.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, TypeVar, overload
from weakref import WeakKeyDictionary

K = TypeVar("K")
T = TypeVar("T")


class cached_attribute(Generic[T]):  # noqa: N801  used as `property` is
    """Decorator: an attribute computed by a method on first use, then kept in the object's dict."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> cached_attribute[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> cached_attribute[T] | T:
        """Compute the attribute, and keep it."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value


class CachedHash:
    """A base for tuples with a dict, which caches their hash: for keys that are looked up often."""

    def __hash__(self) -> int:
        """That of the tuple."""
        return self._hash

    @cached_attribute
    def _hash(self) -> int:
        return tuple.__hash__(self)  # type: ignore[arg-type]


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
