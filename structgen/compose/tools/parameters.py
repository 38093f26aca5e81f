"""The spec of a call's arguments where these are written one by one, not as a JSON object.

Texts stand as they are, up to the first end of a parameter; all other values are JSON. How one
parameter is written says a template: a text with $KEY and then $VALUE, and perhaps $IS_TEXT between
them, which stands for "true" or "false".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from structgen.compose.all_of import all_of
from structgen.compose.base import CompositeSpec, from_json, to_json
from structgen.compose.composite.layout import Hub
from structgen.compose.filters import banned, length
from structgen.compose.sequences import AnyOf, FreeText, InOrder
from structgen.compose.tags import Tag
from structgen.errors import SpecError, UnsupportedSchemaError
from structgen.grammar.combinators import many
from structgen.schema.json_schema import JsonSchema
from structgen.spec.base import Spec
from structgen.spec.regular import Choice, Regex

if TYPE_CHECKING:
    from structgen.compose.composite.layout import Layout

_ANNOTATIONS = ("title", "description", "default", "examples", "deprecated", "$comment")
_OBJECT = (
    "type", "properties", "required", "additionalProperties", "$defs", "definitions", "$schema",
    *_ANNOTATIONS,
)  # fmt: skip
_LENGTHS = ("minLength", "maxLength", "pattern")
_TEXT = ("type", *_LENGTHS, *_ANNOTATIONS)
_LISTED = ("type", "enum", "const", *_ANNOTATIONS)
_NOT_OF_TEXT = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains",
    "minContains", "maxContains", "properties", "required", "additionalProperties",
    "patternProperties", "propertyNames", "minProperties", "maxProperties",
)  # fmt: skip


@dataclass(frozen=True)
class Parameters(CompositeSpec):
    """Tags by name, in order, each once or, where it is optional, not at all; parsed, a dict.

    names: of the tags; tags of one name that follow each other are alternatives. newlines: whether
    a line break may stand behind each parameter.
    """

    tags: tuple[Tag, ...]
    names: tuple[str, ...]
    required: tuple[str, ...]
    newlines: bool = False
    kind: ClassVar[str] = "parameters"

    def lay(self, layout: Layout, after: Hub) -> Hub:
        """See `CompositeSpec.lay`."""
        named = [(name, [*found]) for name, found in groupby(range(len(self.tags)), self._name)]
        for name, numbers in reversed(named):
            behind = Hub([after, layout.text("\n", after)]) if self.newlines else after
            ways = [
                layout.text(
                    self.tags[number].begin,
                    self.tags[number].lay_content(layout, behind, self, number),
                )
                for number in numbers
            ]
            after = Hub(ways if name in self.required else [*ways, after])
        return after

    def _name(self, number: int) -> str:
        return self.names[number]

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
            "newlines": self.newlines,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Parameters:
        """The spec that `to_json` described."""
        tags = tuple(tag for tag in map(from_json, data["tags"]) if isinstance(tag, Tag))
        return cls(tags, tuple(data["names"]), tuple(data["required"]), data["newlines"])


def parameters(
    schema: dict[str, Any], template: str, place: str, *, newlines: bool = False
) -> Parameters:
    """The parameters of an object schema, each written as `template` has it.

    newlines: whether a line break may stand on both sides of a value that is not said to be text,
    and behind each parameter.
    UnsupportedSchemaError for what one parameter by itself cannot show: keywords that tie several
    together, or that restrict texts otherwise than by length and pattern.
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
    tags: list[Tag] = []
    names: list[str] = []
    for name, value in properties.items():
        if value is not False:
            found = _tags(name, value, shared, template, f"{place}/properties/{name}", newlines)
            tags += found
            names += [name] * len(found)
    return Parameters(tuple(tags), tuple(names), required, newlines)


def any_parameters(template: str) -> Spec:
    """Any number of parameters of any name and value, each written as `template` has it.

    A line break may stand behind each.
    """
    head, between, end = _pieces(template)
    ways: list[Spec] = []
    for is_text in (True, False) if "$IS_TEXT" in template else (True,):
        name = Tag(head, FreeText((between[0],)), _filled(between, is_text=is_text))
        values = [Tag("", None, end)] if is_text else _with_newlines(Tag("", JsonSchema(True), end))
        ways += [InOrder((name, value)) for value in values]
    return many(InOrder((AnyOf(tuple(ways)), Choice(["", "\n"])))).as_spec()


def contents(schema: Any, ends: tuple[str, ...], place: str) -> list[Any]:
    """The ways of writing one value of a schema in front of one of `ends`, without parameters.

    Texts as they are, other values as JSON; None is any text up to the end.
    """
    return [content for _, content in _contents(schema, {}, ends, place)]


def is_of_parameters(schema: Any) -> bool:
    """Whether a schema is about an object, whose members are written as parameters."""
    if not isinstance(schema, dict):
        return True
    return schema.get("type", "object") == "object" and not schema.keys() & {
        "enum", "const", "anyOf",
    }  # fmt: skip


def _pieces(template: str) -> tuple[str, str, str]:
    """What stands before the key, between key and value, and behind the value."""
    head, tail = template.split("$KEY")
    between, end = tail.split("$VALUE")
    return head, between, end


def _filled(text: str, *, is_text: bool) -> str:
    return text.replace("$IS_TEXT", "true" if is_text else "false")


def _tags(
    name: str, schema: Any, shared: dict[str, Any], template: str, place: str, newlines: bool
) -> list[Tag]:
    """The ways of writing one parameter."""
    head, between, end = _pieces(template)
    found = []
    for is_text, content in _contents(schema, shared, (end,), place):
        begin = head + name + _filled(between, is_text=is_text)
        tag = Tag(begin, content, end)
        is_whole = content is None or (is_text and "$IS_TEXT" in between)  # a break belongs to it
        found += _with_newlines(tag) if newlines and not is_whole else [tag]
    return found


def _with_newlines(tag: Tag) -> list[Tag]:
    """A tag, and the same with line breaks around its content."""
    return [tag, Tag(tag.begin + "\n", tag.content, "\n" + tag.end)]


def _contents(
    schema: Any, shared: dict[str, Any], ends: tuple[str, ...], place: str
) -> list[tuple[bool, Any]]:
    """What a value may be: whether it is a text, and its spec, None for any text up to the end."""
    if not isinstance(schema, dict):
        return [(False, JsonSchema(schema))]
    if "anyOf" in schema and schema.keys() <= {"anyOf", *_ANNOTATIONS}:
        branches = enumerate(schema["anyOf"])
        found = [x for i, s in branches for x in _contents(s, shared, ends, f"{place}/anyOf/{i}")]
        return sorted(found, key=lambda way: way[0])  # JSON first: a text may look like it
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    listed = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(listed, list) and (kinds is None or "string" in kinds):
        words = [text for text in listed if isinstance(text, str)]
        words = [text for text in words if text == schema.get("const", text)]
        rest = [value for value in listed if not isinstance(value, str)]
        _check_only(schema, _LISTED, place)
        others = [(False, JsonSchema({**shared, **schema, "enum": rest}))] if rest else []
        return [*others, (True, Choice(words))] if words or not rest else others
    if not isinstance(kinds, list) or "string" not in kinds:
        return [(False, JsonSchema({**shared, **schema}))]
    others = [kind for kind in kinds if kind != "string"]
    _check_only(schema, (*_TEXT, *_NOT_OF_TEXT), place)
    kept = {keyword: value for keyword, value in schema.items() if keyword not in _LENGTHS}
    json = [(False, JsonSchema({**shared, **kept, "type": others}))] if others else []
    return [*json, (True, _text(schema, ends, place))]


def _text(schema: dict[str, Any], ends: tuple[str, ...], place: str) -> Spec | None:
    """A text of some length, in which a pattern matches; None for any up to the first end."""
    if not schema.keys() & _LENGTHS:
        return None
    least, most = (_count(schema, keyword, place) for keyword in ("minLength", "maxLength"))
    rules = [*map(banned, ends), length(at_least=least or 0, at_most=most)]
    if "pattern" in schema:
        pattern = Regex(schema["pattern"])
        pattern.language()  # refuses what is a pattern only with what is put around it
        rules.append(Regex(f"[\\s\\S]*(?:{pattern.pattern})[\\s\\S]*"))
    return all_of(*rules)


def _count(schema: dict[str, Any], keyword: str, place: str) -> int | None:
    """A number of characters; None where there is none. Raises SpecError."""
    found = schema.get(keyword)
    whole = int(found) if isinstance(found, float) and found.is_integer() else found
    if keyword in schema and (isinstance(whole, bool) or not isinstance(whole, int) or whole < 0):
        raise SpecError(
            f"{keyword} is {found!r:.80}",
            location=f"{place}/{keyword}",
            expected="a whole number, 0 or more",
        )
    return whole


def _check_only(schema: dict[str, Any], known: tuple[str, ...], place: str) -> None:
    for keyword in schema:
        if keyword not in known:
            raise _unsupported(keyword, place)


def _unsupported(keyword: str, place: str) -> UnsupportedSchemaError:
    return UnsupportedSchemaError(
        f"{keyword!r} is not enforced where arguments are written one by one",
        location=f"{place}/{keyword}",
        keyword=keyword,
        hint="leave it out, or use a call format whose arguments are JSON",
    )
