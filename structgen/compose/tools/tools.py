"""The spec of text with tool calls, and the calls in such a text (`tools`)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from structgen.compose.base import CompositeSpec, Literal
from structgen.compose.sequences import AnyOf, FreeText, InOrder
from structgen.compose.tags import TEXT, Tag, Tagged, Tags
from structgen.compose.tools.call_formats import CallFormat, call_format
from structgen.compose.tools.definitions import Tool, read_tools
from structgen.compose.tools.parameters import parameters
from structgen.errors import SpecError
from structgen.spec.base import Spec
from structgen.spec.partial_json import PartialValue
from structgen.spec.regular import Regex

if TYPE_CHECKING:
    from structgen.compose.composite.layout import Hub, Layout

_INDEX = Regex("0|[1-9][0-9]{0,8}")


class ToolCall(NamedTuple):
    """A call: the name of the tool, and its arguments by name.

    For a Python function they are values of the annotated types, so `function(**arguments)` works.
    """

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Tools(CompositeSpec):
    """Text in which tools may be called; parsed, the list of `ToolCall`s. Made by `tools`."""

    tools: tuple[Tool, ...]
    format: CallFormat
    text: str
    at_least: int = 0
    at_most: int | None = None
    kind: ClassVar[str] = "tools"

    def lay(self, layout: Layout, after: Hub) -> Hub:
        """See `CompositeSpec.lay`."""
        return layout.spec(self.inner, after)

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """The tools as chat templates (`tools=`) and the OpenAI API take them."""
        return [tool.definition() for tool in self.tools]

    @cached_property
    def inner(self) -> Spec:
        """The same texts in terms of tags."""
        style = self.format
        if style.answer is None:
            return self._in_text()
        calls, answer = self._calls(), InOrder((Literal(style.answer), FreeText()))
        ways: Spec = AnyOf((answer, calls))
        if self.at_most == 0 or self.at_least:
            ways = answer if self.at_most == 0 else calls
        if style.thought is None:
            return ways
        return InOrder((AnyOf((Tag(style.thought[0], None, style.thought[1]), InOrder(()))), ways))

    def _in_text(self) -> Spec:
        style, none = self.format, self.text == "none"
        if style.block:
            block, most = self._calls(), min(1 if self.at_most is None else self.at_most, 1)
            if none and most:
                return block if self.at_least else AnyOf((InOrder(()), block))
            if none:
                return InOrder(())
            return Tags((block,), (style.trigger,), self.text, min(self.at_least, 1), most)
        triggers = None if none else (style.trigger,)
        between = style.between or ""
        return Tags(
            self._tags(), triggers, self.text, self.at_least, self.at_most, separator=between
        )

    def _calls(self) -> Tag:
        """All calls, one after the other, in their block: one at least."""
        between, least = self.format.between or "", max(self.at_least, 1)
        calls = Tags(self._tags(), None, "none", least, self.at_most or None, separator=between)
        return Tag(self.format.open, calls, self.format.close)

    def _tags(self) -> tuple[Tag, ...]:
        return tuple(self._tag(tool, number) for number, tool in enumerate(self.tools))

    def _tag(self, tool: Tool, number: int) -> Tag:
        """One call of a tool: its content is the arguments, or a sequence with them in it."""
        text = self.format.call.replace("$NAME", tool.name)
        begin, *pieces, end = re.split(r"(\$INDEX|\$ARGUMENTS)", text)
        contents = [
            self._arguments(tool, number)
            if piece == "$ARGUMENTS"
            else _INDEX
            if piece == "$INDEX"
            else Literal(piece)
            for piece in pieces
        ]
        content = contents[0] if len(contents) == 1 else InOrder(tuple(contents))
        return Tag(begin, content, end)

    def _arguments(self, tool: Tool, number: int) -> Spec:
        if not self.format.parameter:
            return tool.arguments
        return parameters(tool.schema, self.format.parameter, f"/{number}/parameters")

    # -- values ---------------------------------------------------------------------------------

    def parse(self, text: str) -> list[ToolCall]:
        """The calls in a text, in their order. Raises ValidationError."""
        return [piece for piece in self.pieces(text) if isinstance(piece, ToolCall)]

    def partial(self, text: str) -> PartialValue:
        """The calls that are whole so far; in formats that begin with a verdict, the text."""
        if self.format.answer is not None:
            return super().partial(text)
        inner = self.inner.partial(text)
        if not inner.begun:
            return inner
        being_written = inner.open[0] if inner.open else None
        whole = [piece for i, piece in enumerate(inner.value) if i != being_written]
        calls = [piece for piece in self._flat(whole) if isinstance(piece, ToolCall)]
        return PartialValue(begun=True, value=calls, open=None if inner.open is None else ())

    def pieces(self, text: str) -> list[str | ToolCall]:
        """The calls, and the text to the user before, between and behind them.

        Reasoning that the call format sets apart is left out.
        """
        style = self.format
        value = self.inner.parse(text)
        if style.answer is None:
            return list(self._flat(value))
        if style.thought is not None:
            value = value[1]
        if not isinstance(value[0], Tagged):  # what the answer begins with
            return value[1:] if value[1] else []
        return list(self._flat(value))

    def _flat(self, pieces: list[Any]) -> Iterator[str | ToolCall]:
        for piece in pieces:
            if isinstance(piece, str):
                yield piece
            elif (
                isinstance(piece.value, list) and piece.value and isinstance(piece.value[0], Tagged)
            ):
                yield from self._flat(piece.value)
            else:
                yield self._call(piece)

    def _call(self, tagged: Tagged) -> ToolCall:
        value = tagged.value[-1] if isinstance(tagged.value, list) else tagged.value
        if dataclasses.is_dataclass(value):
            value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return ToolCall(self.tools[tagged.tag].name, value)

    # -- files ----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`; functions stay behind, their schemas do not."""
        return {
            "tools": self.definitions,
            "format": self.format._asdict(),
            "text": self.text,
            "at_least": self.at_least,
            "at_most": self.at_most,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Tools:
        """The spec that `to_json` described."""
        style = dict(data["format"])
        style["thought"] = tuple(style["thought"]) if style["thought"] else None
        fields = {**data, "tools": read_tools(data["tools"]), "format": CallFormat(**style)}
        return cls(**fields)


def tools(
    tools: Any,
    format: str | CallFormat = "hermes",  # noqa: A002 - what everybody calls it
    *,
    text: str | None = None,
    at_least: int = 0,
    at_most: int | None = None,
) -> Tools:
    """Text in which a model may call tools, each call with arguments that fit the tool's schema.

    tools: definitions as JSON (OpenAI, Anthropic, MCP) or Python functions, whose signatures say
    what they take. Arguments that a definition does not name are not written unless it says
    `additionalProperties`. format: how calls are written, a name in `call_formats.FORMATS`. text:
    "around" the calls (default), "before" the first only, or "none" at all; formats that set their
    answers apart allow either an answer or calls. at_least, at_most: how many calls; none with
    at_most=0.

    SpecError for broken definitions or formats, and what compiling the schemas raises.
    """
    style = call_format(format)
    found = read_tools(tools)
    if text is None:
        text = "around" if style.trigger else "none"
    if text not in TEXT:
        raise SpecError(f"text is {text!r}", expected=" or ".join(TEXT))
    if text != "none" and not style.trigger:
        raise SpecError(
            f"calls in the format {style.name!r} cannot stand in free text",
            expected='text="none"',
            hint="choose another format",
        )
    if style.between is None:
        if at_least > 1:
            raise SpecError(f"the format {style.name!r} has one call in a text, not {at_least}")
        at_most = 1 if at_most is None else min(at_most, 1)
    if not 0 <= at_least <= (at_least if at_most is None else at_most):
        raise SpecError(
            f"at_least is {at_least} and at_most is {at_most}", expected="0 <= at_least <= at_most"
        )
    return Tools(found, style, text, at_least, at_most)
