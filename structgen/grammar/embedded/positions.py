"""Positions of a grammar with embedded specs that have automata of their own.

A position is one of the grammar without the specs, or none, and any number of *open texts*: texts
of specs that have begun, each with a position in the spec's own automaton and the stacks in front
of it. As a lexeme does, an open text begins with its first byte; it may end wherever the spec's
text may, and the grammar goes on behind its terminal from there, while the text itself may go on,
too.

No position is a dead end: specs have none, the grammar has none, and a text begun where a lexeme
must not have been longer is kept only if one of its continuations rules that out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from structgen.automata.interface import DEAD
from structgen.automata.joined import JoinedAutomaton
from structgen.errors import BudgetError
from structgen.grammar.automaton.automaton import GrammarAutomaton
from structgen.grammar.embedded.reader import EmbeddedReader, OpenText
from structgen.grammar.embedded.tokens import Token, TokenSpecials
from structgen.kernels.build.loader import kernels

MAX_OPEN_TEXTS = 4096  # read side by side at one position

OpenTexts = tuple[OpenText, ...]
Position = tuple[int, OpenTexts]  # position in the grammar's own automaton or DEAD, open texts


class NestingPositions(JoinedAutomaton[Position]):
    """Reads texts of a grammar with embedded specs.

    outer: the automaton of the grammar, in which the specs have no texts; inners: the specs.
    """

    reader: EmbeddedReader

    def _begin(self, outer: GrammarAutomaton) -> None:
        self.outer, self.inners = outer, self.reader.inners
        super().__init__()
        self._entries: dict[int, OpenTexts] = {}
        inners = [inner.automaton for inner in self.inners]
        self.reads_tokens = any(inner.reads_tokens for inner in inners)
        self.named_tokens = tuple(token for inner in inners for token in inner.named_tokens)

    # -- looking into positions -----------------------------------------------------------------

    def position(self, at: int) -> Position:
        """The parts of a position."""
        return self._positions[at]

    def numbered(self, open_text: OpenText) -> int:
        """The position of one open text alone."""
        return self._number((DEAD, (open_text,)))

    def entries(self, outer: int) -> OpenTexts:
        """The texts that may begin at a position of the grammar's own automaton."""
        found = self._entries.get(outer)
        if found is None:
            begun = self.reader.entries(self.outer, outer) if outer >= 0 else ()
            found = self._entries[outer] = tuple(begun)
        return found

    def after_text(self, open_text: OpenText) -> int:
        """The position of the grammar's automaton where an open text ends."""
        return self.reader.after(self.outer, open_text)

    # -- reading --------------------------------------------------------------------------------

    def _step(self, at: int, byte: int) -> int:
        outer, open_texts = self._positions[at]
        data = bytes((byte,))
        moved: list[OpenText] = []
        for open_text in (*open_texts, *self.entries(outer)):
            lookaheads = self.reader.lookaheads(self.outer, open_text.lookaheads, byte)
            if lookaheads >= 0:
                after, _ = self.inners[open_text.inner].automaton.run(open_text.at, data)
                if after >= 0:
                    moved.append(open_text._replace(at=after, lookaheads=lookaheads))
        return self._closed(self.outer.run(outer, data)[0] if outer >= 0 else DEAD, moved)

    def _closed(self, outer: int, open_texts: Iterable[OpenText]) -> int:
        """The position of these, and of what begins where the open texts may end; or DEAD."""
        kept: dict[tuple[int, int, int, int], OpenText] = {}
        ended: list[tuple[int, int, int]] = []
        ordered = bool(self.outer.tables.info[kernels("grammar.tables").ORDERED])
        for moved in open_texts:
            automaton = self.inners[moved.inner].automaton
            if automaton.is_accepting(moved.at):
                ended.append(self.reader.behind(self.outer, moved))
                if not automaton.next_bytes(moved.at):
                    continue
            if not self.reader.can_finish(self.outer, moved):
                continue
            key = (moved.inner, moved.at, moved.lookaheads, moved.stacks if ordered else 0)
            if key in kept:
                either = kernels("grammar.stacks").union_closed
                stacks = self.outer.ask(either, kept[key].stacks, moved.stacks)
                kept[key] = moved._replace(stacks=stacks)
            else:
                kept[key] = moved
        if len(kept) > MAX_OPEN_TEXTS:
            raise BudgetError(
                f"more than {MAX_OPEN_TEXTS} ways to have read the text so far",
                hint="make the grammar less ambiguous",
            )
        outer = self.reader.joined(self.outer, outer, ended)
        if outer < 0 and not kept:
            return DEAD
        return self._number((outer, tuple(sorted(kept.values()))))

    def is_accepting(self, at: int) -> bool:
        """See `Automaton.is_accepting`."""
        outer = self._positions[at][0]
        return outer >= 0 and self.outer.is_accepting(outer)

    def next_bytes(self, at: int) -> list[int]:
        """See `Automaton.next_bytes`."""
        outer, open_texts = self._positions[at]
        found = set(self.outer.next_bytes(outer)) if outer >= 0 else set()
        for open_text in (*open_texts, *self.entries(outer)):
            found.update(self.inners[open_text.inner].automaton.next_bytes(open_text.at))
        doubtful = self.outer.is_checked or any(
            open_text.lookaheads for open_text in (*open_texts, *self.entries(outer))
        )
        return sorted(b for b in found if not doubtful or self.run(at, bytes((b,)))[0] >= 0)

    def only_byte(self, at: int) -> int:
        """See `Automaton.only_byte`."""
        outer, open_texts = self._positions[at]
        if outer < 0 and len(open_texts) == 1 and open_texts[0].lookaheads == 0:
            return self.inners[open_texts[0].inner].automaton.only_byte(open_texts[0].at)
        return super().only_byte(at)

    def specials(self, at: int) -> Mapping[bytes, int]:
        """See `Automaton.specials`: those of the embedded specs."""
        outer, open_texts = self._positions[at]
        ways: list[tuple[Token | bytes, OpenText]] = []
        for open_text in (*open_texts, *self.entries(outer)):
            special = self.inners[open_text.inner].automaton.specials(open_text.at)
            named = special.pairs() if isinstance(special, TokenSpecials) else special.items()
            ways += [(way, open_text._replace(at=after, lookaheads=0)) for way, after in named]
        if self.reads_tokens:
            return TokenSpecials(ways, self.after_texts)
        found: dict[bytes, list[OpenText]] = {}
        for text, moved in ways:
            if isinstance(text, bytes):
                found.setdefault(text, []).append(moved)
        return {text: self._closed(DEAD, moved) for text, moved in found.items()}

    def after_texts(self, open_texts: list[OpenText]) -> int:
        """The position of some open texts, or DEAD."""
        return self._closed(DEAD, open_texts) if open_texts else DEAD

    def joined(self, one: int, other: int) -> int:
        """The position of two, either of which may be DEAD."""
        if min(one, other) < 0:
            return max(one, other)
        (outer, texts), (beside, others) = self._positions[one], self._positions[other]
        threads = self.outer.threads(beside) if beside >= 0 else []
        return self._closed(self.reader.joined(self.outer, outer, threads), (*texts, *others))

    def core(self, at: int) -> Hashable:
        """See `Automaton.core`: with the cores of the embedded specs."""
        outer, open_texts = self._positions[at]
        cores = [
            self.inners[open_text.inner].automaton.core(open_text.at) for open_text in open_texts
        ]
        return outer, tuple((*i._replace(at=0), c) for i, c in zip(open_texts, cores, strict=True))

    def remembers(self, at: int) -> Hashable:
        """See `Automaton.remembers`: what the embedded specs do, if any does."""
        _, open_texts = self._positions[at]
        found = [
            self.inners[open_text.inner].automaton.remembers(open_text.at)
            for open_text in open_texts
        ]
        return None if all(f is None for f in found) else tuple(found)

    def expected(self, at: int) -> str:
        """See `Automaton.expected`."""
        outer, open_texts = self._positions[at]
        words = []
        for open_text in open_texts:
            inner = self.inners[open_text.inner]
            name = self.outer.shown(self.reader.terminals[open_text.inner])
            words.append(f"{inner.automaton.expected(open_text.at)} (in {name})")
        words += [self.outer.expected(outer)] if outer >= 0 else []
        return ", or ".join(dict.fromkeys(words))
