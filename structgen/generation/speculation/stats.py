"""`Stats`: tokens per forward pass, acceptance by depth, and where the time went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from structgen.generation.speculation.interfaces import Round


@dataclass(slots=True)
class Stats:
    """What speculation did for one text; forward passes and times are shared by a batch.

    forwards: passes of the target, that over the prompt excluded. tokens: written, the first
    included. drafted: draft tokens that were read. accepted: those of them that were kept.
    tried, kept: by depth (the first entry is depth 1): rounds that drafted so deep, and rounds that
    kept a token there. draft_seconds, verify_seconds, other_seconds: making drafts, forward passes
    with the commit, and the rest (masks, acceptance, text). drafter: what drafted. rounds: for
    each pass, that over the prompt first: draft tokens read, those kept, tokens written.
    by_drafter: how many of the accepted tokens came from which drafter ("closing": from the way to
    a valid end, once the text was being closed).
    """

    drafter: str = ""
    forwards: int = 0
    tokens: int = 0
    drafted: int = 0
    accepted: int = 0
    tried: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    draft_seconds: float = 0.0
    verify_seconds: float = 0.0
    other_seconds: float = 0.0
    rounds: list[tuple[int, int, int]] = field(default_factory=list)
    by_drafter: Counter[str] = field(default_factory=Counter)

    @property
    def tokens_per_forward(self) -> float:
        """Tokens written per forward pass of the target, the first token not counted."""
        return (self.tokens - 1) / self.forwards if self.forwards else 0.0

    @property
    def acceptance(self) -> list[float]:
        """For each depth, the share of drafts reaching it of which a token was kept there."""
        return [kept / tried for kept, tried in zip(self.kept, self.tried, strict=True)]

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the time after the prompt was read: "draft", "verify" and "other"."""
        seconds = {
            "draft": self.draft_seconds,
            "verify": self.verify_seconds,
            "other": self.other_seconds,
        }
        total = sum(seconds.values())
        return {name: part / total if total else 0.0 for name, part in seconds.items()}

    def __str__(self) -> str:
        acceptance = " ".join(f"{share:.0%}" for share in self.acceptance[:8])
        shares = ", ".join(f"{name} {share:.0%}" for name, share in self.shares.items())
        drafters = ", ".join(f"{name} {count}" for name, count in self.by_drafter.most_common())
        by_drafter = f" ({drafters})" if set(self.by_drafter) - {self.drafter} else ""
        return (
            f"{self.drafter}: {self.tokens_per_forward:.2f} tokens per forward pass, "
            f"{self.accepted} of {self.drafted} draft tokens kept{by_drafter}; "
            f"by depth: {acceptance or 'none drafted'}; time: {shares}"
        )

    def add_plain(self, tokens: int) -> None:
        """Count a pass without a draft; tokens: of the text by now."""
        self.forwards += 1
        self.rounds.append((0, 0, tokens - self.tokens))
        self.tokens = tokens

    def add(self, seen: Round, drafters: Iterable[str]) -> None:
        """Count a round; that of the prompt has no forward pass of its own.

        drafters: for each node kept, who drafted it.
        """
        self.by_drafter.update(drafters)
        self.tokens += len(seen.written)
        self.drafted += len(seen.tree) - 1
        self.accepted += len(seen.path)
        self.rounds.append((len(seen.tree) - 1, len(seen.path), len(seen.written)))
        deepest = max(seen.tree.depths)
        grown = deepest - len(self.tried)
        self.tried += [0] * grown
        self.kept += [0] * grown
        for depth in range(deepest):
            self.tried[depth] += 1
            self.kept[depth] += depth < len(seen.path)
