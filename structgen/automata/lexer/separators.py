"""Lexer states before and between lexemes: white space, and a choice by the first byte."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from structgen.automata.lexer.lexer import End, LexState, Row, RowOf, Target
from structgen.regular.regex import EPSILON, Regex


@dataclass(frozen=True, slots=True)
class Fork(LexState):
    """A choice by one byte: (byte, target) pairs; the lexeme may also end here with `accept`."""

    targets: tuple[tuple[int, LexState | End], ...]
    accept: Hashable | None = None
    recorded: bool = False

    @property
    def narrow(self) -> bool:
        """See `LexState.narrow`."""
        return all(isinstance(t, End) or t.narrow for _, t in self.targets)

    def row(self, row_of: RowOf) -> Row:  # noqa: ARG002
        """See `LexState.row`."""
        targets: list[Target] = [None] * 256
        for byte, target in self.targets:
            targets[byte] = target
        return Row(targets, self.accept)


@dataclass(frozen=True, slots=True)
class Gap(LexState):
    """White space in the language `space`, then `then`, which never starts with white space."""

    space: Regex
    then: LexState

    @property
    def recorded(self) -> bool:  # type: ignore[override]
        """As the state behind has it."""
        return self.then.recorded

    @property
    def narrow(self) -> bool:
        """See `LexState.narrow`."""
        return self.then.narrow

    def row(self, row_of: RowOf) -> Row:
        """See `LexState.row`."""
        base = row_of(self.then) if self.space.nullable else Row([None] * 256)
        targets = list(base.targets)
        for chars, after in self.space.moves():
            for lo, hi in chars.ranges:
                for byte in range(lo, hi + 1):
                    targets[byte] = gap(after, self.then)
        return Row(targets, base.accept)


def gap(space: Regex, then: LexState) -> LexState:
    """`then` after white space in the language `space`."""
    return then if space is EPSILON else Gap(space, then)


@dataclass(frozen=True, slots=True)
class Either(LexState):
    """The start of several lexemes, whose first bytes differ."""

    states: tuple[LexState, ...]

    @property
    def recorded(self) -> bool:  # type: ignore[override]
        """As its first state has it."""
        return self.states[0].recorded

    @property
    def narrow(self) -> bool:
        """See `LexState.narrow`."""
        return all(state.narrow for state in self.states)

    def row(self, row_of: RowOf) -> Row:
        """See `LexState.row`."""
        targets: list[Target] = [None] * 256
        for state in self.states:
            for byte, target in enumerate(row_of(state).targets):
                if target is not None:
                    targets[byte] = target
        return Row(targets)
