"""In: two automata. Out: which pairs of positions can be finished by one and the same text.

Both of a pair can finish by themselves and still not together. Such pairs are found by search,
towards what both sides still need: a text on which both end proves its whole path; no pair left to
look at proves that none of those seen can finish. The search ends with BudgetError past a stated
number of pairs, and never guesses. (Where one side is finite and the other a
pushdown automaton the question is decidable in general; search answers it where the pairs that can
be reached are few, or an end is near.)
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable

from structgen.automaton.automaton import DEAD, Automaton, Bytes
from structgen.automaton.engine import Engine
from structgen.automaton.lexer import Text
from structgen.automaton.machine import TextMachine
from structgen.automaton.regex import Regex, shortest
from structgen.errors import BudgetError

MAX_PAIRS = 5_000  # looked at to tell whether one can be finished
_BRIDGE = 4  # places tried for the end of another text: before a character, and inside it
_BEST_LAST = sorted(range(256), key=lambda b: (0x20 < b < 0x7F and b != 0x5C, chr(b).isalnum(), -b))

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
        """A shortest text to the end, as far as it is easily found; b"" also where it is not."""
        if at not in self._rests:
            language = self._language(at)
            try:
                if language is not None:
                    self._rests[at] = (shortest(language) or "").encode()
                else:
                    self._rests[at] = self._completions.shortest(at)
            except BudgetError:
                self._rests[at] = b""
        return self._rests[at]

    def needed(self, at: int) -> int:
        """A lower bound on the bytes to the end."""
        language = self._language(at)
        if language is not None:
            return language.shortest
        return 1 if self._plain else len(self.rest(at))

    def _language(self, at: int) -> Regex | None:
        """The texts that may follow, between two characters of a single lexeme."""
        if not self._plain or not isinstance(self.automaton, Engine):
            return None
        state = self.automaton.state(at >> 32)
        language = state.vector[0] if isinstance(state, Text) else None
        return language if isinstance(language, Regex) else None


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

    def step(self, pair: Pair, byte: int) -> Pair | None:
        """The pair after one byte, None where one side cannot read it."""
        left, right = self.left.table(pair[0])[byte], self.right.table(pair[1])[byte]
        return (left, right) if left >= 0 and right >= 0 else None

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
        """A shortest text on which both end, in bytes of the alphabet. Raises BudgetError.

        A*: what the longer side needs by itself is a lower bound. A pair is first queued with that
        of the pair before it, since its own costs time, and queued again where its own is more.
        """
        texts: dict[Pair, bytes] = {pair: b""}
        ties = itertools.count()
        queue = [(0, 0, 0, pair)]
        done: set[Pair] = set()
        while queue:
            far, _, _, here = heapq.heappop(queue)
            if here in done:
                continue
            text = texts[here]
            needed = max(self.left.needed(here[0]), self.right.needed(here[1]))
            if len(text) + needed > far:
                heapq.heappush(queue, (len(text) + needed, needed, -next(ties), here))
                continue
            if self.ends(here):
                return text
            done.add(here)
            for after, byte in self._following(here, alphabet).items():
                if after not in texts or len(text) + 1 < len(texts[after]):
                    texts[after] = text + bytes((byte,))
                    heapq.heappush(queue, (far, needed, -next(ties), after))
            if len(done) > MAX_PAIRS:
                break
        raise BudgetError(
            f"no end was found within {MAX_PAIRS} positions",
            hint="combine fewer or simpler rules",
        )

    def _following(self, pair: Pair, alphabet: Bytes = range(256)) -> dict[Pair, int]:
        """The pairs that one byte leads to, each with the one that reads best; best ones last."""
        steps = self.steps(pair)
        found: dict[Pair, int] = {}
        for byte in _BEST_LAST:
            after = steps[byte]
            if after is not None and byte in alphabet:
                found.pop(after, None)
                found[after] = byte
        return found

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
            after = self.step(here, byte)
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
        """By search, towards what the left side needs (guessed, off its way) and the right one."""
        parents: dict[Pair, Pair | None] = {start: None}
        ways = {start: self.left.rest(start[0])}
        far = {start: len(ways[start])}
        ties = itertools.count()
        queue = [(0, 0, start)]
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
            way = ways.pop(here, b"")
            ahead = self.step(here, way[0]) if way else None
            for after in self._following(here):
                if after not in parents:
                    parents[after] = here
                    far[after] = far[here] + (-1 if after == ahead else 1)
                    if after == ahead:
                        ways[after] = way[1:]
                    guess = far[after] + self.right.needed(after[1])
                    heapq.heappush(queue, (guess, -next(ties), after))
            if len(parents) > MAX_PAIRS:
                raise BudgetError(
                    "telling whether the text can still fit all of the specs takes more than "
                    f"{MAX_PAIRS} positions",
                    hint="combine fewer or simpler rules, or bound what the schema leaves open",
                )
        self._known.update(dict.fromkeys(parents, False))
        return False
