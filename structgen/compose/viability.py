"""In: two automata. Out: which pairs of positions can be finished by one and the same text.

Both of a pair can finish by themselves and still not together. Such pairs are found by search, best
first by the longer of what each side still needs: a text on which both end proves its whole path;
no pair left to look at proves that none of those seen can finish. The search ends with BudgetError
past a stated number of pairs, and never guesses. (Where one side is finite and the other a
pushdown automaton the question is decidable in general; search answers it where the pairs that can
be reached are few, or an end is near.)
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable

from structgen.automaton.automaton import DEAD, Automaton, Bytes
from structgen.automaton.engine import Engine
from structgen.automaton.machine import TextMachine
from structgen.errors import BudgetError

MAX_PAIRS = 20_000  # looked at to tell whether one can be finished
_BRIDGE = 4  # places tried for the end of another text: before a character, and inside it

Pair = tuple[int, int]


class Side:
    """One automaton: its steps as tables, between positions that stand for all with equal futures.

    start: where it starts.
    """

    def __init__(self, automaton: Automaton, alphabet: Bytes = range(256)) -> None:
        self.automaton = automaton
        self._chosen: dict[Hashable, int] = {}
        self._tables: dict[int, list[int]] = {}
        self._ends: dict[int, bool] = {}
        self._rests: dict[int, bytes] = {}
        self._completions = automaton.completions(alphabet)
        self._plain = isinstance(automaton, Engine) and isinstance(automaton.machine, TextMachine)
        self.start = self.choose(automaton.start)

    def choose(self, at: int) -> int:
        """The position that stands for all that are known to have the same futures."""
        return self._chosen.setdefault(self.automaton.core(at), at)

    def table(self, at: int) -> list[int]:
        """The position after each of the 256 bytes, or DEAD."""
        found = self._tables.get(at)
        if found is None:
            found = self._tables[at] = self._made(at)
        return found

    def _made(self, at: int) -> list[int]:
        automaton = self.automaton
        if self._plain and isinstance(automaton, Engine):  # one lexeme: its rows are the steps
            context = at & 0xFFFFFFFF
            targets = automaton.targets(at >> 32).tolist()
            return [(q << 32) | context if q >= 0 else DEAD for q in targets]
        found = [DEAD] * 256
        for byte in automaton.next_bytes(at):
            found[byte] = self.choose(automaton.run(at, bytes((byte,)))[0])
        return found

    def ends(self, at: int) -> bool:
        """Whether the text may end."""
        found = self._ends.get(at)
        if found is None:
            found = self._ends[at] = self.automaton.is_accepting(at)
        return found

    def rest(self, at: int) -> bytes:
        """A shortest text to the end; b"" also where none was found."""
        if at not in self._rests:
            try:
                self._rests[at] = self._completions.shortest(at)
            except BudgetError:
                self._rests[at] = b""
        return self._rests[at]


class Pairs:
    """The pairs of two automata. start: where both start; it may be a pair that cannot finish."""

    def __init__(self, left: Automaton, right: Automaton) -> None:
        self.left, self.right = Side(left), Side(right)
        self.start: Pair = (self.left.start, self.right.start)
        self._known: dict[Pair, bool] = {}
        self._finishes: dict[Pair, bytes] = {}  # some text on which both sides end

    def steps(self, pair: Pair) -> list[Pair | None]:
        """The pair after each of the 256 bytes, None where one side cannot read it."""
        left, right = self.left.table(pair[0]), self.right.table(pair[1])
        return [(a, b) if a >= 0 and b >= 0 else None for a, b in zip(left, right, strict=True)]

    def ends(self, pair: Pair) -> bool:
        """Whether both may end."""
        return self.left.ends(pair[0]) and self.right.ends(pair[1])

    def live(self, pair: Pair, before: Pair | None = None) -> bool:
        """Whether some text finishes both. Raises BudgetError.

        before: a pair that leads to this one; what finishes it is likely to finish this one.
        """
        known = self._known.get(pair)
        if known is None:
            hint = None if before is None else self._finishes.get(before)
            known = self._bridged(pair, hint) or self._tried(pair) or self._search(pair)
        return known

    def shortest(self, pair: Pair, alphabet: Bytes) -> bytes:
        """A shortest text on which both end, in bytes of the alphabet (A*). Raises BudgetError."""
        texts: dict[Pair, bytes] = {pair: b""}
        ties = itertools.count()
        queue = [(self._needed(pair), next(ties), pair)]
        done: set[Pair] = set()
        while queue:
            here = heapq.heappop(queue)[2]
            if self.ends(here):
                return texts[here]
            if here in done:
                continue
            done.add(here)
            for after, byte in self._following(here, alphabet).items():
                text = texts[here] + bytes((byte,))
                if after not in texts or len(text) < len(texts[after]):
                    texts[after] = text
                    far = len(text) + self._needed(after)
                    heapq.heappush(queue, (far, next(ties), after))
            if len(texts) > MAX_PAIRS:
                break
        raise BudgetError(
            f"no end was found within {MAX_PAIRS} positions",
            hint="combine fewer or simpler rules",
        )

    def _following(self, pair: Pair, alphabet: Bytes = range(256)) -> dict[Pair, int]:
        """The pairs that one byte leads to, with a byte for each, a printable one if there is."""
        found: dict[Pair, int] = {}
        for byte, after in enumerate(self.steps(pair)):
            if after is None or byte not in alphabet:
                continue
            if after not in found or not 0x20 < found[after] < 0x7F:
                found[after] = byte
        return found

    def _needed(self, pair: Pair) -> int:
        """Fewest bytes to an end of both, as far as each side can tell by itself."""
        return max(len(self.left.rest(pair[0])), len(self.right.rest(pair[1])))

    def _bridged(self, pair: Pair, hint: bytes | None) -> bool:
        """Whether a text that finished another pair does it here, after a few bytes at most."""
        if hint is None:
            return False
        here, bridge = pair, b""
        for _ in range(_BRIDGE):
            if self._finish(here, hint):
                self._known[pair] = True
                self._finishes[pair] = bridge + hint
                return True
            byte = self._any_byte(here)
            if byte < 0:
                return False
            after = self.steps(here)[byte]
            if after is None:
                return False
            here, bridge = after, bridge + bytes((byte,))
        return False

    def _any_byte(self, pair: Pair) -> int:
        """A byte that both sides can read next, preferably one beyond ASCII; -1 if there is none.

        Only inside a character one has to go on before a text can end that ends elsewhere.
        """
        right = self.right.table(pair[1])
        left = self.left.table(pair[0])
        both = (byte for byte in range(255, -1, -1) if left[byte] >= 0 and right[byte] >= 0)
        return next(both, -1)

    def _finish(self, pair: Pair, text: bytes) -> bool:
        """Whether both sides end after a text."""
        for side, at in zip((self.left, self.right), pair, strict=True):
            after, _ = side.automaton.run(at, text)
            if after < 0 or not side.automaton.is_accepting(after):
                return False
        return True

    def _tried(self, pair: Pair) -> bool:
        """Whether what one side needs by itself happens to finish the other, too."""
        for text in (self.left.rest(pair[0]), self.right.rest(pair[1])):
            if self._finish(pair, text):
                self._known[pair] = True
                self._finishes[pair] = text
                return True
        return False

    def _search(self, start: Pair) -> bool:
        parents: dict[Pair, Pair | None] = {start: None}
        ties = itertools.count()
        queue = [(0, next(ties), start)]
        while queue:
            here = heapq.heappop(queue)[2]
            known = self._known.get(here)
            if known or self.ends(here):
                at: Pair | None = here
                while at is not None:
                    self._known[at] = True
                    at = parents[at]
                return True
            if known is False:
                continue
            for after in self._following(here):
                if after not in parents:
                    parents[after] = here
                    heapq.heappush(queue, (self._needed(after), next(ties), after))
            if len(parents) > MAX_PAIRS:
                raise BudgetError(
                    f"telling whether the text can still fit all of the specs takes more than "
                    f"{MAX_PAIRS} positions",
                    hint="combine fewer or simpler rules, or bound what the schema leaves open",
                )
        self._known.update(dict.fromkeys(parents, False))
        return False
