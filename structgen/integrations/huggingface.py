"""Makes a logits processor for `model.generate` of transformers out of a spec or a constraint.

The processor keeps nothing per row: a row's state follows from the tokens behind its prompt. So
beams may be permuted, rows repeated, and drafts tried and dropped, and the masks stay right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD
from structgen.constraint.batch import fill_masks
from structgen.constraint.compiler import compile as compile_spec
from structgen.constraint.constraint import FINAL
from structgen.constraint.enforced import Enforced
from structgen.errors import GenerationError, VocabularyError
from structgen.generation.interfaces import Constraint
from structgen.integrations.matcher import check_tokens
from structgen.integrations.token_limit import TokenLimit
from structgen.masks import bitmask
from structgen.schema.coerce import is_constraint
from structgen.util.arguments import several
from structgen.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

    from structgen.generation.gpu import RowTable

Prefix = tuple[int, ...]


class LogitsProcessor:
    """Lets `model.generate(..., logits_processor=LogitsProcessorList([this]))` write what fits.

    spec: what `structgen.compile` takes, compiled for `tokenizer`; or, without a tokenizer, a
    constraint. One for all prompts, or a list with one per prompt (beams and returned sequences of
    a prompt stand side by side, as transformers has them).
    tokenizer: that of the model. Its vocabulary is read once, and gets as wide as the logits.
    eos_ids: the ids that end a text, where the model ends at others than the tokenizer's own.
    prompt_length: padded length of the prompts; without it the first call tells.
    max_new_tokens: that of the call of `generate`, which a processor does not see. With it, texts
    are closed within that many tokens: see `structgen.integrations.token_limit`.

    The vocabulary of a constraint must be as wide as the model's logits and name all end tokens, as
    `Generator(model, tokenizer).vocabulary` does.

    An object may be used for one call of `generate` after another: a new call shows by its prompts
    or by a jump in length. (One that begins with all that the last call wrote, and one token more,
    does not: `reset()` before it.) Continuous batching does not pass whole histories: see
    `structgen.integrations.continuous_batching`.
    """

    supports_continuous_batching = False  # as transformers asks processors that it has not written

    def __init__(
        self,
        spec: Any,
        tokenizer: Any = None,
        *,
        eos_ids: Iterable[int] | None = None,
        prompt_length: int | None = None,
        max_new_tokens: int | None = None,
    ) -> None:
        self._specs = tuple(spec) if isinstance(spec, list | tuple) else (spec,)
        if not self._specs:
            raise GenerationError("there is no constraint", expected="one, or one per prompt")
        self._tokenizer = tokenizer
        wanted = "the ids of the end tokens"
        self._eos_ids = None if eos_ids is None else several("eos_ids", eos_ids, wanted)
        self._table: RowTable | None = None  # mask rows where the scores are
        self._max_new_tokens = max_new_tokens
        self._set(tuple(map(self._constraint, self._specs)))
        self._given_length = prompt_length
        self.reset()

    def _constraint(self, spec: Any) -> Constraint:
        """The constraint of a spec for the tokenizer, or the constraint that was given."""
        if is_constraint(spec):
            constraint: Constraint = spec
            return constraint
        if self._tokenizer is None:
            raise GenerationError(
                "a spec came without the tokenizer to compile it for",
                hint="use LogitsProcessor(spec, tokenizer), or give a constraint",
            )
        return compile_spec(spec, vocabulary_for(self._tokenizer, None, self._eos_ids))

    def _set(self, constraints: tuple[Constraint, ...]) -> None:
        for one in constraints:
            if not one.vocabulary.eos_ids:
                raise VocabularyError(
                    "the vocabulary has no end token, so generate() would not stop",
                    hint="give eos_ids",
                )
        self._constraints = constraints
        self._endings = tuple(map(_WithEndings, constraints))
        most = self._max_new_tokens
        self._limits = () if most is None else tuple(TokenLimit(one, most) for one in constraints)

    @property
    def enforced(self) -> tuple[Enforced, ...]:
        """What is enforced, for each constraint: see `structgen.constraint.enforced`."""
        return tuple(Enforced(one.spec) for one in self._constraints)

    def _widen(self, width: int) -> None:
        """Compile specs anew where the model has more logits than the tokenizer has tokens."""
        pairs = list(zip(self._constraints, self._specs, strict=True))
        narrow = [one is not spec and one.vocabulary.size < width for one, spec in pairs]
        if any(narrow):
            vocabulary = vocabulary_for(self._tokenizer, width, self._eos_ids)
            self._set(
                tuple(
                    compile_spec(spec, vocabulary) if again else one
                    for (one, spec), again in zip(pairs, narrow, strict=True)
                )
            )

    def reset(self) -> None:
        """Forget the prompts and states of the last call of `generate`."""
        self._length = 0
        self._longest = 0
        self._prompts: frozenset[Prefix] = frozenset()
        # states by constraint and generated tokens: of the last call's rows, and of the last two's
        self._latest: dict[tuple[int, Prefix], int] = {}
        self._known: dict[tuple[int, Prefix], int] = {}

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """scores float[rows, V], with -inf where a token would break a row's constraint.

        A row that has ended, or was already broken from outside, gets its end tokens alone.
        """
        rows = input_ids.tolist()
        if self._tokenizer is not None:
            self._widen(scores.shape[1])
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
        if self._limits:
            for i, state in enumerate(states):
                self._limits[i // share].restrict(allowed[i], state, len(generated[i]))
        return allowed

    def _apply(
        self, scores: torch.Tensor, constraints: Sequence[_WithEndings], states: Sequence[int]
    ) -> None:
        """Mask in place; on a device by rows that are there already."""
        if not elsewhere(scores):
            masks = bitmask.allocate(*scores.shape)
            fill_masks(constraints, states, masks)
            bitmask.apply(scores, masks)
            return
        from structgen.generation import gpu  # which imports torch

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


_vocabularies: WeakKeyDictionary[Any, dict[Any, Vocabulary]] = WeakKeyDictionary()


def vocabulary_for(
    tokenizer: Any, size: int | None = None, eos_ids: tuple[int, ...] | None = None
) -> Vocabulary:
    """The vocabulary of a tokenizer, which is read once for each size and end tokens.

    VocabularyError for what is no fast tokenizer of transformers.
    """
    key = len(tokenizer) if hasattr(tokenizer, "__len__") else 0, size, eos_ids  # it may grow
    try:
        known = _vocabularies.setdefault(tokenizer, {})
    except TypeError:  # it takes no weak references
        known = {}
    if key not in known:
        known[key] = Vocabulary.from_transformers(tokenizer, size, eos_ids=eos_ids)
    return known[key]


class _WithEndings:
    """The masks of a constraint, with end tokens alone for rows that have ended or are broken."""

    def __init__(self, constraint: Constraint) -> None:
        self._constraint = constraint

    def fill_mask(self, state: int, row: npt.NDArray[np.int32]) -> None:
        """Write the allowed tokens of `state`, of which there is one at least (NoTokenError).

        VocabularyError for a row of another size.
        """
        vocabulary = self._constraint.vocabulary
        if len(row) != vocabulary.words:
            raise VocabularyError(
                f"the constraint's vocabulary has {vocabulary.size} tokens",
                expected=f"as many as the model has logits, up to {32 * len(row)}",
                hint="size the vocabulary by the model's logits",
            )
        if state not in {DEAD, FINAL}:
            self._constraint.fill_mask(state, row)
            check_tokens(row)
            return
        row[:] = 0
        bitmask.allow(row, sorted(vocabulary.eos_ids))


def elsewhere(scores: torch.Tensor) -> bool:
    """Whether the scores are on a device of their own."""
    return scores.device.type != "cpu"
