"""The names that `speculate=` accepts, and checks of what it was given."""

from __future__ import annotations

from typing import NamedTuple

from structgen.errors import GenerationError
from structgen.generation.checks import refuse, refuse_unknown


class Entry(NamedTuple):
    """A name: what is drafted; the module and name of its maker; whether that takes the target."""

    drafts: str
    module: str
    maker: str
    of_target: bool = False


_DRAFTERS = "structgen.generation.speculation.drafters"
_MODELS = "structgen.generation.speculation.models"

#: Drafters that need no model but the target.
MODEL_FREE = {
    "auto": Entry(
        "what pays here, by what is measured", "structgen.generation.speculation.auto", "auto"
    ),
    "forced": Entry("what the grammar forces", f"{_DRAFTERS}.forced", "ForcedDrafter"),
    "copy": Entry("text of the prompt", f"{_DRAFTERS}.copy", "CopyDrafter"),
    "suffix": Entry("what followed the same before", f"{_DRAFTERS}.suffix", "SuffixDrafter"),
    "recycling": Entry(
        "what was likely after the same token", f"{_DRAFTERS}.ngrams", "RecyclingDrafter"
    ),
    "trigram": Entry(
        "what was likely after the same two tokens", f"{_DRAFTERS}.ngrams", "TrigramDrafter"
    ),
    "stand": Entry("the same, drawn at random", f"{_DRAFTERS}.ngrams", "StandDrafter"),
    "lookahead": Entry("n-grams of guesses ahead", f"{_DRAFTERS}.jacobi", "LookaheadDrafter"),
    "jacobi": Entry("guesses that each pass makes better", f"{_DRAFTERS}.jacobi", "JacobiDrafter"),
}

#: Drafters with weights of their own.
MODELS = {
    "model": Entry("what a smaller model says", f"{_MODELS}.drafter", "ModelDrafter"),
    "swift": Entry("what some layers say, searched", f"{_MODELS}.self_drafting", "swift", True),
    "clasp": Entry("what some layers say, computed", f"{_MODELS}.self_drafting", "clasp", True),
    "early-exit": Entry("what early layers say", f"{_MODELS}.self_drafting", "early_exit", True),
    "medusa": Entry(
        "what Medusa heads say", "structgen.generation.speculation.heads.files", "medusa", True
    ),
    "eagle": Entry(
        "what an EAGLE says", "structgen.generation.speculation.heads.files", "eagle", True
    ),
}

ENTRIES = MODEL_FREE | MODELS
NAMES = tuple(ENTRIES)


def check_speculate(value: object) -> None:
    """GenerationError unless `value` is None, a name, a drafter or a Speculation."""
    if isinstance(value, str) and value not in NAMES:
        refuse_unknown("drafter", value, NAMES, "speculate")
    if isinstance(value, type) and _drafts(value):
        check_drafter(value, "speculate")
    if not (value is None or isinstance(value, str) or _drafts(value)):
        expected = "None, a name such as 'auto', a drafter or a Speculation"
        refuse("speculate", value, expected, "speculate")


def check_drafter(part: object, role: str = "drafter") -> None:
    """GenerationError unless `part` is a drafter. role: what it was to be."""
    if isinstance(part, type) and _drafts(part):
        raise GenerationError(
            f"{role} is the class {part.__name__}",
            location=role,
            expected="an object of it",
            hint=f"{part.__name__}(...) makes one",
        )
    if not hasattr(part, "begin"):
        maker = MODEL_FREE[part].maker if isinstance(part, str) and part in MODEL_FREE else ""
        raise GenerationError(
            f"{role} is {part!r:.80}",
            location=role,
            expected="a drafter of structgen.generation.speculation, or an object like it",
            hint=f"{maker}() makes one" if maker.endswith("Drafter") else "",
        )


def _drafts(value: object) -> bool:
    return hasattr(value, "begin") or hasattr(value, "drafter")
