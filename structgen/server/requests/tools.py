"""Which tools a request lets the model call, and how often: `tools`, `tool_choice` and the like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from structgen.compose.sequences import any_of
from structgen.compose.tools.call_formats import FORMATS
from structgen.compose.tools.definitions import Tool, read_tools
from structgen.compose.tools.tools import Tools, tools
from structgen.errors import SpecError
from structgen.grammar.specs import Lark
from structgen.schema.json_schema import JsonSchema
from structgen.server.errors import ApiError, of_structgen
from structgen.server.requests.specs import FREE, Wanted
from structgen.server.requests.wire import (
    AllowedTools,
    ChatRequest,
    CustomEntry,
    FunctionEntry,
    ToolChoice,
)
from structgen.server.settings import ToolLevel
from structgen.spec.base import Spec
from structgen.spec.regular import Regex

Enforced = Literal["full", "names", "none"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a text has to fit, and how it is read.

    wanted: the constraint. calls: reads the calls in the text, None where there cannot be any.
    enforced: "full", "names" (of tools, not their arguments) or "none" (nothing was asked for).
    definitions: the tools as chat templates take them. custom: names of the tools that take text.
    """

    wanted: Wanted
    enforced: Enforced
    calls: Tools | None = None
    definitions: tuple[dict[str, Any], ...] = ()
    custom: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Choice:
    """mode: "none", "auto", "required" or "named". names: which tools; None for all."""

    mode: str
    names: tuple[str, ...] | None = None


def plan_of(content: Wanted | None) -> Plan:
    """The plan of a request without tools."""
    return Plan(FREE, "none") if content is None else Plan(content, "full")


def plan_tools(body: ChatRequest, content: Wanted | None, level: ToolLevel, style: str) -> Plan:
    """The plan of a chat request. ApiError for what is broken, and for what goes not together."""
    if not body.tools:
        if body.tool_choice not in (None, "none", "auto"):
            raise ApiError(
                "tool_choice asks for a call, and there are no tools",
                param="tool_choice",
                code="conflicting_constraints",
            )
        return plan_of(content)
    choice = _choice(body)
    known = [_name(entry) for entry in body.tools]
    for name in choice.names or ():
        if name not in known:
            raise ApiError(
                f"tool_choice names {name!r}, which is no tool of the request",
                param="tool_choice",
                more={"expected": ", ".join(known)},
            )
    if choice.mode == "none":
        return plan_of(content)
    if content is not None and choice.mode != "auto":
        raise ApiError(
            f"{content.param} constrains the answer, and tool_choice asks for a call instead",
            param=content.param,
            code="conflicting_constraints",
            more={"conflicts_with": "tool_choice"},
        )
    chosen = [
        (number, entry)
        for number, entry in enumerate(body.tools)
        if choice.names is None or _name(entry) in choice.names
    ]
    must = choice.mode != "auto" or content is not None
    most = 1 if choice.mode == "named" or body.parallel_tool_calls is False else None
    options: dict[str, Any] = {"at_least": 1 if must else 0, "at_most": most}
    if FORMATS[style].answer is None and must:
        options["text"] = "none"
    return _planned(chosen, content, level, style, options)


def _planned(
    chosen: Sequence[tuple[int, FunctionEntry | CustomEntry]],
    content: Wanted | None,
    level: ToolLevel,
    style: str,
    options: dict[str, Any],
) -> Plan:
    must = options["at_least"]
    if level == "off" and must:
        raise ApiError(
            "this server does not enforce calls, and the request cannot do without",
            param="tool_choice" if content is None else content.param,
            code="not_enforced",
        )
    given = [_tool(entry, number, level, style) for number, entry in chosen]
    try:
        calls = tools(given, style, **options)
    except SpecError as error:
        raise of_structgen(error, "tools") from error
    shown = tuple(_shown(entry) for _, entry in chosen)
    custom = frozenset(_name(entry) for _, entry in chosen if isinstance(entry, CustomEntry))
    if level == "off":
        return Plan(FREE, "none", calls, shown, custom)
    enforced: Enforced = "full" if level == "strict" else "names"
    asked = [entry.model_dump(exclude_none=True) for _, entry in chosen]
    described: Any = {"tools": asked, "format": style, "level": level, **options}
    if content is None:
        made = Wanted("tools", "tools", described, lambda: calls)
        return Plan(made, enforced, calls, shown, custom)
    if FORMATS[style].answer is not None or not FORMATS[style].trigger:
        raise ApiError(
            f"in the call format {style!r} an answer cannot be constrained beside tools",
            param=content.param,
            code="conflicting_constraints",
            more={"conflicts_with": "tools"},
        )
    both = {"calls": described, "answer": [content.kind, content.content]}
    either = Wanted(content.param, "tools_or_answer", both, lambda: any_of(calls, content.make()))
    return Plan(either, enforced, calls, shown, custom)


def _choice(body: ChatRequest) -> _Choice:
    asked = body.tool_choice
    if asked is None or isinstance(asked, str):
        return _Choice(asked or "auto")
    _check_choice(asked)
    if asked.type == "allowed_tools" and asked.allowed_tools is not None:
        return _Choice(asked.allowed_tools.mode, _allowed(asked.allowed_tools))
    names = tuple(one.name for one in (asked.function, asked.custom) if one is not None)
    return _Choice("named", names)


def _check_choice(asked: ToolChoice) -> None:
    given = [n for n in ("function", "custom", "allowed_tools") if getattr(asked, n) is not None]
    if given != [asked.type]:
        raise ApiError(
            f"a tool_choice of the type {asked.type!r} has {' and '.join(given) or 'nothing else'}",
            param="tool_choice",
            more={"expected": f"tool_choice.{asked.type}"},
        )


def _allowed(asked: AllowedTools) -> tuple[str, ...]:
    names = []
    for number, tool in enumerate(asked.tools):
        place = f"tool_choice.allowed_tools.tools[{number}]"
        inner = tool.get(str(tool.get("type")), tool)
        name = inner.get("name") if isinstance(inner, dict) else None
        if not isinstance(name, str):
            raise ApiError(f"{place} has no name", param=place, code="missing_field")
        names.append(name)
    return tuple(names)


def _name(entry: FunctionEntry | CustomEntry) -> str:
    return entry.custom.name if isinstance(entry, CustomEntry) else entry.function.name


def _shown(entry: FunctionEntry | CustomEntry) -> dict[str, Any]:
    """A tool as chat templates take it; one that takes text is a function of one string."""
    if isinstance(entry, CustomEntry):
        about: Any = entry.custom
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"input": {"type": "string"}},
            "required": ["input"],
        }
    else:
        about = entry.function
        schema = about.parameters or {"type": "object", "properties": {}}
    found = {"name": about.name, "description": about.description or "", "parameters": schema}
    return {"type": "function", "function": found}


def _tool(entry: FunctionEntry | CustomEntry, number: int, level: ToolLevel, style: str) -> Tool:
    """A tool with the spec of what it takes. ApiError with its place for what is broken."""
    definition = _shown(entry)
    if isinstance(entry, FunctionEntry):
        if level == "names":
            free = {"type": "object", "additionalProperties": True}
            definition["function"]["parameters"] = free
        try:
            return read_tools([definition])[0]
        except SpecError as error:
            place = error.location.removeprefix("/0").replace("/", ".")
            raise of_structgen(error, f"tools[{number}]{place}") from error
    if FORMATS[style].parameter:
        raise ApiError(
            f"in the call format {style!r} there is no place for the text of a custom tool",
            param=f"tools[{number}].type",
            code="unsupported",
        )
    about = entry.custom
    asked = about.format
    arguments: Spec = JsonSchema({"type": "string"})
    if asked is not None and asked.type == "grammar":
        if asked.grammar is None:
            place = f"tools[{number}].custom.format.grammar"
            raise ApiError(f"there is no {place}", param=place, code="missing_field")
        text = asked.grammar.definition
        arguments = Lark(text) if asked.grammar.syntax == "lark" else Regex(text)
    return Tool(
        about.name, about.description or "", definition["function"]["parameters"], arguments
    )
