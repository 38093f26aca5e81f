"""Options of rules, `name[option, option=value]: ...`, as llguidance and XGrammar have them.

`lazy`, `suffix`, `stop` and `max_chars` say how the lexeme that such a rule is ends; `capture` and
`stop_capture` ask for the bytes that were read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

MOST_CHARACTERS = 1_000_000  # of `max_chars`

_VALUE = (
    r"""(?:"(?:\\.|[^"\\\n])*"i?|/(?:\\.|[^/\\\n])+/[imslux]*|%regex\b\s*\{[^\n]*?\}|[-+.\w]+)"""
)
_OPTION = re.compile(rf"\s*(?P<name>\w+)\s*(?:=\s*(?P<value>{_VALUE})?)?\s*")
_NAME = re.compile(r'"([-\w]+)"')
_TERMINAL = re.compile(r"_?[A-Z][-_A-Z0-9]*")
_KNOWN = ("lazy", "suffix", "stop", "stop_capture", "max_chars", "capture")
_REFUSED = {
    "max_tokens": "bound characters with max_chars=, or count tokens: <[*]>{,100}",
    "temperature": "give the temperature to generate(...)",
}


@dataclass(frozen=True)
class Options:
    """What stands in the brackets of one rule.

    marker: the text of what ends the lexeme (`suffix` or `stop`), "" for none; marker_at: its
    offset. hides: whether captures around it are without the marker (`stop`). most: characters, if
    bounded. capture, stop_capture: names, "" for none.
    """

    lazy: bool = False
    marker: str = ""
    marker_at: int = 0
    hides: bool = False
    most: int | None = None
    capture: str = ""
    stop_capture: str = ""

    @property
    def makes_lexeme(self) -> bool:
        """Whether the rule is one lexeme, with an end of its own kind."""
        return self.lazy or bool(self.marker) or self.most is not None


class OptionError(Exception):
    """What is wrong. at: the offset; expected, hint: as in the errors of grammars."""

    def __init__(self, problem: str, at: int, expected: str = "", hint: str = "") -> None:
        super().__init__(problem)
        self.at, self.expected, self.hint = at, expected, hint


def options_of(text: str, start: int, end: int, rule: str) -> Options:
    """The options between two offsets, those of the brackets. Raises OptionError.

    rule: the name of the rule, which `capture` without a value means.
    """
    found: dict[str, tuple[str | None, int]] = {}
    at = start
    while at < end:
        option = _OPTION.match(text, at, end)
        if option is None:
            raise OptionError("this is no option", at, "a name, or name=value")
        name, value, begins = option["name"], option["value"], option.start("name")
        at = option.end()
        if text[at:end].startswith(","):
            at += 1
        elif at < end:
            raise OptionError("this does not fit here", at, "',' or ']'")
        if name in _REFUSED:
            raise OptionError(f"{name!r} cannot be enforced", begins, hint=_REFUSED[name])
        if name not in _KNOWN:
            raise OptionError(f"there is no option {name!r}", begins, " or ".join(_KNOWN))
        if name in found:
            raise OptionError(f"the option {name!r} is there twice", begins)
        found[name] = value, option.start("value") if value is not None else at
    return _checked(found, rule, {name: at for name, (_, at) in found.items()})


def _checked(
    found: dict[str, tuple[str | None, int]], rule: str, places: dict[str, int]
) -> Options:
    """The options with their values. Raises OptionError."""
    if "suffix" in found and "stop" in found:
        problem = "suffix and stop cannot be used together"
        raise OptionError(problem, max(places["suffix"], places["stop"]))
    marked = found.get("suffix") or found.get("stop")
    if "stop_capture" in found and marked is None:
        raise OptionError("stop_capture needs suffix or stop", places["stop_capture"])
    if found.get("lazy", (None, 0))[0] is not None:
        raise OptionError("lazy has no value", places["lazy"])

    def valued(name: str, what: str, read: Callable[[str], str | None]) -> str:
        value, at = found.get(name, ("", 0))
        if name not in found or (value is None and name == "capture"):
            return ""
        said = None if value is None else read(value)
        if said is None:
            raise OptionError(f"{value!r} is no value of {name}", at, what)
        return said

    def name_of(value: str) -> str | None:
        inner = _NAME.fullmatch(value)
        return None if inner is None else inner[1]

    def marker_of(value: str) -> str | None:
        written = value[0] in '"/%' or _TERMINAL.fullmatch(value) is not None
        return value if written else None

    def count_of(value: str) -> str | None:
        return value if value.isdecimal() and int(value) <= MOST_CHARACTERS else None

    quoted = 'a name in quotes, of letters, digits, "_" and "-"'
    which = "suffix" if "suffix" in found else "stop"
    marker = valued(which, "a string, a pattern or a terminal's name", marker_of)
    if marker in ('""', '""i') and which == "suffix":
        raise OptionError("the suffix is empty", places["suffix"], "text that ends the lexeme")
    most = valued("max_chars", f"a number up to {MOST_CHARACTERS}", count_of)
    capture = valued("capture", quoted, name_of)
    if "capture" in found and not capture:
        capture = rule
    return Options(
        lazy="lazy" in found,
        marker="" if marker in ('""', '""i') else marker,  # a stop at the end of the text
        marker_at=places.get(which, 0),
        hides=which == "stop",
        most=int(most) if most else None,
        capture=capture,
        stop_capture=valued("stop_capture", quoted, name_of),
    )
