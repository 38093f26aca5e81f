"""Rows of lexer states: what each byte leads to, written into the tables when first asked for.

Kernels spell words and characters in bytes; here they are told which (`automata.spelling`). Rows of
all other states are written byte by byte, from the description of the state.
"""

from __future__ import annotations

from typing import Any

from structgen.automata.lexer.json_lexemes import KeyStart
from structgen.automata.lexer.lexer import End, LexState, Text
from structgen.automata.lexer.separators import Either, Fork
from structgen.automata.pushdown.numbering import Numbering
from structgen.automata.pushdown.provenance import BEFORE, LAST, PLACE_BITS
from structgen.automata.pushdown.tables import inconsistent_tables
from structgen.automata.spelling import embedded_dfa, texts, word_lists


class Rows(Numbering):
    """The objects of a machine by number, with the rows of its lexer states."""

    def kernel_state(self, q: int) -> LexState:
        """See `Numbering.kernel_state`: by a walk from a described one, or by derivatives."""
        k, within = self._k, self.tables.state_info
        if within[q, k.KIND] >= k.SPANS_TEXT:
            return texts.described(self, q)
        way: list[int] = []
        while (found := self.described(q)) is None:
            way.append(q)
            q = int(within[q, k.FROM_STATE])
        at: Any = found
        for number in reversed(way):
            first, depth, byte = (int(x) for x in within[number, [k.FIRST, k.DEPTH, k.FROM_BYTE]])
            if within[number, k.KIND] == k.IN_WORD:
                letter = self.tables.letters[self.tables.words[first, k.WORD_BEGIN] + depth - 1]
                at = next(s.target for s in at.segments() if s.lo <= letter <= s.hi)
            else:
                at = self.row_of(at).targets[byte]
        described: LexState = at
        return described

    def fill(self, q: int) -> None:
        """See `Numbering.fill`."""
        if self._saved is not None and self.fill_saved(q):
            return
        t = self.tables
        if q < len(t.shared_rows):
            t.rows[q], t.filled[q] = t.shared_rows[q], 1
            return
        k, kind = self._k, t.state_info[q, self._k.KIND]
        if kind == k.SPANS_UNKNOWN:
            if not embedded_dfa.write_moves(self, q):
                texts.write_state(self, q, self.state(q))
        elif kind == 0:
            state = self.state(q)
            if isinstance(state, KeyStart):
                word_lists.write_key_start(self, q, state)
            if not (word_lists.write_state(self, q, state) or texts.write_state(self, q, state)):
                self._fill_from(q, state)
                return
        while (code := self._entry_points.fill_row(self.tables_at, q)) != 0:
            if code == k.NEED_STATES:
                self.make_room(*self.tables.need[:2].tolist())
            elif self.tables.need[self._k.WANTED] == q:
                raise inconsistent_tables()
            else:
                self.fill(int(self.tables.need[self._k.WANTED]))

    def _fill_from(self, q: int, state: LexState) -> None:
        """Fill the row of a lexer state from its description."""
        codes: dict[int, int] = {}
        beside: Any = self._k.DEAD
        if isinstance(state, Either) and isinstance(state.states[-1], Text):
            state, text = state.states  # the row of the text is found by kernels
            beside = self.targets(self.state_id(text, (q << PLACE_BITS) | LAST))
        number_of = self.state_id
        if isinstance(state, Fork):  # few bytes, with shared targets
            found, accepted, number_of = [*state.targets], state.accept, self.shared_state_id
        else:
            row = self.row_of(state)
            found = [(byte, to) for byte, to in enumerate(row.targets) if to is not None]
            accepted = row.accept
        for byte, target in found:
            if id(target) not in codes:
                if isinstance(target, End):
                    codes[id(target)] = -2 - self.terminal_id(target.terminal, (q, byte))
                else:
                    codes[id(target)] = number_of(target, (q << PLACE_BITS) | byte)
        accept = -1 if accepted is None else self.terminal_id(accepted, (q, BEFORE))
        targets = self.tables.rows[q]
        targets[:] = beside
        for byte, target in found:
            targets[byte] = codes[id(target)]
        self.tables.accept[q] = accept
        self.tables.filled[q] = 1
