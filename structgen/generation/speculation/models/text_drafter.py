"""`TextDrafter`: a draft model with another tokenizer; its text is cut into target tokens.

its tokens ── bytes that the constraint allows ──▶ a draft text ── Rewriter ──▶ a chain
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD
from structgen.errors import VocabularyError
from structgen.generation.distribution import largest, softmax
from structgen.generation.speculation.interfaces import Budget, LearnsNothing, Round
from structgen.generation.speculation.masked import allowed_ids
from structgen.generation.speculation.models.reader import Reader, load_draft_model, reader_of
from structgen.generation.speculation.models.token_map import TokenMap
from structgen.generation.speculation.models.trim import Head
from structgen.generation.speculation.tree import NONE, Context, DraftTree, Ids
from structgen.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True)
class Pair:
    """Two vocabularies.

    tokens: the target's as the draft model reads them. unshared: int64[], which of the draft
    model's text tokens the target does not have, as positions among them.
    """

    target: Vocabulary
    draft: Vocabulary
    tokens: TokenMap
    unshared: Ids

    @classmethod
    def of(cls, target: Vocabulary, draft: Vocabulary) -> Pair:
        """VocabularyError when they share nothing."""
        tokens = TokenMap.shared(target, draft)
        unshared = np.flatnonzero([int(i) not in tokens.back for i in draft.text_ids])
        return cls(target, draft, tokens, unshared)


class Rewriter(Protocol):
    """Says which target tokens a draft is; it may be shared by all texts."""

    def rewrite(self, pair: Pair, drafted: Sequence[int]) -> list[int]:
        """Target tokens that write what these draft tokens write, or a beginning of it."""

    def learn(self, pair: Pair, written: Sequence[int]) -> None:
        """See target tokens that were written."""


class Retokenizer:
    """Tokenizes the draft's text again, as in the middle of a text, with no token to begin with.

    Whatever the target then accepts was compared token by token (Timor et al. 2025, string-level
    exact match, SLEM).
    """

    def rewrite(self, pair: Pair, drafted: Sequence[int]) -> list[int]:
        """See `Rewriter`. What ends inside a character waits for the next draft."""
        data = pair.draft.decode_bytes(drafted)
        return pair.target.encode_continuation(data.decode(errors="ignore")) or []

    def learn(self, pair: Pair, written: Sequence[int]) -> None:
        """Nothing is learned."""


class NgramCache:
    """Joins draft tokens that have been one token of the target before.

    Tokens that both have are themselves (OmniDraft: Ramakrishnan et al. 2025; only the cache).
    """

    def __init__(self, size: int = 4096) -> None:
        """size: target tokens to remember, the longest unused leave."""
        self.size = size
        self._known: OrderedDict[tuple[str, tuple[int, ...]], int] = OrderedDict()
        self._longest = 1
        self._lock = threading.Lock()

    def rewrite(self, pair: Pair, drafted: Sequence[int]) -> list[int]:
        """See `Rewriter`. At each position the longest sequence that is known."""
        found: list[int] = []
        at = 0
        while at < len(drafted):
            length, token = self._match(pair, drafted[at : at + self._longest])
            if not length:
                break
            found.append(token)
            at += length
        return found

    def learn(self, pair: Pair, written: Sequence[int]) -> None:
        """See `Rewriter`."""
        for token in written:
            spelled = tuple(pair.tokens.read([token]))
            if len(spelled) > 1 and pair.draft.decode_bytes(spelled) == pair.target.tokens[token]:
                key = pair.target.hash, spelled
                with self._lock:
                    self._known[key] = token
                    self._known.move_to_end(key)
                    self._longest = max(self._longest, len(spelled))
                    if len(self._known) > self.size:
                        self._known.popitem(last=False)

    def _match(self, pair: Pair, drafted: Sequence[int]) -> tuple[int, int]:
        """How many of the draft tokens are one target token, and which; 0 where none are."""
        for length in range(len(drafted), 1, -1):
            token = self._known.get((pair.target.hash, tuple(drafted[:length])))
            if token is not None:
                return length, token
        same = pair.tokens.back.get(drafted[0])
        return (0, NONE) if same is None else (1, same)


class TextDrafter:
    """A model with another tokenizer, drafting the text that it finds most probable.

    It shares no tokens with the target, so its drafts are chains of points. `ModelDrafter` drafts
    trees of those tokens that both have, and is better where most are shared.
    """

    hidden: tuple[int, ...] = ()

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        rewriter: Rewriter | None = None,
        dtype: Any = None,
        device: Any = None,
        tries: int = 32,
        name: str = "text",
    ) -> None:
        """`model` and `tokenizer` as for `Generator`. rewriter: a Retokenizer by default.

        tries: most probable tokens, of those that the target does not have, that are tried for
        one that the constraint allows.
        VocabularyError when the model comes without a tokenizer.
        """
        self.name = name
        self.target, found = load_draft_model(model, tokenizer, device, dtype)
        if found is None:
            raise VocabularyError(
                "the draft model came without its tokenizer", hint="give (model, tokenizer)"
            )
        self.vocabulary: Vocabulary = found
        self.rewriter: Rewriter = Retokenizer() if rewriter is None else rewriter
        self.tries = tries
        self.texts = found.text_ids.astype(np.int64)
        self._head = Head(self.target, trim=False)
        self._pairs: dict[str, Pair] = {}
        self._lock = threading.Lock()

    def begin(self, context: Context) -> TextSession:
        """See `Drafter`."""
        reader = reader_of(self.target, self._head)
        return TextSession(self, reader, self._pair(context.constraint.vocabulary), context)

    def _pair(self, target: Vocabulary) -> Pair:
        with self._lock:
            if target.hash not in self._pairs:
                self._pairs[target.hash] = Pair.of(target, self.vocabulary)
            return self._pairs[target.hash]


class _Piece(NamedTuple):
    """A token drafted: the state after its bytes, and how probable it was."""

    token: int
    state: int
    probability: float


class TextSession(LearnsNothing):
    """A draft model of other tokens at work on one text; a `Session`."""

    def __init__(self, drafter: TextDrafter, reader: Reader, pair: Pair, context: Context) -> None:
        self._drafter = drafter
        self._reader = reader
        self._pair = pair
        self._text = pair.tokens.read(context.prompt)
        self._seen = len(context.prompt)

    def propose(self, context: Context, budget: Budget) -> DraftTree:
        """See `Session`."""
        self._text += self._pair.tokens.read(context.tokens[self._seen :])
        self._seen = len(context.tokens)
        tree = DraftTree(context)
        length = min(budget.nodes, budget.depth)
        drafted = self._draft(context, 2 * length) if self._text else []
        tokens = self._drafter.rewriter.rewrite(self._pair, [piece.token for piece in drafted])
        chances = self._chances(drafted)
        node, start = 0, 0
        for token in tokens[:length]:
            end = start + len(self._pair.target.token_bytes(token))
            node = tree.add(node, token, float(np.prod(chances[start:end])))
            if node == NONE or tree.estimates[node] < budget.least:
                break
            start = end
        return tree

    def observe(self, context: Context, seen: Round) -> None:
        """See `Session`."""
        self._drafter.rewriter.learn(self._pair, seen.written)

    def _draft(self, context: Context, most: int) -> list[_Piece]:
        """Up to `most` of the draft model's tokens, each the best that the constraint allows."""
        limit = self._drafter.target.context
        room = most if limit is None else min(most, limit - len(self._text))
        found: list[_Piece] = []
        texts = self._drafter.texts
        while len(found) < room:
            if not found:
                node, logits = self._reader.follow(self._text, texts)
            else:
                [answer] = self._reader.grow([(node, found[-1].token)], [texts])
                if answer is None:
                    break
                node, logits = answer
            piece = self._best(context, found[-1].state if found else context.state, logits)
            if piece is None:
                break
            found.append(piece)
        return found

    def _best(self, context: Context, state: int, logits: npt.NDArray[Any]) -> _Piece | None:
        """The most probable token that may be written; None where the text ends, or none is found.

        The mask decides on those that the target has, too; the others are tried one by one.
        """
        if context.ends(state):
            return None
        distribution = softmax(logits.astype(np.float64))
        own = self._pair.tokens.ids[allowed_ids(context, state)]
        known = np.searchsorted(self._drafter.texts, own[own >= 0])
        best, mass = NONE, float(distribution[known].sum())
        if len(known):
            best = int(known[distribution[known].argmax()])
        unsure = self._pair.unshared
        for i in unsure[
            largest(distribution[unsure], min(self._drafter.tries, len(unsure)))
        ].tolist():
            if best != NONE and distribution[i] <= distribution[best]:
                break
            data = self._pair.draft.token_bytes(int(self._drafter.texts[i]))
            if context.constraint.advance_bytes(state, data) != DEAD:
                best = i
                mass += float(distribution[i])
                break
        if best == NONE:
            return None
        token = int(self._drafter.texts[best])
        after = context.constraint.advance_bytes(state, self._pair.draft.token_bytes(token))
        return _Piece(token, after, float(distribution[best]) / mass)

    def _chances(self, drafted: Sequence[_Piece]) -> list[float]:
        """For each byte how probable it is after those before: the first of a token bears all."""
        chances: list[float] = []
        for piece in drafted:
            count = len(self._pair.draft.token_bytes(piece.token))
            chances += [piece.probability, *[1.0] * (count - 1)]
        return chances
