"""Checks of the numbers that policies are given."""

from __future__ import annotations

from structgen.errors import GenerationError


def check_share(name: str, value: float, *, least: float = 0.0, most: float = 1.0) -> None:
    """GenerationError unless `least` <= value <= `most`."""
    if not least <= value <= most:
        raise GenerationError(
            f"{name} is {value!r}", location=name, expected=f"a number from {least:g} to {most:g}"
        )


def check_some(name: str, count: int) -> None:
    """GenerationError unless there is at least one of what is counted."""
    if count < 1:
        raise GenerationError(f"there are no {name}", location=name, expected="at least one")
