"""Random texts of a shipped grammar, and texts nearly of it."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from structgen.automata.interface import DEAD, Automaton
from structgen.grammar.shipped import examples

_PIECE = re.compile(r"\w+|[ \t]+|\r?\n[ ]*|.", re.DOTALL)


def cut(text: str) -> list[str]:
    """The words, blanks, line breaks and single other characters of a text."""
    return _PIECE.findall(text)


def pieces_of(name: str) -> list[str]:
    """What the accepted examples of a grammar consist of, each piece once."""
    found = {piece for text in examples(name).accept.values() for piece in cut(text)}
    return sorted(found)


def walks(
    automaton: Automaton, pieces: list[str], lengths: list[int], draw: random.Random
) -> Iterator[str]:
    """Random texts: of the pieces that may follow any alike, then the shortest way to an end.

    lengths: how many pieces the texts have before that.
    """
    completions = automaton.completions()
    for length in lengths:
        at, text = automaton.start, b""
        for _ in range(length):
            for piece in draw.sample(pieces, len(pieces)):
                after, _ = automaton.run(at, piece.encode())
                if after != DEAD:
                    at, text = after, text + piece.encode()
                    break
            else:
                break
        yield (text + completions.shortest(at)).decode()


def mutants(text: str, pieces: list[str], draw: random.Random) -> Iterator[str]:
    """The text with one piece deleted, one doubled, two neighbours swapped, one replaced."""
    parts = cut(text)
    if not parts:
        return
    at = draw.randrange(len(parts))
    head, piece, tail = parts[:at], parts[at], parts[at + 1 :]
    yield "".join([*head, *tail])
    yield "".join([*head, piece, piece, *tail])
    if tail:
        yield "".join([*head, tail[0], piece, *tail[1:]])
    yield "".join([*head, draw.choice(pieces), *tail])


def accepts(automaton: Automaton, text: str) -> bool:
    """Whether the automaton reads the text to an end."""
    at, _ = automaton.run(automaton.start, text.encode())
    return at != DEAD and automaton.is_accepting(at)
