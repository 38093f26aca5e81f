"""Tokens of the vocabulary inside a grammar: one by its number or text, or any other than that.

As llama.cpp has them, a token stands for itself and not for its bytes. So it is a spec without any
text, behind which the grammar goes on when the token has come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from structgen.automata.interface import DEAD, Automaton, Bytes, Masks, Row, Stored
from structgen.errors import BudgetError
from structgen.spec.base import Spec
from structgen.vocabulary.vocabulary import Vocabulary

START, END = 0, 1
MOST = 1 << 30  # no vocabulary has so many tokens
TOKEN = re.compile(
    r"(?P<not>!?)<(?:\[(?:(?P<any>\*)|(?P<but>\^?)(?P<numbers>\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*))\]"
    r"|(?P<text>[^\[<>\s\"][^<>\s\"]*))>"
)


@dataclass(frozen=True)
class Token(Spec):
    """One token of some, given by ranges of numbers or by their text; or, `negated`, of the others.

    written: how the grammar names it.
    """

    ranges: tuple[tuple[int, int], ...] = ()
    text: bytes = b""
    negated: bool = False
    written: str = field(default="", compare=False)
    kind: ClassVar[str] = "token"

    def __str__(self) -> str:
        return f"the token {self.written}"

    def is_it(self, number: int, text: bytes) -> bool:
        """Whether a token of the vocabulary, given by its number and text, may stand here.

        number: -1 if it is not known; then only those that are named by their text.
        """
        if self.text:
            return (text == self.text) != self.negated
        return number >= 0 and any(a <= number <= b for a, b in self.ranges) != self.negated

    def named(self, texts: Sequence[bytes | None]) -> list[int]:
        """The numbers that are named, in a vocabulary with these texts."""
        if self.text:
            return [number for number, text in enumerate(texts) if text == self.text]
        last = len(texts) - 1
        return [n for a, b in self.ranges for n in range(a, min(b, last) + 1)]

    def automaton(self, saved: Stored | None = None) -> Automaton:  # noqa: ARG002
        """See `Spec.automaton`."""
        return TokenAutomaton(self)

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {
            "ranges": self.ranges,
            "text": self.text.hex(),
            "negated": self.negated,
            "written": self.written,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The spec that `to_json` described."""
        ranges = tuple((int(a), int(b)) for a, b in data["ranges"])
        return cls(ranges, bytes.fromhex(data["text"]), data["negated"], data["written"])


def token_of(written: str) -> Token | None:
    """The token that a grammar writes as `<[5]>`, `<[1-3,7]>`, `<[*]>` or `<text>`, else None.

    Any other token: with `!` before it, or as `<[^5]>`.
    """
    found = TOKEN.fullmatch(written)
    if found is None:
        return None
    if found["text"]:
        return Token((), f"<{found['text']}>".encode(), found["not"] == "!", written)
    if found["any"]:
        return Token(((0, MOST),), b"", found["not"] == "!", written)
    ends = [part.split("-") for part in found["numbers"].split(",")]
    ranges = tuple((int(low[0]), int(low[-1])) for low in ends)
    return Token(ranges, b"", (found["not"] == "!") != (found["but"] == "^"), written)


class TokenAutomaton(Automaton):
    """Reads no byte; `Constraint` asks `specials` for what a token does."""

    MASKS = "structgen.grammar.embedded.tokens:NoTokens"
    start = START
    reads_tokens = True

    def __init__(self, token: Token) -> None:
        self.token = token
        self.named_tokens = () if token.negated else (token,)

    def run(self, at: int, text: bytes) -> tuple[int, int]:
        """See `Automaton.run`."""
        return (DEAD if text else at), 0

    def is_accepting(self, at: int) -> bool:
        """See `Automaton.is_accepting`."""
        return at == END

    def next_bytes(self, at: int) -> list[int]:  # noqa: ARG002
        """See `Automaton.next_bytes`."""
        return []

    def specials(self, at: int) -> TokenSpecials:
        """See `Automaton.specials`."""
        return TokenSpecials([(self.token, END)] if at == START else [])

    def is_position(self, at: int) -> bool:
        """See `Automaton.is_position`."""
        return at in (START, END)

    def core(self, at: int) -> Hashable:
        """See `Automaton.core`."""
        return at

    def expected(self, at: int) -> str:
        """See `Automaton.expected`."""
        return str(self.token) if at == START else "nothing"

    def completions(self, alphabet: Bytes = range(256)) -> NoText:  # noqa: ARG002
        """See `Automaton.completions`."""
        return NoText()

    @property
    def size(self) -> dict[str, int]:
        """See `Automaton.size`."""
        return {"bytes": 0}

    def stored(self) -> Stored:
        """See `Automaton.stored`."""
        return Stored({}, {})


class NoText:
    """A token has no text that completes it."""

    def shortest(self, at: int) -> bytes:
        """See `Completes.shortest`."""
        if at == END:
            return b""
        raise BudgetError(
            "what may follow is a token, which has no text of its own",
            hint="let the model write the token",
        )


class NoTokens(Masks):
    """No text token begins with the bytes of what has none."""

    def __init__(self, automaton: TokenAutomaton, vocabulary: Vocabulary) -> None:
        del automaton
        self._words = vocabulary.words

    def row(self, at: int) -> Row:  # noqa: ARG002
        """See `Masks.row`."""
        return np.zeros(self._words, np.int32)

    def below(self, at: int, node: int, row: Row) -> npt.NDArray[np.int32]:  # noqa: ARG002
        """See `Masks.below`."""
        return np.zeros(0, np.int32)


class TokenSpecials(Mapping[bytes, int]):
    """What tokens do at a position: those that are named by their text, and by `after` all others.

    ways: pairs of a token, or a special token's text, and what it leads to. joined: the position of
    what several ways lead to, DEAD for none; by default they lead to positions, one at a time.
    """

    def __init__(
        self,
        ways: list[tuple[Token | bytes, Any]],
        joined: Callable[[list[Any]], int] | None = None,
    ) -> None:
        self.ways = ways
        self._joined = joined or partial(max, default=DEAD)

    def leads_to(self, number: int, text: bytes) -> list[Any]:
        """What a token of the vocabulary, given by its number and text, leads to."""
        return [
            to
            for way, to in self.ways
            if (way.is_it(number, text) if isinstance(way, Token) else way == text)
        ]

    def after(self, number: int, text: bytes) -> int:
        """The position after a token of the vocabulary, DEAD if it may not stand here."""
        return self._joined(self.leads_to(number, text))

    def pairs(self) -> list[tuple[Token | bytes, int]]:
        """Each way with the position it leads to."""
        return [(way, self._joined([to])) for way, to in self.ways]

    @property
    def tokens(self) -> list[Token]:
        """The tokens that are named here."""
        return [way for way, _ in self.ways if isinstance(way, Token)]

    def __getitem__(self, text: bytes) -> int:
        found = self.after(-1, text) if text else DEAD
        if found < 0:
            raise KeyError(text)
        return found

    def __iter__(self) -> Iterator[bytes]:
        for way, _ in self.ways:
            text = way.text if isinstance(way, Token) else way
            if text and text in self:
                yield text

    def __len__(self) -> int:
        return len(self.ways)
