"""Adds Lark's LALR parser to the tables of a grammar, so that it says what the lexer looks for.

Lark's contextual lexer looks for all terminals in the row of the parser's state. Where a state
stands for several places in the grammar, some of these are *spurious*: the grammar does not allow
them here. They still shut out other terminals, so they are read as well: each has a *shadow*, a
copy of its DFA, behind the originals, that leads to no end. Most grammars need none of it: the
lexer can mix up none of the spurious terminals with one that is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.grammar.automaton.tables import begun, csr
from structgen.grammar.ir import Grammar, Lalr
from structgen.grammar.transforms.left_corner import FAR
from structgen.kernels.build.loader import kernels


class Guide:
    """An LALR parser with numbered symbols: terminals in Lark's order, the end, then rules.

    rows: for each state the action on each symbol, as in `ir.Lalr`. choice: what kind of parser it
    is (see `kernels.grammar.lalr_guided`). spurious: the terminals on which the parser may fail and
    that the lexer may mix up with others; set by `guided`.
    """

    def __init__(self, grammar: Grammar, lalr: Lalr, numbers: Mapping[str, int]) -> None:
        """numbers: of the terminals."""
        self._lalr, self._terminals = lalr, len(numbers)
        self._ignored = {numbers[name] for name in grammar.ignore}
        self.symbols = {**numbers, Lalr.END: self._terminals}
        for name, _ in lalr.rules:
            self.symbols.setdefault(name, len(self.symbols))
        self.rows = [
            {self.symbols[name]: to for name, to in step.items() if name in self.symbols}
            for step in lalr.actions
        ]
        if grammar.layout is not None and grammar.layout.newline in numbers:
            for row in self.rows:  # a line break is looked for everywhere
                row.setdefault(
                    numbers[grammar.layout.newline], kernels("grammar.lalr_guided").NOTHING
                )
        g = kernels("grammar.lalr_guided")
        used = any(self._ignored & row.keys() for row in self.rows)
        self.choice = (
            g.ERRS
            if used or lalr.may_get_stuck
            else g.CHOOSES
            if lalr.has_conflicts
            else g.READS_ALL
        )
        self.spurious: set[int] = set()

    def terminal_sets(self) -> list[int]:
        """The sets of terminals that the lexer looks for at once, as bit masks."""
        return list({sum(1 << terminal for terminal in self._looked_for(row)) for row in self.rows})

    def _looked_for(self, row: Iterable[int]) -> set[int]:
        """The terminals that the lexer looks for in a state with this row."""
        return {symbol for symbol in row if symbol < self._terminals} | self._ignored

    def guided(self, tables: Any, competing: npt.NDArray[np.uint8]) -> Any:
        """The tables with the parser added and nothing read yet; unchanged if none is needed.

        competing: uint8[terminals, terminals], whether the lexer may mix them up.
        """
        for row in self.rows:
            looked_for = self._looked_for(row)
            beside: Any = competing[:, sorted(looked_for)].any(axis=1)
            self.spurious |= {
                symbol
                for symbol in looked_for & row.keys()
                if beside[symbol] and (row[symbol] < 0 or self._lalr.has_dead_ends)
            }
        if not self.spurious and self.choice == kernels("grammar.lalr_guided").READS_ALL:
            return tables
        k = kernels("grammar.tables")
        constants = {
            name: tables.fixed[tables.offsets[name] : tables.offsets[name + 1]]
            for name in range(k.FIXED_COUNT)
        }
        after = self._with_shadows(constants, tables.next)
        pairs = zip(*(side.tolist() for side in np.nonzero(competing)), strict=True)
        constants |= csr(k.COMPETING_START, k.COMPETING, pairs, self._terminals) | self._parser()
        info = tables.info.copy()
        info[: k.NEED] = 0
        info[[k.RECORDS, k.HEAP]] = 1
        info[[k.FIRST_STATE, k.LAST_STATE, k.CHOICE]] = 0, self._lalr.end_state, self.choice
        return begun(constants, after, tables.watch, info)

    def _with_shadows(self, constants: dict[int, Any], nexts: Any) -> Any:
        """Add the shadows of spurious terminals to the DFA tables: the new transition table.

        Each shadow stands behind its original, so that states stay sorted by terminal.
        """
        k = kernels("grammar.tables")
        terminal = constants[k.S_TERMINAL]
        copied = np.isin(terminal, sorted(self.spurious))
        old = np.concatenate([np.arange(len(nexts)), np.flatnonzero(copied)])
        is_shadow = np.arange(len(old)) >= len(nexts)
        order = np.lexsort((old, is_shadow, terminal[old]))
        old, is_shadow = old[order], is_shadow[order]
        place = np.full((2, len(nexts) + 1), -1)  # of each state, and its shadow
        place[is_shadow.astype(int), old] = np.arange(len(old))
        after = np.where(is_shadow[:, None], place[1][nexts[old]], place[0][nexts[old]])
        starts = constants[k.T_START]
        constants[k.T_START], constants[k.T_SHADOW] = place[0][starts], place[1][starts]
        for name in (k.S_TERMINAL, k.S_ENDS, k.S_NO_LONGER, k.S_NO_MATCH, k.S_DISTANCE, k.S_WIDTH):
            constants[name] = constants[name][old]
        lexer = kernels("grammar.lexer")
        constants[k.S_ENDS] = np.where(is_shadow, lexer.SPURIOUS, 1) * constants[k.S_ENDS]
        constants[k.S_DISTANCE] = np.where(is_shadow, FAR, constants[k.S_DISTANCE])
        return np.ascontiguousarray(after, np.int32)

    def _parser(self) -> dict[int, Any]:
        """The constant arrays of the parser."""
        k = kernels("grammar.tables")
        flat = [entry for row in self.rows for entry in sorted(row.items())]
        return {
            k.LR_START: np.cumsum([0, *map(len, self.rows)]),
            k.LR_SYMBOL: np.array([symbol for symbol, _ in flat]),
            k.LR_STEP: np.array([to for _, to in flat]),
            k.LR_SIZE: np.array([size for _, size in self._lalr.rules]),
            k.LR_NAME: np.array([self.symbols[name] for name, _ in self._lalr.rules]),
        }
