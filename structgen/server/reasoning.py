"""Reasoning in front of an answer, `<think> ... </think>`, which no constraint is about.

A chat template may have opened it already: then the prompt's tail says so, and a text begins inside
of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from structgen.compose.sequences import any_of, sequence
from structgen.compose.tags import Tag
from structgen.server.requests.specs import FREE, Wanted
from structgen.spec.base import Spec
from structgen.spec.regular import Choice, Regex
from structgen.util.partial_match import partial_match_length

TAIL = 256  # tokens at the end of a prompt that are searched for the marks
_GAP = Regex(r"\n{0,2}")  # between reasoning and answer


@dataclass(frozen=True, slots=True)
class Marks:
    """What a model writes before and behind its reasoning."""

    begin: str
    end: str

    def opened_by(self, prompt: str) -> bool:
        """Whether a prompt ends inside of reasoning."""
        return prompt.rfind(self.begin) > prompt.rfind(self.end)

    def before(self, wanted: Wanted, *, opened: bool) -> Wanted:
        """A constraint that begins behind the reasoning: one text of it, or none if not opened."""
        if wanted is FREE:
            return wanted

        def make() -> Spec:
            thought: Spec = sequence(Tag("" if opened else self.begin, None, self.end), _GAP)
            if not opened:
                thought = any_of(thought, Choice([""]))
            return sequence(thought, wanted.make())

        content = [self.begin, self.end, opened, wanted.content]
        return Wanted(wanted.param, f"{wanted.kind} behind reasoning", content, make)


class ReasoningReader:
    """Tells reasoning from answer while a text is written."""

    def __init__(self, marks: Marks, *, opened: bool) -> None:
        self._marks = marks
        self._place = "inside" if opened else "front"
        self._held = ""  # what the next piece may make part of a mark, or of the gap

    def feed(self, text: str, *, ended: bool) -> tuple[str, str]:
        """The reasoning and the answer that a piece adds."""
        held, thoughts = self._held + text, ""
        begin, end = self._marks.begin, self._marks.end
        if self._place == "front":
            if held.startswith(begin):
                self._place, held = "inside", held[len(begin) :]
            elif ended or not begin.startswith(held):
                self._place = "answer"
        if self._place == "inside":
            found = held.find(end)
            if found >= 0:
                self._place, thoughts, held = "gap", held[:found], held[found + len(end) :]
            else:
                sure = len(held) - (0 if ended else partial_match_length(held, [end]))
                thoughts, held = held[:sure], held[sure:]
        if self._place == "gap":
            held = held.lstrip("\n")
            self._place = "answer" if held else "gap"
        if self._place == "answer":
            self._held = ""
            return thoughts, held
        self._held = held
        return thoughts, ""
