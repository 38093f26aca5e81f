"""Names the keyword of a schema that a JSON text breaks, where the text is whole JSON.

The automaton says at which byte a text goes wrong. The jsonschema library, with structgen's own
patterns, formats and exact numbers, says which keywords the value breaks; of these the one counts
that is about the place where the automaton stopped. Where the value is valid, it is its spelling
that does not fit (a key twice, the order of keys, white space, ...), and this says which.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from structgen.errors import StructgenError
from structgen.regular.numbers.language import to_fraction
from structgen.regular.regex import matches
from structgen.regular.syntax.pattern import parse
from structgen.schema.json_schema import JsonSchema
from structgen.schema.keywords.keywords import KEYWORDS
from structgen.schema.machine.phrases import NAMES, cut, listed, quoted, some
from structgen.schema.references.resources import target_within
from structgen.schema.references.vocabularies import CLOSES, DRAFTS, stated_draft
from structgen.schema.values import dumps, loads
from structgen.util.json_pointer import pointer_to, unescape_pointer

MAX_FAULTS = 200  # that are looked at
AT_THE_END = frozenset(  # keywords of which nothing is known before the value ends
    "required minProperties minItems contains minContains dependentRequired dependencies".split()
)
CLOSED = frozenset(("additionalProperties", "unevaluatedProperties", CLOSES))
BRANCHES = frozenset(("anyOf", "oneOf"))
REFERENCES = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
UNSAID = frozenset(("$ref",))  # of which the library's paths say nothing
COUNTED = frozenset(("minContains", "maxContains"))  # which the library's paths call `contains`
NAMING = frozenset(("properties", "patternProperties"))
ANCHORS = ("$anchor", "$dynamicAnchor")
COUNTS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} keys",
    "maxProperties": "at most {} keys",
}
BOUNDS = {"minimum": ">=", "maximum": "<=", "exclusiveMinimum": ">", "exclusiveMaximum": "<"}
TYPES = NAMES | {"integer": "an integer"}
# Options of `JsonSchema` that narrow how a value is written, and what breaking one means.
LAYOUTS = {
    "property_order": "its keys stand in another order than property_order={!r} asks for",
    "whitespace": "its white space is not as whitespace={!r} asks for",
    "spelling": "a number is spelled in another way than spelling={!r} asks for",
    "escapes": "a string has other escapes than escapes={!r} asks for",
}
_LONE_SURROGATE = re.compile(
    r"(?<!\\)(?:\\\\)*(?:\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2})"
)


class Fault(NamedTuple):
    """Why a text does not fit.

    message: a sentence in the schema's terms. keyword: the keyword that fails, "" where it is not
    the value that is wrong. schema_path: the JSON Pointer of that keyword. path: that of the value
    that breaks it.
    """

    message: str
    keyword: str = ""
    schema_path: str = ""
    path: str = ""


NO_FAULT = Fault("")  # where nothing is known


def fault_of(spec: JsonSchema, data: bytes, offset: int, path: str) -> Fault:
    """The first of `faults_of`, or NO_FAULT."""
    return next(faults_of(spec, data, offset, path), NO_FAULT)


def faults_of(spec: JsonSchema, data: bytes, offset: int, path: str) -> Iterator[Fault]:
    """Why a text that the automaton of `spec` refuses does not fit, the nearest to there first.

    offset, path: the byte at which the automaton stopped, and the JSON Pointer of the value there.
    """
    twice: list[str] = []
    try:
        value = _read(data, twice)
    except (ValueError, RecursionError):
        return
    if twice:
        yield Fault(f"the key {quoted(twice[0])} stands twice in one object")
        return
    try:
        errors = list(islice(_validator(spec).iter_errors(value), MAX_FAULTS))
    except Exception:  # noqa: BLE001  a library judges schemas here that it may not know
        return
    if not errors:
        yield _spelling(spec, data)
        return
    steps = [unescape_pointer(token) for token in path.split("/")[1:]]
    stop = Stop(value, steps, data[:offset].rstrip()[-1:], data[offset : offset + 1])
    for error in sorted(errors, key=stop.nearness, reverse=True):
        yield _described(_descended(error, stop), spec)


# -- reading ------------------------------------------------------------------------------------


def _read(data: bytes, twice: list[str]) -> Any:
    """The value of a JSON text; keys that stand twice are added to `twice`. Raises ValueError."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice.append(next(key for key in keys if keys.count(key) > 1))
        return found

    def refuse(text: str) -> Any:
        raise ValueError(f"{text} is not JSON")

    return loads(data.decode(), object_pairs_hook=members, parse_constant=refuse)


def _spelling(spec: JsonSchema, data: bytes) -> Fault:
    """What is wrong with how a valid value is written."""
    found = _LONE_SURROGATE.search(data.decode())
    if found and spec.surrogates == "refuse":
        return Fault(f"the unpaired surrogate {found[0][-6:]} is no character")
    spelling = "natural" if spec.natural else "any"
    escapes = "any" if spec.any_escapes else "needed"
    spec = dataclasses.replace(spec, spelling=spelling, escapes=escapes)  # "auto" depends on others
    tries = [(name,) for name in LAYOUTS] + [("property_order", "whitespace"), tuple(LAYOUTS)]
    for names in tries:
        narrow = [name for name in names if getattr(spec, name) != "any"]
        if narrow and _fits(spec, dict.fromkeys(names, "any"), data):
            parts = [LAYOUTS[name].format(getattr(spec, name)) for name in narrow]
            return Fault(f"the value fits, but {', and '.join(parts)}")
    return NO_FAULT


def _fits(spec: JsonSchema, options: dict[str, Any], data: bytes) -> bool:
    try:
        automaton = dataclasses.replace(spec, **options).automaton()
        at, _ = automaton.run(automaton.start, data)
        return at >= 0 and automaton.is_accepting(at)
    except StructgenError:
        return False


# -- validating ---------------------------------------------------------------------------------


def _validator(spec: JsonSchema) -> Any:
    """A validator of the jsonschema library that judges as structgen does; it fetches nothing."""
    import jsonschema
    from jsonschema import Draft201909Validator
    from jsonschema.validators import extend, validator_for
    from jsonschema_specifications import REGISTRY

    schema = spec.schema
    draft = stated_draft(schema)
    base = validator_for({"$schema": next(uri for uri in DRAFTS if DRAFTS[uri] == draft)})
    if isinstance(schema, dict):  # without it the library would take its own class for `#`
        schema = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
    own: dict[str, Callable[..., Iterator[Any]]] = {
        "additionalProperties": partial(_additional_properties, spec.patterns),
        "multipleOf": _multiple_of,
        "pattern": partial(_pattern, spec.patterns),
        "patternProperties": partial(_pattern_properties, spec.patterns),
        "properties": partial(_properties, base.VALIDATORS["properties"]),
    }
    own |= {
        keyword: _reference(keyword, base.VALIDATORS[keyword])
        for keyword in REFERENCES & base.VALIDATORS.keys()
    }
    of = base if draft >= 2019 else Draft201909Validator  # the first draft that has it
    keyword = "unevaluatedProperties" if draft >= 2019 else CLOSES
    own[keyword] = partial(_unevaluated_properties, of.VALIDATORS["unevaluatedProperties"])
    if "dependencies" not in base.VALIDATORS:
        own["dependencies"] = jsonschema.Draft7Validator.VALIDATORS["dependencies"]
    registry = REGISTRY if spec.registry is None else REGISTRY.combine(spec.registry)
    checker = _formats() if spec.formats == "assert" else None
    return extend(base, own)(schema, registry=registry, format_checker=checker)


def _formats() -> Any:
    """What structgen asserts of formats, for the jsonschema library."""
    from jsonschema import FormatChecker

    from structgen.schema.formats.formats import SPEC_FORMATS, format_language

    def check_of(name: str) -> Callable[[object], bool]:
        def check(value: object) -> bool:
            language = format_language(name)
            return not isinstance(value, str) or language is None or matches(language, value)

        return check

    checker = FormatChecker(formats=())
    checker.checkers = {name: (check_of(name), ()) for name in SPEC_FORMATS}
    return checker


def _reference(keyword: str, function: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    """The library's function of a reference, whose errors say that they come from there."""

    def follow(*arguments: Any) -> Iterator[Any]:
        for error in function(*arguments) or ():
            if keyword in UNSAID:
                error.schema_path.appendleft(keyword)
            yield error

    return follow


def _multiple_of(validator: Any, step: Any, value: Any, _: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if validator.is_type(value, "number") and to_fraction(value) % to_fraction(step):
        yield ValidationError(f"{value!r} is not a multiple of {step}")


def _pattern(dialect: str, validator: Any, pattern: str, value: Any, _: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if validator.is_type(value, "string") and not matches(parse(pattern, dialect=dialect), value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _properties(
    function: Callable[..., Any], validator: Any, properties: Any, value: Any, schema: Any
) -> Iterator[Any]:
    """The library's function, whose errors of the schema `false` do not say where that stands."""
    keys = (key for key, below in properties.items() if below is False and key in value)
    for error in function(validator, properties, value, schema) or ():
        if error.validator is None and not error.schema_path:
            key = next(keys)
            error.path.appendleft(key)
            error.schema_path.appendleft(key)
        yield error


def _pattern_properties(
    dialect: str, validator: Any, patterns: Any, value: Any, _: Any
) -> Iterator[Any]:
    from jsonschema import ValidationError

    for pattern, below in patterns.items() if validator.is_type(value, "object") else ():
        language = parse(pattern, dialect=dialect)
        for key in (key for key in value if matches(language, key)):
            if below is False:
                yield ValidationError("no such key", None, path=[key], schema_path=[pattern])
            else:
                yield from validator.descend(value[key], below, path=key, schema_path=pattern)


def _additional_properties(
    dialect: str, validator: Any, below: Any, value: Any, schema: Any
) -> Iterator[Any]:
    from jsonschema import ValidationError

    others = _unnamed(value, schema, dialect) if validator.is_type(value, "object") else []
    if others and below is False:
        yield ValidationError(f"{others} are not named")
        return
    for key in others:
        yield from validator.descend(value[key], below, path=key)


def _unevaluated_properties(
    function: Callable[..., Any], validator: Any, below: Any, value: Any, schema: Any
) -> Iterator[Any]:
    """The library's function, with the errors of the members that do not fit a schema `below`."""
    for error in function(validator, below, value, schema) or ():
        keys = [] if below is False else [key for key in value if repr(key) in error.message]
        found = [e for k in keys for e in validator.descend(value[k], below, path=k)]
        yield from found or [error]


def _unnamed(value: dict[str, Any], schema: dict[str, Any], dialect: str) -> list[str]:
    """The keys of an object that neither `properties` nor `patternProperties` of a schema name."""
    patterns = schema.get("patternProperties", {})
    languages = [parse(pattern, dialect=dialect) for pattern in patterns]
    named = schema.get("properties", {})
    return [k for k in value if k not in named and not any(matches(x, k) for x in languages)]


# -- choosing -----------------------------------------------------------------------------------


class Stop:
    """The place in a value at which the automaton stopped reading."""

    def __init__(self, value: Any, steps: list[str], before: bytes, byte: bytes) -> None:
        """steps: the way to the value that was read last. before, byte: what stands around."""
        self._value, self._steps = value, steps
        self._at_end = byte in (b"", b"}", b"]")
        closed = self._at_end and not before.isdigit() and before not in (b"{", b"[")
        # A number may have been wrong without the automaton's knowing before it ended.
        self._order = self._position(steps[:-1] if closed else steps)
        self._order += (math.inf,) if closed else ()

    def nearness(self, error: Any) -> tuple[int, int]:
        """How well an error fits the place; of equals the first counts."""
        path = [str(step) for step in error.absolute_path]
        pairs = enumerate(zip(path, self._steps, strict=False))
        common = next((i for i, (a, b) in pairs if a != b), min(len(path), len(self._steps)))
        return common, int(self._at_end == (error.validator in AT_THE_END))

    def is_behind(self, error: Any) -> bool:
        """Whether the automaton was still reading when it had seen the value of an error."""
        order = self._position(list(error.absolute_path))
        return order < self._order and order != self._order[: len(order)]

    def _position(self, steps: Iterable[str | int]) -> tuple[float, ...]:
        """A path as numbers of members, which sort as the text has them."""
        at, found = self._value, []
        for step in steps:
            if isinstance(at, list) and str(step).isdecimal() and int(step) < len(at):
                found.append(int(step))
                at = at[int(step)]
            elif isinstance(at, dict) and step in at:
                found.append(list(at).index(step))
                at = at[step]
            else:
                break
        return tuple(found)


def _descended(error: Any, stop: Stop) -> Any:
    """The error of the one branch that held until the place, or that of all branches."""
    while error.validator in BRANCHES and error.context:
        branches: dict[Any, list[Any]] = {}
        for inner in error.context:
            if inner.schema_path:  # none in a branch that is the schema `false`
                branches.setdefault(inner.schema_path[0], []).append(inner)
        alive = [found for found in branches.values() if not any(map(stop.is_behind, found))]
        if len(alive) != 1:
            break
        error = max(alive[0], key=stop.nearness)
    return error


# -- words --------------------------------------------------------------------------------------


def _described(error: Any, spec: JsonSchema) -> Fault:
    path = list(error.absolute_schema_path)
    keyword = str(error.validator or "")
    if keyword in COUNTED:
        path[-1] = keyword
    if not keyword:  # the schema `false`: the keyword that holds it
        held = [i for i, part in enumerate(path) if part in KEYWORDS]
        path = path[: held[-1] + 1] if held else []
        keyword = str(path[-1]) if path else "false"
    places = _places(path, spec.schema)
    place = pointer_to(error.absolute_path)
    rule, fact = _sentence(error, keyword, place, spec.patterns)
    shown = cut(places[-2]) if len(places) > 1 else "#"
    message = f"{rule} (`{keyword}` at {shown})" + (f": {fact}" if fact else "")
    return Fault(message, keyword, places[-1], place)


def _places(path: list[Any], root: Any) -> list[str]:
    """The JSON Pointers of all steps on a path into a schema; references lead to their targets."""
    places, at = ["#"], root
    for i, step in enumerate(path):
        at = at[step] if isinstance(at, dict | list) and _holds(at, step) else None
        if step in REFERENCES and isinstance(at, str) and i + 1 < len(path):
            at = _anchored(root, at)
            places.append(at if "#" in at else f"{at}#")
            at = target_within(root, at)
        else:
            places.append(places[-1] + pointer_to([step]))
    return places


def _anchored(root: Any, reference: str) -> str:
    """A reference with the JSON Pointer of its anchor in place of the name, if it has one."""
    name = reference.removeprefix("#")
    todo = [("#", root)] if name != reference and name and name[0] != "/" else []
    while todo:
        place, at = todo.pop()
        if isinstance(at, dict) and any(at.get(anchor) == name for anchor in ANCHORS):
            return place
        below = (
            at.items() if isinstance(at, dict) else enumerate(at if isinstance(at, list) else ())
        )
        todo += ((place + pointer_to([step]), value) for step, value in below)
    return reference


def _holds(value: dict[str, Any] | list[Any], step: Any) -> bool:
    if isinstance(value, list):
        return isinstance(step, int) and 0 <= step < len(value)
    return step in value


def _sentence(error: Any, keyword: str, place: str, dialect: str) -> tuple[str, str]:
    """What a keyword asks for, and what there is instead."""
    wanted, value = error.validator_value, error.instance
    it = f"the value at {place}" if place else "the value"
    if "propertyNames" in error.absolute_schema_path and isinstance(value, str):
        it = f"the key {quoted(value)}" + (f" of {place}" if place else "")
    if keyword in COUNTS:
        count = f"it has {len(value)}"
        return f"{it} must have {_counted(COUNTS[keyword], wanted)}", count
    if keyword in BOUNDS:
        exclusive = f"exclusive{keyword.capitalize()}"  # as draft 4 has it: true or false
        keyword = exclusive if error.schema.get(exclusive) is True else keyword
        return f"{it} must be {BOUNDS[keyword]} {quoted(wanted)}", f"it is {quoted(value)}"
    if keyword in CLOSED:
        return f"{it} may not have the {_closed(error, dialect)}", ""
    if keyword in WORDS:
        return WORDS[keyword](it, wanted, value, error)
    if error.validator is None:
        key = error.absolute_path[-1] if error.absolute_path else None
        if keyword in NAMING and isinstance(key, str):
            around = place.removesuffix(pointer_to([key]))
            it = f"the value at {around}" if around else "the value"
            return f"{it} may not have the key {quoted(key)}", ""
        return "a value stands where the schema is false", ""
    return f"{it} does not fit", cut(error.message)


def _counted(words: str, count: Any) -> str:
    text = words.format(count)
    return text.removesuffix("s") if count == 1 else text


def _type(it: str, wanted: Any, value: Any, _: Any) -> tuple[str, str]:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    kinds = [TYPES.get(name, str(name)) for name in names if isinstance(name, str)]
    return f"{it} must be {' or '.join(kinds)}", f"it is {_kind(value)}"


def _kind(value: Any) -> str:
    """A value in words: short ones themselves, with their type where that may be in doubt."""
    shown = quoted(value)
    if value is None or isinstance(value, bool | int | float | Decimal):
        return shown
    if isinstance(value, str):
        return f"the string {shown}"
    return TYPES["array" if isinstance(value, list) else "object"]


def _unique(it: str, _: Any, value: Any, __: Any) -> tuple[str, str]:
    place = it.removeprefix("the value").removeprefix(" at ")
    first: dict[str, int] = {}
    for i, item in enumerate(value):
        key = dumps(_normal(item), sort_keys=True)
        if key in first:
            where = f"{quoted(item)} stands at {place}/{first[key]} and {place}/{i}"
            return f"items{f' of {place}' if place else ''} must be unique", where
        first[key] = i
    return f"items{f' of {place}' if place else ''} must be unique", ""


def _normal(value: Any) -> Any:
    """A value in which 1.0 is 1."""
    if isinstance(value, float | Decimal) and value % 1 == 0:
        return int(value)
    if isinstance(value, list):
        return [_normal(item) for item in value]
    return {k: _normal(v) for k, v in value.items()} if isinstance(value, dict) else value


def _required(it: str, wanted: Any, value: Any, _: Any) -> tuple[str, str]:
    if not isinstance(wanted, list):  # up to draft 3
        return f"{it} lacks a key", ""
    lacking = [quoted(key) for key in wanted if key not in value]
    return f"{it} must have the key{'s' * (len(lacking) > 1)} {some(lacking)}", ""


def _dependent(it: str, wanted: Any, value: Any, _: Any) -> tuple[str, str]:
    for key, needs in wanted.items():
        lacking = [quoted(n) for n in needs if n not in value] if isinstance(needs, list) else []
        if key in value and lacking:
            return f"{it} must have the key {lacking[0]} beside {quoted(key)}", ""
    return f"{it} lacks a key", ""


def _closed(error: Any, dialect: str) -> str:
    others = _unnamed(error.instance, error.schema, dialect)
    if error.validator in ("unevaluatedProperties", CLOSES):
        others = [k for k in others if repr(k) in error.message]
    return f"key{'s' * (len(others) > 1)} {some(map(quoted, others))}"


def _closed_items(it: str, _: Any, value: Any, error: Any) -> tuple[str, str]:
    before = error.schema.get("prefixItems", error.schema.get("items"))
    count = len(before) if isinstance(before, list) else 0
    if error.validator == "unevaluatedItems":
        what = "may not be there" if error.validator_value is False else "do not fit"
        return f"{it} has items that {what}", cut(error.message)
    return f"{it} may have no more than {_counted('{} items', count)}", f"it has {len(value)}"


def _contains(it: str, _: Any, __: Any, error: Any) -> tuple[str, str]:
    schema = error.schema
    if error.validator == "maxContains" or "Too many" in error.message:
        count, what = schema.get("maxContains"), "at most"
    else:
        count, what = schema.get("minContains", 1), "at least"
    some_items = _counted("{} items", count) + (" that fits" if count == 1 else " that fit")
    return f"{it} must have {what} {some_items} `contains`", ""


def _one_of(it: str, wanted: Any, _: Any, error: Any) -> tuple[str, str]:
    what = "it fits none" if error.context else "it fits more than one"
    return f"{it} must fit exactly one of {len(wanted)} schemas", what


Sentence = Callable[[str, Any, Any, Any], tuple[str, str]]
WORDS: dict[str, Sentence] = {
    "type": _type,
    "enum": lambda it, wanted, value, _: (
        f"{it} must be {listed(wanted)}",
        f"it is {quoted(value)}",
    ),
    "const": lambda it, wanted, value, _: (
        f"{it} must be {quoted(wanted)}",
        f"it is {quoted(value)}",
    ),
    "multipleOf": lambda it, wanted, value, _: (
        f"{it} must be a multiple of {quoted(wanted)}",
        f"it is {quoted(value)}",
    ),
    "pattern": lambda it, wanted, value, _: (
        f"{it} must match {cut(wanted)}",
        f"it is {quoted(value)}",
    ),
    "format": lambda it, wanted, value, _: (
        f"{it} must be in the format {wanted}",
        f"it is {quoted(value)}",
    ),
    "uniqueItems": _unique,
    "required": _required,
    "dependentRequired": _dependent,
    "dependencies": _dependent,
    "items": _closed_items,
    "additionalItems": _closed_items,
    "unevaluatedItems": _closed_items,
    "contains": _contains,
    "minContains": _contains,
    "maxContains": _contains,
    "not": lambda it, wanted, value, _: (
        f"{it} must not fit {quoted(wanted)}",
        f"it is {quoted(value)}",
    ),
    "anyOf": lambda it, wanted, value, _: (
        f"{it} must fit at least one of {len(wanted)} schemas",
        f"{quoted(value)} fits none",
    ),
    "oneOf": _one_of,
}
