"""In: which terminals can always follow which, rules. Out: what can surely be finished from where.

A place in a rule is reached behind some terminal. Whether what is left of the rule can be read from
there in *some* way, each terminal being one that can follow the one before it, is a matter of
relations between terminals: that of a sequence is the product of those of its parts, that of a rule
the union over its alternatives, as a least fixed point (boolean matrices, as for the emptiness of
the intersection of a grammar and a finite automaton). Along stacks of rules the same goes for
vectors: the terminals behind which all that is open can be finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automaton.automaton import DEAD
from structgen.grammar.ir import Grammar
from structgen.jit import kernels

if TYPE_CHECKING:
    from structgen.grammar.automaton import GrammarAutomaton

Relation = npt.NDArray[np.float32]  # [before, last]: 1 where some way leads from one to the other
Vector = npt.NDArray[np.float32]  # 1 for terminals behind which something can be finished
EMPTY_REST, END_REST = 0, 1


class Relations:
    """The relations of a grammar's names; n terminals, and number n is the start and the end.

    steps: float32[n + 1, n + 1], whether j can follow i, perhaps with ignored ones between.
    """

    def __init__(
        self,
        grammar: Grammar,
        numbers: Mapping[str, int],
        ignored: Sequence[int],
        can_follow: npt.NDArray[np.bool_],
    ) -> None:
        """can_follow: bool[n + 1, n + 1], of `Adjacency.can_follow`, or of its `may_follow`."""
        self._grammar, self._numbers, self._ignored = grammar, numbers, list(ignored)
        self._size = len(can_follow)
        self.steps: Relation = can_follow.astype(np.float32)
        for one in self._ignored:  # as S. Warshall has it
            skipped = np.outer(self.steps[:, one], self.steps[one])
            self.steps = np.maximum(self.steps, skipped)
        self._of: dict[str, Relation] = {}
        self._relate()

    def of_rules(self) -> npt.NDArray[np.float32]:
        """float32[rules, n + 1, n + 1], in the order of the grammar."""
        return np.array([self._of[name] for name in self._grammar.rules], np.float32)

    def every_place_leads_on(self) -> bool:
        """Whether what is left at every place of every rule can be read in some way, to the end.

        Behind its own name at its beginning a rule need not go on: where it may, it may end, too.
        """
        last, empty = self._last()
        for rule in self._grammar.rules.values():
            for parts in rule.alternatives:
                behind = np.zeros(self._size, np.bool_)
                for i, part in enumerate(parts, 1):
                    behind = last[part] | (behind if part in empty else False)
                    if i == 1 and part == rule.name:
                        continue
                    reached = behind.copy()
                    reached[self._ignored] = True
                    if not self._product(parts[i:])[reached].any(axis=1).all():
                        return False
        start = self._grammar.start
        whole = self._of[start] @ self.steps[:, -1]
        can_end = self.steps[:-1, -1] > 0
        return bool(whole[-1] > 0 and can_end[last[start][:-1]].all())

    def _relation(self, name: str) -> Relation:
        """Between the terminal before a name and the last one that it reads."""
        found = self._of.get(name)
        if found is None:
            found = np.zeros((self._size, self._size), np.float32)
            number = self._numbers.get(name)
            if number is not None:
                found[:, number] = self.steps[:, number]
            self._of[name] = found
        return found

    def _product(self, parts: Iterable[str]) -> Relation:
        found: Relation = np.identity(self._size, np.float32)
        for part in parts:
            found = np.minimum(found @ self._relation(part), 1)
        return found

    def _relate(self) -> None:
        """The relation of every rule: a least fixed point."""
        grown = True
        while grown:
            grown = False
            for rule in self._grammar.rules.values():
                before = found = self._relation(rule.name)
                for parts in rule.alternatives:
                    found = np.maximum(found, self._product(parts))
                if (found != before).any():
                    self._of[rule.name] = found
                    grown = True

    def _last(self) -> tuple[dict[str, npt.NDArray[np.bool_]], set[str]]:
        """The terminals with which each name may end; and the names that may be empty."""
        empty: set[str] = set()
        last = {name: np.zeros(self._size, np.bool_) for name in self._grammar.rules}
        for name, number in self._numbers.items():
            last[name] = np.arange(self._size) == number
        grown = True
        while grown:
            grown = False
            for rule in self._grammar.rules.values():
                found = last[rule.name].copy()
                for parts in rule.alternatives:
                    for part in reversed(parts):
                        found |= last[part]
                        if part not in empty:
                            break
                    else:
                        grown = grown or rule.name not in empty
                        empty.add(rule.name)
                if (found != last[rule.name]).any():
                    last[rule.name] = found
                    grown = True
        return last, empty


class Prospects:
    """What becomes of lexemes at stacks, by what can follow what.

    By what *can* follow they can surely be finished; by what *may* follow, what cannot surely
    cannot.
    """

    def __init__(
        self, automaton: GrammarAutomaton, steps: Relation, of_rules: npt.NDArray[np.float32]
    ) -> None:
        """steps, of_rules: see `Relations`."""
        self._automaton = automaton
        self.steps, self.of_rules = steps, of_rules
        self._k: Any = kernels("grammar_tables")
        self._behind: dict[int, Vector] = {0: np.zeros(len(steps), np.float32)}
        self._rests: dict[tuple[int, bytes], Vector] = {}

    @classmethod
    def restored(
        cls, automaton: GrammarAutomaton, steps: npt.NDArray[Any], rules: npt.NDArray[Any]
    ) -> Prospects:
        """From what `stored` gave. Raises ValueError."""
        k, t = kernels("grammar_tables"), automaton.tables
        size = int(t.info[k.TERMINAL_COUNT]) + 1
        names = int(t.offsets[k.CALL_START + 1] - t.offsets[k.CALL_START]) - 1
        count = names * size * size
        if steps.shape != (size, size) or rules.shape != ((count + 7) // 8,):
            raise ValueError("relations between terminals of another size")
        known = np.unpackbits(rules.astype(np.uint8))[:count].reshape(names, size, size)
        return cls(automaton, (steps > 0).astype(np.float32), known.astype(np.float32))

    def stored(self) -> dict[str, npt.NDArray[np.uint8]]:
        """What a file keeps."""
        return {
            "steps": self.steps.astype(np.uint8),
            "rules": np.packbits(self.of_rules > 0),
        }

    def all_lead_on(self, lexer: int, stacks: int) -> bool:
        """Whether every lexeme that a lexer state can become can be finished."""
        return all(self._leads_on(stacks, t) for t in self._terminals(lexer))

    def any_leads_on(self, lexer: int, stacks: int) -> bool:
        """Whether some lexeme that a lexer state can become can."""
        return any(self._leads_on(stacks, t) for t in self._terminals(lexer))

    def _terminals(self, lexer: int) -> set[int]:
        """The terminals that a lexer state can become."""
        k, automaton = self._k, self._automaton
        states = [state for state in automaton.record(lexer) if state >= 0]
        far = kernels("grammar_step").FAR
        live = [s for s in states if automaton.constant(k.S_DISTANCE, s) < far]
        return {automaton.constant(k.S_TERMINAL, state) for state in live}

    def _leads_on(self, stacks: int, terminal: int) -> bool:
        """Whether behind a terminal that begins at closed stacks all that is open can end."""
        automaton = self._automaton
        after = [automaton.ask(kernels("grammar_layout").scan_laid, stacks, terminal)]
        if automaton.constant(self._k.T_IGNORED, terminal) == 1:
            after.append(stacks)
        return any(self.behind(s)[terminal] > 0 for s in after if s != DEAD)

    def behind(self, stacks: int) -> Vector:
        """The terminals behind which all that is open on some stacks can be finished."""
        todo = [stacks]
        while todo:
            here = todo[-1]
            if here in self._behind:
                todo.pop()
                continue
            pairs = self._automaton.record(here)
            under = [b for b in pairs[1::2] if b not in self._behind]
            if under:
                todo += under
                continue
            found = np.zeros(len(self.steps), np.float32)
            for items, below in zip(pairs[::2], pairs[1::2], strict=True):
                for rest in self._automaton.record(items):
                    found = np.maximum(found, self._rest(rest, self._behind[below]))
            self._behind[here] = found
        return self._behind[stacks]

    def _rest(self, rest: int, below: Vector) -> Vector:
        """The terminals behind which a rest of a rule can be finished, and what is below it."""
        key = (rest, below.tobytes())
        if key not in self._rests:
            self._solve(rest, below)
        return self._rests[key]

    def _solve(self, rest: int, below: Vector) -> None:
        """`_rest` of a rest and all that it leads to: a least fixed point."""
        k, automaton = self._k, self._automaton
        follows: dict[int, list[int]] = {}
        todo = [rest]
        while todo:
            one = todo.pop()
            if one in follows:
                continue
            low, high = (automaton.constant(k.SKIP_START, one + i) for i in (0, 1))
            follows[one] = [automaton.constant(k.SKIP, i) for i in range(low, high)]
            after = automaton.constant(k.AFTER, one)
            todo += [*follows[one], *([after] if after >= 0 else [])]
        values = {one: np.zeros(len(below), np.float32) for one in follows}
        values |= {EMPTY_REST: below} if EMPTY_REST in values else {}
        values |= {END_REST: self.steps[:, -1]} if END_REST in values else {}
        grown = True
        while grown:
            grown = False
            for one, skips in follows.items():
                found = np.maximum(values[one], self._read(one, values))
                for other in skips:
                    found = np.maximum(found, values[other])
                if (found != values[one]).any():
                    values[one] = found
                    grown = True
        told = below.tobytes()
        self._rests |= {(one, told): value for one, value in values.items()}

    def _read(self, rest: int, values: Mapping[int, Vector]) -> Vector:
        """What the first symbol of a rest makes of the vector behind it."""
        k, automaton = self._k, self._automaton
        after, first = (automaton.constant(name, rest) for name in (k.AFTER, k.FIRST))
        if after < 0 or first < 0:
            return values[rest]
        terminals = len(self.steps) - 1
        if first < terminals:
            one: Vector = self.steps[:, first] * values[after][first]
            return one
        found: Vector = np.minimum(self.of_rules[first - terminals] @ values[after], 1)
        return found
