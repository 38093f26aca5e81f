"""Decide which pairs of positions can be finished by one and the same text.

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

from structgen.automata.interface import DEAD, Automaton, Bytes
from structgen.automata.lexer.lexer import Text
from structgen.automata.pushdown.engine import Engine
from structgen.automata.pushdown.machine import TextMachine
from structgen.errors import BudgetError
from structgen.regular.regex import Regex, shortest
from structgen.util.cancellation import checkpoint, limited

MAX_PAIRS = 5_000  # looked at to tell whether one can be finished
MAX_WORK = 150_000  # units for that
_TELLING = "telling whether the text can still fit all of the specs takes"
_HINT = "combine fewer or simpler rules, or bound what the schema leaves open"
_TRIES = 64  # pairs of a search, with nothing needed on the right, whose left side's end is tried
_BRIDGE = 4  # places tried for the end of another text: before a character, and inside it
_BEST_LAST = sorted(range(256), key=lambda b: (0x20 < b < 0x7F and b != 0x5C, chr(b).isalnum(), -b))

Pair = tuple[int, int]


class Side:
    """One automaton: its steps, as tables for positions that stand for all with the same core.

    start: where it starts.
    """

    def __init__(self, automaton: Automaton, alphabet: Bytes = range(256)) -> None:
        self.automaton = automaton
        self._representatives: dict[Hashable, int] = {}
        self._tables: dict[int, list[int]] = {}
        self._ends: dict[int, bool] = {}
        self._rests: dict[int, bytes] = {}
        self._completions = automaton.completions(alphabet)
        self._plain = isinstance(automaton, Engine) and isinstance(automaton.machine, TextMachine)
        self.start = automaton.start

    def representative(self, at: int) -> int:
        """The position that stands for all with the same core."""
        return at if self._plain else self._representatives.setdefault(self.automaton.core(at), at)

    def step(self, at: int, byte: int) -> int:
        """The position after a byte, or DEAD."""
        return self.table(at)[byte] if self._plain else self.automaton.run(at, bytes((byte,)))[0]

    def table(self, at: int) -> list[int]:
        """int[256]: from a representative, the one of the position after each byte, or DEAD."""
        found = self._tables.get(at)
        if found is None:
            found = self._tables[at] = self._made(at)
        return found

    def _made(self, at: int) -> list[int]:
        automaton = self.automaton
        if self._plain and isinstance(automaton, Engine):  # one lexeme: its rows are the steps
            stack_node = at & 0xFFFFFFFF
            targets = automaton.targets(at >> 32).tolist()
            return [(q << 32) | stack_node if q >= 0 else DEAD for q in targets]
        found = [DEAD] * 256
        for byte in automaton.next_bytes(at):
            found[byte] = self.representative(self.step(at, byte))
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
    """The pairs of two automata. start: where both start; it may be a pair that cannot finish.

    Searches follow pairs as they are, and look once at those with the same cores: these differ in
    the key that is being read, which is a new one in all of them, and have the same ends unless a
    side can go on with a few keys only. A text that is found is always one that both sides read.
    """

    def __init__(self, left: Automaton, right: Automaton) -> None:
        self.left, self.right = Side(left), Side(right)
        self.start: Pair = (self.left.start, self.right.start)
        self._known: dict[Pair, bool] = {}  # by representative, as the next one
        self._finishes: dict[Pair, bytes] = {}  # some text on which both sides end

    def representative(self, pair: Pair) -> Pair:
        """The pair that stands for all with the same cores."""
        return self.left.representative(pair[0]), self.right.representative(pair[1])

    def steps(self, chosen: Pair) -> list[Pair | None]:
        """The representative of the pair after each byte, None where a side cannot read it.

        chosen: a representative pair.
        """
        left, right = self.left.table(chosen[0]), self.right.table(chosen[1])
        return [(a, b) if a >= 0 and b >= 0 else None for a, b in zip(left, right, strict=True)]

    def step(self, pair: Pair, byte: int) -> Pair | None:
        """The pair after one byte, None where one side cannot read it."""
        left, right = self.left.step(pair[0], byte), self.right.step(pair[1], byte)
        return (left, right) if left >= 0 and right >= 0 else None

    def remembers(self, pair: Pair) -> Hashable:
        """The keys that are being read and that the cores leave out, None if there are none."""
        left = self.left.automaton.remembers(pair[0])
        right = self.right.automaton.remembers(pair[1])
        return None if left is None and right is None else (left, right)

    def ends(self, pair: Pair) -> bool:
        """Whether both may end."""
        return self.left.ends(pair[0]) and self.right.ends(pair[1])

    def live(self, pair: Pair, before: Pair | None = None) -> bool:
        """Whether some text finishes both. Raises BudgetError.

        before: a pair that leads to this one; what finishes it is likely to finish this one.
        """
        chosen = self.representative(pair)
        known = self._known.get(chosen)
        if known is None:
            hint = None if before is None else self._finishes.get(self.representative(before))
            found = self._bridged(pair, hint)
            if found is None:
                found = self._tried(pair)
            if found is None:
                with limited(MAX_WORK, f"{_TELLING} too long", _HINT):
                    return self._search(pair)
            known = self._known[chosen] = True
            self._finishes[chosen] = found
        return known

    def shortest(self, pair: Pair, alphabet: Bytes) -> bytes:
        """A shortest text on which both end, in bytes of the alphabet. Raises BudgetError.

        A*: what the longer side needs by itself is a lower bound. A pair is first queued with that
        of the pair before it, since its own costs time, and queued again where its own is more.
        """
        # By representative: the length of the shortest text known.
        best = {self.representative(pair): 0}
        ties = itertools.count()
        queue = [(0, 0, 0, pair, b"")]
        done: set[Pair] = set()
        while queue:
            checkpoint()
            far, _, _, here, text = heapq.heappop(queue)
            chosen = self.representative(here)
            if chosen in done:
                continue
            needed = max(self.left.needed(chosen[0]), self.right.needed(chosen[1]))
            if len(text) + needed > far:
                heapq.heappush(queue, (len(text) + needed, needed, -next(ties), here, text))
                continue
            if self.ends(chosen):
                return text
            done.add(chosen)
            for like, byte in self._following(chosen, alphabet).items():
                after = self.step(here, byte)
                if after is not None and len(text) + 1 < best.get(like, len(text) + 2):
                    best[like] = len(text) + 1
                    longer = text + bytes((byte,))
                    heapq.heappush(queue, (far, needed, -next(ties), after, longer))
            if len(done) > MAX_PAIRS:
                break
        raise BudgetError(
            f"no end was found within {MAX_PAIRS} positions",
            hint="combine fewer or simpler rules",
        )

    def _following(self, chosen: Pair, alphabet: Bytes = range(256)) -> dict[Pair, int]:
        """The pairs that one byte leads to, each with the one that reads best; best ones last."""
        steps = self.steps(chosen)
        found: dict[Pair, int] = {}
        for byte in _BEST_LAST:
            after = steps[byte]
            if after is not None and byte in alphabet:
                found.pop(after, None)
                found[after] = byte
        return found

    def _bridged(self, pair: Pair, hint: bytes | None) -> bytes | None:
        """A text that finished another pair, after a few bytes at most, if it finishes this one."""
        if hint is None:
            return None
        here, bridge = pair, b""
        for _ in range(_BRIDGE):
            if self._finish(here, hint):
                return bridge + hint
            byte = self._any_byte(here)
            after = None if byte < 0 else self.step(here, byte)
            if after is None:
                return None
            here, bridge = after, bridge + bytes((byte,))
        return None

    def _any_byte(self, pair: Pair) -> int:
        """A byte that both sides can read next, preferably one beyond ASCII; -1 if there is none.

        Only inside a character one has to go on before a text can end that ends elsewhere.
        """
        steps = self.steps(self.representative(pair))
        return next((byte for byte in range(255, -1, -1) if steps[byte] is not None), -1)

    def _finish(self, pair: Pair, text: bytes) -> bool:
        """Whether both sides end after a text."""
        for side, at in zip((self.left, self.right), pair, strict=True):
            after, _ = side.automaton.run(at, text)
            if after < 0 or not side.automaton.is_accepting(after):
                return False
        return True

    def _tried(self, pair: Pair) -> bytes | None:
        """What one side needs by itself, if that happens to finish the other, too."""
        texts = (self.left.rest(pair[0]), self.right.rest(pair[1]))
        return next((text for text in texts if self._finish(pair, text)), None)

    def _search(self, start: Pair) -> bool:
        """By search, towards what the left side needs (guessed, off its way) and the right one."""
        first = self.representative(start)
        parents: dict[Pair, Pair | None] = {first: None}
        ways = {first: self.left.rest(start[0])}
        far = {first: len(ways[first])}
        ties = itertools.count()
        queue = [(0, 0, start, first)]
        tries = _TRIES
        while queue:
            checkpoint()
            _, _, here, chosen = heapq.heappop(queue)
            known = self._known.get(chosen)
            if known is None and tries and chosen not in ways and not self.right.needed(chosen[1]):
                tries -= 1
                known = self._tried(here) is not None or None
            if known or self.ends(chosen):
                at: Pair | None = chosen
                while at is not None:
                    self._known[at] = True
                    at = parents[at]
                return True
            if known is False:
                continue
            way = ways.pop(chosen, b"")
            following = self._following(chosen)
            ahead = self.steps(chosen)[way[0]] if way else None
            for like, byte in following.items():
                after = self.step(here, byte)
                if after is None or like in parents:
                    continue
                parents[like] = chosen
                far[like] = far[chosen] + (-1 if like == ahead else 1)
                if like == ahead:
                    ways[like] = way[1:]
                guess = far[like] + self.right.needed(like[1])
                heapq.heappush(queue, (guess, -next(ties), after, like))
            if len(parents) > MAX_PAIRS:
                raise BudgetError(f"{_TELLING} more than {MAX_PAIRS} positions", hint=_HINT)
        self._known.update(dict.fromkeys(parents, False))
        return False
