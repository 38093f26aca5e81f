"""Where the texts of embedded specs begin and end between the lexemes of the grammar.

A text of a spec stands between two threads of the grammar's own automaton, which wants a terminal
there and never reads one. All that the text does to these is to advance the *lookaheads* of the
lexemes before it: whether one of them turns out longer after all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from structgen.automata.interface import DEAD
from structgen.grammar.automaton.positions import GrammarPositions, Thread
from structgen.grammar.embedded.specs import EmbeddedSpec
from structgen.kernels.build.loader import kernels

MAX_PAIRS = 10_000  # looked at to tell what a text does to lookaheads


class OpenText(NamedTuple):
    """A text of a spec that is being read, or may begin.

    inner: number of the spec; at: position in its automaton; stacks: those of the grammar in front
    of it; lookaheads: of lexemes before it that must not turn out longer, 0 for none.
    """

    inner: int
    at: int
    stacks: int
    lookaheads: int


class EmbeddedReader:
    """The specs inside one grammar. terminals: the number of each one's terminal."""

    def __init__(self, inners: Sequence[EmbeddedSpec], terminals: Sequence[int]) -> None:
        self.inners, self.terminals = list(inners), list(terminals)
        self._places = np.zeros(32, np.int64)
        self._left: dict[tuple[int, int, int], list[int]] = {}

    def samples(self) -> dict[int, list[bytes]]:
        """Texts or beginnings of texts, by terminal."""
        pairs = zip(self.terminals, self.inners, strict=True)
        return {terminal: inner.samples() for terminal, inner in pairs}

    def entries(self, outer: GrammarPositions, at: int) -> list[OpenText]:
        """The texts that may begin at a position of the grammar's own automaton."""
        kernel = kernels("grammar.embedded").entrances
        while (count := self._ask(outer, kernel, at, self._places)) < 0:
            self._places = np.zeros(2 * len(self._places), np.int64)
        found = []
        for stacks, lookaheads in self._places[: 2 * count].reshape(-1, 2).tolist():
            wanted = outer.allowed_terminals(stacks)
            found += [
                OpenText(number, self.inners[number].automaton.start, stacks, lookaheads)
                for number, terminal in enumerate(self.terminals)
                if terminal in wanted
            ]
        return found

    def _ask(self, outer: GrammarPositions, kernel: Callable[..., int], *arguments: Any) -> int:
        """The answer of a kernel, or ENDS_FULL."""
        full: int = kernels("masks.byte_walk").ENDS_FULL
        while True:
            answer = int(kernel(outer.tables, *arguments))
            if answer >= DEAD or answer == full:
                return answer
            outer.fill_on_demand(answer)

    def behind(self, outer: GrammarPositions, open_text: OpenText) -> Thread:
        """The thread that begins where a text ends."""
        scan = kernels("grammar.indentation").scan_laid
        stacks = outer.ask(scan, open_text.stacks, self.terminals[open_text.inner])
        return (outer.first_lexer(stacks), stacks, open_text.lookaheads)

    def joined(self, outer: GrammarPositions, at: int, threads: Sequence[Thread]) -> int:
        """A position (or DEAD) with further threads, as far as these can be finished; or DEAD."""
        if not threads:
            return at
        more = np.array(threads, np.int64).reshape(-1)
        return outer.ask(kernels("grammar.embedded").with_threads, at, more)

    def after(self, outer: GrammarPositions, open_text: OpenText) -> int:
        """The position where a text that may end has just ended, DEAD if nothing can follow."""
        return self.joined(outer, DEAD, [self.behind(outer, open_text)])

    def can_finish(self, outer: GrammarPositions, open_text: OpenText) -> bool:
        """Whether a text that has begun can go on to an end behind which the grammar can."""
        if open_text.lookaheads == 0 and not outer.is_checked:
            return True
        return any(self.after(outer, end) >= 0 for end in self.ends(outer, open_text))

    def positions_behind(self, outer: GrammarPositions, at: int) -> list[int]:
        """The positions behind texts that may begin at a position, whether they can finish or not.

        One for each set of lookaheads that the text can leave.
        """
        found = []
        for open_text in self.entries(outer, at):
            for end in self.ends(outer, open_text):
                thread = self.behind(outer, end)
                found.append(outer.ask(kernels("grammar_masks.masks").place_of, *thread))
        return found

    def ends(self, outer: GrammarPositions, open_text: OpenText) -> list[OpenText]:
        """An open text as it may be where it ends, for each set of lookaheads left then."""
        if open_text.lookaheads == 0:
            return [open_text]
        key = (open_text.inner, open_text.at, open_text.lookaheads)
        if key not in self._left:
            self._left[key] = self._search(outer, open_text)
        return [open_text._replace(lookaheads=lookaheads) for lookaheads in self._left[key]]

    def lookaheads_left_by(
        self, outer: GrammarPositions, terminal: int, lookaheads: int
    ) -> list[int]:
        """The lookaheads that texts of a spec, given by its terminal, can leave."""
        inner = self.terminals.index(terminal)
        begun = OpenText(inner, self.inners[inner].automaton.start, 0, lookaheads)
        return [end.lookaheads for end in self.ends(outer, begun)]

    def lookaheads(self, outer: GrammarPositions, lookaheads: int, byte: int) -> int:
        """Lookaheads after a byte, 0 when all are satisfied, DEAD when one is violated."""
        if lookaheads == 0:
            return 0
        kind = int(outer.byte_classes[byte])
        return outer.ask(kernels("grammar.lexer").next_lookaheads, lookaheads, kind)

    def _search(self, outer: GrammarPositions, open_text: OpenText) -> list[int]:
        """The lookaheads that texts can leave; just 0 if some text leaves none, which is best.

        Past MAX_PAIRS only those that have been found.
        """
        automaton = self.inners[open_text.inner].automaton
        queue = [(open_text.at, open_text.lookaheads)]
        seen = set()
        left: dict[int, None] = {}
        for at, lookaheads in queue:
            for byte in automaton.next_bytes(at):
                beyond = self.lookaheads(outer, lookaheads, byte)
                if beyond == 0:
                    return [0]
                after, _ = automaton.run(at, bytes((byte,)))
                key = (automaton.core(after), beyond)
                if beyond < 0 or key in seen:
                    continue
                seen.add(key)
                queue.append((after, beyond))
                if automaton.is_accepting(after):
                    left[beyond] = None
            if len(queue) > MAX_PAIRS:
                break
        return list(left)
