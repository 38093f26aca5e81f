"""Makes a logits processor for `model.generate` of transformers out of a compiled constraint.

The processor keeps nothing per row: a row's state follows from the tokens behind its prompt. So
beams may be permuted, rows repeated, and drafts tried and dropped, and the masks stay right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
import transformers

from structgen.automata.interface import DEAD
from structgen.constraint.constraint import FINAL
from structgen.errors import GenerationError, VocabularyError
from structgen.generation import gpu
from structgen.generation.interfaces import Constraint
from structgen.masks import bitmask

Prefix = tuple[int, ...]


class LogitsProcessor(transformers.LogitsProcessor):
    """Lets `model.generate(..., logits_processor=LogitsProcessorList([this]))` write what fits.

    constraint: one for all prompts, or a list with one per prompt (beams and returned sequences
    of a prompt stand side by side, as transformers has them). The vocabulary must be as wide as
    the model's logits and name all end tokens, as `Generator(model, tokenizer).vocabulary` does.
    prompt_length: padded length of the prompts; without it the first call tells.

    An object may be used for one call of `generate` after another: a new call shows by its prompts
    or by a jump in length. (One that begins with all that the last call wrote, and one token more,
    does not: `reset()` before it.) Continuous batching does not pass whole histories, so it is not
    supported.
    """

    supports_continuous_batching = False

    def __init__(
        self, constraint: Constraint | Sequence[Constraint], *, prompt_length: int | None = None
    ) -> None:
        self._constraints = tuple(constraint) if isinstance(constraint, Sequence) else (constraint,)
        if not self._constraints:
            raise GenerationError("there is no constraint", expected="one, or one per prompt")
        for one in self._constraints:
            if not one.vocabulary.eos_ids:
                raise VocabularyError(
                    "the vocabulary has no end token, so generate() would not stop",
                    hint="give eos_ids when making the vocabulary",
                )
        self._endings = tuple(map(_WithEndings, self._constraints))
        self._table: gpu.RowTable | None = None  # mask rows where the scores are
        self._given_length = prompt_length
        self.reset()

    def reset(self) -> None:
        """Forget the prompts and states of the last call of `generate`."""
        self._length = 0
        self._longest = 0
        self._prompts: frozenset[Prefix] = frozenset()
        # states by constraint and generated tokens: of the last call's rows, and of the last two's
        self._latest: dict[tuple[int, Prefix], int] = {}
        self._known: dict[tuple[int, Prefix], int] = {}

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """scores float[rows, V], with -inf where a token would break a row's constraint.

        A row that has ended, or was already broken from outside, gets its end tokens alone.
        """
        rows = input_ids.tolist()
        self._notice(rows)
        if len(scores) % len(self._constraints):
            raise GenerationError(
                f"there are {len(scores)} rows for {len(self._constraints)} constraints",
                expected="the same number of rows for each constraint",
            )
        generated = [tuple(row[self._length :]) for row in rows]
        share = len(generated) // len(self._constraints)
        seen: dict[tuple[int, Prefix], int] = {}
        states = []
        for i, tokens in enumerate(generated):
            which = i // share
            states.append(self._state(which, tokens))
            seen[which, tokens] = states[-1]
        self._known = seen | self._latest
        self._latest = seen
        allowed = scores.clone()
        self._apply(allowed, [self._endings[i // share] for i in range(len(rows))], states)
        return allowed  # type: ignore[return-value]  # a clone of the same type

    def _apply(
        self, scores: torch.Tensor, constraints: Sequence[_WithEndings], states: Sequence[int]
    ) -> None:
        """Mask in place; on a device by rows that are there already."""
        if not elsewhere(scores):
            masks = bitmask.allocate(*scores.shape)
            for constraint, state, mask in zip(constraints, states, masks, strict=True):
                constraint.fill_mask(state, mask)
            bitmask.apply(scores, masks)
            return
        table = self._table
        if table is None or (table.vocab_size, table.device) != (scores.shape[1], scores.device):
            table = self._table = gpu.RowTable(scores.shape[1], scores.device)
        gpu.apply(scores, table.masks(constraints, states))

    def _notice(self, rows: list[list[int]]) -> None:
        """Learn the prompts at the first call, and again when another `generate` has begun."""
        size = len(rows[0])
        known = self._prompts
        if known and (
            not self._length <= size <= self._longest + 1
            or any(tuple(row[: self._length]) not in known for row in rows)
        ):
            self.reset()
        if not self._prompts:
            self._length = size if self._given_length is None else self._given_length
            if self._length > size:
                raise GenerationError(
                    f"prompt_length is {self._length}", expected=f"at most {size}, what there is"
                )
            self._prompts = frozenset(tuple(row[: self._length]) for row in rows)
        self._longest = max(self._longest, size)

    def _state(self, which: int, tokens: Prefix) -> int:
        """The state behind `tokens`, from the longest beginning of them that is known."""
        constraint = self._constraints[which]
        for length in (len(tokens), len(tokens) - 1):
            state = self._known.get((which, tokens[: max(length, 0)]))
            if state is not None:
                rest = tokens[length:]
                break
        else:
            state, rest = constraint.start, tokens
        for token in rest:
            if state in {DEAD, FINAL}:
                break
            state = constraint.advance(state, token)
        return state


class _WithEndings:
    """The masks of a constraint, with end tokens alone for rows that have ended or are broken."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint

    def fill_mask(self, state: int, row: npt.NDArray[np.int32]) -> None:
        """Write the allowed tokens of `state`. VocabularyError for a row of another size."""
        vocabulary = self._constraint.vocabulary
        if len(row) != vocabulary.words:
            raise VocabularyError(
                f"the constraint's vocabulary has {vocabulary.size} tokens",
                expected=f"as many as the model has logits, up to {32 * len(row)}",
                hint="size the vocabulary by the model's logits",
            )
        if state not in {DEAD, FINAL}:
            self._constraint.fill_mask(state, row)
            return
        ends = np.zeros(vocabulary.size, np.bool_)
        ends[list(vocabulary.eos_ids)] = True
        row[:] = bitmask.pack(ends)


def elsewhere(scores: torch.Tensor) -> bool:
    """Whether the scores are on a device of their own."""
    return scores.device.type != "cpu"
