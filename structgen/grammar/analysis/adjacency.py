"""Shows, if it can, that lexing alone never leads to a dead end.

A sequence of terminals may have no spelling: with A = "a", B = "aa" and Lark's longest match
nothing can be read as A A. Most grammars are safe from that, and this shows it for them once and
for all: whatever lexeme has just ended, each terminal that may follow it has some text, maybe
behind ignored white space, with which nothing that has been read turns out otherwise. Where it
cannot be shown, positions are searched one by one (`viability`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from structgen.grammar.analysis.neighbours import (
    Flags,
    Neighbours,
    matrix,
    packed,
    product,
    unpacked,
)
from structgen.grammar.ir import IGNORED, Variants
from structgen.grammar.terminals.automata import SATISFIED, VIOLATED
from structgen.grammar.transforms.left_corner import FAR
from structgen.kernels.build.loader import kernels
from structgen.util.arrays import distinct, paged
from structgen.util.bits import ones
from structgen.util.cancellation import checkpoint

MOST_SAMPLES = 1 << 12  # texts of a terminal
TERMINALS = 16  # of which texts are listed at once, as a rule
LEFTS = 64  # sets of lookaheads that texts are tried with in a unit of work
MANY_DOUBTS = 64  # terminals that are looked at together
LOOKAHEADS_PER_UNIT = 1000  # that are put into a set, or compared, in a unit of work
SEPARATORS = (b" ", b"\n", b"\t", b"\r\n", b"\r")

Left = frozenset[int]  # lookahead states that are left behind a lexeme
Text = npt.NDArray[np.int32]  # the state of the lookahead DFA behind a text, from each state


class Adjacency(Neighbours):
    """Whether terminals that may stand beside each other have spellings with which they do."""

    def is_safe(self) -> bool:
        """Whether from every place in the grammar some way to go on has a spelling.

        Shown by texts of the form x s x s ..., x a short text of the terminal that is wanted and s
        ignored white space, if any: each state of a lexeme leads to an end that these leave as it
        is. What has begun while a longer lexeme is still possible is another matter: `Viability`
        looks at it when it is met.
        """
        [left_by] = self._separated(np.ones((1, self._count), np.bool_))
        number, tails = self._tails
        texts = _Texts(self, [(*left_by,)] * self._count, [*tails, *left_by.values()])
        if not texts.exist.all():
            return False
        follows = _Follows(self, texts, left_by)
        wanted = matrix([one | 1 << self._count for one in self._follow], self._count + 1)
        not_at_once = packed(~matrix([follows.at_once(tail) for tail in tails], self._count + 1))
        ends, good = np.flatnonzero(number >= 0), np.zeros(len(number), np.bool_)
        lacking = packed(wanted)[self._terminal[ends]] & not_at_once[number[ends]]
        good[ends] = ~lacking.any(axis=1)
        suits = np.zeros(len(tails) + 1, np.bool_)  # the last entry is for -1
        for i in self._in_doubt(good):  # other texts may do
            mine, following = number[self._of(i)], self._follow[i] | 1 << self._count
            for tail in {*mine.tolist()} - {-1}:
                suits[tail] = follows.of(tails[tail], following, all_or_none=True) == following
            if not self._always_leads_to(i, suits[mine]):
                return False
        return True

    def _in_doubt(self, good: Flags) -> list[int]:
        """The terminals of which some state may not lead to one of the good ones."""
        if self.spurious or any({*self._ignored} & {*names} for names in self._renames):
            return [*range(self._count)]  # see `_led_to`
        leads, barred = good.astype(np.uint64)[:, None], np.zeros((0, 0), np.uint8)
        kernels("grammar.terminals").led_to(self._tables.next, barred, leads.copy(), leads)
        found: list[int] = distinct(self._terminal[self._alive & (leads[:, 0] == 0)]).tolist()
        return found

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
        spaced = {
            space: [self._left_spaced(found, space) for found in skipped.values()]
            for space in SEPARATORS
        }
        lefts = (left for found in chain.from_iterable(spaced.values()) for left, _ in found)
        texts = _Texts(self, [()] * self._count, [*self._tails[1], *lefts])

        @cache
        def follows(left: Left, kind: int) -> bool:
            """Whether each terminal has a text, behind a kind of text, that leaves watches fine."""
            among = [{i for i, _ in of.get(kind, ())} for of in ways.values()]
            return (
                kind not in variants.held
                and all(any(texts.one_suits(left, i) for i in some) for some in among)
                and not any(self._violated_at_end[lookahead] for lookahead in left)
            )

        lasts: dict[int, set[int]] = {}
        for of in (skipped, *ways.values()):
            for i, last in chain.from_iterable(of.values()):
                lasts.setdefault(i, set()).add(last)
        return any(
            self._keeps_apart(space, spaced[space], lasts, follows)
            for space in SEPARATORS
            if skipped
        )

    def _keeps_apart(
        self,
        space: bytes,
        lefts: Iterable[list[tuple[Left, int]]],
        lasts: Mapping[int, set[int]],
        follows: Callable[[Left, int], bool],
    ) -> bool:
        """The same for one white space. lefts: what it leaves, for each prefix state.

        lasts: the prefix states behind each terminal.
        """
        for left in lefts:
            if not left or not all(follows(lookaheads, last) for lookaheads, last in left):
                return False
        number, tails = self._tails
        suits = np.zeros(len(tails) + 1, np.bool_)
        for i, kinds in lasts.items():
            mine = number[self._of(i)]
            for tail in {*mine.tolist()} - {-1}:
                left_behind = tails[tail]
                suits[tail] = self._undone(left_behind, space) or all(
                    follows(left_behind, kind) for kind in kinds
                )
            if not self._always_leads_to(i, suits[mine]):
                return False
        return True

    def _left_spaced(
        self, found: Iterable[tuple[int, int]], space: bytes
    ) -> list[tuple[Left, int]]:
        """The lookaheads and prefix states behind white space, for each way to read it as ignored.

        None where a terminal that is no such way reads it, or a part of it.
        """
        read = sorted(pair for pair in found if self._matches(pair[0], space))
        ways = [({int(self._no_longer[self._state(i, space)])}, last) for i, last in read]
        if self._ordered and read:
            reader, near = read[0][0], np.flatnonzero(self._beside[read[0][0]])
            ways = ways[:1]
            ways[0][0].update(self._left_before(space)[near[near < reader]].tolist())
            if VIOLATED in ways[0][0] or {*near.tolist()} & {*self._within[reader]}:
                return []
        return [(frozenset(left - {SATISFIED}), last) for left, last in ways]

    def can_follow(self, of: Iterable[int] | None = None) -> Flags:
        """bool[n + 1, n + 1]: whether j (n: the end) can follow i (n: the start) whatever was read.

        From each state of i some text leads to where j has a text that leaves i as it is. More is
        tried than by `is_safe`: what separates i from what can follow it in particular, and letters
        that rid i of all that could be read instead. of: the terminals i to look at, by default
        all.
        """
        can = np.zeros((self._count + 1, self._count + 1), np.bool_)
        can[-1] = [*self._near[1].exist.tolist(), True]
        number, tails = self._tails
        doubtful = []
        for i in range(self._count) if of is None else of:
            mine, follows = number[self._of(i)], self._follows(i)
            kinds = distinct(mine[mine >= 0])
            good = np.zeros((len(tails) + 1, self._end_words), np.uint64)  # the last is for -1
            for kind in kinds.tolist():
                good[kind] = _words(follows.at_once(tails[kind]), self._count + 1)
            can[i] = self._followers(i, good[mine])
            if not can[i][self._wanted[i]].all():
                doubtful.append(i)
        if doubtful:
            self._try_more(doubtful, can)
        return can

    def _try_more(self, terminals: list[int], can: Flags) -> None:
        """Set what can follow some terminals, with all texts and all ends that are looked at."""
        left_by, _ = self._near
        number, tails = self._tails
        ends: dict[int, dict[Left, set[int]]] = {i: {} for i in terminals}
        for i, found in ends.items():
            mine = self._of(i)
            for state, tail in enumerate(number[mine].tolist(), mine.start):
                if tail >= 0:
                    found.setdefault(tails[tail], set()).add(state)
            for state, left in self._rid_of_rivals(i):
                found.setdefault(left, set()).add(state)
        lefts = {left for behind in left_by for left in behind.values()}
        texts = _Texts(self, [(*left,) for left in left_by], lefts.union(*ends.values()))
        for i in terminals:
            follows, mine = _Follows(self, texts, left_by[i]), self._of(i)
            wanted = _as_int(packed(self._wanted[i : i + 1])[0])
            good = np.zeros((mine.stop - mine.start, self._end_words), np.uint64)
            for tail, states in ends[i].items():
                found_by = _words(follows.of(tail, wanted), self._count + 1)
                good[np.array(sorted(states)) - mine.start] |= found_by
            can[i] = self._followers(i, good)

    def _followers(self, terminal: int, good: npt.NDArray[np.uint64]) -> Flags:
        """bool[n + 1]: what can follow a terminal, given what can behind each of its states."""
        leads = self._led_to(terminal, good)[self._alive[self._of(terminal)]]
        everywhere = np.bitwise_and.reduce(leads, axis=0)[None]
        found: Flags = unpacked(everywhere, self._count + 1)[0] & self._wanted[terminal]
        return found

    @cached_property
    def _wanted(self) -> Flags:
        """bool[n, n + 1]: what may follow each terminal, the end among them."""
        found = matrix(self._follow, self._count + 1)
        found[:, [*self._ignored, self._count]] = True
        return found

    @cached_property
    def _violated(self) -> Left:
        """The lookahead states that are violated where the text ends."""
        return frozenset(np.flatnonzero(self._violated_at_end).tolist())

    @property
    def _end_words(self) -> int:
        """Words of the bits of all terminals and of the end."""
        return -(-(self._count + 1) // 64)

    @cached_property
    def _near(self) -> tuple[list[dict[bytes, Left]], _Texts]:
        """What white space leaves behind each terminal; texts, for what lexemes leave as a rule."""
        near = matrix(self._follow, self._count)  # what the lexer may look for just behind each
        near[:, self._ignored] = True
        near |= bool(self.spurious)
        left_by = self._separated(near)
        lefts = {left for behind in left_by for left in behind.values()}
        texts = _Texts(self, [(*left,) for left in left_by], lefts.union(self._tails[1]))
        return left_by, texts

    def _follows(self, terminal: int) -> _Follows:
        left_by, texts = self._near
        return _Follows(self, texts, left_by[terminal])

    def _rid_of_rivals(self, terminal: int) -> set[tuple[int, Left]]:
        """(state, lookaheads left): a few equal bytes end the terminal, leaving no others.

        Whatever else has begun beside it, and in whatever state. None where nothing else can.
        """
        rivals = self._beside[terminal].copy()
        rivals[terminal] = False
        if not rivals.any():
            return set()
        mine, columns = self._of(terminal), np.arange(self._tables.next.shape[1])
        pending = np.flatnonzero(self._undecided[rivals].any(axis=0))
        found: set[tuple[int, Left]] = set()
        seen: set[tuple[bytes, bytes]] = set()
        after = np.repeat(np.arange(mine.start, mine.stop)[:, None], len(columns), axis=1)
        for left, barred in self._left_by_equal_bytes:
            after = np.where(after >= 0, self._tables.next[after, columns], -1)
            ends = self._ends_behind(after).any(axis=0) & ~barred[rivals].any(axis=0)
            for kind in np.flatnonzero(ends).tolist():
                behind, others = after[:, kind], left[pending, kind]
                key = behind.tobytes(), others.tobytes()
                if key in seen:  # most bytes do the same
                    continue
                seen.add(key)
                checkpoint((len(seen) % 4 == 0) + len(others) // LOOKAHEADS_PER_UNIT)
                states = np.flatnonzero(self._ends_behind(behind))
                own = self._no_longer[behind[states]]
                for state, lookahead in zip(states.tolist(), own.tolist(), strict=True):
                    lefts = frozenset({lookahead, *others.tolist()} - {SATISFIED})
                    found.add((mine.start + state, lefts))
        return found

    @cached_property
    def _undecided(self) -> Flags:
        """bool[terminals, lookahead states]: in which ones it is open whether each matches."""
        found = np.zeros((self._count, len(self._tables.watch)), np.bool_)
        mine = slice(0, self._bounds[-1])
        found[self._terminal[mine], self._no_match[mine]] = True
        found[:, [SATISFIED, VIOLATED]] = False
        return found

    def _ends_behind(self, after: Any) -> Flags:
        """Whether a lexeme may end in each of some states, -1 for none."""
        found: Flags = (after >= 0) & (self._ends[after] > 0)
        return found

    @cached_property
    def _left_by_equal_bytes(self) -> list[tuple[Any, Flags]]:
        """int32[lookahead states, classes]: the states behind one, two and three bytes of each.

        And by terminal whether from some state in which it may yet match it has.
        """
        lookahead, columns = self._tables.watch, np.arange(self._tables.watch.shape[1])
        steps = [lookahead]
        for _ in range(2):
            steps.append(lookahead[steps[-1], columns])
        return [(left, product(self._undecided, left == VIOLATED)) for left in steps]

    def _left_before(self, space: bytes) -> Any:
        """int32[n]: what behind a text is left of "this terminal does not match", for each."""
        return self._behind(space)[self._no_match[self._start]]

    def _separated(self, near: Flags) -> list[dict[bytes, Left]]:
        """For rows of terminals what white space leaves that is always read as ignored there.

        near: bool[k, n], the terminals that are looked for, k times.
        """
        found: list[dict[bytes, Left]] = [{} for _ in near]
        for space in SEPARATORS:
            reader = next((i for i in self._ignored if self._matches(i, space)), None)
            if reader is None:
                continue
            left, own = (
                self._left_before(space)[:reader],
                self._no_longer[self._state(reader, space)],
            )
            some = np.flatnonzero(left != SATISFIED) if self._ordered else np.zeros(0, np.int64)
            left, beside = left[some], near[:, some]
            for i in np.flatnonzero(~beside[:, left == VIOLATED].any(axis=1)).tolist():
                found[i][space] = frozenset({own, *left[beside[i]].tolist()} - {SATISFIED})
        return found

    def _undone(self, tail: Left, text: bytes) -> bool:
        """Whether a text satisfies all lookaheads."""
        satisfied = self._satisfied_behind.get(text)
        if satisfied is None:
            found = np.flatnonzero(self._behind(text) == SATISFIED).tolist()
            satisfied = self._satisfied_behind[text] = frozenset(found)
        return tail <= satisfied

    @cached_property
    def _satisfied_behind(self) -> dict[bytes, Left]:
        return {}  # the lookaheads that texts satisfy, see `_undone`

    def _of(self, terminal: int) -> slice:
        """The states of a terminal."""
        return slice(*self._bounds[terminal : terminal + 2])

    @cached_property
    def _bounds(self) -> list[int]:
        """Where the states of each terminal begin, and where those of the last end."""
        found: list[int] = np.searchsorted(self._terminal, np.arange(self._count + 1)).tolist()
        return found

    def _always_leads_to(self, terminal: int, good: Flags) -> bool:
        """Whether each state in which a terminal can still end leads to one of the good ones."""
        leads = self._led_to(terminal, good.astype(np.uint64)[:, None])
        return bool(leads[self._alive[self._of(terminal)]].all())

    def _led_to(self, terminal: int, good: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """uint64[states, words]: what is good at a state of a terminal to which some bytes lead."""
        mine = self._of(terminal)
        nexts = np.maximum(self._tables.next[mine] - mine.start, -1)
        barred = np.zeros((0, nexts.shape[1]), np.uint8)
        leads = good.copy()
        if self.spurious or {*self._ignored} & {*self._renames[terminal]}:
            taken, taking = self._lost_to_spurious(terminal)
            leads[taken] = 0
            barred = taking.astype(np.uint8)
        kernels("grammar.terminals").led_to(nexts, barred, good, leads)
        return leads

    @cached_property
    def _alive(self) -> Flags:
        """bool[states]: whether the terminal of a state can still end."""
        found: Flags = self._constant(kernels("grammar.tables").S_DISTANCE) < FAR
        return found

    def _lost_to_spurious(self, terminal: int) -> tuple[Any, Any]:
        """Where spurious terminals may take the text of a terminal: its states, and bytes in them.

        bool[states], bool[states, classes].
        """
        first, last = self._bounds[terminal : terminal + 2]
        one, two = self._common
        mine = self._terminal[one] == terminal
        one, two = one[mine], two[mine]
        readers, other = self._readers(terminal), self._terminal[two]
        before = sorted({i for i in self.spurious if i < max(readers)} - {*readers})
        instead = sorted({*self.spurious, *self._ignored} & {*self._renames[terminal]})
        taken = np.zeros(last - first, np.bool_)
        taking = np.zeros((last - first, self._tables.next.shape[1]), np.bool_)
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

    def _satisfied_by(
        self,
        terminal: int,
        lookaheads: npt.NDArray[np.int32],
        spaces: npt.NDArray[np.int32],
        most: int,
    ) -> list[Flags]:
        """bool[lookaheads], k of them: which ones the first `most` texts of a terminal satisfy.

        Of those that are read as the terminal wherever it may stand; rows that differ. spaces:
        int32[n, lookahead states], the states behind white space that may follow a text.
        """
        if terminal in self.embedded:
            listed = [self._behind(text)[lookaheads] for text in self.embedded[terminal][:most]]
            return self._satisfied(listed, spaces)
        rivals, begun = self._rivals[terminal], lookaheads
        if rivals:
            begun = np.concatenate([self._no_match[self._start[rivals]], lookaheads])
        texts = self._samples(terminal)
        if self._renames[terminal]:
            return self._satisfied(self._left_unrenamed(terminal, texts, begun, most), spaces)
        left = np.empty((len(texts), len(begun)), np.int32)
        count = len(spaces) + 1
        rows = np.empty((count * min(most, len(texts)) + 1, len(lookaheads)), np.uint8)
        found = kernels("grammar.terminals").rows_of_texts(
            self._watch, texts, self._ends, begun, spaces, len(rivals), most, left, rows
        )
        return [*rows[:found].view(np.bool_)]

    @staticmethod
    def _satisfied(left: Iterable[Text], spaces: npt.NDArray[np.int32]) -> list[Flags]:
        """The rows for texts behind which these lookahead states are left."""
        rows = [behind == SATISFIED for one in left for behind in (one, *spaces[:, one])]
        return [*{row.tobytes(): row for row in rows}.values()]

    def _left_unrenamed(
        self, terminal: int, texts: npt.NDArray[np.int32], begun: Text, most: int
    ) -> list[Text]:
        """The lookahead states that texts of a pattern leave that are no literals, `most` of them.

        begun: those to begin from, of rivals first.
        """
        rivals, found = len(self._rivals[terminal]), list[Text]()
        left = np.empty((len(texts), len(begun)), np.int32)
        left[0] = begun
        kernels("grammar.terminals").left_by_texts(self._watch, texts, 1, len(texts), left)
        excluded = (left[:, :rivals] == VIOLATED).any(axis=1) | (self._ends[texts[:, 0]] == 0)
        excluded[0] = True
        for text in np.flatnonzero(~excluded).tolist():
            spelled = self._spelled(texts, text)
            if not any(self._matches(i, spelled) for i in self._renames[terminal]):
                found.append(left[text, rivals:])
                if len(found) == most:
                    break
        return found

    @cached_property
    def _rivals(self) -> list[list[int]]:
        """For each terminal those that could take its text where it is looked for."""
        if not self._ordered:
            return [[] for _ in range(self._count)]
        within = np.zeros((self._count, self._count), np.bool_)
        for i, patterns in enumerate(self._within):
            within[i, patterns] = True
        before = np.tri(self._count, dtype=np.bool_) & self._beside & ~within.T
        np.fill_diagonal(before, False)
        found: list[list[int]] = [np.flatnonzero(row).tolist() for row in before]
        for terminal, patterns in enumerate(self._within):
            if patterns:
                latest = max(terminal, *patterns)
                kin = [terminal, *(i for i in patterns if terminal in self._renames[i])]
                beside = self._beside[terminal, : latest + 1] & ~within[: latest + 1, kin].any(
                    axis=1
                )
                found[terminal] = [i for i in np.flatnonzero(beside).tolist() if i not in kin]
        return found

    def _samples(self, terminal: int) -> npt.NDArray[np.int32]:
        """Short texts of a terminal (see `short_texts` of kernels)."""
        starts, texts = self._all_samples
        return texts[starts[terminal] : starts[terminal + 1]]

    @cached_property
    def _all_samples(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Where the short texts of each terminal begin, and all of them."""
        nexts, bounds = self._tables.next, np.array(self._bounds, np.int32)
        starts, seen = np.zeros(self._count + 1, np.int32), np.zeros(len(nexts), np.int32)
        parts, done = [np.zeros((0, 4), np.int32)], 0
        while done < self._count:
            checkpoint()
            texts = np.empty((MOST_SAMPLES * min(self._count - done, TERMINALS), 4), np.int32)
            begun, kept = int(starts[done]), done
            starts[done] = 0
            done = kernels("grammar.terminals").texts_of_all(
                nexts, self._ends, bounds, texts, starts, seen, done, MOST_SAMPLES
            )
            parts.append(texts[: starts[done]].copy())
            starts[kept : done + 1] += begun
        return starts, np.concatenate(parts)

    def _first_rows(
        self,
        terminals: list[int],
        lookaheads: npt.NDArray[np.int32],
        spaces: list[npt.NDArray[np.int32]],
        behind: list[int],
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        """`_satisfied_by` with the first text of some terminals: the owner of each row, and rows.

        spaces: states behind white space, as there; behind: for each terminal which of these.
        """
        k, (starts, texts) = kernels("grammar.terminals"), self._all_samples
        rivals = self._rivals
        counts = np.array([*map(len, spaces)], np.int32)
        ends = np.cumsum(counts, dtype=np.int32)
        sampled = k.Sampled(
            watch=self._watch,
            texts=texts,
            starts=starts,
            ends=self._ends,
            rivals=self._no_match[self._start[[*chain.from_iterable(rivals)]]],
            rival_starts=np.cumsum([0, *map(len, rivals)], dtype=np.int32),
            spaces=np.concatenate([self._watch[:0], *spaces]),
            behind=np.stack([ends - counts, ends], axis=1)[behind],
        )
        size = len(terminals) + int(counts[[behind[i] for i in terminals]].sum())
        most = len(lookaheads) + max(map(len, rivals), default=0)
        left = paged(int(np.diff(starts).max(initial=0)), most)
        rows, owners = np.empty((size, len(lookaheads)), np.uint8), np.empty(size, np.int32)
        listed = np.array(terminals, np.int32)
        count = k.first_rows(sampled, listed, lookaheads, left, rows, owners)
        return owners[:count], rows[:count]

    def _spelled(self, texts: npt.NDArray[np.int32], text: int) -> bytes:
        """The bytes of a sample text."""
        found = b""
        while text:
            _, shorter, byte_class, _ = texts[text].tolist()
            text, found = shorter, self._byte_of[byte_class] + found
        return found

    @cached_property
    def _tails(self) -> tuple[npt.NDArray[np.int64], list[Left]]:
        """The sets of lookaheads that may be left behind lexemes.

        int64[states], for each state in which its terminal can end the index of its set, else -1.
        """
        count, states, lookaheads = self._count, len(self._tables.next), len(self._tables.watch)
        reads, latest = np.identity(count, np.bool_), np.arange(count)
        for i in range(count):
            readers = self._readers(i)
            reads[i, readers], latest[i] = True, max(readers)
        one, two = self._common
        ended = self._ends[one] > 0
        one, two = one[ended], two[ended]
        terminal, other = self._terminal[one], self._terminal[two]
        read = reads[terminal, other]
        left = np.where(read, self._no_longer[two], self._no_match[two])
        counts = np.where(read, left != SATISFIED, other < latest[terminal])
        counts &= (left != SATISFIED) & (read | (left != VIOLATED))
        pairs = distinct(one[counts] * lookaheads + left[counts])
        tails: dict[Left, int] = {frozenset(): 0}
        found = np.where((self._ends > 0) & (self._terminal < count), 0, -1).astype(np.int64)
        bounds = np.searchsorted(pairs, np.arange(states + 1) * lookaheads)
        for state in np.flatnonzero(bounds[1:] > bounds[:-1]).tolist():
            tail = frozenset((pairs[bounds[state] : bounds[state + 1]] % lookaheads).tolist())
            found[state] = tails.setdefault(tail, len(tails))
        return found, list(tails)

    def _readers(self, terminal: int) -> list[int]:
        """A terminal, and the patterns that may read it in its place (see `terminals.literals`)."""
        beside = self._beside[terminal]
        return [terminal, *(i for i in self._within[terminal] if self._ordered and beside[i])]


class _Texts:
    """Short texts of all terminals, each perhaps with ignored white space behind it.

    Of a text only counts which lookaheads it satisfies. The first of each terminal are tried at
    once for all, others one by one where these do not do.
    """

    def __init__(
        self, of: Adjacency, spaces: Sequence[tuple[bytes, ...]], lefts: Iterable[Left]
    ) -> None:
        """spaces: what may be behind the texts of each terminal. lefts: all that will be asked."""
        self._lefts = {left: i for i, left in enumerate(dict.fromkeys(lefts))}
        lookaheads = sorted(frozenset[int]().union(*self._lefts))
        self._columns = {lookahead: column for column, lookahead in enumerate(lookaheads)}
        self._of, self._lookaheads = of, np.array(lookaheads, np.int32)
        self._spaces = spaces
        self._behind = {some: self._behind_spaces(some) for some in {*self._spaces}}
        self._every: dict[int, list[Flags]] = {}  # by terminal, see `_rows`
        self._tried: dict[tuple[Left, int], bool] = {}

    def _behind_spaces(self, spaces: Iterable[bytes]) -> npt.NDArray[np.int32]:
        """int32[k, lookahead states]: the states behind some white space, what differs of them."""
        found = {one.tobytes(): one for one in map(self._of._behind, spaces)}
        rows = [one[None] for one in found.values()]
        return np.concatenate([np.zeros((0, len(self._of._violated_at_end)), np.int32), *rows])

    def _rows(self, terminal: int, most: int) -> list[Flags]:
        """bool[lookaheads], k of them: which ones texts of a terminal satisfy, rows that differ.

        most: texts to look at.
        """
        behind = self._behind[self._spaces[terminal]]
        return self._of._satisfied_by(terminal, self._lookaheads, behind, most)

    @cached_property
    def exist(self) -> Flags:
        """bool[n]: which terminals have a text."""
        return np.bincount(self._first[0], minlength=len(self._spaces)) > 0

    @cached_property
    def _first(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        """The terminal of each first text, and which lookaheads it satisfies."""
        of, number = self._of, {some: i for i, some in enumerate(self._behind)}
        plain = [i not in of.embedded and not of._renames[i] for i in range(len(self._spaces))]
        owner, rows = of._first_rows(
            [i for i, is_plain in enumerate(plain) if is_plain],
            self._lookaheads,
            [*self._behind.values()],
            [number[some] for some in self._spaces],
        )
        others = {i: self._rows(i, 1) for i, is_plain in enumerate(plain) if not is_plain}
        more = np.array([*chain.from_iterable(others.values())], np.uint8)
        owners = [i for i, found in others.items() for _ in found]
        return (
            np.concatenate([owner, np.array(owners, np.int32)]),
            np.concatenate([rows, more.reshape(len(owners), len(self._columns))]),
        )

    @cached_property
    def _suiting(self) -> list[int]:
        """`at_once` for each set of lookaheads."""
        owner, rows = self._first
        columns = [self._columns_of(left) for left in self._lefts]
        starts = np.cumsum([0, *map(len, columns)], dtype=np.int32)
        listed = np.array([*chain.from_iterable(columns)], np.int32)
        found = np.zeros((len(columns), self._of._end_words), np.uint64)
        for first in range(0, len(columns), LEFTS):
            checkpoint()
            some = slice(first, first + LEFTS)
            kernels("grammar.terminals").suiting(
                rows, owner, starts[first : first + LEFTS + 1], listed, found[some]
            )
        return [*map(_as_int, found)]

    def at_once(self, left: Left) -> int:
        """The terminals of which a first text satisfies all lookaheads, as a bit mask."""
        return self._suiting[self._lefts[left]]

    def one_suits(self, left: Left, terminal: int) -> bool:
        """Whether any text of a terminal satisfies all lookaheads."""
        key = (left, terminal)
        if key not in self._tried:
            checkpoint((len(self._tried) % 8 == 0) + len(left) // LOOKAHEADS_PER_UNIT)
            columns = self._columns_of(left)
            self._tried[key] = any(row[columns].all() for row in self._of_one(terminal))
        return self._tried[key]

    def that_suit(self, left: Left) -> int:
        """`one_suits` of all terminals, as a bit mask."""
        checkpoint()
        (rows, owners), columns = self._of_all, self._columns_of(left)
        found = np.zeros((1, self._of._end_words), np.uint64)
        bounds = np.array([0, len(columns)], np.int32)
        listed = np.array(columns, np.int32)
        kernels("grammar.terminals").suiting(rows, owners, bounds, listed, found)
        return _as_int(found)

    @cached_property
    def _of_all(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
        """uint8[k, lookaheads]: which ones texts satisfy; int32[k]: the terminal of each row."""
        found = [self._of_one(i) for i in range(len(self._spaces))]
        owners = np.repeat(np.arange(len(found), dtype=np.int32), [*map(len, found)])
        rows = np.array([*chain.from_iterable(found)], np.uint8)
        return rows.reshape(len(owners), len(self._columns)), owners

    def _of_one(self, terminal: int) -> list[Flags]:
        """The rows of all texts of a terminal."""
        if terminal not in self._every:
            self._every[terminal] = self._rows(terminal, MOST_SAMPLES)
        return self._every[terminal]

    def _columns_of(self, left: Left) -> list[int]:
        return [self._columns[lookahead] for lookahead in left]


class _Follows:
    """What can follow a lexeme so that it stays as it is, at once or behind ignored white space."""

    def __init__(self, of: Adjacency, texts: _Texts, left_by: Mapping[bytes, Left]) -> None:
        """left_by: what white space leaves that may stand there."""
        self._of, self._texts, self._left_by = of, texts, left_by
        self._ways: dict[Left, list[Left]] = {}

    def _ways_behind(self, tail: Left) -> list[Left]:
        """What is left at once, or behind white space; tail: what a lexeme leaves."""
        ways = self._ways.get(tail)
        if ways is None:
            behind = [left for s, left in self._left_by.items() if self._of._undone(tail, s)]
            ways = self._ways[tail] = [*dict.fromkeys([tail, *behind])]
        return ways

    def at_once(self, tail: Left) -> int:
        """What can follow with a first text, as a bit mask; the end is behind the terminals."""
        found, violated = 0, self._of._violated
        for left in self._ways_behind(tail):
            found |= self._texts.at_once(left)
            if left.isdisjoint(violated):
                found |= 1 << self._of._count
        return found

    def of(self, tail: Left, wanted: int, *, all_or_none: bool = False) -> int:
        """Those of some terminals, the end among them, that can follow; tail: what a lexeme leaves.

        Bit masks; the end is behind the terminals. all_or_none: whether, if one cannot, it does not
        matter which others can.
        """
        found, end = self.at_once(tail), 1 << self._of._count
        ways, doubts = self._ways_behind(tail), wanted & ~found & ~end
        if doubts.bit_count() > MANY_DOUBTS:
            for left in ways:
                found |= self._texts.that_suit(left)
            return found & wanted
        for i in ones(doubts):
            if any(self._texts.one_suits(left, i) for left in ways):
                found |= 1 << i
            elif all_or_none:
                break
        return found & wanted


def _words(bits: int, size: int) -> npt.NDArray[np.uint64]:
    """uint64[words]: a bit mask of `size` bits."""
    return np.frombuffer(bits.to_bytes(8 * -(-size // 64), "little"), np.uint64)


def _as_int(words: npt.NDArray[np.uint64]) -> int:
    """A bit mask, from its words."""
    return int.from_bytes(words.tobytes(), "little")
