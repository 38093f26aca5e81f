"""Grammar texts with line numbers: from offsets to places, and errors that show the line."""

from __future__ import annotations

from bisect import bisect_right

from structgen.errors import GrammarError
from structgen.grammar.ir import Place

_AROUND = 70  # characters of a line shown before and after the place


class Source:
    """A grammar text. name: of its file, "" for the text itself."""

    def __init__(self, text: str, name: str = "") -> None:
        self.text = text
        self.name = name
        self._starts = [0]
        for line in text.split("\n")[:-1]:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def place(self, offset: int) -> Place:
        """The line and column of an offset into the text."""
        offset = min(offset, len(self.text))
        line = bisect_right(self._starts, offset)
        return Place(line, offset - self._starts[line - 1] + 1, self.name)

    def excerpt(self, place: Place) -> str:
        """The line of a place with a caret below the column, both indented by four."""
        if not 1 <= place.line <= len(self._starts):
            return ""
        line = self.text.split("\n")[place.line - 1].rstrip("\r")
        at = min(place.column - 1, len(line))
        start = max(0, at - _AROUND)
        shown = "".join(c if c.isprintable() else " " for c in line[start : at + _AROUND])
        return f"    {shown}\n    {' ' * (at - start)}^"

    def error(
        self, problem: str, place: Place, *, rule: str = "", expected: str = "", hint: str = ""
    ) -> GrammarError:
        """The error for something wrong at a place."""
        return GrammarError(
            f"{problem}, in rule {rule!r}" if rule else problem,
            location=str(place),
            expected=expected,
            hint=hint,
            line=place.line,
            column=place.column,
            rule=rule,
            excerpt=self.excerpt(place),
        )


class Scanner(Source):
    """A text that is read from left to right.

    at: the offset of the next character. rule: the name of the rule that is being read.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.at = 0
        self.rule = ""

    def peek(self) -> str:
        """The next character, "" at the end."""
        return self.text[self.at : self.at + 1]

    def take(self, text: str) -> bool:
        """Read `text` if it comes next."""
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def wrong(self, problem: str, expected: str, hint: str = "") -> GrammarError:
        """The error for what stands here."""
        place = self.place(self.at)
        return self.error(problem, place, rule=self.rule, expected=expected, hint=hint)
