"""In: how a lexeme ended, and where. Out: what may come next. The interface between syntax and bytes.

A machine is a deterministic pushdown automaton over labels. Its contexts are immutable frames; each
frame has one lexer state at which reading goes on. The engine interns both as ints and asks each
(frame, label) only once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable

from structgen.automaton.lexer import End, LexState, Text, Vector
from structgen.automaton.regex import Regex

END_OF_TEXT = "end"  #: the label with which the whole text may end


class Frame:
    """What is open at some place of a text, and the lexer state to go on from. By identity."""

    __slots__ = ("lexeme",)

    def __init__(self, lexeme: LexState) -> None:
        self.lexeme = lexeme


class Machine(ABC):
    """The syntax of one spec."""

    @property
    @abstractmethod
    def start(self) -> Frame:
        """The frame before any text."""

    @abstractmethod
    def event(self, frame: Frame, label: Hashable, text: bytes) -> Frame | None:
        """The frame after a lexeme that ended with `label`, or None when that is not allowed.

        text: the bytes that the lexeme's recorded states have read (all b"" for most labels).
        The same arguments give the same frame.
        """

    @abstractmethod
    def cost(self, frame: Frame) -> int:
        """Fewest bytes from the start of the frame's lexeme to the end of the text."""

    def needs_text(self, label: Hashable) -> bool:
        """Whether `event` looks at the text for this label."""
        return False

    def expected(self, frame: Frame) -> str:
        """What may come next, in words."""
        return "more text"


class _Whole:
    """The role of a text that is the whole spec."""

    quoted = False
    recorded = False

    def end(self, vector: Vector) -> End | None:
        return End(END_OF_TEXT) if vector[0].nullable else None


class TextMachine(Machine):
    """A spec that is one regular language: no syntax, a single lexeme."""

    def __init__(self, language: Regex, words: str) -> None:
        self._start = Frame(Text((language,), WHOLE))
        self._words = words

    @property
    def start(self) -> Frame:
        return self._start

    def event(self, frame: Frame, label: Hashable, text: bytes) -> Frame | None:
        return None

    def cost(self, frame: Frame) -> int:
        return 0

    def expected(self, frame: Frame) -> str:
        return self._words


WHOLE = _Whole()
