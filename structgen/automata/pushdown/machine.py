"""The machine of a spec: a deterministic pushdown automaton over terminals, above the lexer.

What is open is a stack of immutable frames (an object, an array, ...). Each frame has one lexer
state at which reading goes on. When a lexeme ends, its terminal has an action in the innermost
frame: the frame becomes another one (`Goto` and its variants), a frame opens above it (`Push`), or
it closes (`Pop`). The action depends on the innermost frame alone, so the engine asks for each
(frame, terminal) only once, whatever lies below.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy.typing as npt

from structgen.automata.lexer.lexer import End, LexState, Text, Vector
from structgen.automata.lexer.lexicon import Lexicon, lexicon_of
from structgen.regular.regex import Regex

END_OF_TEXT = "end"  #: the terminal with which the whole text may end
SKIP = "skip"  #: the terminal that leads from the entry of a frame to its lexeme

# What the captured text of a terminal is needed for.
TEXT_UNUSED = 0
TEXT_READ = 1  #: `Machine.action` decides by it
TEXT_COMPARED = 2  #: it must differ from the texts read before in the frame (`NewText`)
TEXT_CAPTURED = 3  #: it is captured for later actions


class Frame:
    """What is open innermost at some place of a text. Compared by identity.

    lexeme: the lexer state of what comes next. entry: what is read before it (white space, a
    colon), None if nothing; it ends early with the terminal SKIP and says nothing of the frame, so
    that frames share its states.

    low, high: where the lexeme is one of several names, those with a number in this range are
    allowed; allowed: a bit per name, which further restricts them, None for all; key_set: names
    that are also allowed only while they have not been seen.

    actions_of: a frame with the same actions for all terminals that the lexeme can end with;
    in_scalar: one with the same actions for scalars' terminals. Such frames share one entry of the
    action table. opens: equal in frames in which each terminal opens the same frame while
    `in_scalar` waits below; None if none do. only_scalar: whether only a scalar can come.

    recalls: whether what comes after the entry depends on captures. SKIP is asked for with these
    then. Until it is answered the lexeme covers all beginnings that some captures allow; where it
    ends, its captured text (TEXT_READ) is read again.
    """

    __slots__ = (
        "actions_of", "allowed", "entry", "high", "in_scalar", "key_set", "lexeme", "low",
        "only_scalar", "opens", "recalls",
    )  # fmt: skip

    def __init__(self, lexeme: LexState, entry: LexState | None = None) -> None:
        self.lexeme = lexeme
        self.entry = entry
        self.low = 0
        self.high = 0
        self.allowed: bytes | None = None
        self.key_set: KeySet | None = None
        self.actions_of: Frame = self
        self.in_scalar: Frame = self
        self.only_scalar = self.recalls = False
        self.opens: Hashable = None


class KeySet:
    """The keys of an object that may come once each; those seen are kept beside the frames.

    size: keys are numbers below it. required, possible: those that must come, and those that may.
    endless: whether other keys may always follow. after: the frames in which only more keys may
    follow, only the end, or either; None for those that nothing leads to. Compared by identity.
    """

    __slots__ = ("after", "endless", "possible", "required", "size")

    def __init__(
        self, size: int, required: Iterable[int], possible: Iterable[int], endless: bool
    ) -> None:
        self.size = size
        self.required = tuple(required)
        self.possible = tuple(possible)
        self.endless = endless
        self.after: tuple[Frame | None, ...] = ()


@dataclass(frozen=True, eq=False)
class Preset:
    """Frames that many specs share, with all their actions.

    tables: arrays that fresh tables start with, by name. sizes: entries of `sizes` by index (see
    `kernels.tables`). checks, pushes: the actions that frames share, see `Actions`.
    """

    frames: tuple[Frame, ...] = ()
    key_sets: tuple[KeySet, ...] = ()
    tables: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    checks: dict[int, dict[int, int]] = field(default_factory=dict)
    pushes: dict[Hashable, dict[int, int]] = field(default_factory=dict)

    @cached_property
    def frame_ids(self) -> dict[Frame, int]:
        """The number of each frame."""
        return {frame: number for number, frame in enumerate(self.frames)}

    @cached_property
    def key_set_ids(self) -> dict[KeySet, int]:
        """The number of each key set."""
        return {key_set: number for number, key_set in enumerate(self.key_sets)}


class Prepared(NamedTuple):
    """What the engines of many specs start with: lexer states, and frames over these."""

    lexicon: Lexicon
    preset: Preset = Preset()


NOTHING_PREPARED = Prepared(lexicon_of((), (END_OF_TEXT, SKIP)))


class Goto(NamedTuple):
    """The frame becomes another one. captures: the text just read is captured beside it."""

    frame: Frame
    captures: bool = False


def goto(frame: Frame | None) -> Goto | None:
    """The action that leads to a frame; None for no frame."""
    return None if frame is None else Goto(frame)


class NewText(NamedTuple):
    """As `Goto`, but not allowed if the same text (a JSON string) was read in the frame before."""

    frame: Frame
    captures: bool = False


class Recall(NamedTuple):
    """As `Goto`, and the terminal happens again there, where captures decide its action."""

    frame: Frame
    captures: bool = True


class NewKey(NamedTuple):
    """As `Goto`, and a key of the key set is marked as seen, which it must not have been before."""

    frame: Frame
    key: int


class CheckKeys(NamedTuple):
    """The frame becomes one of `KeySet.after`, according to which keys have been seen."""

    key_set: KeySet


class Push(NamedTuple):
    """A frame opens; the one below it becomes `waiting`."""

    frame: Frame
    waiting: Frame


class Pop(NamedTuple):
    """The frame closes, and `terminal` happens in the one below."""

    terminal: Hashable


class Capture(NamedTuple):
    """A captured value, the frame in which it was read, and the key read last before it."""

    frame: Frame
    key: bytes
    value: Any


Action = Goto | NewText | Recall | NewKey | CheckKeys | Push | Pop


FrameT = TypeVar("FrameT", bound=Frame)


class Stack(Generic[FrameT]):
    """A frame and the stack below it. costs: a cache for the machine."""

    __slots__ = ("below", "costs", "frame")

    def __init__(self, frame: FrameT, below: Stack[FrameT] | None) -> None:
        self.frame = frame
        self.below = below
        self.costs: dict[int, int | None] = {}


class Machine(ABC, Generic[FrameT]):
    """The syntax of one spec, with its own kind of frames."""

    @property
    @abstractmethod
    def start(self) -> FrameT:
        """The frame before any text."""

    @property
    def prepared(self) -> Prepared:
        """Lexer states and frames that are numbered before all others, shared by many machines."""
        return NOTHING_PREPARED

    @abstractmethod
    def action(self, frame: FrameT, terminal: Hashable, text: bytes) -> Action | None:
        """The action of a lexeme that ended with `terminal`, or None when it is not allowed.

        text: the bytes that the lexeme's recorded states have read, for terminals that need them
        (the action is a Goto then); b"" for others. The same arguments give the same frames.
        """

    def predicted_state(self, _frame: FrameT, _terminal: Hashable) -> LexState | None:
        """What can be read after a terminal, where that is plain without computing its action.

        A mask needs no more of a value that opens late in a token. For example, after `{` white
        space and a quote; after a member's value a comma. None where it is not plain.
        """
        return None

    def with_captures(
        self, _frame: FrameT, _terminal: Hashable, _captures: list[Capture]
    ) -> FrameT | None:
        """The frame after a terminal whose action depends on captures, or None if not allowed.

        That is SKIP where the frame recalls, or a terminal that a `Recall` led here.
        """
        return None

    def value(self, text: bytes) -> Any:
        """The value of a captured lexeme, from its text."""
        return text

    def whole(self, _frame: FrameT, kept: list[Capture]) -> Any:
        """The value of a container that closed in `frame`, from the captures in it."""
        return tuple(kept)

    def with_seen_keys(self, frame: FrameT, _keys: Iterable[int]) -> FrameT:
        """The frame with the seen keys in it, for `cost`, `expected` and the like."""
        return frame

    def compares(self, _frame: FrameT) -> bool:
        """Whether the text of the frame's lexeme decides which texts can follow it."""
        return False

    @abstractmethod
    def cost(self, stack: Stack[FrameT]) -> int:
        """Fewest bytes from the innermost frame's entry on to the end of the text."""

    @abstractmethod
    def floor(self, stack: Stack[FrameT]) -> int:
        """A lower bound on the cost of all stacks that an action in `stack` can lead to."""

    @staticmethod
    @abstractmethod
    def needs_text(terminal: Hashable) -> int:
        """What the captured text of a terminal is needed for: TEXT_UNUSED, ..."""

    @abstractmethod
    def expected(self, frame: FrameT) -> str:
        """What may come next at the start of the frame's lexeme, in words."""

    def words(self, _frame: FrameT) -> tuple[list[tuple[Hashable, bytes]], bool]:
        """Ways to read the frame's lexeme, as terminals with fewest bytes; whether these are all.

        The most needed first.
        """
        return [], False

    def missing(self, _frame: FrameT) -> str:
        """What must still come before the innermost open value can end, in words; "" if nothing."""
        return ""


@dataclass(frozen=True)
class _Whole:
    """The role of a text that is the whole input."""

    quoted: bool = False
    recorded: bool = False
    escapes: bool = False
    surrogates: bool = False

    def end(self, vector: Vector) -> End | None:
        return End(END_OF_TEXT) if vector[0].nullable else None


class TextMachine(Machine[Frame]):
    """A spec that is one regular language: no syntax, a single lexeme, the end of the text."""

    def __init__(self, language: Regex, words: str) -> None:
        self._start = Frame(Text((language,), _Whole()))
        self._words = words

    @property
    def start(self) -> Frame:
        """See `Machine.start`."""
        return self._start

    def action(self, _frame: Frame, _terminal: Hashable, _text: bytes) -> None:
        """Nothing follows the only lexeme."""

    def cost(self, _stack: Stack[Frame]) -> int:
        """Nothing follows the only lexeme."""
        return 0

    def floor(self, _stack: Stack[Frame]) -> int:
        """Nothing follows the only lexeme."""
        return 0

    @staticmethod
    def needs_text(_terminal: Hashable) -> int:
        """See `Machine.needs_text`."""
        return TEXT_UNUSED

    def expected(self, _frame: Frame) -> str:
        """See `Machine.expected`."""
        return self._words
