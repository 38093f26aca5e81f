"""A table of tokens as a tokenizer's file gives it, before it is a Vocabulary."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from structgen.errors import VocabularyError

Encoder = Callable[[str], list[int]]

MAX_SIZE = 2**24  # ids; far above every model, low enough that a wrong number costs no memory


class TokenTable(NamedTuple):
    """What a Vocabulary is made of; see its constructor for the fields up to `prefix`.

    check: whether the table is to be tested against `encode`. unclear: ids of tokens whose bytes
    are not certain, which prove nothing in that test.
    """

    tokens: Sequence[bytes | None]
    eos_ids: Iterable[int]
    special_ids: Iterable[int]
    size: int | None
    encode: Encoder | None
    prefix: bytes = b""
    check: bool = True
    unclear: frozenset[int] = frozenset()


def checked_id(value: object, name: str, size: int = MAX_SIZE) -> int:
    """`value` as an id below `size`; VocabularyError, which calls it `name`, if it is none."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # any object may say no
    except TypeError:
        raise VocabularyError(f"{name} has {value!r}", expected="a token id, an integer") from None
    if not 0 <= number < size:
        raise VocabularyError(
            f"{name} has {number}",
            token_id=number,
            expected=f"ids in 0..{size - 1}",
            hint="give a larger size if the model has more ids than the table",
        )
    return number
