"""Read what a docstring says of a function and of each parameter.

Read are the styles in use: Google's (`name (type): text`, PEP 257 and plain lists likewise),
NumPy's (a section `Parameters` underlined with dashes), and the fields of Sphinx and Epytext
(`:param type name: text`, `@param name: text`). Further lines of a text are indented deeper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FIELD = re.compile(
    r"[:@](?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:(?!\S)(.*)"
)
_LISTED = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(?!\S)(.*)")
_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
_SECTION = re.compile(r"(?:Args|Arguments|Parameters|Params|Returns|Raises|Yields|Examples?):\s*")
_UNDERLINED = {"Parameters", "Other Parameters"}


def summary(docstring: str) -> str:
    """The first paragraph, up to where parameters begin."""
    kept: list[str] = []
    for line in docstring.strip().splitlines():
        text = line.strip()
        if not text or text[0] in ":@" or _SECTION.fullmatch(text):
            break
        kept.append(line)
    return "\n".join(kept)


def about_parameters(docstring: str) -> dict[str, str]:
    """What is said of each parameter, by name, in one line; also of names that are none."""
    lines = docstring.expandtabs().splitlines()
    found: dict[str, str] = {}
    entries = list(_underlined(lines)) or list(_in_a_list(lines))
    for names, first, at in entries:
        text = " ".join([first.strip(), *_continued(lines, at)]).strip()
        for name in names:
            if text:
                found.setdefault(name, text)
    return found


def _underlined(lines: list[str]) -> Iterator[tuple[list[str], str, int]]:
    """Names, no text, and the line of each entry of NumPy's sections about parameters."""
    inside, indent = False, 0
    for at, line in enumerate(lines):
        following = lines[at + 1].strip() if at + 1 < len(lines) else ""
        if len(following) >= 3 and not following.strip("-"):
            inside, indent = line.strip() in _UNDERLINED, _indent(line)
        elif inside and line.strip() and _indent(line) == indent:
            entry = _ENTRY.fullmatch(line.strip())
            if entry is not None:
                yield re.findall(r"\w+", entry[1]), "", at


def _in_a_list(lines: list[str]) -> Iterator[tuple[list[str], str, int]]:
    """The name, the text on its own line, and the line, of all else that looks like an entry."""
    for at, line in enumerate(lines):
        entry = _FIELD.fullmatch(line.strip()) or _LISTED.fullmatch(line.strip())
        if entry is not None:
            yield [entry[1]], entry[2], at


def _continued(lines: list[str], at: int) -> Iterator[str]:
    """The lines behind one that belong to it: deeper ones, up to an empty line."""
    for line in lines[at + 1 :]:
        if not line.strip() or _indent(line) <= _indent(lines[at]):
            return
        yield line.strip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
