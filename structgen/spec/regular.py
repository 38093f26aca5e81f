"""Specs that are regular languages: a pattern, and a choice of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from structgen.automata.pushdown.machine import Machine, TextMachine
from structgen.errors import SpecError, UnsatisfiableSchemaError
from structgen.regular.regex import Regex as Language
from structgen.regular.regex import words
from structgen.regular.syntax.pattern import parse
from structgen.spec.base import MachineSpec


@dataclass(frozen=True)
class Regex(MachineSpec):
    """The texts that a pattern (ECMA-262) matches from end to end."""

    pattern: str
    kind: ClassVar[str] = "regex"

    def __post_init__(self) -> None:
        given: object = self.pattern
        if not isinstance(given, str):
            compiled = hasattr(given, "pattern")
            raise SpecError(
                f"the pattern is {given!r:.80}",
                expected="its text",
                hint="use structgen.Regex(pattern.pattern), which takes no flags" * compiled,
            )

    def machine(self) -> Machine[Any]:
        """See `MachineSpec.machine`."""
        language = self.language()
        if language.is_empty():
            raise UnsatisfiableSchemaError(
                "no text fits the pattern", location=self.pattern, expected="at least one text"
            )
        return TextMachine(language, f"text matching {self.pattern}")

    def language(self) -> Language:
        """The texts as a regular language. Raises PatternError."""
        return parse(self.pattern, anchored=True)

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {"pattern": self.pattern}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Regex:
        """The spec that `to_json` described."""
        return cls(**data)


@dataclass(frozen=True)
class Choice(MachineSpec):
    """One of several texts."""

    texts: Sequence[str]
    kind: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        one = isinstance(self.texts, str)
        texts = tuple(self.texts) if isinstance(self.texts, Iterable) else (None,)
        if one or not all(isinstance(text, str) for text in texts):
            raise SpecError(
                "the choices are not a sequence of strings",
                expected="list[str]",
                hint="for a single text use structgen.Choice([text])" if one else "",
            )
        object.__setattr__(self, "texts", texts)

    def machine(self) -> Machine[Any]:
        """See `MachineSpec.machine`."""
        if not self.texts:
            raise UnsatisfiableSchemaError("there is nothing to choose from", expected="a choice")
        return TextMachine(self.language(), "one of " + ", ".join(map(repr, self.texts[:9])))

    def language(self) -> Language:
        """The texts as a regular language."""
        return words(self.texts)

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {"texts": list(self.texts)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Choice:
        """The spec that `to_json` described."""
        return cls(**data)
