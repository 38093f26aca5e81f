"""In: what `speculate=` may be. Out: the Speculation meant; Speculations keeps those with names.

A drafter that is asked for by name belongs to its Generator: what it learned of one text serves the
next one.
"""

from __future__ import annotations

import difflib
import importlib
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.errors import GenerationError

if TYPE_CHECKING:
    from structgen.generation.generator import Generator
    from structgen.generation.speculation.speculation import Speculation


class Entry(NamedTuple):
    """A name: what is drafted; where the maker is; whether it is called with the target."""

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
        "what was likely after the same token", f"{_DRAFTERS}.recycling", "RecyclingDrafter"
    ),
    "trigram": Entry(
        "what was likely after the same two tokens", f"{_DRAFTERS}.trigram", "TrigramDrafter"
    ),
    "stand": Entry("the same, drawn at random", f"{_DRAFTERS}.stand", "StandDrafter"),
    "lookahead": Entry("n-grams of guesses ahead", f"{_DRAFTERS}.lookahead", "LookaheadDrafter"),
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


def check_speculate(wish: object) -> None:
    """GenerationError unless `wish` is None, a name, a drafter or a Speculation."""
    if isinstance(wish, str) and wish not in NAMES:
        close = difflib.get_close_matches(wish, NAMES, 1)
        raise GenerationError(
            f"there is no drafter {wish!r}",
            location="speculate",
            expected="one of " + ", ".join(NAMES),
            hint=f"did you mean {close[0]!r}?" if close else "",
        )
    if isinstance(wish, type) and _drafts(wish):
        check_drafter(wish, "speculate")
    if not (wish is None or isinstance(wish, str) or _drafts(wish)):
        raise GenerationError(
            f"speculate is {wish!r:.80}",
            location="speculate",
            expected="None, a name such as 'auto', a drafter or a Speculation",
        )


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


class Speculations:
    """The speculations that a Generator was asked for by name. Threads may share it."""

    def __init__(self) -> None:
        self._made: dict[str, Speculation] = {}
        self._lock = threading.Lock()

    def of(self, wish: Any, generator: Generator) -> Speculation:
        """What a `speculate=` other than None means; what is made for a name is kept."""
        from structgen.generation.speculation.speculation import Speculation

        check_speculate(wish)
        if isinstance(wish, Speculation):
            return wish
        if not isinstance(wish, str):
            return Speculation(wish)
        with self._lock:
            if wish not in self._made:
                made = _made(wish, generator)
                self._made[wish] = made if isinstance(made, Speculation) else Speculation(made)
            return self._made[wish]


def _made(name: str, generator: Generator) -> Any:
    """A drafter or a Speculation by its name."""
    entry = ENTRIES[name]
    make = getattr(importlib.import_module(entry.module), entry.maker)
    return make(generator.target) if entry.of_target else make()


def _drafts(wish: object) -> bool:
    return hasattr(wish, "begin") or hasattr(wish, "drafter")
