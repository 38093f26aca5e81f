"""Structural tags, as vLLM, SGLang and XGrammar write them: free text with parts that fit a spec.

Both forms that are in use are read: a list of `structures` with `triggers`, and a `format`, which
is nested. A format means what XGrammar's documentation says of it; what has no meaning here, and a
member that is not known, is refused with its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from structgen.compose.base import Literal
from structgen.compose.sequences import FreeText, any_of, sequence
from structgen.compose.tags import Tag, Tags
from structgen.compose.tools.parameters import (
    any_parameters,
    contents,
    is_of_parameters,
    parameters,
)
from structgen.errors import SpecError
from structgen.grammar.combinators import many, optional, seq
from structgen.grammar.specs import Gbnf, Lark, grammar_class
from structgen.schema.json_schema import JsonSchema
from structgen.spec.base import Spec
from structgen.spec.regular import Choice, Regex


def structural_tag(given: Any, *, whitespace: str | None = None) -> Spec:
    """The spec of a structural tag, as JSON has it.

    whitespace: of JSON, as `JsonSchema` takes it; None is its default. SpecError with a JSON
    Pointer for what is not known, or lacks.
    """
    if not isinstance(given, dict):
        raise SpecError("a structural tag is no JSON object", expected='{"format": ...}')
    _of_type(given, "structural_tag", "")
    options: dict[str, Any] = {} if whitespace is None else {"whitespace": whitespace}
    if "format" in given:
        _known(given, "", "type", "format")
        return _Formats(options).spec(given["format"], "/format")
    _known(given, "", "type", "structures", "triggers", *_COUNTS)
    tags = []
    structures = _member(given, "structures", list, "")
    if not structures:
        raise SpecError("a structural tag has no tags", location="/structures", expected="a tag")
    for i, one in enumerate(structures):
        pointer = f"/structures/{i}"
        schema = JsonSchema(_member(one, "schema", (dict, bool), pointer), **options)
        begin, end = _member(one, "begin", str, pointer), _member(one, "end", str, pointer)
        _known(one, pointer, "begin", "schema", "end")
        tags.append(Tag(begin, schema, end))
    return _triggered(_counts(given, ""), tuple(tags), _texts(given, "triggers", ""))


#: how models write the arguments of a call one by one; see `structgen.compose.tools.parameters`
STYLES = {
    "qwen_xml": "<parameter=$KEY>$VALUE</parameter>",
    "minimax_xml": '<parameter name="$KEY">$VALUE</parameter>',
    "deepseek_xml": '<｜DSML｜parameter name="$KEY" string="$IS_TEXT">$VALUE</｜DSML｜parameter>',
    "deepseek_v4_1_xml": (
        '<｜DSML｜ parameter name="$KEY" string="$IS_TEXT">$VALUE</｜DSML｜ parameter>'
    ),
    "glm_xml": "<arg_key>$KEY</arg_key><arg_value>$VALUE</arg_value>",
}


class _Format(NamedTuple):
    """How formats of one kind are read. members: those it may have, beside `type`."""

    make: Callable[[_Formats, Any, str], Spec]
    members: tuple[str, ...]


class _Formats:
    """Makes specs of nested formats. options: of JSON Schemas."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def spec(self, given: Any, pointer: str) -> Spec:
        """The spec of a format at a JSON Pointer. SpecError names what is not known."""
        kind = _member(given, "type", str, pointer)
        if kind not in _FORMATS:
            raise SpecError(
                f"the format {kind!r} is not known",
                location=f"{pointer}/type",
                expected=", ".join(_FORMATS),
            )
        _check_members(given, kind, pointer)
        return _FORMATS[kind].make(self, given, pointer)

    # -- one text --------------------------------------------------------------------------------

    def const_string(self, given: Any, pointer: str) -> Spec:
        return Literal(_member(given, "value", str, pointer))

    def json_schema(self, given: Any, pointer: str) -> Spec:
        if given.get("excludes"):
            raise _not_enforced("excludes", pointer, "state it in the schema, with pattern and not")
        style = given.get("style") or "json"
        if style != "json":
            return self._parameters(given, style, pointer)
        options = dict(self._options)
        if _flag(given, "any_order", pointer):
            options["property_order"] = "any"
        most = given.get("max_whitespace_cnt")
        if most is not None and "whitespace" not in options:
            count = _member(given, "max_whitespace_cnt", int, pointer)
            options["whitespace"] = f"[ \\n\\t\\r]{{0,{count}}}"
        return JsonSchema(_member(given, "json_schema", (dict, bool), pointer), **options)

    def _parameters(self, given: Any, style: str, pointer: str) -> Spec:
        """Values of a schema's properties that are written one by one, as models write calls."""
        if style not in STYLES:
            raise SpecError(
                f"the style {style!r} is not known",
                location=f"{pointer}/style",
                expected=", ".join(("json", *STYLES)),
                hint="structgen.tools(..., format=...) writes calls in the formats of models",
            )
        schema = _member(given, "json_schema", (dict, bool), pointer)
        if not is_of_parameters(schema):
            return any_of(*self._values(schema, (), pointer))
        is_open = isinstance(schema, dict) and schema.get("additionalProperties") is not False
        if schema is True or (is_open and not schema.get("properties")):
            return any_parameters(STYLES[style])
        return parameters(schema or {}, STYLES[style], f"{pointer}/json_schema", newlines=True)

    def _values(self, schema: Any, ends: tuple[str, ...], pointer: str) -> list[Spec]:
        """The ways of writing one value of a schema, texts as they are, in front of some ends."""
        found = contents(schema, ends, f"{pointer}/json_schema")
        return [FreeText(ends) if content is None else content for content in found]

    def regex(self, given: Any, pointer: str) -> Spec:
        return Regex(_member(given, "pattern", str, pointer))

    def grammar(self, given: Any, pointer: str) -> Spec:
        text, syntax = _member(given, "grammar", str, pointer), given.get("syntax")
        if syntax not in (None, "ebnf", "lark"):
            raise SpecError(
                f"the syntax {syntax!r} is not known",
                location=f"{pointer}/syntax",
                expected='"ebnf" (GBNF) or "lark"',
            )
        return Lark(text) if syntax == "lark" else grammar_class(text)(text)

    def any_text(self, given: Any, pointer: str) -> Spec:
        return self._free_text(given, pointer, ())

    def _free_text(self, given: Any, pointer: str, ends: tuple[str, ...]) -> Spec:
        """Free text without `excludes`, and that stands in front of one of `ends`."""
        if given.get("max_tokens") is not None:
            raise _not_enforced(
                "max_tokens", pointer, "set max_chars, or max_tokens of the request"
            )
        excludes = (*_texts(given, "excludes", pointer), *filter(None, ends))
        if given.get("max_chars") is None:
            return FreeText(excludes)
        if excludes:
            raise _not_enforced(
                "max_chars", pointer, "leave out what the text excludes, or the end"
            )
        return Regex(f"[\\s\\S]{{0,{_member(given, 'max_chars', int, pointer)}}}")

    def token(self, given: Any, pointer: str) -> Spec:
        return _edge(_token(given, pointer))

    def exclude_token(self, given: Any, pointer: str) -> Spec:
        return _other_token(_tokens(given, "exclude_tokens", pointer), pointer)

    def any_tokens(self, given: Any, pointer: str) -> Spec:
        most = given.get("max_tokens")
        if most is not None:
            most = _member(given, "max_tokens", int, pointer)
        return many(self.exclude_token(given, pointer), 0, most).as_spec()

    # -- several ---------------------------------------------------------------------------------

    def sequence(self, given: Any, pointer: str) -> Spec:
        return sequence(*self._elements(given, pointer))

    def either(self, given: Any, pointer: str) -> Spec:
        return any_of(*self._elements(given, pointer))

    def optional(self, given: Any, pointer: str) -> Spec:
        return any_of(Choice([""]), self._content(given, pointer))

    def plus(self, given: Any, pointer: str) -> Spec:
        return many(self._content(given, pointer), 1).as_spec()

    def star(self, given: Any, pointer: str) -> Spec:
        return many(self._content(given, pointer)).as_spec()

    def repeat(self, given: Any, pointer: str) -> Spec:
        low, high = _member(given, "min", int, pointer), _member(given, "max", int, pointer)
        return many(self._content(given, pointer), low, None if high == -1 else high).as_spec()

    def tag(self, given: Any, pointer: str) -> Spec:
        begin, ends = _edges(given, pointer)
        if isinstance(begin, str) and all(isinstance(end, str) for end in ends):
            found = self._of_tag(given, pointer)
            return found[0] if len(found) == 1 else any_of(*found)
        _check_members(given, "tag", pointer)
        return sequence(_edge(begin), self._content(given, pointer), any_of(*map(_edge, ends)))

    def triggered_tags(self, given: Any, pointer: str) -> Spec:
        triggers, excludes = (_texts(given, name, pointer) for name in ("triggers", "excludes"))
        return _triggered(_counts(given, pointer), self._tags(given, pointer), triggers, excludes)

    def token_triggered_tags(self, given: Any, pointer: str) -> Spec:
        triggers = _tokens(given, "trigger_tokens", pointer)
        excludes = _tokens(given, "exclude_tokens", pointer)
        counts, named = _counts(given, pointer), (*triggers, *excludes)
        texts = tuple(token for token in named if isinstance(token, str))
        if len(texts) == len(named):
            split = texts[: len(triggers)], texts[len(triggers) :]
            return _triggered(counts, self._tags(given, pointer), *split)
        found = enumerate(_member(given, "tags", list, pointer))
        one = any_of(*[self.tag(tag, f"{pointer}/tags/{i}") for i, tag in found])
        free = many(_other_token(named, pointer))
        at_least_one, stop_after_first = counts
        if stop_after_first:
            return one if at_least_one else seq(free, optional(one)).as_spec()
        rest = seq(many(seq(free, one)), free)
        return (seq(one, rest) if at_least_one else rest).as_spec()

    def tags_with_separator(self, given: Any, pointer: str) -> Spec:
        at_least_one, stop_after_first = _counts(given, pointer)
        return Tags(
            self._tags(given, pointer),
            text="none",
            at_least=int(at_least_one),
            at_most=1 if stop_after_first else None,
            separator=_member(given, "separator", str, pointer),
        )

    def dispatch(self, given: Any, pointer: str) -> Spec:
        tags = []
        for i, rule in enumerate(_member(given, "rules", list, pointer)):
            place = f"{pointer}/rules/{i}"
            if not isinstance(rule, list | tuple) or len(rule) != 2 or not isinstance(rule[0], str):
                raise SpecError(
                    "a rule is no text and a format", location=place, expected='["text", {...}]'
                )
            tags.append(Tag(rule[0], self.spec(rule[1], f"{place}/1"), ""))
        loops = _flag(given, "loop", pointer, default=True)
        text, most = ("around", None) if loops else ("before", 1)
        excludes = _texts(given, "excludes", pointer)
        return Tags(tuple(tags), text=text, at_most=most, excludes=excludes)

    def _content(self, given: Any, pointer: str) -> Spec:
        return self.spec(_member(given, "content", dict, pointer), f"{pointer}/content")

    def _elements(self, given: Any, pointer: str) -> list[Spec]:
        found = _member(given, "elements", list, pointer)
        return [self.spec(one, f"{pointer}/elements/{i}") for i, one in enumerate(found)]

    def _tags(self, given: Any, pointer: str) -> tuple[Tag, ...]:
        found = enumerate(_member(given, "tags", list, pointer))
        return tuple(tag for i, one in found for tag in self._of_tag(one, f"{pointer}/tags/{i}"))

    def _of_tag(self, given: Any, pointer: str) -> list[Tag]:
        """A tag for each of the ends that a tag may have, and of the ways to write its content."""
        content = _member(given, "content", dict, pointer)
        _check_members(given, "tag", pointer)
        begin, ends = _edges(given, pointer)
        texts = tuple(end for end in ends if isinstance(end, str))
        if not isinstance(begin, str) or len(texts) < len(ends):
            raise SpecError(
                "a tag in free text begins and ends with texts",
                location=pointer,
                expected="texts, not numbers of tokens",
            )
        place = f"{pointer}/content"
        if content.get("type") == "any_text":
            _check_members(content, "any_text", place)
            if len(texts) == 1 and texts[0] and not content.keys() - {"type"}:
                return [Tag(begin, None, texts[0])]
            return [Tag(begin, self._free_text(content, place, texts), end) for end in texts]
        schema, style = content.get("json_schema", True), content.get("style") or "json"
        if style in STYLES and not is_of_parameters(schema):
            _check_members(content, "json_schema", place)
            values = self._values(schema, tuple(filter(None, texts)), place)
            return [Tag(begin, value, end) for value in values for end in texts]
        return [Tag(begin, self.spec(content, place), end) for end in texts]


def _check_members(given: dict[str, Any], kind: str, pointer: str) -> None:
    """Raise SpecError for a member that a format of a kind does not have, and for another kind."""
    _of_type(given, kind, pointer)
    _known(given, pointer, "type", *_FORMATS[kind].members)


def _counts(given: Any, pointer: str) -> tuple[bool, bool]:
    """Whether a tag must come, and whether none may come after the first."""
    at_least_one, stop_after_first = (_flag(given, name, pointer) for name in _COUNTS)
    return at_least_one, stop_after_first


def _triggered(
    counts: tuple[bool, bool],
    tags: tuple[Tag, ...],
    triggers: tuple[str, ...],
    excludes: tuple[str, ...] = (),
) -> Spec:
    """Free text with tags; where one must come, the text begins with it. counts: see `_counts`."""
    at_least_one, stop_after_first = counts
    first = any_of(*tags) if at_least_one else None
    if stop_after_first:
        once = Tags(tags, triggers, text="before", at_most=1, excludes=excludes)
        return once if first is None else first
    rest = Tags(tags, triggers, excludes=excludes)
    return rest if first is None else sequence(first, rest)


def _token(given: Any, pointer: str) -> int | str:
    """A token by its number or text."""
    found: int | str = _member(given, "token", (int, str), pointer)
    return found


def _tokens(given: Any, name: str, pointer: str) -> tuple[int | str, ...]:
    """A member that lists tokens; one that lacks is empty."""
    if given.get(name) is None:
        return ()
    found = _member(given, name, list, pointer)
    return tuple(_token({"token": one}, f"{pointer}/{name}/{i}") for i, one in enumerate(found))


def _edges(given: Any, pointer: str) -> tuple[int | str, list[int | str]]:
    """The begin and the ends of a tag: texts, or tokens by their number."""
    found: list[int | str] = []
    for name in ("begin", "end"):
        edge = given.get(name) if isinstance(given, dict) else None
        if name == "end" and isinstance(edge, list):
            found += _texts(given, name, pointer)
        elif isinstance(edge, dict):
            _check_members(edge, "token", f"{pointer}/{name}")
            found.append(_token(edge, f"{pointer}/{name}"))
        else:
            found.append(_member(given, name, str, pointer))
    return found[0], found[1:]


def _edge(token: int | str) -> Spec:
    """A token by its number, or a text."""
    return Literal(token) if isinstance(token, str) else Gbnf(f"root ::= <[{token}]>")


def _other_token(tokens: tuple[int | str, ...], pointer: str) -> Spec:
    """Any one token that is none of these."""
    if any(isinstance(token, str) for token in tokens):
        raise SpecError(
            "tokens are left out by their number", location=pointer, expected="whole numbers"
        )
    left_out = ",".join(map(str, tokens))
    return Gbnf(f"root ::= <[^{left_out}]>" if tokens else "root ::= <[*]>")


_COUNTS = ("at_least_one", "stop_after_first")
_TRIGGERED = ("tags", *_COUNTS)
_FORMATS: dict[str, _Format] = {
    "const_string": _Format(_Formats.const_string, ("value",)),
    "json_schema": _Format(
        _Formats.json_schema,
        ("json_schema", "style", "any_order", "max_whitespace_cnt", "excludes"),
    ),
    "regex": _Format(_Formats.regex, ("pattern",)),
    "grammar": _Format(_Formats.grammar, ("grammar", "syntax")),
    "any_text": _Format(_Formats.any_text, ("excludes", "max_tokens", "max_chars")),
    "token": _Format(_Formats.token, ("token",)),
    "exclude_token": _Format(_Formats.exclude_token, ("exclude_tokens",)),
    "any_tokens": _Format(_Formats.any_tokens, ("exclude_tokens", "max_tokens")),
    "sequence": _Format(_Formats.sequence, ("elements",)),
    "or": _Format(_Formats.either, ("elements",)),
    "optional": _Format(_Formats.optional, ("content",)),
    "plus": _Format(_Formats.plus, ("content",)),
    "star": _Format(_Formats.star, ("content",)),
    "repeat": _Format(_Formats.repeat, ("min", "max", "content")),
    "tag": _Format(_Formats.tag, ("begin", "content", "end")),
    "triggered_tags": _Format(_Formats.triggered_tags, ("triggers", "excludes", *_TRIGGERED)),
    "token_triggered_tags": _Format(
        _Formats.token_triggered_tags, ("trigger_tokens", "exclude_tokens", *_TRIGGERED)
    ),
    "tags_with_separator": _Format(_Formats.tags_with_separator, ("separator", *_TRIGGERED)),
    "dispatch": _Format(_Formats.dispatch, ("rules", "loop", "excludes")),
}


def _member(given: Any, name: str, kind: type | tuple[type, ...], pointer: str) -> Any:
    """A member of a JSON object. SpecError where it lacks, or is of another type."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    found = given.get(name) if isinstance(given, dict) else None
    if not isinstance(found, kinds) or (isinstance(found, bool) and bool not in kinds):
        raise SpecError(
            f"a structural tag has no {name} that can be read",
            location=f"{pointer}/{name}",
            expected=" or ".join(_JSON_NAMES[one] for one in kinds),
        )
    return found


def _texts(given: Any, name: str, pointer: str) -> tuple[str, ...]:
    """A member that lists texts; one that lacks is empty."""
    if given.get(name) is None:
        return ()
    found = _member(given, name, list, pointer)
    for i, one in enumerate(found):
        if not isinstance(one, str):
            raise SpecError(
                f"{one!r} in {name} is no text", location=f"{pointer}/{name}/{i}", expected="a text"
            )
    return tuple(found)


def _known(given: dict[str, Any], pointer: str, *members: str) -> None:
    """Raise SpecError for a member that is not among these."""
    for name in given:
        if name not in members:
            raise SpecError(
                f"a structural tag has no member {name!r} here",
                location=f"{pointer}/{name}",
                expected=", ".join(members),
            )


def _of_type(given: dict[str, Any], kind: str, pointer: str) -> None:
    """Raise SpecError unless an object is of a type, or does not say of which."""
    if given.get("type", kind) != kind:
        raise SpecError(
            f"the type is {given['type']!r}", location=f"{pointer}/type", expected=f'"{kind}"'
        )


def _flag(given: Any, name: str, pointer: str, default: bool = False) -> bool:
    """A member that is true or false."""
    return default if given.get(name) is None else bool(_member(given, name, bool, pointer))


def _not_enforced(name: str, pointer: str, hint: str) -> SpecError:
    return SpecError(f"{name} is not enforced here", location=f"{pointer}/{name}", hint=hint)


_JSON_NAMES = {
    dict: "an object",
    list: "an array",
    str: "a text",
    bool: "true or false",
    int: "a whole number",
}
