"""Tables of texts and figures, written as Markdown and as HTML with everything escaped."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from structgen.cli.terminal import visible
from structgen.util.tables import markdown

# What Markdown would read as markup inside a table cell. `_` inside a word and a lone `$` are left
# alone by every renderer in use, so names such as `Github_easy` and `$ref` stay as they are.
MARKUP = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])|\$(?=.*\$)")

FITTING = 20  # rows that the page shows at once


@dataclass(frozen=True)
class Figure:
    """A number with the text that shows it; tables sort by the number."""

    value: float
    text: str
    tone: str = ""  # "good", "bad" or nothing: how the page colours it


Cell = str | Figure


@dataclass(frozen=True)
class Table:
    """A titled table; `note` says in a sentence what its figures mean."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    sortable: bool = field(default=True, kw_only=True)

    def markdown(self, level: int = 3) -> str:
        """The table as GitHub's Markdown, under a heading of this level."""
        parts = [f"{'#' * level} {escape_markdown(self.title)}\n"]
        if self.note:
            parts.append(f"{escape_markdown(self.note)}\n")
        right = {c for c in range(len(self.heads)) if _numeric(self.rows, c)}
        rows = ([escape_markdown(text_of(cell)) for cell in row] for row in self.rows)
        heads = [*map(escape_markdown, self.heads)]
        return "\n".join([*parts, markdown(heads, rows, right) + "\n"])

    def html(self) -> str:
        """The table as a scrolling block of the page."""
        said = self.note
        if len(self.rows) > FITTING:
            said = f"{said} {len(self.rows):,} rows; the table scrolls.".lstrip()
        note = f'<p class="note">{escape(said)}</p>' if said else ""
        sortable = ' class="sortable"' if self.sortable else ""
        heads = "".join(
            f'<th scope="col"{_numeric(self.rows, column)}>{escape(head)}</th>'
            for column, head in enumerate(self.heads)
        )
        rows = "".join(f"<tr>{''.join(map(_td, row))}</tr>\n" for row in self.rows)
        return (
            f'<h3>{escape(self.title)}</h3>{note}<div class="scroll" tabindex="0"><table{sortable}>'
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>\n"
        )


def text_of(cell: Cell) -> str:
    """What a cell shows."""
    return cell.text if isinstance(cell, Figure) else cell


def escape(text: str) -> str:
    """Text for HTML, between tags or inside quotes; control characters become visible."""
    return html.escape(visible(text), quote=True)


def escape_markdown(text: str) -> str:
    """Text for one cell or one line of Markdown: nothing in it acts as markup or HTML."""
    line = visible(" ".join(text.split()))
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return MARKUP.sub(r"\\\g<0>", line)


def count(value: int, tone: str = "") -> Figure:
    """A number of things: 12,345."""
    return Figure(value, f"{value:,}", tone if value else "")


def share(part: int, whole: int, tone: str = "") -> Figure:
    """A share in per cent: 98.2 %. Only all of them is 100 %, and only none of them is 0 %."""
    if not whole:
        return Figure(math.nan, "–")
    percent = 100 * part / whole
    shown = f"{min(percent, 99.9):.1f}"
    if part in (0, whole):
        shown = f"{percent:.0f}"
    elif shown == "0.0":
        shown = "<0.1"
    return Figure(percent, f"{shown} %", tone)


def ratio(value: float) -> Figure:
    """How many times one thing is another: 11×, 0.42×."""
    tone = "" if math.isnan(value) or value == 1 else "good" if value > 1 else "bad"
    text = significant(value)
    return Figure(value, text if text == "–" else f"{text}×", tone)


def significant(value: float) -> str:
    """A number with at least three digits that matter and no exponent, or a dash for no number."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(decimals, 6)}f}"


def _td(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    tone = f" {cell.tone}" if cell.tone else ""
    key = f"{cell.value:.9g}" if math.isfinite(cell.value) else ""
    return f'<td class="figure{tone}" data-key="{key}">{escape(cell.text)}</td>'


def _numeric(rows: Sequence[Sequence[Cell]], column: int) -> str:
    return ' class="figure"' if any(isinstance(row[column], Figure) for row in rows) else ""
