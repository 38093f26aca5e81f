"""Laws that all automata keep; raises AssertionError where one is broken."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from structgen import Vocabulary
from structgen.automata.interface import Automaton
from structgen.masks.bitmask import unpack
from structgen.masks.registry import masks_of


def reads(automaton: Automaton, text: str) -> bool:
    """Whether the automaton accepts a text."""
    at, _ = automaton.run(automaton.start, text.encode())
    return at >= 0 and automaton.is_accepting(at)


def check_masks(automaton: Automaton, tokens: Sequence[bytes], seed: int) -> None:
    """A token is in the row of a position iff its bytes can be read from there."""
    vocabulary = Vocabulary([*tokens, b"</s>"], eos_ids=[len(tokens)], special_ids=[len(tokens)])
    masks, draw, at = masks_of(automaton, vocabulary), random.Random(seed), automaton.start
    for _ in range(4):
        row = unpack(masks.row(at), vocabulary.size)
        after = [automaton.run(at, token)[0] for token in tokens]
        assert row[: len(tokens)].tolist() == [place >= 0 for place in after]
        below = np.zeros(vocabulary.words, np.int32)
        ends = masks.below(at, -1, below)
        assert (unpack(below, vocabulary.size) == row).all()
        ending = {int(vocabulary.trie.token[node]) for node in ends}
        assert ending == {i for i, p in enumerate(after) if p >= 0 and automaton.is_accepting(p)}
        live = [place for place in after if place >= 0]
        if not live:
            return
        at = draw.choice(live)


def check_completions(
    automaton: Automaton, fits: Callable[[str], bool], texts: Sequence[str], seed: int
) -> None:
    """From wherever random letters lead, the completion ends well and none of `texts` is shorter.

    fits: whether a text is one of the language, by its definition. texts: of the letters a, b, c.
    """
    completions, draw = automaton.completions(b"abc"), random.Random(seed)
    at, text = automaton.start, ""
    for _ in range(4):
        ending = completions.shortest(at)
        end, _ = automaton.run(at, ending)
        assert automaton.is_accepting(end)
        assert not any(fits(text + t) for t in texts if len(t) < len(ending))
        following = [byte for byte in automaton.next_bytes(at) if byte in b"abc"]
        if not following:
            assert automaton.is_accepting(at)
            return
        byte = bytes((draw.choice(following),))
        at, text = automaton.run(at, byte)[0], text + byte.decode()
