"""The spec of a call's arguments where these are written one by one, not as a JSON object.

Texts stand as they are, up to the first end of a parameter; all other values are JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from structgen.compose.base import CompositeSpec, from_json, to_json
from structgen.compose.composite.layout import Hub
from structgen.compose.tags import Tag
from structgen.errors import SpecError, UnsupportedSchemaError
from structgen.schema.json_schema import JsonSchema
from structgen.spec.regular import Choice

if TYPE_CHECKING:
    from structgen.compose.composite.layout import Layout

_ANNOTATIONS = ("title", "description", "default", "examples", "deprecated", "$comment")
_OBJECT = (
    "type", "properties", "required", "additionalProperties", "$defs", "definitions", "$schema",
    *_ANNOTATIONS,
)  # fmt: skip
_TEXT = ("type", "enum", "const", *_ANNOTATIONS)


@dataclass(frozen=True)
class Parameters(CompositeSpec):
    """Tags by name, in order, each once or, where it is optional, not at all; parsed, a dict."""

    tags: tuple[Tag, ...]
    names: tuple[str, ...]
    required: tuple[str, ...]
    kind: ClassVar[str] = "parameters"

    def lay(self, layout: Layout, after: Hub) -> Hub:
        """See `CompositeSpec.lay`."""
        for number in range(len(self.tags) - 1, -1, -1):
            tag = self.tags[number]
            hub = layout.text(tag.begin, tag.lay_content(layout, after, self, number))
            after = hub if self.names[number] in self.required else Hub([hub, after])
        return after

    def parse(self, text: str) -> dict[str, Any]:
        """The values of the parameters that were written. Raises ValidationError."""
        data = text.encode(errors="surrogatepass")
        notes = iter(self.notes(text))
        return {
            self.names[start.mark]: self.tags[start.mark].value(data[start.offset : end.offset])
            for start, end in zip(notes, notes, strict=True)
        }

    def to_json(self) -> dict[str, Any]:
        """See `Spec.to_json`."""
        return {
            "tags": [to_json(tag) for tag in self.tags],
            "names": list(self.names),
            "required": list(self.required),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Parameters:
        """The spec that `to_json` described."""
        tags = tuple(tag for tag in map(from_json, data["tags"]) if isinstance(tag, Tag))
        return cls(tags, tuple(data["names"]), tuple(data["required"]))


def parameters(schema: dict[str, Any], template: str, place: str) -> Parameters:
    """The parameters of an object schema, each written as `template` has it.

    template: a text with $KEY and then $VALUE. UnsupportedSchemaError for what one parameter by
    itself cannot show: keywords that tie several together, or that restrict texts.
    """
    for keyword in schema:
        if keyword not in _OBJECT:
            raise _unsupported(keyword, place)
    shared: dict[str, Any] = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    properties: dict[str, Any] = schema.get("properties", {})
    required = tuple(schema.get("required", ()))
    for name in required:
        if name not in properties:
            raise SpecError(
                f"{name!r} is required and not among the properties", location=f"{place}/required"
            )
    head, tail = template.split("$KEY")
    between, end = tail.split("$VALUE")
    tags = tuple(
        Tag(head + name + between, _content(value, shared, f"{place}/properties/{name}"), end)
        for name, value in properties.items()
        if value is not False
    )
    names = tuple(name for name, value in properties.items() if value is not False)
    return Parameters(tags, names, required)


def _content(schema: Any, shared: dict[str, Any], place: str) -> Any:
    """The content of a tag: None for any text, texts to choose from, or JSON."""
    if schema is True or not isinstance(schema, dict) or schema.get("type") != "string":
        return JsonSchema({**shared, **schema} if isinstance(schema, dict) else schema)
    for keyword in schema:
        if keyword not in _TEXT:
            raise _unsupported(keyword, place)
    if "enum" in schema or "const" in schema:
        listed = schema.get("enum", [schema.get("const")])
        return Choice([text for text in listed if text == schema.get("const", text)])
    return None


def _unsupported(keyword: str, place: str) -> UnsupportedSchemaError:
    return UnsupportedSchemaError(
        f"{keyword!r} is not enforced where arguments are written one by one",
        location=f"{place}/{keyword}",
        keyword=keyword,
        hint="leave it out, or use a call format whose arguments are JSON",
    )
