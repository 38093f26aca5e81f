"""Read tools from JSON (OpenAI, Anthropic, MCP) or from Python functions."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from structgen.compose.tools.docstrings import about_parameters, summary
from structgen.errors import SpecError
from structgen.schema.json_schema import JsonSchema
from structgen.schema.python.types import PythonType
from structgen.spec.base import Spec

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")  # no format needs to escape any of it
SCHEMAS = ("parameters", "input_schema", "inputSchema")
_REACH_OUT = (
    "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if",
    "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames",
    "dependentSchemas", "dependencies", "extends",
)  # fmt: skip


class Tool(NamedTuple):
    """A tool. `arguments`: the spec of its arguments, a JSON object. `schema`: as JSON Schema."""

    name: str
    description: str
    schema: dict[str, Any]
    arguments: Spec
    function: Callable[..., Any] | None = None

    def definition(self) -> dict[str, Any]:
        """The tool as chat templates and the OpenAI API take it."""
        about = {"name": self.name, "description": self.description, "parameters": self.schema}
        return {"type": "function", "function": about}


def read_tools(tools: Any) -> tuple[Tool, ...]:
    """A `Tool` for each definition or function. SpecError when one is broken or comes twice."""
    if isinstance(tools, Mapping) and "tools" in tools:  # the answer of an MCP server
        tools = tools["tools"]
    if isinstance(tools, str | Mapping) or not isinstance(tools, Iterable):
        raise SpecError(
            f"the tools are {tools!r:.80}", expected="a list of definitions or Python functions"
        )
    found = tuple(
        tool if isinstance(tool, Tool) else _read(tool, number) for number, tool in enumerate(tools)
    )
    if not found:
        raise SpecError("there are no tools", expected="at least one tool")
    names = [tool.name for tool in found]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise SpecError(f"two tools are called {name!r}", location=f"/{number}/name")
    return found


def _read(tool: Any, number: int) -> Tool:
    place = f"/{number}"
    if isinstance(tool, Mapping):
        return _of_definition(tool, place)
    if callable(tool) and not isinstance(tool, type):
        return _of_function(tool, place)
    raise SpecError(
        f"{tool!r:.80} is no tool", location=place, expected="a definition or a Python function"
    )


def _of_definition(tool: Mapping[str, Any], place: str) -> Tool:
    if isinstance(tool.get("function"), Mapping):
        tool, place = tool["function"], f"{place}/function"
    kind = tool.get("type", "function")
    if kind not in ("function", "custom") or "name" not in tool:
        raise SpecError(
            f"a tool of the type {kind!r} without a schema of its own",
            location=place,
            expected='{"name": ..., "parameters": {...}}',
        )
    name = _checked_name(tool["name"], f"{place}/name")
    given = [key for key in SCHEMAS if tool.get(key) is not None]
    if len(given) > 1:
        raise SpecError(f"{given[0]!r} and {given[1]!r} both say what is passed", location=place)
    place = f"{place}/{given[0]}" if given else place
    schema = tool[given[0]] if given else {"type": "object", "properties": {}}
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise SpecError(
            f"the arguments of {name!r} are no object",
            location=place,
            expected='a schema with "type": "object"',
        )
    closed = {"type": "object", **schema}
    if not any(key in schema for key in _REACH_OUT):
        closed["additionalProperties"] = False
    return Tool(name, str(tool.get("description") or ""), closed, JsonSchema(closed))


def _checked_name(name: Any, place: str) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise SpecError(
            f"a tool is called {name!r}",
            location=place,
            expected="letters, digits, and _ . : / - behind the first",
        )
    return name


def _of_function(function: Callable[..., Any], place: str) -> Tool:
    """The signature as a dataclass, whose fields Pydantic reads as it reads calls."""
    name = _checked_name(getattr(function, "__name__", None), place)
    signature = inspect.signature(function)
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise SpecError(
            f"an annotation of {name!r} is unknown: {error}",
            location=place,
            hint="annotate with names that the module of the function knows",
        ) from error
    fields: list[Any] = []
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise SpecError(
                f"{name!r} takes {parameter}, which a call by names cannot pass",
                location=place,
                hint="give every parameter a name, none of them behind * or before /",
            )
        kind = hints.get(parameter.name, Any)
        if parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            default = dataclasses.field(default_factory=partial(_same, parameter.default))
            fields.append((parameter.name, kind, default))
    made = dataclasses.make_dataclass(name, fields, kw_only=True)
    arguments = PythonType(made)
    about = inspect.getdoc(function) or ""
    schema = _described(arguments.schema, about)
    return Tool(name, summary(about), schema, arguments, function)


def _same(value: Any) -> Any:
    return value


def _described(schema: dict[str, Any], about: str) -> dict[str, Any]:
    """The schema, with what the docstring says of each parameter."""
    properties = dict(schema.get("properties", {}))
    for name, said in about_parameters(about).items():
        if name in properties:
            properties[name] = {**properties[name], "description": said}
    return {key: value for key, value in schema.items() if key != "title"} | {
        "properties": properties
    }
