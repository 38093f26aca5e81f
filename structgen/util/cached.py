"""In: a method without arguments. Out: an attribute that it finds when somebody first asks for it.

Such is the hash of a tuple that is looked up often (`HashedOnce`). As
`functools.cached_property` of Python 3.12; that of 3.11 takes a lock each time, which takes longer
than most of what is found here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class found_once(Generic[T]):  # noqa: N801  used as `property` is
    """Decorates a method. What it returns replaces it in the object, which has a dictionary."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self._name = find.__name__
        self.__doc__ = find.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> found_once[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> found_once[T] | T:
        """The attribute, found out."""
        if instance is None:
            return self
        found = instance.__dict__[self._name] = self._find(instance)
        return found


class HashedOnce:
    """A tuple that has a dictionary, in which its hash is kept: for those looked up again often."""

    def __hash__(self) -> int:
        """That of the tuple."""
        return self._hash

    @found_once
    def _hash(self) -> int:
        return tuple.__hash__(self)  # type: ignore[arg-type]
