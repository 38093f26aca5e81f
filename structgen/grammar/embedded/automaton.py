"""The automaton of a grammar with embedded specs: how it is made, stored and restored.

Reading itself is in `positions`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import (
    DEAD,
    Bytes,
    Completes,
    Stored,
    size_of_parts,
)
from structgen.errors import ArtifactError
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.automaton.tables_check import are_positions
from structgen.grammar.embedded.completions import NestingEnds
from structgen.grammar.embedded.positions import NestingPositions
from structgen.grammar.embedded.reader import EmbeddedReader, OpenText
from structgen.grammar.embedded.specs import restored, with_automata
from structgen.grammar.ir import Grammar


class NestingAutomaton(NestingPositions):
    """The texts of a grammar with embedded specs."""

    MASKS = "structgen.grammar.embedded.masks:NestingMasks"

    def __init__(self, grammar: Grammar) -> None:
        """Raises what compiling the grammar and its specs raises; see `GrammarAutomaton`."""
        used, inners = with_automata(grammar)
        names = [terminal.name for terminal in used.in_larks_order()]
        terminals = [names.index(inner.name) for inner in inners]
        self.reader = EmbeddedReader(inners, terminals)
        self._begin(GrammarAutomaton(used, self.reader))
        self.start = self._number((self.outer.start, ()))

    @classmethod
    def restored(cls, grammar: Grammar, saved: Stored) -> NestingAutomaton:
        """The automaton that `stored` described. Raises ArtifactError. grammar: as written."""
        automaton = cls.__new__(cls)
        try:
            parts = _parts(saved)
            names = saved.header["names"]
            inners = [
                restored(grammar, name, source, parts[f"inner{i}"])
                for i, (name, source) in enumerate(names)
            ]
            terminals = [int(t) for t in saved.header["terminals"]]
            reader = EmbeddedReader(inners, terminals)
            automaton.reader = reader
            automaton._begin(GrammarAutomaton.restored(parts["outer"], reader))
            automaton._restore(saved)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ArtifactError("the file holds no automaton of a grammar with specs") from error
        return automaton

    def _restore(self, saved: Stored) -> None:
        open_texts = [OpenText(*map(int, row)) for row in saved.arrays["inlets"]]
        counts, outers = saved.arrays["counts"].tolist(), saved.arrays["outers"].tolist()
        records = self.outer.size["records"]
        if (
            len(counts) != len(outers)
            or min(counts, default=-1) < 0
            or sum(counts) != len(open_texts)
            or any(not 0 <= i.inner < len(self.inners) for i in open_texts)
            or any(not self.inners[i.inner].automaton.is_position(i.at) for i in set(open_texts))
            or any(
                not 0 < i.stacks < records or not 0 <= i.lookaheads < records for i in open_texts
            )
            or not are_positions(self.outer.tables, np.array([o for o in outers if o != DEAD]))
            or not 0 <= int(saved.header["start"]) < len(outers)
        ):
            raise ArtifactError("the saved positions do not belong to the saved grammar")
        first = 0
        for outer, count in zip(outers, counts, strict=True):
            self._number((outer, tuple(open_texts[first : first + count])))
            first += count
        self.start = int(saved.header["start"])

    def completions(self, alphabet: Bytes = range(256)) -> Completes:
        """See `Automaton.completions`."""
        return NestingEnds(self, alphabet)

    @property
    def size(self) -> dict[str, int]:
        """See `Automaton.size`."""
        parts = (self.outer, *(inner.automaton for inner in self.inners))
        return size_of_parts(len(self._positions), len(self._steps), parts)

    def stored(self) -> Stored:
        """The positions, and what the automata of the grammar and of each spec store."""
        parts = {"outer": self.outer.stored()}
        parts |= {f"inner{i}": inner.automaton.stored() for i, inner in enumerate(self.inners)}
        arrays: dict[str, npt.NDArray[Any]] = {
            f"{part}.{name}": array
            for part, kept in parts.items()
            for name, array in kept.arrays.items()
        }
        open_texts = [open_text for _, found in self._positions for open_text in found]
        arrays["inlets"] = np.array(open_texts, np.int64).reshape(-1, 4)
        arrays["counts"] = np.array([len(found) for _, found in self._positions], np.int64)
        arrays["outers"] = np.array([outer for outer, _ in self._positions], np.int64)
        header = {
            "nested": {part: kept.header for part, kept in parts.items()},
            "names": [[inner.name, inner.source] for inner in self.inners],
            "terminals": self.reader.terminals,
            "start": self.start,
        }
        return Stored(header, arrays)


def _parts(saved: Stored) -> dict[str, Stored]:
    """What was stored of the grammar and of each spec."""
    found: dict[str, Stored] = {}
    for part, header in saved.header["nested"].items():
        kept = {n.removeprefix(f"{part}."): a for n, a in saved.arrays.items()
                if n.startswith(f"{part}.")}  # fmt: skip
        found[part] = Stored(header, kept)
    return found
