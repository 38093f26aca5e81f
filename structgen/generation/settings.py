"""The options of `generate`, `batch` and `stream`, checked, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict

from structgen.generation.checks import (
    check,
    check_chat,
    check_count,
    check_each,
    check_one_of,
    has_method,
    is_integer,
    refuse_unknown,
)
from structgen.generation.distribution import Sampler
from structgen.generation.interfaces import Transform, Weigh
from structgen.generation.prompts import Chat
from structgen.generation.speculation.names import check_speculate


class Options(TypedDict, total=False):
    """Keyword arguments of `generate`, `batch` and `stream`; see Settings."""

    temperature: float
    top_k: int | None
    top_p: float
    min_p: float
    seed: int | None
    max_tokens: int
    stop: Literal["complete", "eos"]
    stop_sequences: Sequence[str]
    on_truncation: Literal["close", "raise"]
    chat: Chat | None
    system: str | None
    weight: Weigh | None
    transforms: Sequence[Transform]
    speculate: Any
    strict: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """How to generate.

    temperature, top_k, top_p, min_p: see Sampler; applied in this order, after the mask.
    seed: an integer makes the result reproducible; a row's result depends on nothing but its
        prompt, spec, settings, seed and sample number. None draws a new one.
    max_tokens: most tokens of the text; the model's context may leave room for fewer.
    stop: "complete" ends the text as soon as nothing but JSON whitespace could follow (the model
        may end it earlier, where it may end); "eos" waits for the model's end token.
    stop_sequences: strings that end the text. It ends before the first of them, and nothing from
        there on is part of it; where a text may not end there (inside a JSON string, say), the
        sequence stays in it and the shortest way to a valid end is written after it.
    on_truncation: what to do when max_tokens would end first: "close" writes the shortest valid
        ending in time, "raise" raises TruncatedError with the partial text.
    chat: "auto", True or False; None takes the Generator's. system: a system message.
    weight: a function from a state of the constraint and the tokens allowed there, int64[k], to
        log weights float64[k], by which their distribution is multiplied; -inf refuses a token.
    transforms: what changes the distribution by the text so far, such as penalties on repetitions.
    speculate: None writes one token per forward pass; "auto" drafts several as far as that pays
        here; the distribution of the text stays the same. Another name of
        `structgen.generation.speculation.names`
        ("suffix", "copy", "recycling", ...) drafts in this way alone; a drafter or a Speculation
        of `structgen.generation.speculation` as it says.
    strict: whether a misspelt keyword of a schema is a SpecError, as for `structgen.compile`.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None
    max_tokens: int = 512
    stop: Literal["complete", "eos"] = "complete"
    stop_sequences: Sequence[str] = ()
    on_truncation: Literal["close", "raise"] = "close"
    chat: Chat | None = None
    system: str | None = None
    weight: Weigh | None = None
    transforms: Sequence[Transform] = ()
    speculate: Any = None
    strict: bool = False

    def __post_init__(self) -> None:
        check_count("max_tokens", self.max_tokens)
        fine = self.seed is None or is_integer(self.seed, 0)
        check("seed", self.seed, fine, "an integer of 0 or more, or None")
        check_one_of("stop", self.stop, "complete", "eos")
        is_text = "a list of strings that are not empty"
        check_each("stop_sequences", self.stop_sequences, _is_some_text, is_text)
        check_one_of("on_truncation", self.on_truncation, "close", "raise")
        fine = self.system is None or isinstance(self.system, str)
        check("system", self.system, fine, "a text, or None")
        fine = self.weight is None or callable(self.weight)
        check("weight", self.weight, fine, "a function from a state and tokens to log weights")
        begins = "a list of transforms, such as those of `structgen.penalties`"
        check_each("transforms", self.transforms, has_method("begin"), begins)
        check("strict", self.strict, isinstance(self.strict, bool), "True or False")
        check_chat(self.chat)
        check_speculate(self.speculate)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Settings from keyword arguments. GenerationError for one that does not exist."""
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                refuse_unknown("option", name, known)
        return cls(**options)

    @property
    def sampler(self) -> Sampler:
        """The sampler that these settings describe."""
        return Sampler(self.temperature, self.top_k, self.top_p, self.min_p)


def _is_some_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)
