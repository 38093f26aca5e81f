"""Reads a request of /v1/responses as one for a chat, with one constraint."""

from __future__ import annotations

from typing import Any

from structgen.server.errors import ApiError
from structgen.server.requests.responses_wire import (
    FlatChoice,
    FlatCustom,
    InputCall,
    InputCustomCall,
    InputItem,
    InputMessage,
    ResponsesRequest,
    TextFormat,
)
from structgen.server.requests.specs import (
    Wanted,
    grammar,
    json_object,
    json_schema,
    lark,
    of_fields,
    one_of,
    regex,
)
from structgen.server.requests.wire import ChatRequest, ConstraintFields, SamplingFields


def wanted(body: ResponsesRequest) -> Wanted | None:
    """The one constraint of a request, or None."""
    found = list(of_fields(body))
    asked = body.text.format if body.text is not None else None
    if asked is not None and asked.type != "text":
        found.insert(0, _of_format(asked))
    return one_of(found, body)


def as_chat(body: ResponsesRequest) -> ChatRequest:
    """The same conversation, tools and settings. ApiError for what has no place there."""
    same = {
        name: getattr(body, name)
        for name in SamplingFields.model_fields.keys() - ConstraintFields.model_fields
    }
    return ChatRequest.model_validate(
        same
        | {
            "messages": _messages(body),
            "tools": _tools(body),
            "tool_choice": _choice(body.tool_choice),
            "parallel_tool_calls": body.parallel_tool_calls,
        }
    )


def _of_format(asked: TextFormat) -> Wanted:
    place = "text.format"
    given = [
        name
        for name in ("schema_", "syntax", "definition", "grammar")
        if getattr(asked, name) is not None
    ]
    fitting: dict[str, list[list[str]]] = {
        "json_object": [[]],
        "json_schema": [["schema_"]],
        "grammar": [["syntax", "definition"], ["grammar"]],
    }
    if given not in fitting[asked.type]:
        want = " or ".join(" and ".join(names) for names in fitting[asked.type]) or "nothing else"
        raise ApiError(
            f"{place} is of the type {asked.type!r} and has {', '.join(given) or 'nothing else'}",
            param=place,
            more={"expected": want.replace("_", "")},
        )
    if asked.type == "json_object":
        return json_object(place)
    if asked.type == "json_schema":
        return json_schema(f"{place}.schema", asked.schema_)
    if asked.grammar is not None:
        return grammar(f"{place}.grammar", asked.grammar)
    make = lark if asked.syntax == "lark" else regex
    return make(f"{place}.definition", asked.definition or "")


def _messages(body: ResponsesRequest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if body.instructions is not None:
        found.append({"role": "system", "content": body.instructions})
    if isinstance(body.input, str):
        return [*found, {"role": "user", "content": body.input}]
    for item in body.input:
        message = _message(item)
        last = found[-1] if found else {}
        if "tool_calls" in message and last.get("role") == "assistant":
            last.setdefault("tool_calls", []).extend(message["tool_calls"])
        else:
            found.append(message)
    if not found:
        raise ApiError("the input is empty", param="input")
    return found


def _message(item: InputItem) -> dict[str, Any]:
    if isinstance(item, InputMessage):
        content = item.content
        if not isinstance(content, str):
            content = "".join(part.text for part in content)
        return {"role": item.role, "content": content}
    if isinstance(item, InputCall):
        function = {"name": item.name, "arguments": item.arguments}
        call = {"id": item.call_id, "type": "function", "function": function}
        return {"role": "assistant", "content": "", "tool_calls": [call]}
    if isinstance(item, InputCustomCall):
        custom = {"name": item.name, "input": item.input}
        call = {"id": item.call_id, "type": "custom", "custom": custom}
        return {"role": "assistant", "content": "", "tool_calls": [call]}
    return {"role": "tool", "tool_call_id": item.call_id, "content": item.output}


def _tools(body: ResponsesRequest) -> list[dict[str, Any]] | None:
    if not body.tools:
        return None
    found: list[dict[str, Any]] = []
    for number, tool in enumerate(body.tools):
        about = tool.model_dump(exclude={"type", "format"}, exclude_none=True)
        if isinstance(tool, FlatCustom) and tool.format is not None:
            style = tool.format
            about["format"] = {"type": style.type}
            if style.type == "grammar":
                if style.syntax is None or style.definition is None:
                    place = f"tools[{number}].format"
                    raise ApiError(
                        f"{place} has no grammar",
                        param=place,
                        code="missing_field",
                        more={"expected": "syntax and definition"},
                    )
                about["format"]["grammar"] = style.model_dump(include={"syntax", "definition"})
        found.append({"type": tool.type, tool.type: about})
    return found


def _choice(asked: str | FlatChoice | None) -> Any:
    if asked is None or isinstance(asked, str):
        return asked
    if asked.type == "allowed_tools":
        if not asked.tools or asked.mode is None or asked.name is not None:
            raise ApiError(
                "tool_choice of the type allowed_tools has mode and tools", param="tool_choice"
            )
        return {"type": asked.type, asked.type: {"mode": asked.mode, "tools": asked.tools}}
    if asked.name is None or asked.tools is not None or asked.mode is not None:
        raise ApiError(f"tool_choice of the type {asked.type} has a name", param="tool_choice")
    return {"type": asked.type, asked.type: {"name": asked.name}}
