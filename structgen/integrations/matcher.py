"""A text that a host writes token by token: its states so far, so that tokens can be taken back.

Constraints keep nothing per text. Hosts that verify drafts want an object for each request that
accepts tokens, takes them back (the end token, too), and fills rows of the host's masks: `Matcher`.
Others show the whole text each time: `Follower`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD
from structgen.constraint.batch import fill_each
from structgen.constraint.constraint import FINAL
from structgen.errors import ArgumentError, NoTokenError, VocabularyError
from structgen.generation.interfaces import Constraint
from structgen.masks import bitmask

if TYPE_CHECKING:
    import torch


class Matcher:
    """The states of one text.

    constraint: for a vocabulary as wide as the host's logits. stop_ids: tokens that end this text
    beside the vocabulary's end tokens; where the text may not end they are masked, and where it may
    end they do, also if they have text. VocabularyError where there is no token that ends a text.
    """

    def __init__(self, constraint: Constraint, stop_ids: Iterable[int] = ()) -> None:
        ends = frozenset(constraint.vocabulary.eos_ids)
        self.constraint = constraint
        self.stop_ids = ends.union(stop_ids)
        self._words = constraint.vocabulary.words
        self._more_stops = sorted(self.stop_ids - ends)
        if not self.stop_ids:
            raise VocabularyError(
                "no token ends a text, so the host would not stop", hint="give eos_ids or stop_ids"
            )
        self._states = [constraint.start]

    @property
    def state(self) -> int:
        """The state behind all accepted tokens; FINAL behind an end token."""
        return self._states[-1]

    @property
    def is_terminated(self) -> bool:
        """Whether an end token has been accepted."""
        return self.state == FINAL

    @property
    def is_accepting(self) -> bool:
        """Whether the text may end here, or has ended."""
        return self.state == FINAL or self.constraint.is_accepting(self.state)

    def accept(self, token: int) -> bool:
        """Go on by a token. False, and nothing has changed, where it is not allowed.

        Behind the end every token is accepted, and means nothing: hosts cut their texts there.
        """
        after = self._after(self.state, token)
        if after != DEAD:
            self._states.append(after)
        return after != DEAD

    def validate(self, tokens: Iterable[int]) -> int:
        """How many of the tokens could be accepted, up to an end token; nothing changes."""
        state, count = self.state, 0
        for token in tokens:
            if state == FINAL:
                break
            state = self._after(state, token)
            if state == DEAD:
                break
            count += 1
        return count

    def rollback(self, count: int) -> None:
        """Take the last tokens back. ArgumentError where there are not so many."""
        if not 0 <= count < len(self._states):
            raise ArgumentError(
                f"{count} tokens were to be taken back",
                expected=f"at most {len(self._states) - 1}, those that were accepted",
            )
        del self._states[len(self._states) - count :]

    def reset(self) -> None:
        """Go back to the beginning."""
        del self._states[1:]

    def fork(self) -> Matcher:
        """Another text that begins as this one."""
        other = copy.copy(self)
        other._states = [*self._states]
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Matcher:
        """The same: the constraint is shared."""
        return self.fork()

    def fill(self, row: npt.NDArray[Any]) -> None:
        """Write the allowed tokens, int32[words]; behind the end, the end tokens.

        NoTokenError where there is none: hosts would take token 0, or fail all texts of a batch.
        """
        words = self._words
        own = row if len(row) == words else row[: _needed(words, row)]
        self.constraint.fill_mask(self.state, own)
        if own is not row:
            row[words:] = 0
        self.finish_row(own)

    def _after(self, state: int, token: int) -> int:
        if state == FINAL:
            return FINAL
        if token in self.stop_ids:
            return FINAL if self.constraint.is_accepting(state) else DEAD
        return self.constraint.advance(state, token)

    def finish_row(self, row: npt.NDArray[Any]) -> None:
        """Make the host's row of the constraint's: with the stops, and not empty; see `fill`."""
        if self.state == FINAL:
            bitmask.allow(row, sorted(self.stop_ids))
        elif self._more_stops:
            edit = bitmask.allow if self.constraint.is_accepting(self.state) else bitmask.forbid
            edit(row, self._more_stops)
        check_tokens(row)


def fill_matchers(
    matchers: Sequence[Matcher], rows: npt.NDArray[Any], places: Sequence[int] | None = None
) -> None:
    """`Matcher.fill` for many texts at once: that of matchers[i] to rows[i], or to rows[places[i]].

    rows: int32[m, words], where words are those of the host's masks: bits beyond the vocabulary are
    cleared. VocabularyError where they are too few. Where a row cannot be made, all others are
    written before its error is raised.
    """
    errors = fill_each_matcher(matchers, rows, places)
    if errors:
        raise errors[min(errors)]


def fill_each_matcher(
    matchers: Sequence[Matcher], rows: npt.NDArray[Any], places: Sequence[int] | None = None
) -> dict[int, Exception]:
    """`fill_matchers`, but errors of rows are returned, by the number of the matcher."""
    if not matchers:
        return {}
    words = _needed(matchers[0].constraint.vocabulary.words, rows)
    found = rows[: len(matchers), :words]
    if places is not None:
        found = np.empty((len(matchers), words), rows.dtype)
    constraints, states = [one.constraint for one in matchers], [one.state for one in matchers]
    errors = fill_each(constraints, states, found)
    for i, one in enumerate(matchers):
        if i not in errors:
            try:
                one.finish_row(found[i])
            except NoTokenError as error:
                errors[i] = error
    if places is not None:
        rows[places, :words] = found
    rows[slice(len(matchers)) if places is None else places, words:] = 0
    return errors


def _needed(words: int, rows: npt.NDArray[Any]) -> int:
    """The words of a vocabulary's rows. VocabularyError where the host's have fewer."""
    if rows.shape[-1] < words:
        raise VocabularyError(
            f"the vocabulary has more tokens than the host's masks, {rows.shape[-1]} words",
            expected=f"{words} words",
            hint="size the vocabulary by the model's logits",
        )
    return words


def allocate_masks(count: int, vocab_size: int) -> torch.Tensor:
    """int32[count, words] on the CPU, pinned where there is a GPU: all tokens allowed."""
    import torch

    pinned = torch.cuda.is_available()
    shape = count, bitmask.words(vocab_size)
    return torch.full(shape, -1, dtype=torch.int32, device="cpu", pin_memory=pinned)


def check_tokens(row: npt.NDArray[Any]) -> None:
    """NoTokenError where a row allows nothing: a host would take token 0, or fail its batch."""
    if not np.count_nonzero(row):  # a third of the time of `any`
        raise NoTokenError(
            "the constraint allows no token here",
            expected="a token, or an end token where the text may end",
            hint="check that the vocabulary has a token for every byte",
        )


class Follower:
    """Masks for a host that shows all tokens each time, the prompt first.

    prompt: how many tokens the prompt has; None: as many as the first call shows, and then a call
    that does not begin with this prompt begins a new text. Tokens may be taken back and replaced.
    """

    def __init__(
        self, constraint: Constraint, stop_ids: Iterable[int] = (), prompt: int | None = None
    ) -> None:
        self.matcher = Matcher(constraint, stop_ids)
        self._given = prompt
        self._prompt: list[int] | None = None
        self._text: list[int] = []  # what has been accepted
        self._row = np.zeros(constraint.vocabulary.words, np.int32)

    def reset(self) -> None:
        """Forget the text and its prompt."""
        self.matcher.reset()
        self._prompt, self._text = None, []

    def row(self, tokens: Sequence[int]) -> npt.NDArray[np.int32]:
        """int32[words], the allowed tokens behind these; good until the next call.

        Behind the end, and behind a token that was not allowed: the tokens that end a text.
        """
        if self.follow(tokens):
            self.matcher.fill(self._row)
        else:
            self._row[:] = 0
            bitmask.allow(self._row, sorted(self.matcher.stop_ids))
        return self._row

    def follow(self, tokens: Sequence[int]) -> bool:
        """Make the matcher's text these tokens without the prompt; whether all are allowed."""
        tokens = list(tokens)
        if self._given is not None:
            tokens = tokens[self._given :]
        else:
            if self._prompt is None or tokens[: len(self._prompt)] != self._prompt:
                self.reset()
                self._prompt = tokens
            tokens = tokens[len(self._prompt) :]
        same = len(self._text)
        if tokens[:same] != self._text:
            pairs = zip(tokens, self._text, strict=False)
            same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(tokens), same))
        self.matcher.rollback(len(self._text) - same)
        del self._text[same:]
        for token in tokens[same:]:
            if not self.matcher.accept(token):
                return False
            self._text.append(token)
        return True
