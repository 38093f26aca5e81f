"""The protocols between the decode loop, constraints and models.

The loop sees a model only as a `Target`, so a table of numbers, a transformers model or a remote
one serve alike. Speculative decoding uses the same three calls: a draft tree is a `forward` with
`parents`, verifying it is reading its `Logits`, and keeping the accepted path is a `commit`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from structgen.generation.distribution import Sampler
from structgen.vocabulary.vocabulary import Vocabulary

Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int32]


#: Log weights float64[k] of the tokens int64[k] that a constraint allows in a state: the loop draws
#: from the model's distribution times their exponentials. -inf refuses a token; the same state and
#: token always weigh the same, so drafts are verified against the same distribution.
Weigh = Callable[[int, npt.NDArray[np.int64]], Doubles]

#: Which of the tokens int64[k], with these log weights float64[k], is written: its index.
Choose = Callable[[npt.NDArray[np.int64], Doubles, Sampler, np.random.Generator], int]


class Path(Protocol):
    """The state of a Transform for one text."""

    def log_weights(self, state: int, ids: npt.NDArray[np.int64], logits: Doubles) -> Doubles:
        """float64[k]: added to the logits float64[k] of the tokens int64[k] allowed in `state`.

        -inf refuses a token, unless that would leave none. `logits` are the model's, so several
        transforms do not depend on their order.
        """

    def wrote(self, state: int, token: int) -> None:
        """A token was written in `state`. Called once for each, in order."""


class Transform(Protocol):
    """Changes the distribution of the next token by the text so far, as penalties do.

    It is asked token by token, so drafts are verified against the distribution of their own path.
    """

    def begin(self, prompt: Sequence[int], constraint: Constraint) -> Path:
        """The state for a new text."""


class Constraint(Protocol):
    """The part of a compiled constraint that decoding uses. States are ints and never expire."""

    @property
    def start(self) -> int:
        """The state before any text."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that the mask rows are made for."""

    @property
    def spec(self) -> Any:
        """What was compiled; `spec.parse(text)` gives the value of a fitting text."""

    def advance(self, state: int, token_id: int) -> int:
        """The state after one more token; DEAD if it is not allowed, FINAL after an end token."""

    def advance_bytes(self, state: int, data: bytes) -> int:
        """The state after more bytes; DEAD if they are not allowed."""

    def fill_mask(self, state: int, row: Rows) -> None:
        """Write the allowed tokens of `state` into row int32[words]."""

    def fill_masks(self, states: Sequence[int], rows: Rows) -> None:
        """The same for several states at once: rows int32[len(states), words]."""

    def is_accepting(self, state: int) -> bool:
        """Whether the text may end here."""

    def allowed_bytes(self, state: int) -> frozenset[int]:
        """The bytes that may come next."""

    def forced_bytes(self, state: int) -> bytes:
        """Bytes that every text that goes on from here has next; b"" where there is a choice."""

    def shortest_completion(self, state: int) -> bytes:
        """A shortest byte string after which the text may end; b"" when it may end here."""

    def core(self, state: int) -> Hashable:
        """Equal for states with the same futures, up to the key that is being read."""


class Logits(Protocol):
    """One row of logits for each token of a forward pass, wherever the model keeps them."""

    @property
    def hidden(self) -> Sequence[Any] | None:
        """The hidden states asked for: for each row of the cache [tokens, layers, d], or None."""

    def wait(self) -> None:
        """Return when the model has finished computing them."""

    def log_normalizers(self) -> Doubles:
        """float64[n]: log of the sum of exp of each row, as the rows are now."""

    def apply(self, rows: Rows) -> None:
        """Set what the mask rows int32[n, words] do not allow to -inf, for good."""

    def numpy(self) -> npt.NDArray[Any]:
        """The rows as they are now, float[n, V] in this process's memory."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A token drawn on the device that has the logits.

    token: None when the mask allows none. log_raw, log_masked: log of the sum of exponentials of
    all logits, and of the allowed ones. logit: gives the logit of this or another token.
    """

    token: int | None
    log_raw: float
    log_masked: float
    logit: Callable[[int], float]


@runtime_checkable
class DrawingLogits(Protocol):
    """Logits that stay on the device: tokens are drawn there, and only they are copied back."""

    def wait(self) -> None:
        """Return when the model has finished computing them."""

    def masks(self, constraints: Sequence[Constraint], states: Sequence[int]) -> Any:
        """The masks of each row's state, for `draw`; may be asked for before they are computed."""

    def draw(
        self, masks: Any, samplers: Sequence[Sampler], uniforms: Sequence[float]
    ) -> list[Drawn]:
        """For each row what `Sampler.choose` draws of what is allowed, with this random number."""

    def rows(self) -> Any:
        """The rows as a sequence; `rows()[i]`, float[V], is copied when it is looked at."""


CacheT = TypeVar("CacheT")


@runtime_checkable
class WideningTarget(Protocol):
    """A target that can be turned into one that takes trees, at the price of memory."""

    def with_trees(self) -> Target[Any] | None:
        """The same model, taking trees; None if there is no way."""


class Target(Protocol[CacheT]):
    """A language model that continues several rows of tokens at once.

    What was read of each row is in a cache that the target makes and changes in place. All rows of
    a cache advance together; a row that is finished is dropped with `select`.
    """

    @property
    def vocab_size(self) -> int:
        """Number of logits of a row."""

    @property
    def context(self) -> int | None:
        """Most tokens a row may have, or None when there is no limit."""

    @property
    def takes_trees(self) -> bool:
        """Whether `forward` takes `parents`, and `commit` may keep less than everything."""

    @property
    def takes_drafts(self) -> bool:
        """Whether `forward` takes several tokens of a row that was read before.

        Where it does, but takes no trees, a deep copy of a cache is as good as the cache.
        """

    def prefill(
        self, prompts: Sequence[Sequence[int]], hidden: Sequence[int] = ()
    ) -> tuple[CacheT, Logits]:
        """Read prompts of one token or more each. The logits have one row per prompt.

        hidden: layers (0: the embeddings, -1: the last) whose states `Logits.hidden` shall have.
        """

    def forward(
        self,
        cache: CacheT,
        tokens: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]] | None = None,
        hidden: Sequence[int] = (),
    ) -> Logits:
        """Read `tokens[r]` after row r; the logits have one row per token, row by row.

        Without `parents` the tokens of a row follow one another. With it, `parents[r][i]` is the
        index in `tokens[r]` of the token that token i follows, -1 for what was kept before; a
        parent stands before its children. A tree must be followed by a `commit`.
        """

    def commit(self, cache: CacheT, kept: Sequence[Sequence[int]]) -> None:
        """Of the last forward keep only the tokens `kept[r]` of row r: a path, ascending."""

    def select(self, cache: CacheT, rows: Sequence[int]) -> None:
        """Make the cache consist of these of its rows, in this order; a row may come twice."""
