"""Tables as text: in Markdown, and in columns for a terminal."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence


def markdown(
    heads: Sequence[str], rows: Iterable[Sequence[str]] = (), right: Container[int] = ()
) -> str:
    """Heads and rows as the lines of a Markdown table; the columns `right` are flush right."""
    sides = ["---:" if column in right else "---" for column in range(len(heads))]
    return "\n".join(map(markdown_line, [heads, sides, *rows]))


def markdown_line(cells: Iterable[str]) -> str:
    """One line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as lines: the first column flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:<{width}}" if i == 0 else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
