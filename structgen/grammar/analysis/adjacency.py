"""Shows, if it can, that lexing alone never leads to a dead end.

A sequence of terminals may have no spelling: with A = "a", B = "aa" and Lark's longest match
nothing can be read as A A. Most grammars are safe from that, and this shows it for them once and
for all: whatever lexeme has just ended, each terminal that may follow it has some text, maybe
behind ignored white space, with which nothing that has been read turns out otherwise. Where it
cannot be shown, positions are searched one by one (`viability`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.grammar.analysis.follow_sets import members
from structgen.grammar.analysis.neighbours import Neighbours
from structgen.grammar.ir import IGNORED, Variants
from structgen.grammar.terminals.automata import SATISFIED, VIOLATED
from structgen.grammar.terminals.short_texts import Texts, candidates
from structgen.grammar.transforms.left_corner import FAR
from structgen.kernels.build.loader import kernels

_ALL = range(1 << 30)
SEPARATORS = (b" ", b"\n", b"\t", b"\r\n", b"\r")

Lefts = frozenset[frozenset[int]]  # sets of watches


class Adjacency(Neighbours):
    """Whether terminals that may stand beside each other have spellings with which they do."""

    def is_safe(self) -> bool:
        """Whether from every place in the grammar some way to go on has a spelling.

        Shown by texts of the form x s x s ..., x a short text of the terminal that is wanted and s
        ignored white space, if any: each state of a lexeme leads to an end (`_good`) that these
        leave as it is. What has begun while a longer lexeme is still possible is another matter:
        `Viability` looks at it when it is met.
        """
        spaces = [s for s in SEPARATORS if self._separates(s)] if self._ignored else []
        self._left = {space: self._left_by(space) for space in spaces}
        texts = [self._texts(i, spaces) for i in range(self._count)]
        self._undone_by: dict[tuple[frozenset[int], int], bool] = {}
        return all(texts) and all(self._ends_well(i, texts) for i in range(self._count))

    def keeps_apart(self, variants: Variants, numbers: Mapping[str, int]) -> bool:
        """`is_safe` for a grammar with lookbehinds (see `lookaround.split_rules`).

        Shown by texts of the form x s x s ... again, for some white space s that is ignored in all
        prefix states: behind it each terminal has a text that leaves it as it is, and each state of
        a lexeme leads to an end that s, or else whatever follows there, leaves as it is. Which
        prefix states rules lead to need not be known: all of them are read side by side.
        """
        ways = {
            name: {
                kind: [(numbers[one], last) for one, last in found if one in numbers]
                for kind, found in by_kind.items()
            }
            for name, by_kind in variants.by_state.items()
        }
        skipped = ways.pop(IGNORED)
        texts = [self._texts(i, ()) for i in range(self._count)]

        @cache
        def follows(left: frozenset[int], kind: int) -> bool:
            """Whether each terminal has a text, behind a kind of text, that leaves watches fine."""
            return (
                kind not in variants.held
                and all(
                    any(self._undone(left, x) for i, _ in of.get(kind, ()) for x in texts[i])
                    for of in ways.values()
                )
                and not any(self._violated_at_end[lookahead] for lookahead in left)
            )

        lasts: dict[int, set[int]] = {}
        for of in (skipped, *ways.values()):
            for i, last in chain.from_iterable(of.values()):
                lasts.setdefault(i, set()).add(last)
        return any(
            self._keeps_apart(space, skipped, lasts, follows) for space in SEPARATORS if skipped
        )

    def _keeps_apart(
        self,
        space: bytes,
        skipped: Mapping[int, list[tuple[int, int]]],
        lasts: Mapping[int, set[int]],
        follows: Callable[[frozenset[int], int], bool],
    ) -> bool:
        """The same for one white space. lasts: the prefix states behind each terminal."""
        for found in skipped.values():
            left = self._left_spaced(found, space)
            if not left or not all(follows(lookaheads, last) for lookaheads, last in left):
                return False
        for i, kinds in lasts.items():
            tails = self._tails(i)
            good = {
                state
                for state, tail in tails.items()
                if self._undone(tail, space)
                or all(follows(frozenset(tail), kind) for kind in kinds)
            }
            if not self._always_leads_to(i, good):
                return False
        return True

    def _left_spaced(
        self, found: Iterable[tuple[int, int]], space: bytes
    ) -> list[tuple[frozenset[int], int]]:
        """The lookaheads and prefix states behind white space, for each way to read it as ignored.

        found: what is ignored there, with the prefix states behind it. In Lark's order there is one
        way, or none that is sure.
        """
        read = sorted(pair for pair in found if self._matches(pair[0], space))
        ways = [({int(self._no_longer[self._state(i, space)])}, last) for i, last in read]
        if self._ordered and read:
            reader, near = read[0][0], set(members(self._beside[read[0][0]]))
            earlier = (int(self._no_match[self._start[j]]) for j in near if j < reader)
            ways = ways[:1]
            ways[0][0].update(self._after(lookahead, space) for lookahead in earlier)
            if VIOLATED in ways[0][0] or near & {*self._within[reader]}:
                return []
        return [(frozenset(left - {SATISFIED}), last) for left, last in ways]

    def can_follow(self) -> npt.NDArray[np.bool_]:
        """bool[n + 1, n + 1]: whether j (n: the end) can follow i (n: the start) whatever was read.

        From each state of i some text leads to where j has a text that leaves i as it is. More is
        tried than by `is_safe`: what separates i from what can follow it in particular, and letters
        that rid i of all that could be read instead.
        """
        self._left = {}
        spaces = [self._spaces(i) for i in range(self._count)]
        texts = [self._texts(i, spaces[i]) for i in range(self._count)]
        self._undone_by = {}
        can = np.zeros((self._count + 1, self._count + 1), np.bool_)
        can[-1] = [*map(bool, texts), True]
        for i in range(self._count):
            self._left = {space: self._left_by(space, self._near(i)) for space in spaces[i]}
            ways: dict[tuple[bool, Lefts], set[int]] = {}
            ends = self._rid_of_rivals(i)
            ends.update((state, frozenset(tail)) for state, tail in self._tails(i).items())
            for tail in {tail for _, tail in ends}:
                ways.setdefault(self._lefts(tail), set()).update(s for s, t in ends if t == tail)
            known: dict[frozenset[int], bool] = {}
            for j in range(self._count + 1):
                if j != self._count and not (j in self._ignored or self._follow[i] >> j & 1):
                    continue
                suiting = (states for lefts, states in ways.items() if self._suit(lefts, j, texts))
                good = frozenset[int]().union(*suiting)
                if good not in known:
                    known[good] = self._always_leads_to(i, good)
                can[i, j] = known[good]
        return can

    def _near(self, terminal: int) -> Container[int]:
        """The terminals that the lexer may look for just behind a terminal."""
        return _ALL if self.spurious else {*members(self._follow[terminal]), *self._ignored}

    def _spaces(self, terminal: int) -> list[bytes]:
        """White space that is read as ignored, or ends the text, behind a terminal."""
        near = self._near(terminal)
        return [s for s in SEPARATORS if self._ignored and self._separates(s, near)]

    def _rid_of_rivals(self, terminal: int) -> set[tuple[int, frozenset[int]]]:
        """(state, lookaheads left): a few equal bytes end the terminal, leaving no others.

        Whatever else has begun beside it, and in whatever state.
        """
        rivals = [i for i in members(self._beside[terminal]) if i != terminal and self._ordered]
        pending = np.unique(self._no_match[np.isin(self._terminal, rivals)])
        pending = pending[(pending != SATISFIED) & (pending != VIOLATED)]
        mine = np.flatnonzero(self._terminal == terminal)
        found: set[tuple[int, frozenset[int]]] = set()
        for after, left in self._by_equal_bytes:
            reached, lefts = after[mine], left[pending]
            ended = (reached >= 0) & (self._ends[reached] > 0)
            rid = ~(lefts == VIOLATED).any(axis=0)
            known: dict[bytes, set[int]] = {}
            for kind in np.flatnonzero(rid & ended.any(axis=0)).tolist():
                key = lefts[:, kind].tobytes()
                if key not in known:
                    known[key] = set(lefts[:, kind].tolist())
                states = mine[ended[:, kind]]
                own = self._no_longer[reached[ended[:, kind], kind]]
                for state, lookahead in zip(states.tolist(), own.tolist(), strict=True):
                    found.add((state, frozenset({lookahead, *known[key]} - {SATISFIED})))
        return found

    @cached_property
    def _by_equal_bytes(self) -> list[tuple[Any, Any]]:
        """The states and lookahead states behind one, two and three bytes of each class."""
        nexts, lookahead = self._tables.next, self._tables.watch
        kinds = np.arange(nexts.shape[1])
        found = [(nexts, lookahead)]
        for _ in range(2):
            after, left = found[-1]
            found.append((np.where(after >= 0, nexts[after, kinds], -1), lookahead[left, kinds]))
        return found

    def _left_by(self, space: bytes, near: Container[int] = _ALL) -> set[int]:
        """The lookaheads that ignored white space leaves if terminals in `near` are looked for."""
        reader = next(i for i in self._ignored if self._matches(i, space))
        left = {int(self._no_longer[self._state(reader, space)])}
        if self._ordered:
            earlier = (j for j in range(reader) if j in near)
            left |= {self._after(int(self._no_match[self._start[j]]), space) for j in earlier}
        return left - {SATISFIED}

    def _ends_well(self, terminal: int, texts: list[Texts]) -> bool:
        """Whether any lexeme of a terminal can end so that all that may follow can."""
        tails = self._tails(terminal)
        following = self._follow[terminal]
        listed = [*members(following), self._count]
        good = {s for s, tail in tails.items() if self._good(tail, listed, texts)}
        return self._always_leads_to(terminal, good)

    def _good(self, tail: set[int], following: Iterable[int], texts: list[Texts]) -> bool:
        """Whether a lexeme that leaves these lookaheads stays as it is, whatever follows it.

        following: terminals, or `_count` for the end of the text.
        """
        lefts = self._lefts(frozenset(tail))
        return all(self._suit(lefts, i, texts) for i in following)

    def _lefts(self, tail: frozenset[int]) -> tuple[bool, Lefts]:
        """Whether the text may end where a lexeme leaves these lookaheads, and what is left then.

        At once, or behind ignored white space.
        """
        behind = [left for space, left in self._left.items() if self._undone(tail, space)]
        lefts = frozenset((tail, *map(frozenset, behind)))
        return any(not any(self._violated_at_end[w] for w in left) for left in lefts), lefts

    def _suit(self, lefts: tuple[bool, Lefts], i: int, texts: list[Texts]) -> bool:
        """Whether a terminal, or the end of the text, can follow where one of `lefts` is left."""
        if i == self._count:
            return lefts[0]
        return any(self._is_undone(left, i, texts[i]) for left in lefts[1])

    def _is_undone(self, left: frozenset[int], terminal: int, texts: Texts) -> bool:
        """Whether some text of a terminal satisfies all lookaheads."""
        known = self._undone_by.get((left, terminal))
        if known is None:
            known = self._undone_by[left, terminal] = any(self._undone(left, x) for x in texts)
        return known

    def _undone(self, tail: Iterable[int], text: bytes) -> bool:
        """Whether a text satisfies all lookaheads."""
        return all(self._after(lookahead, text) == SATISFIED for lookahead in tail)

    def _always_leads_to(self, terminal: int, good: Collection[int]) -> bool:
        """Whether each state in which a terminal can still end leads to one of the good ones."""
        first, last = np.searchsorted(self._terminal, (terminal, terminal + 1))
        nexts = np.maximum(self._tables.next[first:last] - first, -1)
        alive = self._constant(kernels("grammar.tables").S_DISTANCE)[first:last] < FAR
        ends = np.zeros(len(nexts) + 1, np.bool_)  # the last entry is for -1
        ends[[state - first for state in good]] = True
        leads = ends.copy()
        if self.spurious or {*self._ignored} & {*self._renames[terminal]}:
            taken, taking = self._lost_to_spurious(terminal, first)
            leads[:-1] &= ~taken
            nexts = np.where(taking, -1, nexts)
        while True:
            more = leads[:-1] | (ends | leads)[nexts].any(axis=1)
            if (more == leads[:-1]).all():
                return bool(leads[:-1][alive].all())
            leads[:-1] = more

    def _lost_to_spurious(self, terminal: int, first: int) -> tuple[Any, Any]:
        """Where spurious terminals may take the text of a terminal: its states, and bytes in them.

        bool[states], bool[states, classes]. first: the terminal's first state.
        """
        one, two = self._common(terminal)
        readers, other = self._readers(terminal), self._terminal[two]
        before = sorted({i for i in self.spurious if i < max(readers)} - {*readers})
        instead = sorted({*self.spurious, *self._ignored} & {*self._renames[terminal]})
        states = np.searchsorted(self._terminal, terminal + 1) - first
        taken = np.zeros(states, np.bool_)
        taking = np.zeros((states, self._tables.next.shape[1]), np.bool_)
        ends = np.append(self._ends > 0, False)  # the last entry is for -1
        for spurious, there, then in (
            (before, self._no_match == VIOLATED, self._tables.watch[self._no_match] == VIOLATED),
            (instead, ends[:-1], ends[self._tables.next]),
        ):
            is_spurious = np.isin(other, spurious)
            mine, its = one[is_spurious] - first, two[is_spurious]
            taken[mine[there[its]]] = True
            np.logical_or.at(taking, mine, then[its])
        return taken, taking

    def _separates(self, text: bytes, near: Container[int] = _ALL) -> bool:
        """Whether a text is always read as one of the ignored terminals, if others are `near`."""
        for i in self._ignored:
            if self._matches(i, text):
                earlier = [j for j in range(i) if j in near] if self._ordered else []
                starts = (int(self._no_match[self._start[j]]) for j in earlier)
                return all(self._after(lookahead, text) != VIOLATED for lookahead in starts)
        return False

    def _texts(self, terminal: int, spaces: Sequence[bytes]) -> Texts:
        """`_short_texts`, and for each of them one with something behind it that is ignored."""
        if terminal in self.embedded:
            return Texts(iter(self.embedded[terminal]))
        found = self._short_texts(terminal)
        return Texts(text + space for text in found for space in (b"", *spaces))

    def _short_texts(self, terminal: int) -> Iterator[bytes]:
        """Some short texts that are read as the terminal wherever it may stand."""
        rivals: list[int] = []
        if self._ordered:
            latest = max([terminal, *self._within[terminal]])
            kin = {terminal, *(i for i in self._within[terminal] if terminal in self._renames[i])}
            beside = set(members(self._beside[terminal]))
            rivals = [i for i in range(latest + 1) if i in beside and i not in kin]
            rivals = [i for i in rivals if not set(self._within[i]) & kin]
        listed = candidates(
            self._tables.next, self._ends, int(self._start[terminal]), self._byte_of
        )
        for text in listed:
            matched = (self._after(int(self._no_match[self._start[i]]), text) for i in rivals)
            if any(lookahead == VIOLATED for lookahead in matched):
                continue
            if not any(self._matches(i, text) for i in self._renames[terminal]):
                yield text

    def _tails(self, terminal: int) -> dict[int, set[int]]:
        """For each state in which a terminal can end, the lookaheads that may be left behind."""
        lexers = self._readers(terminal)
        one, two = self._common(terminal)
        ended = self._ends[one] > 0
        one, two = one[ended], two[ended]
        other = self._terminal[two]
        reads = np.isin(other, lexers)
        left = np.where(reads, self._no_longer[two], self._no_match[two])
        left[~reads & (left == VIOLATED)] = SATISFIED
        counts = reads | (other < max(lexers))
        found: dict[int, set[int]] = {}
        for state, lookahead in zip(one[counts].tolist(), left[counts].tolist(), strict=True):
            found.setdefault(state, set()).add(lookahead)
        return {state: tail - {SATISFIED} for state, tail in found.items()}

    def _readers(self, terminal: int) -> list[int]:
        """A terminal, and the patterns that may read it in its place (see `terminals.literals`)."""
        beside = self._beside[terminal] if self._ordered else 0
        return [terminal, *(i for i in self._within[terminal] if beside >> i & 1)]
