"""Cache a function of a vocabulary, for as long as the vocabulary lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from structgen.vocabulary.vocabulary import Vocabulary

T = TypeVar("T")


def per_vocabulary(make: Callable[[Vocabulary], T]) -> Callable[[Vocabulary], T]:
    """`make`, remembered for as long as the vocabulary lives. Threads get the same value."""
    known: WeakKeyDictionary[Vocabulary, T] = WeakKeyDictionary()

    @wraps(make)
    def get(vocabulary: Vocabulary) -> T:
        found = known.get(vocabulary)
        return known.setdefault(vocabulary, make(vocabulary)) if found is None else found

    return get
