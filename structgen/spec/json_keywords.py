"""In: one subschema, keyword by keyword. Out: its node. The table at the end is the support matrix.

Every keyword that restricts values is either enforced by the function of its name or refused by
name; annotations are listed too, so that nothing is passed over by accident. Keywords that a draft
does not know are annotations in it, as the specifications say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from structgen.automaton.charset import ALL
from structgen.automaton.numbers import number_language
from structgen.automaton.regex import (
    ANY,
    EMPTY,
    Regex,
    chars,
    complement,
    intersect,
    literal,
    repeat,
)
from structgen.errors import SpecError, UnsupportedSchemaError
from structgen.spec.json_constants import constants
from structgen.spec.json_nodes import (
    ANYTHING,
    FALSE,
    NOTHING,
    TRUE,
    ArrayAlt,
    Atom,
    Expr,
    Group,
    Node,
    ObjectAlt,
    both,
    either,
)
from structgen.spec.json_subschema import Subschema

if TYPE_CHECKING:
    from structgen.spec.json_schemas import Schemas

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_CHAR = chars(ALL)
_NOT_MINUS_ZERO = complement(literal("-0"))


# -- any type -----------------------------------------------------------------------------------


def type_(s: Subschema) -> None:
    """A type, or a list of types."""
    wanted = s.schema["type"]
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, list) or any(n not in TYPES for n in names):
        raise s.broken("type", f"one of {', '.join(TYPES)}, or a list of them")
    numbers = EMPTY
    if "number" in names:
        numbers = ANYTHING.number
    elif "integer" in names:
        numbers = _integers(s, {})
    s.require(
        Node(
            "null" in names,
            "boolean" in names,
            "boolean" in names,
            numbers,
            ANY if "string" in names else EMPTY,
            ANYTHING.arrays if "array" in names else (),
            ANYTHING.objects if "object" in names else (),
        )
    )


def _integers(s: Subschema, bounds: dict[str, Any]) -> Regex:
    """Integers within bounds; in draft 4 a number with a fraction (1.0) is none."""
    digits = s.schemas.natural or s.draft <= 4
    language = number_language(integer=True, spelling="integer" if digits else "any", **bounds)
    return intersect(language, _NOT_MINUS_ZERO) if s.schemas.natural else language


def enum(s: Subschema) -> None:
    """One of these values."""
    values = s.schema["enum"]
    if not isinstance(values, list):
        raise s.broken("enum", "an array")
    s.require(constants(s.schemas, values, s.at("enum")))


def const(s: Subschema) -> None:
    """This value."""
    s.require(constants(s.schemas, [s.schema["const"]], s.at("const")))


# -- combination --------------------------------------------------------------------------------


def all_of(s: Subschema) -> None:
    """All of these schemas."""
    for i, schema in enumerate(s.listed("allOf")):
        s.require(s.node(schema, "allOf", i))


def any_of(s: Subschema) -> None:
    """At least one of these schemas."""
    nodes = [s.node(schema, "anyOf", i) for i, schema in enumerate(s.listed("anyOf"))]
    s.require(either(nodes, s.at("anyOf")))


def one_of(s: Subschema) -> None:
    """Exact where no value fits two branches, which `Schemas` checks; refused otherwise."""
    nodes = [s.node(schema, "oneOf", i) for i, schema in enumerate(s.listed("oneOf"))]
    s.schemas.check_exclusive(s.at("oneOf"), nodes)
    s.require(either(nodes, s.at("oneOf")))


def not_(s: Subschema) -> None:
    """Not this schema: only the trivial cases, everything and nothing."""
    node = s.node(s.schema["not"], "not")
    if node is ANYTHING:
        s.require(NOTHING)
    elif node is not NOTHING:
        raise refused(s, "not")


def ref(s: Subschema) -> None:
    """The schema somewhere else."""
    reference = s.schema["$ref"]
    if not isinstance(reference, str):
        raise s.broken("$ref", "a string")
    s.require(s.schemas.node(s.schemas.refer(s.atom, reference, "$ref")))


# -- numbers ------------------------------------------------------------------------------------


def numeric(s: Subschema) -> None:
    """minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf: one language for all."""
    bounds: dict[str, Any] = {}
    for side in ("minimum", "maximum"):
        exclusive = "exclusive" + side.capitalize()
        strict = f"exclusive_{side}"
        limit = s.number(side)
        if isinstance(s.get(exclusive), bool):  # the style of draft 4
            if limit is not None:
                bounds[strict if s.get(exclusive) else side] = limit
            continue
        bounds[side] = limit
        bounds[strict] = s.number(exclusive)
    step = s.number("multipleOf")
    if step is not None:
        if step <= 0:
            raise s.broken("multipleOf", "a number above 0")
        bounds["multiple_of"] = (step,)
    if s.get("type") == "integer":  # one automaton for all, rather than an intersection
        s.only(number=_integers(s, bounds))
    else:
        s.only(number=number_language(**bounds))


# -- strings ------------------------------------------------------------------------------------


def length(s: Subschema) -> None:
    """minLength and maxLength, in code points."""
    least, most = s.count("minLength") or 0, s.count("maxLength")
    possible = most is None or least <= most
    s.only(string=repeat(_CHAR, least, most) if possible else EMPTY)


def pattern(s: Subschema) -> None:
    """A pattern that is found somewhere in the string."""
    s.only(string=s.schemas.pattern(s.schema["pattern"], s.at("pattern")))


def format_(s: Subschema) -> None:
    """Formats of the specifications are asserted when asked for; all others are annotations."""
    from structgen.spec.json_formats import SPEC_FORMATS, format_language

    name = s.schema["format"]
    if not s.schemas.assert_formats or not isinstance(name, str):
        return
    language = format_language(name)
    if language is not None:
        s.only(string=language)
    elif name in SPEC_FORMATS:
        raise UnsupportedSchemaError(
            f"the format {name!r} is not enforced yet",
            keyword="format",
            location=s.at("format"),
            hint='remove it, or compile with formats="annotate"',
        )


# -- arrays -------------------------------------------------------------------------------------


def array(s: Subschema) -> None:
    """prefixItems, items, additionalItems, minItems, maxItems."""
    prefix: list[Any] = []
    tail: Expr = TRUE
    items = s.get("items")
    if isinstance(items, list):
        if s.draft >= 2020:
            raise SpecError(
                "'items' is an array of schemas",
                location=s.at("items"),
                expected="one schema in draft 2020-12",
                hint="rename it to 'prefixItems', or state an older '$schema'",
            )
        prefix = [s.child(x, "items", i) for i, x in enumerate(items)]
        if "additionalItems" in s.schema:
            tail = s.child(s.schema["additionalItems"], "additionalItems")
    else:
        if s.draft >= 2020 and "prefixItems" in s.schema:
            listed = s.listed("prefixItems")
            prefix = [s.child(x, "prefixItems", i) for i, x in enumerate(listed)]
        if "items" in s.schema:
            tail = s.child(items, "items")
    lists = ((tuple(prefix), tail),) if prefix or tail is not TRUE else ()
    least, most = s.count("minItems") or 0, s.count("maxItems")
    possible = most is None or least <= most
    s.only(arrays=(ArrayAlt(lists, least, most),) if possible else ())


# -- objects ------------------------------------------------------------------------------------


def object_(s: Subschema) -> None:
    """properties, patternProperties, additionalProperties, propertyNames, required and counts."""
    named = {k: s.child(v, "properties", k) for k, v in s.members("properties").items()}
    patterns = tuple(
        (s.schemas.pattern(k, s.at("patternProperties", k)), s.child(v, "patternProperties", k))
        for k, v in s.members("patternProperties").items()
    )
    rest = s.child(s.schema.get("additionalProperties", True), "additionalProperties")
    keys = ANY
    if "propertyNames" in s.schema and s.draft >= 6:
        keys = s.node(s.schema["propertyNames"], "propertyNames").string
    required = s.schema.get("required", [])
    if s.draft <= 4 and isinstance(required, bool):
        raise s.broken("required", "an array of property names (draft 3 had a boolean)")
    if not isinstance(required, list) or any(not isinstance(r, str) for r in required):
        raise s.broken("required", "an array of property names")
    groups: tuple[Group, ...] = ()
    if named or patterns or rest is not TRUE or keys is not ANY:
        groups = (Group(named, patterns, rest, keys),)
    least, most = s.count("minProperties") or 0, s.count("maxProperties")
    names = tuple(dict.fromkeys(required))
    if not groups and not names and not least and most is None:
        return
    s.only(objects=(ObjectAlt(groups, names, least, most),))


def dependent_required(s: Subschema) -> None:
    """Keys that ask for further keys."""
    for name, needed in s.members("dependentRequired").items():
        if not isinstance(needed, list) or any(not isinstance(n, str) for n in needed):
            raise s.broken("dependentRequired", "arrays of property names")
        _depend(s, name, ANYTHING, tuple(needed))


def dependent_schemas(s: Subschema) -> None:
    """Keys that ask for a schema."""
    for name, schema in s.members("dependentSchemas").items():
        _depend(s, name, s.node(schema, "dependentSchemas", name), ())


def dependencies(s: Subschema) -> None:
    """Both of the above, as older drafts have it; later ones say it is no keyword of theirs."""
    if s.draft > 7:
        raise UnsupportedSchemaError(
            "'dependencies' is a keyword of drafts 4 to 7 only",
            keyword="dependencies",
            location=s.at("dependencies"),
            expected="'dependentRequired' or 'dependentSchemas'",
            hint="rename it, or state the older draft in '$schema'",
        )
    for name, needed in s.members("dependencies").items():
        if isinstance(needed, list):
            _depend(s, name, ANYTHING, tuple(needed))
        else:
            _depend(s, name, s.node(needed, "dependencies", name), ())


def _depend(s: Subschema, name: str, node: Node, needed: tuple[str, ...]) -> None:
    """Either the key is absent, or it is there and so are `needed`, and `node` fits."""
    absent = ObjectAlt((Group({name: FALSE}),))
    present = ObjectAlt((), tuple(dict.fromkeys((name, *needed))))
    with_node = both(node, Node(objects=(present,)), s.at("dependencies"))
    s.only(objects=(absent, *with_node.objects))


# -- the rest -----------------------------------------------------------------------------------


def refused(s: Subschema, keyword: str) -> UnsupportedSchemaError:
    """The error for a keyword that is not enforced yet."""
    return UnsupportedSchemaError(
        f"'{keyword}' is not enforced yet",
        keyword=keyword,
        location=s.at(keyword),
        hint="rewrite the schema without it; it is never ignored",
    )


def _refuse(keyword: str) -> Keyword:
    def function(s: Subschema) -> None:
        if s.schema[keyword] not in _HARMLESS.get(keyword, ()):
            raise refused(s, keyword)

    return function


def if_(s: Subschema) -> None:
    """A condition without consequence is an annotation; others are refused."""
    if "then" in s.schema or "else" in s.schema:
        raise refused(s, "if")


def contains(s: Subschema) -> None:
    """Refused."""
    raise refused(s, "contains")


Keyword = Callable[[Subschema], None]
_HARMLESS: dict[str, tuple[Any, ...]] = {
    "uniqueItems": (False,),
    "unevaluatedProperties": (True,),
    "unevaluatedItems": (True,),
}
_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_ARRAY = ("prefixItems", "items", "minItems", "maxItems")  # additionalItems only beside items
_OBJECT = (
    "properties", "patternProperties", "additionalProperties", "propertyNames",
    "required", "minProperties", "maxProperties",
)  # fmt: skip

# keyword -> (function, first draft, last draft); keywords of one function are enforced together
KEYWORDS: dict[str, tuple[Keyword, int, int]] = {
    "$ref": (ref, 4, 2020),
    "type": (type_, 4, 2020),
    "enum": (enum, 4, 2020),
    "const": (const, 6, 2020),
    "allOf": (all_of, 4, 2020),
    "anyOf": (any_of, 4, 2020),
    "oneOf": (one_of, 4, 2020),
    "not": (not_, 4, 2020),
    "if": (if_, 7, 2020),
    **dict.fromkeys(_NUMERIC, (numeric, 4, 2020)),
    **dict.fromkeys(("minLength", "maxLength"), (length, 4, 2020)),
    "pattern": (pattern, 4, 2020),
    "format": (format_, 4, 2020),
    **dict.fromkeys(_ARRAY, (array, 4, 2020)),
    **dict.fromkeys(_OBJECT, (object_, 4, 2020)),
    "dependentRequired": (dependent_required, 2019, 2020),
    "dependentSchemas": (dependent_schemas, 2019, 2020),
    "dependencies": (dependencies, 4, 2020),
    "contains": (contains, 6, 2020),
    "uniqueItems": (_refuse("uniqueItems"), 4, 2020),
    "unevaluatedProperties": (_refuse("unevaluatedProperties"), 2019, 2020),
    "unevaluatedItems": (_refuse("unevaluatedItems"), 2019, 2020),
    "$dynamicRef": (_refuse("$dynamicRef"), 2020, 2020),
    "$recursiveRef": (_refuse("$recursiveRef"), 2019, 2019),
}


def build(schemas: Schemas, atom: Atom) -> Node:
    """The node of one subschema: the conjunction of its keywords, left to right."""
    s = Subschema(schemas, atom)
    keywords = list(s.schema)
    if s.draft <= 7 and "$ref" in s.schema:
        keywords = ["$ref"]  # older drafts ignore its siblings
    done: set[Keyword] = set()
    for keyword in keywords:
        function, first, last = KEYWORDS.get(keyword, (None, 0, 0))
        if function is not None and first <= s.draft <= last and function not in done:
            done.add(function)
            function(s)
    node = ANYTHING
    for part in s.nodes:
        node = both(node, part, s.at())
    return node
