"""In: how a lexeme ended, and where. Out: what may come next: where syntax meets bytes.

A machine is a deterministic pushdown automaton over labels. What is open is a stack of immutable
frames; each frame has one lexer state at which reading goes on. What a label does depends on the
innermost frame alone, so the engine asks each (frame, label) only once, whatever lies below.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from structgen.automata.lexer.lexer import End, LexState, Text, Vector
from structgen.automata.lexer.lexicon import Lexicon, lexicon_of
from structgen.regular.regex import Regex

END_OF_TEXT = "end"  #: the label with which the whole text may end
UNUSED, LOOKED_AT, COMPARED, KEPT = 0, 1, 2, 3  #: what the text of a lexeme is needed for
SKIP = "skip"  #: the label that leads from the entry of a frame to its lexeme


_NOTHING = lexicon_of((), (END_OF_TEXT, SKIP))


class Frame:
    """What is open innermost at some place of a text. Compared by identity.

    lexeme: what comes next. entry: what is read before (white space, a colon); it ends early with
    SKIP, and belongs to no frame in particular, so that frames share its states; None if nothing.
    low, high: of a lexeme that is one of several names, those with a position in this range count;
    allowed: and whose bit is set in these bytes, None for all; checklist: and that is not ticked
    off there. alike: a frame in which all labels do the same that the lexeme can end with;
    begun: one in which those of scalars do; is_scalar: whether nothing but a scalar can come;
    recalls: whether what comes after the entry depends on what is kept, so that SKIP is asked for.
    The lexeme then says how a text can begin whatever is kept; where it ends, the text, LOOKED_AT,
    is read again.
    opens: equal in frames in which each label opens the same, while `begun` waits; None if none do.
    """

    __slots__ = (
        "alike", "allowed", "begun", "entry", "high", "is_scalar", "key_set", "lexeme", "low",
        "opens", "recalls",
    )  # fmt: skip

    def __init__(self, lexeme: LexState, entry: LexState | None = None) -> None:
        self.lexeme = lexeme
        self.entry = entry
        self.low = 0
        self.high = 0
        self.allowed: bytes | None = None
        self.key_set: KeySet | None = None
        self.alike: Frame = self
        self.begun: Frame = self
        self.is_scalar = self.recalls = False
        self.opens: Hashable = None


class KeySet:
    """Positions of names that may come once each, in some frames that keep no account of it.

    size: positions are below it. required, possible: those that must come, and those that may.
    endless: whether other texts may always follow. after: the frames in which only more may follow,
    only the end, or either, None for those that nothing leads to. Compared by identity.
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


class Goto(NamedTuple):
    """The frame becomes another one. keeps: what has just been read is kept beside it."""

    frame: Frame
    captures: bool = False


def goto(frame: Frame | None) -> Goto | None:
    """The move to a frame, if there is one."""
    return None if frame is None else Goto(frame)


class GotoIfNew(NamedTuple):
    """The same, unless the text just read (a JSON string, as spelled) was taken in it before."""

    frame: Frame
    captures: bool = False


class Recall(NamedTuple):
    """The same, and the label happens once more, there: what it does depends on what is kept."""

    frame: Frame
    captures: bool = True


class MarkSeen(NamedTuple):
    """As Goto, and a position is ticked off, which it must not have been before."""

    frame: Frame
    position: int


class CheckKeys(NamedTuple):
    """The frame becomes one of those of the checklist, according to what is ticked off."""

    key_set: KeySet


class Push(NamedTuple):
    """`frame` opens; the one below becomes `waiting`."""

    frame: Frame
    waiting: Frame


class Pop(NamedTuple):
    """The frame closes, and `terminal` happens in the one below."""

    terminal: Hashable


class Capture(NamedTuple):
    """A value that was kept: the frame in which it was read, and the text taken last before it."""

    frame: Frame
    key: bytes
    value: Any


Action = Goto | GotoIfNew | Recall | MarkSeen | CheckKeys | Push | Pop


FrameT = TypeVar("FrameT", bound=Frame)


class Stack(Generic[FrameT]):
    """A frame and the stack below it. costs: room for what the machine has found out about it."""

    __slots__ = ("below", "costs", "frame")

    def __init__(self, frame: FrameT, below: Stack[FrameT] | None) -> None:
        self.frame = frame
        self.below = below
        self.costs: dict[int, int] = {}


class Machine(ABC, Generic[FrameT]):
    """The syntax of one spec, with its own kind of frames."""

    @property
    @abstractmethod
    def start(self) -> FrameT:
        """The frame before any text."""

    @property
    def lexicon(self) -> Lexicon:
        """Lexer states that are numbered before all others, the same for many machines."""
        return _NOTHING

    @abstractmethod
    def action(self, frame: FrameT, terminal: Hashable, text: bytes) -> Action | None:
        """What a lexeme that ended with `terminal` does, or None when it is not allowed.

        text: the bytes that the lexeme's recorded states have read, for labels that need them (the
        move is a Goto then); b"" for others. The same arguments give the same frames.
        """

    def predicted_state(self, _frame: FrameT, _terminal: Hashable) -> LexState | None:
        """What can be read behind a label, where that is plain before it is found what it does.

        White space behind which a quote may come, once an object is opened; behind a value, the
        comma and the same. None where that is not so, or not plain.
        """
        return None

    def with_captures(
        self, _frame: FrameT, _terminal: Hashable, _captures: list[Capture]
    ) -> FrameT | None:
        """The frame after a label that depends on the values kept beside `frame`, if it is allowed.

        That is SKIP where the frame recalls, or a label that a Recall led there.
        """
        return None

    def value(self, text: bytes) -> Any:
        """The value of a lexeme that is kept, from its text."""
        return text

    def whole(self, _frame: FrameT, kept: list[Capture]) -> Any:
        """The value that closed in `frame`, from those kept inside of it."""
        return tuple(kept)

    def with_seen_keys(self, frame: FrameT, _positions: Iterable[int]) -> FrameT:
        """The frame that knows by itself what is ticked off beside it, for `cost` and the like."""
        return frame

    def compares(self, _frame: FrameT) -> bool:
        """Whether what is read in the frame's lexeme decides which texts can follow it."""
        return False

    @abstractmethod
    def cost(self, stack: Stack[FrameT]) -> int:
        """Fewest bytes from where the innermost frame begins, before its lexeme, to the end."""

    @abstractmethod
    def floor(self, stack: Stack[FrameT]) -> int:
        """A lower bound on the cost of every stack that an event in `stack` can lead to."""

    @staticmethod
    @abstractmethod
    def needs_text(terminal: Hashable) -> int:
        """What the text is for: UNUSED, LOOKED_AT by `action`, COMPARED by `GotoIfNew`, or KEPT."""

    @abstractmethod
    def expected(self, frame: FrameT) -> str:
        """What may come next at the start of the frame's lexeme, in words."""

    def words(self, _frame: FrameT) -> list[tuple[Hashable, bytes]] | None:
        """The ways to read the frame's lexeme, by label in the fewest bytes, if these are all."""
        return None

    def missing(self, _frame: FrameT) -> str:
        """What must still come before the innermost open value can end, in words; "" if nothing."""
        return ""


@dataclass(frozen=True)
class _Whole:
    """The role of a text that is the whole spec."""

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
        return UNUSED

    def expected(self, _frame: Frame) -> str:
        """See `Machine.expected`."""
        return self._words
