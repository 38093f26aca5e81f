"""The kinds of regular-expression nodes, and what each knows about itself without a search.

Nodes are made by the constructors of `build` and `logic`, which give them parts in normal form, and
derived by the rules in `structgen.regular.regex`. Here each kind says whether it is nullable, how
long its members are, and whether it is non-empty as far as that is evident.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakValueDictionary

from structgen.regular.charset import ALL, CharSet, one_character
from structgen.regular.expressions.base import EMPTY, EPSILON, INFINITE, Regex, intern, intern_in

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PIECE = 8  # characters of a text that are read at once


class SubAutomatonState(Protocol):
    """A state of a deterministic automaton that is no expression, such as a format's or a number's.

    Hashable; equal iff interchangeable. Beside what is declared below it may have:

    - `shortest`: a lower bound on the length of what it accepts. `live`: it is known to accept
      something, and then `witness`: the length of something that it accepts. `ending`: a text that
      it accepts, None if it is not known; without `witness`, a shortest text. `filler`: characters
      of which any number may follow behind `ending`. `closing`: all characters that an `ending` may
      have.
    - `reads`: disjoint character sets; each move of this state and of all states after it is a
      union of these, and all these states are non-empty.
    - `unread`: characters that this state and all after it do not read where a text may end.
    - `again`: a character set, and how many characters of it may follow in any order, without that
      the text gets farther from an end by more than one, and `straying` if there is one.
    - `base` and `special_steps`: a state with the same moves except for certain characters, and the
      moves by these; None for characters that cannot follow.
    - `spans()`: the moves as a list of states, None for dead ones; for each class of characters an
      index into this list, -1 for none; and int32[k, 3]: first and last code point and class,
      ascending.
    - `boundless`: the same state without bounds on the length of texts, and how many characters may
      follow before that makes a difference.
    - `free_within(least, most)`: for how many characters it makes no difference to how a text goes
      on that it must end with `least` to `most` characters from here. `length_from(least)`: the
      length of something that it accepts, of at least so many characters, and few more; None where
      nothing is known.
    - `halves`: states of other sub-automata, or expressions, of which a text must fit all. Each has
      such endings (`witness`, `ending`) that the longest of these is one of all.
    - `estimates`: two expressions that can be joined with others sooner: of texts that it accepts,
      for all but a few, and of all that it accepts, and a few more. They stand for it beside other
      demands and in complements. `within(low, high)`: an expression for those of its texts that
      have so many characters; None where that is no other than the two beside each other.
    - `table()`: all states (`StateTable`), and `number`: the row of this state; `reads` then has a
      column for each of its sets.
    - `listing()`: all states (`StateListing`); `number`: the row of this state, `at(row)`: others.
    """

    @property
    def nullable(self) -> bool:
        """May a text end here?"""

    def moves(self) -> Sequence[tuple[CharSet, SubAutomatonState]]:
        """Disjoint character sets with the states they lead to, which may be dead."""


class StateTable(NamedTuple):
    """All states of a sub-automaton.

    moves: int32[S, len(reads)], the next state by class of characters, -1 for none. ends: uint8[S],
    whether a text may end. least: int64[S], the fewest characters that end a text.
    """

    moves: npt.NDArray[np.int32]
    ends: npt.NDArray[np.uint8]
    least: npt.NDArray[np.int64]


class StateListing(NamedTuple):
    """All states of a sub-automaton, each live.

    spans: int32[k, 3], ascending, first and last code point and a column of `moves`. moves:
    int32[S, C], the next state, -1 for none. ends: uint8[S], whether a text may end. loops:
    int64[S], often: uint8[S], see `RegexAutomaton`.
    """

    spans: npt.NDArray[np.int32]
    moves: npt.NDArray[np.int32]
    ends: npt.NDArray[np.uint8]
    loops: npt.NDArray[np.int64]
    often: npt.NDArray[np.uint8]


class Delayed(Protocol):
    """An expression made only when it is walked; hashable, equal iff interchangeable."""

    @property
    def nullable(self) -> bool:
        """Is the empty string a member?"""

    @property
    def shortest(self) -> int:
        """A lower bound on the length of the members."""

    @property
    def reads(self) -> Iterable[CharSet]:
        """Sets of characters from which all are made that its derivatives read."""

    def expand(self) -> Regex:
        """The expression. Its `steps` must not depend on those of the node that delays it."""


class Chars(Regex):
    """One character out of a set."""

    __slots__ = ("chars",)

    def __init__(self, chars: CharSet) -> None:
        self.chars = chars
        self._describe(False, 1, 1, length_gap=1)


class Literal(Regex):
    """One text of at least two characters."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text
        self._describe(False, len(text), len(text), length_gap=1)


class WordTable:
    """Sorted distinct words, hash-consed: nodes share a list of 10,000 words at no cost."""

    __slots__ = ("__weakref__", "lengths", "words")

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words
        self.lengths = [len(word) for word in words]


_word_tables: WeakValueDictionary[tuple[str, ...], WordTable] = WeakValueDictionary()


def word_table(words: tuple[str, ...]) -> WordTable:
    """The one table of these words, which must be sorted and distinct."""
    return intern_in(_word_tables, words, WordTable)


class Words(Regex):
    """The words `table.words[low:high]`, two or more, without their first `depth` letters."""

    __slots__ = ("depth", "high", "low", "table")

    def __init__(self, table: WordTable, low: int, high: int, depth: int) -> None:
        self.table, self.low, self.high, self.depth = table, low, high, depth
        lengths = table.lengths[low:high]
        few, most = min(lengths), max(lengths)
        self._describe(
            lengths[0] == depth, few - depth, most - depth, length_gap=max(most - few, 1)
        )

    def members(self) -> list[str]:
        """All words of this language, sorted."""
        return [word[self.depth :] for word in self.table.words[self.low : self.high]]

    def has(self, text: str) -> bool:
        """Whether a text is one of the words."""
        listed = self.table.words
        whole = listed[self.low][: self.depth] + text
        at = bisect_left(listed, whole, self.low, self.high)
        return at < self.high and listed[at] == whole


class SubAutomaton(Regex):
    """The language of a sub-automaton from one of its states on."""

    __slots__ = ("state",)

    def __init__(self, state: SubAutomatonState) -> None:
        self.state = state
        nullable = state.nullable
        least, known = getattr(state, "shortest", 1), getattr(state, "witness", None)
        if known is None and hasattr(state, "ending"):
            least = known = len(state.ending)
        self._describe(nullable, 0 if nullable else max(1, least), INFINITE, plain=False)
        if getattr(state, "live", False):
            self._nonempty = True
            self.witness = 0 if nullable else INFINITE if known is None else known


class Lazy(Regex):
    """An expression made when it is walked, so that it may refer to itself after a character."""

    __slots__ = ("_expanded", "source")

    _expanded: Regex | None

    def __init__(self, source: Delayed) -> None:
        self.source = source
        self._expanded = None
        self._describe(source.nullable, source.shortest, INFINITE, plain=False)

    def expanded(self) -> Regex:
        """The expression, made once."""
        if self._expanded is None:
            self._expanded = self.source.expand()
        return self._expanded

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return (self.expanded(),)


class Concat(Regex):
    """`head` then `tail`; `head` is never itself a concatenation."""

    __slots__ = ("head", "tail")

    def __init__(self, head: Regex, tail: Regex) -> None:
        self.head, self.tail = head, tail
        self._describe(
            head.nullable and tail.nullable,
            head.shortest + tail.shortest,
            min(head.longest + tail.longest, INFINITE),
            plain=head.plain and tail.plain,
            length_gap=max(head.length_gap, tail.length_gap),
        )
        self.witness = min(head.witness + tail.witness, INFINITE)
        if not self.plain and tail.known_nonempty() and head.known_nonempty():
            self._nonempty = True  # so it is known of every longer sequence, too

    def known_nonempty(self) -> bool | None:  # noqa: D102
        if self._nonempty is None:
            head, tail = self.head.known_nonempty(), self.tail._nonempty
            if head is False or tail is False:
                self._nonempty = False
            elif head and tail:
                self._nonempty = True
        return self._nonempty

    @property
    def parts_in_order(self) -> list[Regex]:
        """The parts of the sequence; nested tails may be too deep for recursion."""
        found: list[Regex] = []
        at: Regex = self
        while isinstance(at, Concat):
            found.append(at.head)
            at = at.tail
        return [*found, at]

    @property
    def ends_in_anything(self) -> bool:
        """Whether the last part is the language of all texts."""
        at: Regex = self
        while isinstance(at, Concat):
            at = at.tail
        return at is ANY

    def spine(self) -> Iterable[tuple[Regex, Regex]]:
        """The parts that can come first (all before them nullable), each with what follows it."""
        node: Regex = self
        while isinstance(node, Concat):
            yield node.head, node.tail
            if not node.head.nullable:
                return
            node = node.tail
        yield node, EPSILON

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return [head for head, _ in self.spine()]


class Repeat(Regex):
    """Between `low` and `high` times `body`; `high` may be `INFINITE`."""

    __slots__ = ("body", "high", "low")

    def __init__(self, body: Regex, low: int, high: int) -> None:
        self.body, self.low, self.high = body, low, high
        shortest, longest, length_gap = body.shortest, body.longest, body.length_gap
        if low < high:
            gap = shortest - max(low, 1) * (longest - shortest)
            length_gap = max(length_gap, gap, 0 if low else shortest)
        self._describe(
            low == 0 or body.nullable,
            low * shortest,
            min(high * longest, INFINITE),
            plain=body.plain,
            length_gap=length_gap,
        )
        if low > 0 and not body.nullable:
            self.witness = min(low * body.witness, INFINITE)

    def known_nonempty(self) -> bool | None:  # noqa: D102
        if self._nonempty is None:
            self._nonempty = self.body._nonempty
        return self._nonempty

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return (self.body,)


class Alt(Regex):
    """A member of any of `parts` (two or more, none of them an alternative itself)."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Regex, ...]) -> None:
        self.parts = parts
        bounds = sorted((part.shortest, part.longest) for part in parts)
        longest = bounds[0][1]
        length_gap = max(part.length_gap for part in parts)
        for low, high in bounds:
            length_gap = max(length_gap, low - longest)
            longest = max(longest, high)
        nullable = any(part.nullable for part in parts)
        plain = all(part.plain for part in parts)
        self._describe(nullable, bounds[0][0], longest, plain=plain, length_gap=length_gap)
        self.witness = min(part.witness for part in parts)

    def known_nonempty(self) -> bool | None:  # noqa: D102
        if self._nonempty is None:
            verdicts = [part._nonempty for part in self.parts]
            if True in verdicts:
                self._nonempty = True
            elif None not in verdicts:
                self._nonempty = False
        return self._nonempty

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return self.parts


class And(Regex):
    """A member of every one of `parts` (two or more, none of them an intersection itself)."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Regex, ...]) -> None:
        self.parts = parts
        shortest = max(part.shortest for part in parts)
        longest = min(part.longest for part in parts)
        nullable = all(part.nullable for part in parts)
        self._describe(nullable, shortest, longest, plain=False)
        if len(parts) == 2 and is_length_bound(parts[0]) != is_length_bound(parts[1]):
            span, other = parts if is_length_bound(parts[0]) else parts[::-1]
            if shortest > longest:
                self._nonempty = False
            elif other.length_gap < INFINITE and longest - shortest + 1 >= other.length_gap:
                self._nonempty = True
                self.witness = shortest + other.length_gap - 1
            elif other.shortest >= span.shortest and other.witness <= span.longest:
                self._nonempty = True
                self.witness = other.witness

    def known_nonempty(self) -> bool | None:  # noqa: D102
        if self._nonempty is None and any(part._nonempty is False for part in self.parts):
            self._nonempty = False
        return self._nonempty

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return self.parts


class Not(Regex):
    """Every string that is no member of `body`."""

    __slots__ = ("body",)

    def __init__(self, body: Regex) -> None:
        self.body = body
        self._describe(not body.nullable, 1 if body.nullable else 0, INFINITE, plain=False)
        if body.longest < INFINITE:
            self._nonempty = True
            self.witness = min(self.witness, body.longest + 1)

    def sources(self) -> Iterable[Regex]:  # noqa: D102
        return (self.body,)


def is_length_bound(node: Regex) -> bool:
    """True for any character{low,high}: nothing but a bound on the length."""
    return (isinstance(node, Repeat) and node.body is ANY_CHAR) or node is ANY_CHAR


ANY_CHAR: Regex = intern(Chars, ALL)
ANY: Regex = intern(Repeat, ANY_CHAR, 0, INFINITE)


def matches(root: Regex, text: str) -> bool:
    """True iff the whole of `text` is a member; never searches."""
    if isinstance(root, Not):
        return not matches(root.body, text)
    if isinstance(root, And):
        return all(matches(part, text) for part in root.parts)
    if isinstance(root, Literal):
        return root.text == text
    if isinstance(root, Words):
        return root.has(text)
    if isinstance(root, Alt) and not root.plain:  # the cheap alternatives first
        return any(matches(part, text) for part in sorted(root.parts, key=_is_foreign))
    node = root
    while isinstance(node, Concat) and isinstance(node.head, Literal):
        if not text.startswith(node.head.text):
            return False
        text, node = text[len(node.head.text) :], node.tail
    for begin in range(0, len(text), PIECE):
        node = _behind(node, text[begin : begin + PIECE])
        if node is EMPTY:
            return False
    return node.nullable


@lru_cache(maxsize=4096)
def _behind(node: Regex, piece: str) -> Regex:
    """The derivative by a piece of a text; many texts begin alike, as the keys that may come do."""
    for letter in piece:
        node = node.after(ord(letter))
        if node is EMPTY:
            break
    return node


def is_listed(node: Regex) -> bool:
    """Whether a node is a sub-automaton that has a table of all its states."""
    return isinstance(node, SubAutomaton) and hasattr(node.state, "table")


def is_vast(node: Regex) -> bool:
    """Whether a node is a sub-automaton that neither lists its states nor says what it reads."""
    state = node.state if isinstance(node, SubAutomaton) else None
    return state is not None and not (hasattr(state, "reads") or hasattr(state, "table"))


def is_open_ended(language: object) -> bool:
    """Whether most texts can be continued in a language: the one of all texts, or a complement."""
    return language is ANY or isinstance(language, Not)


def open_ended_index(vector: Sequence[object]) -> int | None:
    """The index of the only open-ended language of several; None if there is not exactly one."""
    found = [place for place, language in enumerate(vector) if is_open_ended(language)]
    return found[0] if len(found) == 1 else None


def texts_of(language: object) -> list[str] | None:
    """The members of a word list, a literal or the empty language; None of other languages."""
    if isinstance(language, Words):
        return language.members()
    if isinstance(language, Literal):
        return [language.text]
    return [] if language is EMPTY else None


def parts_within(
    languages: Iterable[Regex], is_whole: Callable[[Regex], bool] = lambda _: False
) -> Iterator[Regex]:
    """All parts of some languages, each once.

    is_whole: those whose own parts are not asked, as those of `Lazy` ones never are.
    """
    waiting = [*languages]
    seen = {*waiting}
    while waiting:
        yield (node := waiting.pop())
        if not (isinstance(node, Lazy) or is_whole(node)):
            inner = (node.head, node.tail) if isinstance(node, Concat) else node.sources()
            new = {*inner} - seen
            seen |= new
            waiting += new


def sets_read(languages: Iterable[Regex]) -> list[CharSet] | None:
    """Sets of characters from which all are made that derivatives of some languages read.

    None where a sub-automaton does not say.
    """
    found: dict[CharSet, None] = {}
    for node in parts_within(languages):
        match node:
            case Chars():
                found[node.chars] = None
            case Literal() | Words():
                found |= dict.fromkeys(map(one_character, {*"".join(texts_of(node) or ())}))
            case SubAutomaton():
                if not hasattr(node.state, "reads"):
                    return None
                found |= dict.fromkeys(node.state.reads)
            case Lazy():
                found |= dict.fromkeys(node.source.reads)
    return [*found]


def holds_loops(language: Regex, *, anywhere: bool = False) -> bool:
    """Whether a part of a language is `Lazy`; anywhere: also of an intersection or complement."""

    def is_whole(part: Regex) -> bool:
        return part.plain or (isinstance(part, And | Not) and not anywhere)

    return any(isinstance(part, Lazy) for part in parts_within((language,), is_whole))


def _is_foreign(node: Regex) -> bool:
    return not node.plain
