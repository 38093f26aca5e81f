"""Critics made of Python functions of the tokens, the text, or the JSON value so far.

Each takes up to two functions: `complete` judges whole texts, `prefix` those that may go on (left
out, it lets them all through). A predicate says True or False. With weighs=True the functions give
log weights instead: numbers, -inf to refuse. `prefix` may refuse only what can no longer end well;
that it refuses early is what makes sampling quick.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from structgen.errors import GenerationError, ValidationError
from structgen.generation.sampling.context import Context
from structgen.generation.sampling.interfaces import Tokens
from structgen.generation.sampling.potentials.potentials import REFUSED, TextCritic
from structgen.spec.partial_json import PartialValue, read_partial

SoFar = TypeVar("SoFar")
Whole = TypeVar("Whole")

_UNREADABLE = (ValidationError, ValueError, RecursionError)


class _Predicate(TextCritic, Generic[SoFar, Whole]):
    """The base of the three kinds: the functions, and how their answers become log weights."""

    def __init__(
        self,
        complete: Callable[[Whole], Any] | None = None,
        *,
        prefix: Callable[[SoFar], Any] | None = None,
        weighs: bool = False,
    ) -> None:
        """GenerationError when there is neither `complete` nor `prefix`."""
        if complete is None and prefix is None:
            raise GenerationError(
                f"{type(self).__name__} got no function", expected="complete, prefix, or both"
            )
        self.boolean = not weighs
        self._judge_whole = complete
        self._judge_so_far = prefix

    def prefix(self, context: Context) -> float:
        """See `TextCritic.prefix`."""
        return self._verdict(self._judge_so_far, self._so_far, context)

    def complete(self, context: Context) -> float:
        """See `TextCritic.complete`."""
        return self._verdict(self._judge_whole, self._whole, context)

    @abstractmethod
    def _so_far(self, context: Context) -> SoFar:
        """What `prefix` is asked about."""

    @abstractmethod
    def _whole(self, context: Context) -> Whole:
        """What `complete` is asked about."""

    def _verdict(
        self, judge: Callable[[Any], Any] | None, read: Callable[[Context], Any], context: Context
    ) -> float:
        if judge is None:
            return 0.0
        try:
            asked = read(context)
        except _UNREADABLE:
            return REFUSED
        answer = judge(asked)
        if self.boolean:
            return 0.0 if answer else REFUSED
        return float(answer)


class OnTokens(_Predicate[Tokens, Tokens]):
    """Functions of the token ids, tuple[int, ...], without the end token."""

    def _so_far(self, context: Context) -> Tokens:
        return context.tokens

    def _whole(self, context: Context) -> Tokens:
        return context.tokens


class OnText(_Predicate[str, str]):
    """Functions of the text; of one that may go on, its whole characters so far."""

    def _so_far(self, context: Context) -> str:
        return context.text

    def _whole(self, context: Context) -> str:
        return context.text


class OnValue(_Predicate[PartialValue, Any]):
    """Functions of a JSON value: `complete` gets it as the json module reads it.

    `prefix` gets a `PartialValue`, which says what is final. Text that is no JSON, or with which
    none begins, is refused.
    """

    def _so_far(self, context: Context) -> PartialValue:
        return read_partial(context.text)

    def _whole(self, context: Context) -> Any:
        return json.loads(context.data.decode())
