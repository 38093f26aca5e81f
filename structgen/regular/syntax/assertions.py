r"""Translation of patterns with anchors, word boundaries and lookarounds to exact expressions.

A part of a pattern is translated together with what follows it (its `Continuation`), because that
is where assertions look: `(?=x)r` is the intersection of `x.*` and r, `(?!x)r` that of r and the
complement of `x.*`, `$r` is the empty string if r has it. What an assertion asks about the text
before it is a `Context`: is there any, was the last character a word character, and the state of
each lookbehind.

Most assertions look at a character or two. These are put into the expressions beside them
(`structgen.regular.expressions.borders`), so that the translation is plain: `[a-z-]+\b` becomes
`[a-z-]*[a-z]` before a hyphen and `[a-z-]*-` before a letter. Where that cannot be, languages are
intersected, and read character by character with their context. Loops around assertions that see
what stands outside the loop are expanded as they are walked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from structgen.errors import BudgetError, UnsupportedSchemaError
from structgen.regular.charset import ALL, CharSet, refine, union_all
from structgen.regular.expressions.borders import UndecidedError, restrict_begin, split_by_end
from structgen.regular.expressions.build import lazy, repeat_counts
from structgen.regular.expressions.nodes import And, sets_read
from structgen.regular.regex import (
    ANY,
    EMPTY,
    EPSILON,
    INFINITE,
    Regex,
    alt,
    chars,
    complement,
    concat,
    intersect,
)
from structgen.regular.syntax.unicode import WORD
from structgen.util.cached import cached_attribute
from structgen.util.cancellation import checkpoint

_DEPTH = 100  # assertions and groups with assertions that may follow or enclose one another
CUTS_PER_UNIT = 8  # of characters, that take a unit of work
_CONTEXTS = 24  # of a pattern; where there are more, texts are not split by how they end
_EMPTY_TURNS = 20  # least count of a loop whose body may be empty and holds assertions


@dataclass(frozen=True, eq=False, slots=True)
class Edge:
    r"""`^`, `$`, `\b` or `\B`."""

    kind: Literal["start", "end", "boundary", "inside"]


@dataclass(frozen=True, eq=False, slots=True)
class Look:
    """A lookahead or lookbehind."""

    body: Node
    behind: bool
    negative: bool


@dataclass(frozen=True, eq=False, slots=True)
class Sequence:
    """Parts one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """Alternatives."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """Between `low` and `high` times a body that holds assertions."""

    body: Node
    low: int
    high: int


Node = Regex | Edge | Look | Sequence | Choice | Loop


class Context(NamedTuple):
    """What is known about the text before a position.

    `before` is "start" (nothing is there), "word" or "other"; `moved` says whether the innermost
    loop's turn has read a character; `behind` holds one state per lookbehind of the pattern.
    """

    before: str
    moved: bool
    behind: tuple[Regex, ...]


Steps = list[tuple[CharSet, dict[Context, Context]]]


class Scope:
    """What the assertions of one pattern can see: contexts that differ elsewhere are the same."""

    def __init__(self, node: Node) -> None:
        if _longest_chain(node) > _DEPTH:
            raise BudgetError(
                f"the pattern has more than {_DEPTH} assertions in a row or inside one another",
                hint="split it, or replace lookarounds by alternatives",
            )
        self._node = node
        parts = list(_assertions(node))
        kinds = {part.kind for part in parts if isinstance(part, Edge)}
        self.lookbehinds = [part for part in parts if isinstance(part, Look) and part.behind]
        self.word = not kinds.isdisjoint(("boundary", "inside"))
        self.anything: Continuation = _Fixed(ANY)
        self.origin = Context(
            "start" if self.word or "start" in kinds else "other",
            True,
            tuple(_before(look.body) for look in self.lookbehinds),
        )
        self.followed = False  # may more of the pattern follow what is translated? See `closed`
        self._thens: dict[tuple[Node, Continuation], Continuation] = {}
        self._steps: Steps | None = None
        self._closed: dict[Node, Regex | None] = {}

    @cached_attribute
    def reads(self) -> list[CharSet]:
        """See `Delayed`."""
        return [*(sets_read(_parts(self._node)) or ()), *([WORD] if self.word else [])]

    def then(self, node: Node, rest: Continuation) -> Continuation:
        """A node, then a rest; the same object for the same pair."""
        found = self._thens.get((node, rest))
        if found is None:
            found = self._thens[node, rest] = _Then(node, rest, self)
        return found

    def step(self, of: CharSet, context: Context) -> Iterable[tuple[CharSet, Context]]:
        """Cut a set of characters by the context that each leads to."""
        found = [(of, Context("other", True, ()))]
        if self.word:
            found = [(of & WORD, Context("word", True, ())), (of - WORD, found[0][1])]
        for state in context.behind:
            moves = list(state.steps())
            moves.append((~union_all([cut for cut, _ in moves]), EMPTY))
            checkpoint(1 + len(found) * len(moves) // CUTS_PER_UNIT)
            found = [
                (part & cut, Context(after.before, True, (*after.behind, target)))
                for part, after in found
                for cut, target in moves
            ]
        return [(part, after) for part, after in found if part]

    def steps(self) -> Steps:
        """All contexts as the states of an automaton: what each leads to, by disjoint characters.

        Empty where there are many.
        """
        if self._steps is None:
            moves: list[tuple[CharSet, tuple[Context, Context]]] = []
            found = [self.origin]
            for context in found:  # grows meanwhile
                for of, after in self.step(ALL, context):
                    moves.append((of, (context, after)))
                    if after not in found:
                        found.append(after)
                if len(found) > _CONTEXTS:
                    moves = []
                    break
            self._steps = [(of, dict(pairs)) for of, pairs in refine(moves)]
        return self._steps

    def closed(self, node: Node) -> Regex | None:
        """A node as a plain expression, if its assertions see nothing of what stands around it."""
        if node not in self._closed:
            self._closed[node] = self._find_closed(node)
        return self._closed[node]

    def _find_closed(self, node: Node) -> Regex | None:
        contexts = {context for _, step in self.steps() for context in step}
        inner = copy(self)
        inner.followed, inner._thens = True, {}
        alone = inner.then(node, _Fixed(EPSILON))
        try:
            found = {alone.at(context) for context in contexts}
        except UndecidedError:
            return None
        return found.pop() if len(found) == 1 and all(part.plain for part in found) else None

    def meet(self, condition: Regex, rest: Regex) -> Regex:
        """The texts of `rest` that fit the condition of an assertion on what follows.

        Raises UndecidedError where the condition depends on what follows `rest`.
        """
        parts = rest.parts if isinstance(rest, And) else (rest,)
        plain = next((part for part in parts if part.plain), None)
        if self.followed and not rest.plain:
            raise UndecidedError
        if plain is not None:
            try:
                restricted = restrict_begin(condition, plain, followed=self.followed)
            except UndecidedError:
                if self.followed:
                    raise
            else:
                return intersect(restricted, *(part for part in parts if part is not plain))
        return intersect(condition, rest)


def _longest_chain(node: Node) -> int:
    """How deep the translation of a node can recurse."""
    match node:
        case Sequence():
            return sum(_longest_chain(part) for part in node.parts)
        case Choice():
            return 1 + max(_longest_chain(part) for part in node.parts)
        case Look() | Loop():
            return 1 + _longest_chain(node.body)
        case _:
            return 1


def _assertions(node: Node) -> Iterator[Edge | Look]:
    """All assertions of a node except those inside lookbehinds."""
    match node:
        case Edge():
            yield node
        case Look(behind=True):
            yield node
        case Look() | Loop():
            if isinstance(node, Look):
                yield node
            yield from _assertions(node.body)
        case Sequence() | Choice():
            for part in node.parts:
                yield from _assertions(part)


def _parts(node: Node) -> Iterator[Regex]:
    """All parts of a node that hold no assertions."""
    match node:
        case Regex():
            yield node
        case Look() | Loop():
            yield from _parts(node.body)
        case Sequence() | Choice():
            for part in node.parts:
                yield from _parts(part)


def _before(body: Node) -> Regex:
    """All texts that end in a match of a lookbehind's body."""
    for part in _assertions(body):
        if (isinstance(part, Look) and not part.behind) or (
            isinstance(part, Edge) and part.kind != "start"
        ):
            raise UnsupportedSchemaError(
                "a lookbehind that holds an assertion about what follows is not supported",
                keyword="pattern",
                hint="move the inner assertion out of the lookbehind",
            )
    return _search(body, _Fixed(EPSILON))


class Continuation:
    """What follows a position, as a language that depends on the context there."""

    def __init__(self) -> None:
        self._known: dict[Context, Regex] = {}

    def at(self, context: Context) -> Regex:
        """The language of all texts that may follow in a context."""
        found = self._known.get(context)
        if found is None:
            found = self._known[context] = self._find(context)
        return found

    def _find(self, context: Context) -> Regex:
        raise NotImplementedError


class _Fixed(Continuation):
    """The end of the pattern."""

    def __init__(self, language: Regex) -> None:
        super().__init__()
        self._language = language

    def _find(self, _context: Context) -> Regex:
        return self._language


class _Then(Continuation):
    """A node, then a rest."""

    def __init__(self, node: Node, rest: Continuation, scope: Scope) -> None:
        super().__init__()
        self._node, self._rest, self._scope = node, rest, scope
        self._turns: dict[bool, Continuation] = {}
        self._after_first: Continuation | None = None

    def _find(self, context: Context) -> Regex:
        node, rest, scope = self._node, self._rest, self._scope
        match node:
            case Regex():
                return _read(_Reading(node, rest, scope, context))
            case Edge():
                return _edge(node, rest.at(context), context, scope)
            case Look(behind=True):
                state = context.behind[scope.lookbehinds.index(node)]
                return rest.at(context) if state.nullable != node.negative else EMPTY
            case Look():
                ahead = scope.then(node.body, scope.anything).at(context)
                return scope.meet(complement(ahead) if node.negative else ahead, rest.at(context))
            case Choice():
                return alt(*(scope.then(part, rest).at(context) for part in node.parts))
            case Sequence():
                for part in reversed(node.parts):
                    rest = scope.then(part, rest)
                return rest.at(context)
            case Loop():
                return self._loop(node, context)

    def _loop(self, node: Loop, context: Context) -> Regex:
        if node.high == 0:
            return self._rest.at(context)
        body = self._scope.closed(node.body)
        if body is not None:
            turns = repeat_counts(body, node.low, node.high)
            return _read(_Reading(turns, self._rest, self._scope, context))
        if node.low > _EMPTY_TURNS and may_be_empty(node.body):
            raise BudgetError(
                f"a repetition of {node.low} or more times something that may be empty"
                " and holds assertions",
                hint=f"ask for at most {_EMPTY_TURNS} times, or take the assertions out of it",
            )
        empty = self._rest.at(context).nullable
        if node.low > 0:
            empty = may_be_empty(node.body) and self.turn(node, context).nullable
        return lazy(_Turns(self, node, context, empty))

    def turn(self, node: Loop, context: Context) -> Regex:
        """One more turn of a loop, then the others, then the rest."""
        again = self._turns.get(context.moved)
        if again is None:
            again = _Again(self._others(node), context.moved, needed=node.low > 0)
            self._turns[context.moved] = again
        body = self._scope.then(node.body, again)
        return body.at(context._replace(moved=False))

    def _others(self, node: Loop) -> Continuation:
        """The turns of a loop after the first."""
        high = node.high if node.high == INFINITE else node.high - 1
        if node.low == 0 and high == node.high:
            return self
        if self._after_first is None:
            left = Loop(node.body, max(node.low - 1, 0), high)
            self._after_first = _Then(left, self._rest, self._scope)
        return self._after_first

    @property
    def reads(self) -> Iterable[CharSet]:
        """See `Delayed`."""
        return self._scope.reads

    def leave(self, context: Context) -> Regex:
        """What follows the loop."""
        return self._rest.at(context)


class _Again(Continuation):
    """The further turns of a loop; a turn that read nothing counts only while it is needed."""

    def __init__(self, loop: Continuation, moved: bool, *, needed: bool) -> None:
        super().__init__()
        self._loop, self._moved, self._needed = loop, moved, needed

    def _find(self, context: Context) -> Regex:
        if context.moved:
            return self._loop.at(context)
        return self._loop.at(context._replace(moved=self._moved)) if self._needed else EMPTY


@dataclass(frozen=True)
class _Turns:
    """A loop in one context, expanded when it is walked."""

    loop: _Then
    node: Loop
    context: Context
    nullable: bool

    @property
    def shortest(self) -> int:
        """A lower bound on the length."""
        return 0 if self.nullable else 1

    @property
    def reads(self) -> Iterable[CharSet]:
        """See `Delayed`."""
        return self.loop.reads

    def expand(self) -> Regex:
        """One turn more, or none."""
        more = self.loop.turn(self.node, self.context)
        return alt(self.loop.leave(self.context), more) if self.node.low == 0 else more


@dataclass(frozen=True)
class _Reading:
    """A language without assertions, then a rest that depends on how it ends."""

    language: Regex
    rest: Continuation
    scope: Scope
    context: Context
    nullable: bool = field(default=False, compare=False)

    @property
    def shortest(self) -> int:
        """A lower bound on the length."""
        return 0 if self.nullable else max(1, self.language.shortest)

    @property
    def reads(self) -> Iterable[CharSet]:
        """See `Delayed`."""
        return self.scope.reads

    def expand(self) -> Regex:
        """The next character with what follows it, and the rest where the language may end."""
        found = [self.rest.at(self.context)] if self.language.nullable else []
        for of, target in self.language.moves():
            for part, after in self.scope.step(of, self.context):
                reading = _Reading(target, self.rest, self.scope, after)
                found.append(concat(chars(part), _read(reading)))
        return alt(*found)


def _read(reading: _Reading) -> Regex:
    """A reading as an expression; a plain sequence wherever the context makes no difference."""
    language, rest, context = reading.language, reading.rest, reading.context
    here = rest.at(context) if language.nullable else EMPTY
    if language is EPSILON:
        return here
    if not reading.scope.lookbehinds:
        later = [rest.at(Context("other", True, ()))]
        if reading.scope.word:
            later.append(rest.at(Context("word", True, ())))
        if all(follow is later[0] for follow in later):
            if here is later[0] or not language.nullable:
                return concat(language, later[0])
            return alt(here, concat(_without_empty(language), later[0]))
    elif isinstance(rest, _Fixed):
        return concat(language, rest.at(context))
    if language.plain:
        with contextlib.suppress(UndecidedError):
            ends = split_by_end(language, context._replace(moved=True), reading.scope.steps())
            return alt(here, *(concat(texts, rest.at(after)) for after, texts in ends.items()))
    return lazy(_Reading(language, rest, reading.scope, context, nullable=here.nullable))


def _without_empty(language: Regex) -> Regex:
    return alt(*(concat(chars(of), target) for of, target in language.moves()))


def _edge(node: Edge, rest: Regex, context: Context, scope: Scope) -> Regex:
    if node.kind == "start":
        return rest if context.before == "start" else EMPTY
    if node.kind == "end":
        if scope.followed:
            raise UndecidedError
        return EPSILON if rest.nullable else EMPTY
    if (context.before == "word") == (node.kind == "boundary"):
        return scope.meet(alt(EPSILON, concat(chars(~WORD), ANY)), rest)
    return scope.meet(concat(chars(WORD), ANY), rest)


def may_be_empty(node: Node) -> bool:
    """False when every text that a node stands for has a character."""
    match node:
        case Regex():
            return node.nullable
        case Sequence():
            return all(may_be_empty(part) for part in node.parts)
        case Choice():
            return any(may_be_empty(part) for part in node.parts)
        case Loop():
            return node.low == 0 or may_be_empty(node.body)
        case _:
            return True


def translate(node: Node, *, anchored: bool) -> Regex:
    """The language of all texts that hold a match (`anchored`: that are one).

    Raises `BudgetError` and `UnsupportedSchemaError` for what this translation cannot do.
    """
    if isinstance(node, Regex):
        return node if anchored else concat(ANY, node, ANY)
    if not anchored:
        return _search(node, _Fixed(ANY))
    scope = Scope(node)
    return scope.then(node, _Fixed(EPSILON)).at(scope.origin)


def _search(node: Node, rest: Continuation) -> Regex:
    """Any text, then a node, then a rest."""
    scope = Scope(node)
    return scope.then(ANY, scope.then(node, rest)).at(scope.origin)
