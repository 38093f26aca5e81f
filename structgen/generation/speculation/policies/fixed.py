"""`Fixed`: the same draft budget in every round."""

from __future__ import annotations

from dataclasses import dataclass, field

from structgen.errors import GenerationError
from structgen.generation.speculation.interfaces import Budget, Round
from structgen.generation.speculation.tree import Context


@dataclass(frozen=True, slots=True)
class Fixed:
    """A length policy that always gives the same budget."""

    size: Budget = field(default_factory=lambda: Budget(nodes=16))

    def __post_init__(self) -> None:
        """GenerationError for what is no Budget."""
        if not isinstance(self.size, Budget):
            raise GenerationError(
                f"size is {self.size!r:.80}", location="size", expected="a Budget: Budget(nodes=8)"
            )

    def budget(self, context: Context) -> Budget:
        """The fixed budget."""
        return self.size

    def observe(self, context: Context, seen: Round) -> None:
        """Nothing is learned."""
