"""Sample positions of a grammar for which masks are made ahead of use.

What tokens do is cached by lexer state, so masks share most of what they are made of. Behind each
terminal, once for each set of terminals that the lexer may look for next, all of it is met.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from structgen.grammar.automaton.completions import bytes_to_try
from structgen.kernels.build.loader import kernels

if TYPE_CHECKING:
    from structgen.grammar.automaton.automaton import GrammarAutomaton

FAR = 1 << 28  # more bytes than any terminal needs


def positions(automaton: GrammarAutomaton) -> Iterator[int]:
    """Positions behind a shortest text of each terminal, if that text is read as nothing else.

    Stacks are visited breadth first, so those with short texts come first.
    """
    scan, place_of = (
        kernels("grammar.indentation").scan_laid,
        kernels("grammar_masks.masks").place_of,
    )
    tried = bytes_to_try(automaton, range(256)).tolist()
    texts = [_shortest(automaton, t, tried) for t in range(automaton.items.terminals)]
    queue = [automaton.threads(automaton.start)[0][1]]
    queued, seen = set(queue), set()
    for stacks in queue:
        for terminal in automaton.allowed_terminals(stacks):
            after = automaton.ask(scan, stacks, terminal)
            if after < 0 or (terminal, automaton.first_lexer(after)) in seen:
                continue
            seen.add((terminal, automaton.first_lexer(after)))
            if after not in queued:
                queued.add(after)
                queue.append(after)
            text = texts[terminal]
            if text:
                at = automaton.ask(place_of, automaton.first_lexer(stacks), stacks, 0)
                end, _ = automaton.run(at, text)
                if end >= 0:
                    yield end


def _shortest(automaton: GrammarAutomaton, terminal: int, tried: list[int]) -> bytes | None:
    """A shortest text of a terminal from the bytes to try; None if it has no text of its own."""
    k, nexts = kernels("grammar.tables"), automaton.tables.next
    state, text = automaton.constant(k.T_START, terminal), b""
    left = automaton.constant(k.S_DISTANCE, state)
    if left >= FAR:
        return None
    while left > 0:
        for byte in tried:
            after = int(nexts[state, automaton.byte_classes[byte]])
            if after >= 0 and automaton.constant(k.S_DISTANCE, after) < left:
                break
        state, text = after, text + bytes((byte,))
        left = automaton.constant(k.S_DISTANCE, state)
    return text
