"""Writes chapters as one HTML page that loads nothing, and their tables as Markdown."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from jsonschemabench.plots import DARK, LIGHT, Plot, role
from jsonschemabench.report.chapter import Chapter
from jsonschemabench.report.tables import Table, escape, escape_markdown
from jsonschemabench.running.outcomes import OUTCOMES

HERE = Path(__file__).resolve().parent


def page(title: str, chapters: Sequence[Chapter], remarks: Sequence[str]) -> str:
    """The page. Its script runs by its hash alone, so no text of the results can run."""
    template = (HERE / "report.html").read_text(encoding="utf-8")
    script = (HERE / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "title": escape(title),
        "light colours": _variables(LIGHT),
        "dark colours": _variables(DARK),
        "outcome colours": _marks(),
        "body": _body(title, chapters, remarks),
        "script": script,
        "script hash": f"sha256-{digest}",
    }
    # All at once, so that nothing in a part is mistaken for the placeholder of another.
    return re.sub(r"\{\{([a-z ]+)\}\}", lambda found: parts[found[1]], template)


def markdown(title: str, chapters: Sequence[Chapter], remarks: Sequence[str]) -> str:
    """The tables of the page, without the plots and what unfolds."""
    parts = [f"# {escape_markdown(title)}\n"]
    parts += [f"- {escape_markdown(remark)}" for remark in remarks] + [""] * bool(remarks)
    for chapter in chapters:
        parts += [f"## {escape_markdown(chapter.title)}\n", f"{escape_markdown(chapter.lead)}\n"]
        tables = [block for block in chapter.blocks if isinstance(block, Table)]
        if chapter.failures.cases:
            tables.append(chapter.failures.table())
        parts += [table.markdown() for table in [*tables, *chapter.setup]]
    return "\n".join(parts)


def _body(title: str, chapters: Sequence[Chapter], remarks: Sequence[str]) -> str:
    parts = [f"<header><h1>{escape(title)}</h1>"]
    if len(chapters) > 1:
        links = "".join(
            f'<li><a href="#run-{number}">{escape(chapter.title)}</a></li>'
            for number, chapter in enumerate(chapters, 1)
        )
        parts.append(f"<nav><ul>{links}</ul></nav>")
    if remarks:
        said = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
        parts.append(f'<ul class="left-out">{said}</ul>')
    parts.append("</header>\n<main>\n")
    parts += [_chapter(f"run-{number}", one) for number, one in enumerate(chapters, 1)]
    return "".join(parts) + "</main>"


def _chapter(anchor: str, chapter: Chapter) -> str:
    setup = "".join(table.html() for table in chapter.setup)
    parts = [
        f'<section id="{anchor}"><h2>{escape(chapter.title)}</h2><p>{escape(chapter.lead)}</p>\n',
        '<details class="setup"><summary>Machine, options, versions and settings</summary>',
        f"{setup}</details>\n",
    ]
    parts += [b.html() if isinstance(b, Table) else _plots(anchor, b) for b in chapter.blocks]
    if chapter.failures.cases:
        parts.append(chapter.failures.html())
    else:
        parts.append("<h3>Failures</h3><p>None: every engine got every case right.</p>")
    return "".join(parts) + "</section>\n"


def _plots(anchor: str, plots: Sequence[Plot]) -> str:
    figures = "".join(
        f'<figure role="img" aria-label="{escape(plot.alt)}">{plot.svg(f"{anchor}-{plot.name}")}'
        "</figure>"
        for plot in plots
    )
    return f'<div class="plots">{figures}</div>\n'


def _variables(colours: Mapping[str, str]) -> str:
    return "\n".join(f"  --{name}: {colour};" for name, colour in colours.items())


def _marks() -> str:
    roles = dict.fromkeys(map(role, OUTCOMES))
    return "\n".join(f".outcome.{name}::before {{ background: var(--{name}); }}" for name in roles)
