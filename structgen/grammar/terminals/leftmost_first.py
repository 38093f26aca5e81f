"""Python's backtracking as a DFA: which text `re.match` prefers, by leftmost-first priorities.

`re` does not look for the longest match but for the first that backtracking finds: /a|ab/ matches
only the "a" of "ab". A state here is the list of ways to go on, in the order in which backtracking
would try them: what is behind a finished match in that order can never win any more and is cut off
(the leftmost-first automaton of R. Cox, "Regular expression matching in the wild", 2010). The match
in a text is then the longest prefix whose last step finishes one.

Assertions: a lookahead is a language that the rest of the text has to be in; its derivative is kept
with each way and decides its fate later. A lookbehind is a language that the text before has to be
in; its derivatives run along in every state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from structgen.errors import BudgetError
from structgen.grammar.terminals.python_language import language_of, lookbehind_language
from structgen.grammar.terminals.python_regex import (
    Branch,
    End,
    Look,
    Loop,
    Node,
    OneChar,
    Sequence,
)
from structgen.regular.charset import ALL, CharSet, refine
from structgen.regular.expressions.nodes import SubAutomaton
from structgen.regular.regex import ANY, EMPTY, INFINITE, Regex, alt, intersect, sub_automaton
from structgen.util.cancellation import checkpoint

_STEPS = 20_000  # nodes that one state of one pattern may visit


@dataclass(frozen=True, eq=False, slots=True)
class _LoopTurn:
    """The end of one turn of a loop, as a node of a continuation."""

    loop: Loop


@dataclass(frozen=True, eq=False, slots=True)
class Continuation:
    """What is left of the pattern: a node, then another continuation; None is nothing."""

    node: Node | _LoopTurn
    then: Continuation | None


class Entry(NamedTuple):
    """One way in which matching may go on, or a match.

    kind: "read" (a character of `chars`, then `continuation`), "match" (the match ends here),
    "past" (it ended earlier), "goal" (it ends where `MatchState.marked` was asked). ahead: the
    language that the rest of the text must be in.
    """

    kind: Literal["read", "match", "past", "goal"]
    ahead: Regex
    chars: CharSet = ALL
    continuation: Continuation | None = None


class Program:
    """A pattern with its assertions; interns the continuations that matching meets.

    behinds: its lookbehinds. live: whether it has no lookaheads.
    """

    def __init__(self, root: Node) -> None:
        self.root = root
        self.behinds = list(_lookbehinds(root))
        self.live = not any(_lookaheads(root))
        self._rests: dict[tuple[Node | _LoopTurn, Continuation | None], Continuation] = {}
        self._loops: dict[tuple[Loop, int, int], Loop] = {}
        self._turns: dict[Loop, _LoopTurn] = {}
        self._aheads: dict[Look | End, Regex] = {}

    def start(self, residuals: Mapping[Regex, Regex] | None = None) -> MatchState:
        """The state before any character of the match.

        residuals: for the language of a lookbehind its derivative by the text before the match; a
        language that is missing is taken as before any text.
        """
        wanted = [lookbehind_language(look) for look in self.behinds]
        behind = tuple((residuals or {}).get(texts, texts) for texts in wanted)
        return self.state(self.expand(self.continuation(self.root, None), ANY, behind), behind)

    def state(
        self, entries: Iterable[Entry], behind: tuple[Regex, ...], *, marked: bool = False
    ) -> MatchState:
        """The state with these entries, as far as they can still win.

        marked: see `MatchState.marked`.
        """
        kept: dict[Entry, None] = {}
        for entry in entries:
            kept[entry] = None
            if entry.kind != "read" and entry.ahead is ANY:
                break  # a certain match: no way behind it in the order can win
        if marked and not any(entry.kind == "goal" for entry in kept):
            kept = {}
        return MatchState(self, tuple(kept), behind, marked)

    def continuation(self, node: Node | _LoopTurn, then: Continuation | None) -> Continuation:
        """A node, then a continuation: the same object for the same two."""
        key = (node, then)
        found = self._rests.get(key)
        if found is None:
            found = self._rests[key] = Continuation(node, then)
        return found

    def expand(
        self, continuation: Continuation | None, ahead: Regex, behind: tuple[Regex, ...]
    ) -> Iterator[Entry]:
        """What a continuation can do next, in the order in which `re` tries it.

        Raises BudgetError past _STEPS nodes.
        """
        stack: list[tuple[Continuation | None, Regex, frozenset[Continuation]]] = [
            (continuation, ahead, frozenset())
        ]
        seen: set[tuple[Continuation | None, Regex, frozenset[Continuation]]] = set()
        while stack:
            checkpoint(len(seen) % 16 == 15)  # a node takes a few microseconds
            place = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            if len(seen) > _STEPS:
                raise BudgetError(
                    f"a pattern has more than {_STEPS} ways to go on at one place",
                    hint="do not repeat so often what may be empty",
                )
            continuation, ahead, open_turns = place
            if continuation is None:
                yield Entry("match", ahead)
                continue
            node, then = continuation.node, continuation.then
            match node:
                case OneChar():
                    if node.chars:
                        yield Entry("read", ahead, node.chars, then)
                case Sequence():
                    for part in reversed(node.parts):
                        then = self.continuation(part, then)
                    stack.append((then, ahead, open_turns))
                case Branch():
                    ways = [
                        (self.continuation(part, then), ahead, open_turns) for part in node.parts
                    ]
                    stack += reversed(ways)
                case Loop():
                    stack += self._enter(node, then, ahead, open_turns)
                case _LoopTurn():
                    more = self._shorter(node.loop)
                    read_nothing = continuation in open_turns and node.loop.low == 0
                    after = then if read_nothing else self.continuation(more, then)
                    stack.append((after, ahead, open_turns))
                case Look(behind=True):
                    if behind[self.behinds.index(node)].nullable != node.negative:
                        stack.append((then, ahead, open_turns))
                case Look() | End():
                    ahead = intersect(ahead, self._ahead(node))
                    if ahead is not EMPTY:
                        stack.append((then, ahead, open_turns))

    def _enter(
        self,
        loop: Loop,
        then: Continuation | None,
        ahead: Regex,
        open_turns: frozenset[Continuation],
    ) -> list[tuple[Continuation | None, Regex, frozenset[Continuation]]]:
        """Leave a loop or take another turn; on a stack, so the way to try first comes last."""
        ways: list[tuple[Continuation | None, Regex, frozenset[Continuation]]] = []
        if loop.low == 0:
            ways.append((then, ahead, open_turns))
        if loop.high > 0:
            turn = self._turns.setdefault(loop, _LoopTurn(loop))
            end = self.continuation(turn, then)
            ways.append((self.continuation(loop.body, end), ahead, open_turns | {end}))
        return ways[::-1] if loop.lazy else ways

    def _shorter(self, loop: Loop) -> Loop:
        """The loop after one of its turns: its counts less one."""
        endless = loop.high == INFINITE
        low, high = max(loop.low - 1, 0), loop.high if endless else loop.high - 1
        if low == loop.low and high == loop.high:
            return loop
        key = (loop, low, high)
        found = self._loops.get(key)
        if found is None:
            found = self._loops[key] = replace(loop, low=low, high=high)
        return found

    def _ahead(self, look: Look | End) -> Regex:
        """The language that a lookahead wants the rest of the text to be in."""
        found = self._aheads.get(look)
        if found is None:
            found = language_of(look)
            self._aheads[look] = found
        return found


@dataclass(frozen=True)
class MatchState:
    """A state of the leftmost-first DFA: entries in the order in which `re` prefers them.

    A `LeafState`, so it can stand in regular expressions. behind: for each lookbehind the
    derivative of its language by what has been read. is_marked: whether `marked` made this state or
    one before it.
    """

    program: Program
    entries: tuple[Entry, ...]
    behind: tuple[Regex, ...]
    is_marked: bool = False

    @property
    def live(self) -> bool:
        """True when it is known that some text can still be matched whole."""
        return self.program.live and not self.is_marked

    @property
    def nullable(self) -> bool:
        """Whether the text so far is matched whole when nothing follows."""
        for entry in self.entries:
            if entry.kind != "read" and entry.ahead.nullable:
                return entry.kind == ("goal" if self.is_marked else "match")
        return False

    def marked(self) -> MatchState:
        """This state, required to end its match here: it accepts what may follow for that."""
        goals = [entry._replace(kind="goal") if entry.kind == "match" else entry
                 for entry in self.entries]  # fmt: skip
        return self.program.state(goals, self.behind, marked=True)

    def allowed_after(self) -> Regex:
        """The texts behind which the match that ends here stays the match."""
        marked = self.marked()
        return sub_automaton(marked) if marked.entries else EMPTY

    def moves(self) -> list[tuple[CharSet, MatchState]]:
        """See `SubAutomatonState`; states without entries are left out."""
        aheads = {entry.ahead for entry in self.entries if entry.ahead is not ANY}
        cut: list[tuple[CharSet, tuple[object, object]]] = []
        if self.is_marked:
            cut.append((ALL, (None, None)))
        cut += [(e.chars, (e, None)) for e in self.entries if e.kind == "read"]
        cut += [(of, (ahead, target)) for ahead in aheads for of, target in ahead.steps()]
        cut += [(of, (i, to)) for i, node in enumerate(self.behind) for of, to in node.steps()]
        found = []
        for of, facts in refine(cut):
            after = self._after(dict(facts))
            if after.entries:
                found.append((of, after))
        return found

    def cached_moves(self) -> list[tuple[CharSet, MatchState]]:
        """`moves`, computed once for equal states."""
        node = sub_automaton(self)
        return [(of, to.state) for of, to in node.steps() if isinstance(to, SubAutomaton)]  # type: ignore[misc]

    def _after(self, facts: dict[object, object]) -> MatchState:
        """The state after a character. facts: what the character does to entries and assertions."""
        behind = tuple(_target(facts, i) for i in range(len(self.behind)))

        def entries() -> Iterator[Entry]:
            for entry in self.entries:
                ahead = ANY if entry.ahead is ANY else _target(facts, entry.ahead)
                if ahead is EMPTY:
                    continue
                if entry.kind == "goal":
                    yield entry._replace(ahead=ahead)
                elif entry.kind != "read":
                    if ahead is ANY:
                        return
                    yield entry._replace(kind="past", ahead=ahead)
                elif entry in facts:
                    yield from self.program.expand(entry.continuation, ahead, behind)

        return self.program.state(entries(), behind, marked=self.is_marked)


@dataclass(frozen=True)
class OverruledMatch:
    """The texts which show that a match that ended before their end is none; a `LeafState`.

    pending: for each match so far, what may follow it. nullable: whether the text so far is such.
    """

    state: MatchState
    pending: frozenset[Regex]
    nullable: bool = False

    @staticmethod
    def at(
        state: MatchState, pending: Iterable[Regex] = (), *, nullable: bool = False
    ) -> OverruledMatch:
        """The state where matching is at `state`, with `pending` for the matches before."""
        after = {state.allowed_after()} if state.nullable else set()
        return OverruledMatch(state, frozenset(after.union(pending)) - {ANY}, nullable)

    def moves(self) -> list[tuple[CharSet, OverruledMatch]]:
        """See `SubAutomatonState`."""
        cut: list[tuple[CharSet, tuple[object, object]]] = [(ALL, (None, None))]
        cut += [(of, (self, to)) for of, to in self.state.cached_moves()]
        cut += [(of, (allowed, to)) for allowed in self.pending for of, to in allowed.steps()]
        found = []
        for of, facts in refine(cut):
            after = dict(facts)
            state = after.get(self)
            if not isinstance(state, MatchState):
                state = replace(self.state, entries=())
            following = {_target(after, allowed) for allowed in self.pending}
            left = {allowed for allowed in following if not allowed.is_empty()}
            if state.entries or left or left != following:
                found.append((of, OverruledMatch.at(state, left, nullable=left != following)))
        return found


@dataclass(frozen=True)
class BeginsWithMatch:
    """The texts that begin with a match which is in some language; a `LeafState`.

    language: its derivative by the text so far. pending: what may still follow if the text has
    begun with such a match.
    """

    state: MatchState
    language: Regex
    pending: Regex

    @staticmethod
    def at(state: MatchState, language: Regex, pending: Regex) -> BeginsWithMatch:
        """The state where matching is at `state`, with `pending` for the matches before."""
        return BeginsWithMatch(
            state, language, alt(pending, state.allowed_after()) if language.nullable else pending
        )

    @property
    def nullable(self) -> bool:
        """Whether the text so far begins with such a match if nothing follows."""
        return self.pending.nullable

    def moves(self) -> list[tuple[CharSet, BeginsWithMatch]]:
        """See `SubAutomatonState`."""
        cut: list[tuple[CharSet, tuple[object, object]]] = [
            *((of, (0, to)) for of, to in self.state.cached_moves()),
            *((of, (1, to)) for of, to in self.language.steps()),
            *((of, (2, to)) for of, to in self.pending.steps()),
        ]
        nothing = replace(self.state, entries=())
        found = []
        for of, facts in refine(cut):
            after = dict(facts)
            state = after.get(0)
            state = state if isinstance(state, MatchState) else nothing
            found.append((of, BeginsWithMatch.at(state, _target(after, 1), _target(after, 2))))
        return found


@dataclass(frozen=True)
class PossibleMatch:
    """The texts that are the match for some text that follows them; a `LeafState`."""

    state: MatchState

    @property
    def nullable(self) -> bool:
        """Whether the match ends here for some text that follows."""
        return not self.state.allowed_after().is_empty()

    def moves(self) -> list[tuple[CharSet, PossibleMatch]]:
        """See `SubAutomatonState`."""
        return [(of, PossibleMatch(to)) for of, to in self.state.cached_moves()]


def _target(facts: dict[object, object], key: object) -> Regex:
    """The language behind a character, `EMPTY` where it leads nowhere."""
    found = facts.get(key, EMPTY)
    return found if isinstance(found, Regex) else EMPTY


def _lookbehinds(node: Node) -> Iterator[Look]:
    """The lookbehinds of a node, without those inside lookaheads."""
    match node:
        case Sequence() | Branch():
            for part in node.parts:
                yield from _lookbehinds(part)
        case Loop():
            yield from _lookbehinds(node.body)
        case Look(behind=True):
            yield node
        case _:
            return


def _lookaheads(node: Node) -> Iterator[bool]:
    """True for each assertion about what follows."""
    match node:
        case Sequence() | Branch():
            for part in node.parts:
                yield from _lookaheads(part)
        case Loop():
            yield from _lookaheads(node.body)
        case Look(behind=False) | End():
            yield True
        case _:
            return
