"""Ends a text in time: the fewest tokens that complete it, and whether they fit the token budget.

`Closer` asks the constraint for a shortest completion in bytes. `Speller` writes bytes with the
fewest tokens of the vocabulary (dynamic programming over the bytes), so a text is closed as late as
possible. These tokens may differ from those that the tokenizer would choose; that does no harm,
since the model writes nothing after them.
"""

from __future__ import annotations

from functools import lru_cache, partial

from structgen.automata.interface import DEAD
from structgen.errors import GenerationError, NoTokenError, TruncatedError
from structgen.generation.interfaces import Constraint
from structgen.vocabulary.vocabulary import Vocabulary

_REMEMBERED = 4096  # answers that are kept, those asked for last
_SPACE = frozenset(b" \t\n\r")  # what JSON allows around a value
_MOST_SPACE = 1024  # states visited before whitespace counts as text


class Speller:
    """Writes byte strings with the fewest text tokens of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """O(V): the smallest id for each byte string, and the token lengths by their beginning."""
        self._ids: dict[bytes, int] = {}
        lengths: dict[bytes, set[int]] = {}
        for token_id in reversed(vocabulary.text_ids.tolist()):
            token = vocabulary.token_bytes(token_id)
            self._ids[token] = token_id
            lengths.setdefault(token[:2], set()).add(len(token))
        self._lengths = {start: sorted(found) for start, found in lengths.items()}
        self._longest = max(map(len, self._ids), default=0)
        self._spells_everything = all(bytes([byte]) in self._ids for byte in range(256))
        self._known = lru_cache(_REMEMBERED)(partial(_fewest_tokens, self._ids, self._lengths))

    def spell(self, data: bytes) -> tuple[int, ...] | None:
        """The fewest tokens that write `data`, longer ones first among equals; None if none do."""
        return self._known(data)

    def fits(self, data: bytes, budget: int) -> bool:
        """Whether at most `budget` tokens write `data`."""
        if len(data) <= budget and self._spells_everything:
            return True
        if len(data) > budget * self._longest:
            return False
        spelled = self.spell(data)
        return spelled is not None and len(spelled) <= budget


def _fewest_tokens(
    ids: dict[bytes, int], lengths: dict[bytes, list[int]], data: bytes
) -> tuple[int, ...] | None:
    """The fewest tokens that write `data`. ids: of tokens by their bytes. lengths: by beginning."""
    # Dynamic programming from the end: the fewest tokens for data[i:] are one token that begins
    # there, and the fewest for what is left after it.
    size = len(data)
    unreachable = size + 1
    fewest = [unreachable] * size + [0]  # fewest[i]: tokens for data[i:]
    step = [0] * size  # step[i]: length of the first of them
    for i in range(size - 1, -1, -1):
        for length in (*lengths.get(data[i : i + 1], ()), *lengths.get(data[i : i + 2], ())):
            end = i + length
            if end > size or fewest[end] + 1 > fewest[i]:
                continue
            if data[i:end] in ids:
                fewest[i], step[i] = fewest[end] + 1, length
    if fewest[0] == unreachable:
        return None
    tokens, i = [], 0
    while i < size:
        tokens.append(ids[data[i : i + step[i]]])
        i += step[i]
    return tuple(tokens)


class Closer:
    """Knows, for one constraint, where a text is complete and what it takes to end it."""

    def __init__(self, constraint: Constraint, speller: Speller) -> None:
        self._constraint = constraint
        self._speller = speller
        self._completion = lru_cache(_REMEMBERED)(constraint.shortest_completion)
        self._only_space_follows = lru_cache(_REMEMBERED)(partial(_only_space_follows, constraint))

    def complete(self, state: int) -> bool:
        """Whether the text may end at `state` and nothing but JSON whitespace may follow it."""
        return self._constraint.is_accepting(state) and self._only_space_follows(state)

    def fits(self, state: int, budget: int) -> bool:
        """Whether the text can be ended from `state` with at most `budget` more tokens."""
        return self._speller.fits(self._completion(state), budget)

    def plan(self, state: int) -> tuple[int, ...] | None:
        """The fewest tokens that write the shortest completion of `state`; None if impossible."""
        tokens = self._speller.spell(self._completion(state))
        if tokens is not None:
            self._verify(state, tokens)
        return tokens

    def check(self, state: int, budget: int, label: str = "") -> None:
        """Raise unless the text can be ended from `state` with at most `budget` more tokens.

        TruncatedError, or NoTokenError where no tokens write an end. label: the place in the error.
        """
        if self.fits(state, budget):
            return
        plan = self.plan(state)
        if plan is None:
            raise NoTokenError(
                "no tokens of the vocabulary write the shortest text that fits the spec",
                location=label,
                hint="check that the vocabulary has a token for every byte",
            )
        raise TruncatedError(
            f"the shortest text that fits needs {len(plan)} tokens, and {budget} are left",
            location=label,
            expected=f"max_tokens of at least {len(plan)} within the model's context",
        )

    def _verify(self, state: int, tokens: tuple[int, ...]) -> None:
        reached = state
        for token in tokens:
            reached = self._constraint.advance(reached, token)
            if reached == DEAD:
                break
        if reached == DEAD or not self._constraint.is_accepting(reached):
            raise GenerationError(
                f"the constraint refuses its own shortest completion {self._completion(state)!r}",
                hint="this is a defect of the constraint; please report it with the spec",
            )


def _only_space_follows(constraint: Constraint, state: int) -> bool:
    seen = {state}
    waiting = [state]
    while waiting:
        here = waiting.pop()
        following = constraint.allowed_bytes(here)
        if not following <= _SPACE or len(seen) > _MOST_SPACE:
            return False
        for byte in following:
            after = constraint.advance_bytes(here, bytes([byte]))
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return True
