"""Replays recorded texts to count the forward passes that a drafter saves, without a model.

The loop is the real one; the target is certain of the recorded token wherever the record goes, and
knows nothing elsewhere. A drafter that learns from logits learns only that much, so its figures
here are a lower bound of those with a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from structgen.errors import GenerationError
from structgen.generation.closing import Closer, Speller
from structgen.generation.distribution import Sampler, row_rng
from structgen.generation.interfaces import Constraint, Doubles
from structgen.generation.row import Request, Row
from structgen.generation.speculation.interfaces import Budget, Drafter
from structgen.generation.speculation.loop import decode
from structgen.generation.speculation.policies.lengths import Fixed
from structgen.generation.speculation.speculation import Speculation
from structgen.generation.speculation.stats import Stats
from structgen.generation.speculation.table_target import TableTarget


@dataclass(frozen=True, slots=True)
class Record:
    """A text that was written once. prompt, tokens: ids, without end tokens; label: what it is."""

    constraint: Constraint
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    label: str = ""


@dataclass(slots=True)
class Replayed:
    """The outcome of a replay. texts: the Stats of each record; left_out: why others have none."""

    texts: list[Stats] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def _per_forward(self, counts: Iterable[float]) -> float:
        """A sum over all texts, per forward pass; 0.0 without a pass."""
        forwards = sum(text.forwards for text in self.texts)
        return sum(counts) / forwards if forwards else 0.0

    @property
    def tokens_per_forward(self) -> float:
        """Tokens written per forward pass, over all texts; 0.0 without a pass."""
        return self._per_forward(text.tokens - 1 for text in self.texts)

    @property
    def accepted(self) -> float:
        """Draft tokens kept per forward pass."""
        return self._per_forward(text.accepted for text in self.texts)

    @property
    def drafted(self) -> float:
        """Draft tokens read per forward pass."""
        return self._per_forward(text.drafted for text in self.texts)

    @property
    def draft_seconds(self) -> float:
        """Mean seconds to make a draft."""
        return self._per_forward(text.draft_seconds for text in self.texts)

    @property
    def acceptance(self) -> list[float]:
        """By depth, the share of drafts that reached it of which a token was kept there."""
        deepest = max((len(text.tried) for text in self.texts), default=0)
        tried, kept = np.zeros(deepest), np.zeros(deepest)
        for text in self.texts:
            tried[: len(text.tried)] += text.tried
            kept[: len(text.kept)] += text.kept
        return [float(k / t) for k, t in zip(kept, tried, strict=True)]


class RecordedModel:
    """A sampling Model that writes one text, then an end token if there is one."""

    def __init__(self, tokens: Sequence[int], eos_id: int | None, vocab_size: int) -> None:
        self.vocab_size = vocab_size
        self.identity = "record"
        self.room = None
        self._tokens = tuple(tokens)
        self._eos_id = eos_id

    def log_probs(self, prefixes: Sequence[tuple[int, ...]]) -> Doubles:
        """float64[n, V]: 0 for the recorded token, -inf for all others, and off the record."""
        rows = np.full((len(prefixes), self.vocab_size), -np.inf)
        for row, prefix in zip(rows, prefixes, strict=True):
            size = len(prefix)
            if prefix != self._tokens[:size]:
                continue
            following = self._tokens[size] if size < len(self._tokens) else self._eos_id
            if following is not None:
                row[following] = 0.0
        return rows


def replay(records: Iterable[Record], drafter: Drafter, budget: Budget | None = None) -> Replayed:
    """Write each record again with drafts, one after the other; the drafter learns from all.

    Records that do not fit their constraint, or end before it may, are left out.
    """
    done = Replayed()
    spellers: dict[str, Speller] = {}
    speculation = Speculation(drafter, policy=Fixed(budget or Budget(nodes=16)))
    for record in records:
        vocabulary = record.constraint.vocabulary
        if vocabulary.hash not in spellers:
            spellers[vocabulary.hash] = Speller(vocabulary)
        row = _row(record, spellers[vocabulary.hash])
        if row is None:
            done.left_out.append(f"{record.label}: the text does not fit, or is not finished")
            continue
        eos = vocabulary.eos_ids[0] if vocabulary.eos_ids else None
        target = TableTarget(RecordedModel(record.tokens, eos, vocabulary.size))
        for _ in decode(target, [row], speculation):
            pass
        if row.tokens[: len(record.tokens)] != list(record.tokens) or row.stats is None:
            raise GenerationError(
                f"{record.label}: the drafter changed the text", hint="this is a defect of the loop"
            )
        done.texts.append(row.stats)
    return done


def _row(record: Record, speller: Speller) -> Row | None:
    """A row for a record, greedy; None where the record does not fit or has nothing to write."""
    constraint, state = record.constraint, record.constraint.start
    closer = Closer(constraint, speller)
    for token in record.tokens:
        if closer.complete(state):
            return None  # the loop would have ended the text here
        state = constraint.advance(state, token)
    ends = closer.complete(state) or constraint.vocabulary.eos_ids
    if not record.tokens or not constraint.is_accepting(state) or not ends:
        return None
    request = Request(
        prompt=record.prompt or (0,),
        constraint=constraint,
        closer=closer,
        sampler=Sampler(temperature=0.0),
        budget=len(record.tokens) + 1,
        on_truncation="raise",
        label=record.label,
    )
    return Row(request, row_rng(0, 0))
