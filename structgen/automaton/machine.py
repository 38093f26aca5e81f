"""In: how a lexeme ended, and where. Out: what may come next: where syntax meets bytes.

A machine is a deterministic pushdown automaton over labels. Its contexts are immutable frames; each
frame has one lexer state at which reading goes on. The engine interns both as ints and asks each
(frame, label) only once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from structgen.automaton.lexer import End, LexState, Text, Vector
from structgen.automaton.regex import Regex

END_OF_TEXT = "end"  #: the label with which the whole text may end


class Frame:
    """What is open at some place of a text, and the lexer state to go on from. By identity."""

    __slots__ = ("lexeme",)

    def __init__(self, lexeme: LexState) -> None:
        self.lexeme = lexeme


FrameT = TypeVar("FrameT", bound=Frame)


class Machine(ABC, Generic[FrameT]):
    """The syntax of one spec, with its own kind of frames."""

    @property
    @abstractmethod
    def start(self) -> FrameT:
        """The frame before any text."""

    @abstractmethod
    def event(self, frame: FrameT, label: Hashable, text: bytes) -> FrameT | None:
        """The frame after a lexeme that ended with `label`, or None when that is not allowed.

        text: the bytes that the lexeme's recorded states have read (all b"" for most labels).
        The same arguments give the same frame.
        """

    def compares(self, _frame: FrameT) -> bool:
        """Whether what is read in the frame's lexeme decides which texts can follow it."""
        return False

    @abstractmethod
    def cost(self, frame: FrameT) -> int:
        """Fewest bytes from the start of the frame's lexeme to the end of the text."""

    @abstractmethod
    def floor(self, frame: FrameT) -> int:
        """A lower bound on the cost of every frame that an event in `frame` can lead to."""

    @abstractmethod
    def needs_text(self, label: Hashable) -> bool:
        """Whether `event` looks at the text for this label."""

    @abstractmethod
    def expected(self, frame: FrameT) -> str:
        """What may come next at the start of the frame's lexeme, in words."""

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

    def event(self, _frame: Frame, _label: Hashable, _text: bytes) -> None:
        """Nothing follows the only lexeme."""

    def cost(self, _frame: Frame) -> int:
        """Nothing follows the only lexeme."""
        return 0

    def floor(self, _frame: Frame) -> int:
        """Nothing follows the only lexeme."""
        return 0

    def needs_text(self, _label: Hashable) -> bool:
        """Never."""
        return False

    def expected(self, _frame: Frame) -> str:
        """See `Machine.expected`."""
        return self._words
