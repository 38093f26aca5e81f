"""`TokenMap`: the tokens of a target as tokens of a draft model with another vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structgen.errors import VocabularyError
from structgen.generation.speculation.tree import Ids
from structgen.vocabulary.vocabulary import Vocabulary


class TokenMap:
    """Tokens of a target as tokens of a draft model.

    Attribute `ids`: int64[V], for each of the target's tokens the draft model's that is the same
    bytes, -1 where there is none. Drafts are made of the others, the intersection of both
    vocabularies (Timor et al. 2025, token-level intersection). `back`: the same the other way.
    """

    def __init__(self, ids: Ids, spelled: dict[int, tuple[int, ...]]) -> None:
        """`spelled`: how tokens without an equal are read by the draft model; else not at all."""
        self.ids = ids
        self.back = {int(own): token for token, own in enumerate(ids) if own >= 0}
        self._spelled = spelled

    @classmethod
    def same(cls, size: int, draft_size: int) -> TokenMap:
        """Equal ids for equal tokens; either side may have more of them."""
        ids = np.arange(size)
        ids[draft_size:] = -1
        return cls(ids, {})

    @classmethod
    def shared(cls, target: Vocabulary, draft: Vocabulary) -> TokenMap:
        """By their bytes. VocabularyError when no text token has an equal."""
        by_bytes = {draft.tokens[i]: int(i) for i in draft.text_ids[::-1]}
        texts = {int(i): target.tokens[i] or b"" for i in target.text_ids}
        ids = np.full(target.size, -1)
        for token, data in texts.items():
            ids[token] = by_bytes.get(data, -1)
        if not (ids >= 0).any():
            raise VocabularyError("the draft model's vocabulary has no token of the target's")
        spelled = {t: _spell(data, draft, by_bytes) for t, data in texts.items() if ids[t] < 0}
        return cls(ids, spelled)

    def read(self, tokens: Sequence[int]) -> list[int]:
        """A text as the draft model reads it; special tokens that it does not have are left out."""
        found: list[int] = []
        for token in tokens:
            own = int(self.ids[token])
            found += [own] if own >= 0 else self._spelled.get(token, ())
        return found


def _spell(data: bytes, draft: Vocabulary, by_bytes: dict[bytes | None, int]) -> tuple[int, ...]:
    """The draft model's tokens that write some bytes; parts of characters byte by byte."""
    try:
        cut = draft.encode_continuation(data.decode())
    except UnicodeDecodeError:
        cut = None
    if cut is None:
        cut = [by_bytes[bytes([b])] for b in data if bytes([b]) in by_bytes]
    return tuple(cut)
