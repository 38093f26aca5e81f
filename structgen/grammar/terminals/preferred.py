"""In: the tree of a Python pattern. Out: the texts that `re.match`, given them, would match whole.

`re` does not look for the longest match but for the first that backtracking finds: /a|ab/ matches
only the "a" of "ab". The automaton here keeps the ways to go on in that order: what is behind a
finished match in the order can never win any more and is cut off (the leftmost-first automaton of
R. Cox, "Regular expression matching in the wild", 2010). The match in a text is then the longest
prefix whose last step finishes one. Lookaheads are languages that the rest of the text has to be in
and decide an entry's fate later; lookbehinds are derivatives that run along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from structgen.errors import BudgetError
from structgen.grammar.terminals.python_language import before, language_of
from structgen.grammar.terminals.python_regex import Branch, End, Look, Loop, Node, One, Sequence
from structgen.regular.charset import ALL, CharSet, refine
from structgen.regular.expressions.nodes import Leaf
from structgen.regular.regex import ANY, EMPTY, INFINITE, Regex, alt, intersect, leaf

_STEPS = 20_000  # nodes that one position of one pattern may visit


@dataclass(frozen=True, eq=False, slots=True)
class _Turn:
    """The end of one turn of a loop."""

    loop: Loop


@dataclass(frozen=True, eq=False, slots=True)
class Rest:
    """What is left of the pattern: a node, then another rest; None is nothing."""

    node: Node | _Turn
    then: Rest | None


class Entry(NamedTuple):
    """One way in which matching may go on, or a match.

    kind: "read" (a character of `chars`, then `rest`), "match" (ends here), "past" (ended earlier),
    "goal" (ends where `Preferred.marked` was asked). ahead: what the rest of the text must be.
    """

    kind: Literal["read", "match", "past", "goal"]
    ahead: Regex
    chars: CharSet = ALL
    rest: Rest | None = None


class Program:
    """A pattern, its assertions and the rests of it that matching has met."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.behinds = list(_lookbehinds(root))
        self.live = not any(_lookaheads(root))
        self._rests: dict[tuple[Node | _Turn, Rest | None], Rest] = {}
        self._loops: dict[tuple[Loop, int, int], Loop] = {}
        self._turns: dict[Loop, _Turn] = {}
        self._aheads: dict[Look | End, Regex] = {}

    def start(self, history: Mapping[Regex, Regex] | None = None) -> Preferred:
        """The state before any character of the match.

        history: for what lookbehinds look for, what is left of it behind the text before the match;
        what is not there is as in front of any text.
        """
        wanted = [before(look) for look in self.behinds]
        behind = tuple((history or {}).get(texts, texts) for texts in wanted)
        return self.state(self.expand(self.rest(self.root, None), ANY, behind), behind)

    def state(
        self, entries: Iterable[Entry], behind: tuple[Regex, ...], *, marked: bool = False
    ) -> Preferred:
        """The state with these entries, as far as they can still win."""
        kept: dict[Entry, None] = {}
        for entry in entries:
            kept[entry] = None
            if entry.kind != "read" and entry.ahead is ANY:
                break
        if marked and not any(entry.kind == "goal" for entry in kept):
            kept = {}
        return Preferred(self, tuple(kept), behind, marked)

    def rest(self, node: Node | _Turn, then: Rest | None) -> Rest:
        """A node, then a rest: the same object for the same two."""
        key = (node, then)
        found = self._rests.get(key)
        if found is None:
            found = self._rests[key] = Rest(node, then)
        return found

    def expand(self, rest: Rest | None, ahead: Regex, behind: tuple[Regex, ...]) -> Iterator[Entry]:
        """What a rest of the pattern can do next, in the order in which `re` tries it."""
        stack: list[tuple[Rest | None, Regex, frozenset[Rest]]] = [(rest, ahead, frozenset())]
        seen = set()
        while stack:
            place = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            if len(seen) > _STEPS:
                raise BudgetError(
                    f"a pattern has more than {_STEPS} ways to go on at one place",
                    hint="do not repeat so often what may be empty",
                )
            rest, ahead, open_turns = place
            if rest is None:
                yield Entry("match", ahead)
                continue
            node, then = rest.node, rest.then
            match node:
                case One():
                    if node.chars:
                        yield Entry("read", ahead, node.chars, then)
                case Sequence():
                    for part in reversed(node.parts):
                        then = self.rest(part, then)
                    stack.append((then, ahead, open_turns))
                case Branch():
                    ways = [(self.rest(part, then), ahead, open_turns) for part in node.parts]
                    stack += reversed(ways)
                case Loop():
                    stack += self._enter(node, then, ahead, open_turns)
                case _Turn():
                    more = self._shorter(node.loop)
                    read_nothing = rest in open_turns and more.low == 0
                    after = then if read_nothing else self.rest(more, then)
                    stack.append((after, ahead, open_turns))
                case Look(behind=True):
                    if behind[self.behinds.index(node)].nullable != node.negative:
                        stack.append((then, ahead, open_turns))
                case Look() | End():
                    ahead = intersect(ahead, self._ahead(node))
                    if ahead is not EMPTY:
                        stack.append((then, ahead, open_turns))

    def _enter(
        self, loop: Loop, then: Rest | None, ahead: Regex, open_turns: frozenset[Rest]
    ) -> list[tuple[Rest | None, Regex, frozenset[Rest]]]:
        """Leave a loop or take another turn, the one to try first last."""
        ways: list[tuple[Rest | None, Regex, frozenset[Rest]]] = []
        if loop.low == 0:
            ways.append((then, ahead, open_turns))
        if loop.high > 0:
            turn = self._turns.setdefault(loop, _Turn(loop))
            end = self.rest(turn, then)
            ways.append((self.rest(loop.body, end), ahead, open_turns | {end}))
        return ways[::-1] if loop.lazy else ways

    def _shorter(self, loop: Loop) -> Loop:
        """The loop after one of its turns."""
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
        """What a lookahead wants the rest of the text to be."""
        found = self._aheads.get(look)
        if found is None:
            found = language_of(look)
            self._aheads[look] = found
        return found


@dataclass(frozen=True)
class Preferred:
    """Where matching is: entries in the order in which `re` prefers them; a `LeafState`.

    behind: for each lookbehind all texts that it holds after, less what has been read. is_marked:
    whether `marked` made this state or one before it.
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
        """Is the text so far matched whole when nothing follows?"""
        for entry in self.entries:
            if entry.kind != "read" and entry.ahead.nullable:
                return entry.kind == ("goal" if self.is_marked else "match")
        return False

    def marked(self) -> Preferred:
        """This state, from which exactly the texts lead on after which the match ends here."""
        goals = [entry._replace(kind="goal") if entry.kind == "match" else entry
                 for entry in self.entries]  # fmt: skip
        return self.program.state(goals, self.behind, marked=True)

    def rests(self) -> Regex:
        """The texts behind which the match that ends here stays the match."""
        marked = self.marked()
        return leaf(marked) if marked.entries else EMPTY

    def moves(self) -> list[tuple[CharSet, Preferred]]:
        """See `LeafState`; states without entries are left out."""
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

    def known_moves(self) -> list[tuple[CharSet, Preferred]]:
        """`moves`, worked out once for equal states."""
        node = leaf(self)
        return [(of, to.state) for of, to in node.steps() if isinstance(to, Leaf)]  # type: ignore[misc]

    def _after(self, facts: dict[object, object]) -> Preferred:
        """The state after a character of which `facts` says what it does."""
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
                    yield from self.program.expand(entry.rest, ahead, behind)

        return self.program.state(entries(), behind, marked=self.is_marked)


@dataclass(frozen=True)
class Blocked:
    """The texts that show that a match which ended before their end is none; a `LeafState`.

    nullable: whether what has been read is one. pending: for each match so far, what may follow it.
    """

    state: Preferred
    pending: frozenset[Regex]
    nullable: bool = False

    @staticmethod
    def at(state: Preferred, pending: Iterable[Regex] = (), *, nullable: bool = False) -> Blocked:
        """The state where matching is at `state`, earlier matches being followed by `pending`."""
        after = {state.rests()} if state.nullable else set()
        return Blocked(state, frozenset(after.union(pending)) - {ANY}, nullable)

    def moves(self) -> list[tuple[CharSet, Blocked]]:
        """See `LeafState`."""
        cut: list[tuple[CharSet, tuple[object, object]]] = [(ALL, (None, None))]
        cut += [(of, (self, to)) for of, to in self.state.known_moves()]
        cut += [(of, (rest, to)) for rest in self.pending for of, to in rest.steps()]
        found = []
        for of, facts in refine(cut):
            after = dict(facts)
            state = after.get(self)
            if not isinstance(state, Preferred):
                state = replace(self.state, entries=())
            rests = {_target(after, rest) for rest in self.pending}
            left = {rest for rest in rests if not rest.is_empty()}
            if state.entries or left or left != rests:
                found.append((of, Blocked.at(state, left, nullable=left != rests)))
        return found


@dataclass(frozen=True)
class Begun:
    """The texts that begin with a match which is in some language; a `LeafState`.

    language: what is left of it. pending: what may still follow what has been read if it has begun
    with one.
    """

    state: Preferred
    language: Regex
    pending: Regex

    @staticmethod
    def at(state: Preferred, language: Regex, pending: Regex) -> Begun:
        """The state where matching is at `state`, earlier matches being followed by `pending`."""
        return Begun(state, language, alt(pending, state.rests()) if language.nullable else pending)

    @property
    def nullable(self) -> bool:
        """Has the text so far begun with one if nothing follows?"""
        return self.pending.nullable

    def moves(self) -> list[tuple[CharSet, Begun]]:
        """See `LeafState`."""
        cut: list[tuple[CharSet, tuple[object, object]]] = [
            *((of, (0, to)) for of, to in self.state.known_moves()),
            *((of, (1, to)) for of, to in self.language.steps()),
            *((of, (2, to)) for of, to in self.pending.steps()),
        ]
        nothing = replace(self.state, entries=())
        found = []
        for of, facts in refine(cut):
            after = dict(facts)
            state = after.get(0)
            state = state if isinstance(state, Preferred) else nothing
            found.append((of, Begun.at(state, _target(after, 1), _target(after, 2))))
        return found


@dataclass(frozen=True)
class Ending:
    """The texts that are the match where the right ones follow; a `LeafState`."""

    state: Preferred

    @property
    def nullable(self) -> bool:
        """Does the match end here for some text that follows?"""
        return not self.state.rests().is_empty()

    def moves(self) -> list[tuple[CharSet, Ending]]:
        """See `LeafState`."""
        return [(of, Ending(to)) for of, to in self.state.known_moves()]


def _target(facts: dict[object, object], key: object) -> Regex:
    found = facts.get(key, EMPTY)
    return found if isinstance(found, Regex) else EMPTY


def _lookbehinds(node: Node) -> Iterator[Look]:
    """The lookbehinds of a node, those inside lookaheads aside."""
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
