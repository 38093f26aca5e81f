"""Advice on what is legal in a schema but hardly meant: misspelt keywords, dead ones, and so on.

One function per kind of mistake; `CHECKS`, at the end, lists them.
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from structgen.errors import StructgenError
from structgen.regular.regex import matches
from structgen.regular.syntax.dialects import AUTO, ECMA
from structgen.regular.syntax.ecma import dialect_of, parse
from structgen.regular.syntax.pattern import within_slashes
from structgen.schema.keywords.constants import constants
from structgen.schema.keywords.keywords import KEYWORDS
from structgen.schema.normal_form.combination import cases_of, conjunction
from structgen.schema.normal_form.forms import ANYTHING, NormalForm
from structgen.schema.references.metaschemas import DEFINITIONS
from structgen.schema.references.vocabularies import CLOSES
from structgen.schema.report.inspection import Inspection, Visit
from structgen.schema.report.slips import (
    COMPANIONS,
    PRIVATE,
    RESTRICTING,
    SIMILAR,
    Slip,
    meant_by,
    names_alone,
    no_keyword,
    where_a_schema_is,
)
from structgen.schema.values import dumps

MAX_VALUES = 200  # of an `enum` that are tried
MAX_NAMES = 6  # listed in a message

# The JSON type that a keyword is about, if it is about one.
TYPE_OF = {
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"
    ),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
    **dict.fromkeys(
        (
            "prefixItems", "items", "additionalItems", "contains", "minContains", "maxContains",
            "minItems", "maxItems", "uniqueItems", "unevaluatedItems",
        ),
        "array",
    ),
    **dict.fromkeys(
        (
            "properties", "patternProperties", "additionalProperties", "propertyNames",
            "required", "minProperties", "maxProperties", "dependentRequired",
            "dependentSchemas", "dependencies", "unevaluatedProperties", CLOSES,
        ),
        "object",
    ),
}  # fmt: skip

# Keywords whose subschemas apply to the very value that the schema around them applies to.
IN_PLACE = frozenset(
    ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
)
SAYS_TYPE = frozenset(("type", "enum", "const", "$ref", "$dynamicRef", "$recursiveRef"))
BRANCHING = ("allOf", "anyOf", "oneOf", "$ref")
BOUNDS = (
    ("minimum", "maximum", operator.gt),
    ("minimum", "exclusiveMaximum", operator.ge),
    ("exclusiveMinimum", "maximum", operator.ge),
    ("exclusiveMinimum", "exclusiveMaximum", operator.ge),
    ("minLength", "maxLength", operator.gt),
    ("minItems", "maxItems", operator.gt),
    ("minProperties", "maxProperties", operator.gt),
    ("minContains", "maxContains", operator.gt),
)
# Keywords of other schema languages, which restrict nothing here.
FOREIGN = {
    "nullable": 'OpenAPI\'s word; to allow null write "type": [..., "null"]',
    "discriminator": "OpenAPI's word; give each branch a `const` of its own instead",
}


@dataclass(frozen=True)
class Advice:
    """A remark on a legal schema. level: "warning" (hardly what was meant) or "info".

    kind: the stable name of the remark; keyword: what it is about, "" for a whole subschema.
    """

    pointer: str
    keyword: str
    kind: str
    level: Literal["warning", "info"]
    message: str


def advice_on(inspection: Inspection) -> Iterator[Advice]:
    """All advice, in the order of the document."""
    for visit in inspection.visits:
        for check in CHECKS:
            yield from check(inspection, visit)


def _warn(visit: Visit, keyword: str, kind: str, message: str) -> Advice:
    return Advice(
        visit.at(keyword) if keyword else visit.pointer, keyword, kind, "warning", message
    )


def _inform(visit: Visit, keyword: str, kind: str, message: str) -> Advice:
    return Advice(visit.at(keyword) if keyword else visit.pointer, keyword, kind, "info", message)


def _applying(visit: Visit) -> Visit:
    """The outermost schema around `visit` that applies to the same value."""
    while visit.parent is not None and visit.keyword in IN_PLACE:
        visit = visit.parent
    return visit


def _is_text(key: object) -> bool:
    return isinstance(key, str)  # others are refused when the schema is compiled


# -- names --------------------------------------------------------------------------------------


def _misspelt(inspection: Inspection, visit: Visit) -> Iterator[Advice]:
    """A name that is almost a keyword."""
    for keyword in filter(_is_text, visit.schema):
        if keyword in FOREIGN and visit.schema[keyword]:
            yield _warn(visit, keyword, "foreign keyword", FOREIGN[keyword])
            continue
        if inspection.drafts_of(keyword) or keyword in KEYWORDS or keyword.startswith(PRIVATE):
            continue
        meant = meant_by(keyword)
        if meant:
            slip = Slip(visit.at(keyword), keyword, meant)
            say = _warn if meant in RESTRICTING else _inform
            yield say(visit, keyword, "misspelt keyword", str(slip))


def _other_draft(inspection: Inspection, visit: Visit) -> Iterator[Advice]:
    """A keyword that this draft does not know."""
    for keyword in visit.schema:
        if not inspection.is_foreign(keyword, visit.draft) or keyword in DEFINITIONS:
            continue
        listed = ", ".join(map(str, sorted(inspection.drafts_of(keyword))))
        text = f"{keyword!r} is a keyword of draft {listed}, not of {visit.draft}"
        if keyword in KEYWORDS or keyword in COMPANIONS:
            text += "; it restricts nothing here"
            yield _warn(visit, keyword, "other draft", text)
        else:
            yield _inform(visit, keyword, "other draft", text)


def _alone(_: Inspection, visit: Visit) -> Iterator[Advice]:
    """A keyword without the one that gives it a meaning."""
    for keyword, leader in COMPANIONS.items():
        if keyword in visit.schema.keys() - visit.ignored and leader not in visit.schema:
            text = f"{keyword!r} restricts nothing without {leader!r}"
            yield _warn(visit, keyword, "keyword alone", text)
    if "if" in visit.schema and not {"then", "else"} & visit.schema.keys():
        yield _warn(visit, "if", "keyword alone", "'if' restricts nothing without 'then' or 'else'")


def _beside_ref(_: Inspection, visit: Visit) -> Iterator[Advice]:
    """Keywords that a `$ref` switches off."""
    for keyword in visit.schema:
        if keyword in visit.ignored and "$ref" in visit.schema and visit.draft <= 7:
            text = f"up to draft 7, {keyword!r} is ignored beside '$ref'; put both into an 'allOf'"
            yield _warn(visit, keyword, "ignored beside $ref", text)


def _no_keyword(_: Inspection, visit: Visit) -> Iterator[Advice]:
    """No keyword at all in the whole schema, but other names."""
    names = [] if visit.path else names_alone(visit.schema)
    if names:
        text = f"{no_keyword(names)}; {where_a_schema_is(visit.schema)}"
        yield _warn(visit, "", "no keyword", text)


# -- types --------------------------------------------------------------------------------------


def _types(inspection: Inspection, visit: Visit) -> Iterator[Advice]:
    """Keywords about one type where `type` is missing, or another one."""
    about: dict[str, list[str]] = {}
    for keyword in visit.schema:
        if keyword in TYPE_OF and keyword in visit.enforced:
            about.setdefault(TYPE_OF[keyword], []).append(keyword)
    around = _applying(visit)
    default = "string" if around.keyword == "propertyNames" else around.schema.get("type")
    said = visit.schema.get("type", default)
    if isinstance(said, str | list):
        names = {said} if isinstance(said, str) else {n for n in said if isinstance(n, str)}
        names |= {"number"} if "integer" in names else set()
        for name, keywords in about.items():
            if name not in names:
                yield from _dead(visit, keywords, name, sorted(names))
    elif about and not SAYS_TYPE & visit.schema.keys() and not _narrowed(inspection, visit):
        for name, keywords in about.items():
            listed = _listed(keywords)
            text = f"without 'type', every value that is no {name} fits whatever {listed} says"
            yield _warn(visit, keywords[0], "no type", text)


def _dead(visit: Visit, keywords: list[str], name: str, said: list[str]) -> Iterator[Advice]:
    for keyword in keywords:
        text = f"{keyword!r} is about {name}s, which 'type' ({', '.join(said)}) rules out"
        yield _warn(visit, keyword, "dead keyword", text)


def _narrowed(inspection: Inspection, visit: Visit) -> bool:
    """Whether what applies to the same value leaves some JSON type out."""
    form = inspection.normal_form(_applying(visit))
    if form is None:
        return True
    return not all(
        (form.null, form.true, form.false, form.arrays, form.objects)
    ) or inspection.empty(form.string, form.number)


# -- values -------------------------------------------------------------------------------------


def _excluded_values(inspection: Inspection, visit: Visit) -> Iterator[Advice]:
    """Values of an `enum` that the keywords beside it rule out."""
    values = visit.schema.get("enum")
    form = inspection.normal_form(visit)
    if not isinstance(values, list) or form is None or inspection.never(form):
        return
    for i, value in enumerate(values[:MAX_VALUES]):
        if not _fits(inspection, value, form, visit.at("enum", i)):
            text = f"the value {_shown(value)} is ruled out by the keywords beside 'enum'"
            yield Advice(visit.at("enum", i), "enum", "excluded value", "warning", text)


def _fits(inspection: Inspection, value: Any, form: NormalForm, location: str) -> bool:
    if isinstance(value, str):
        return matches(form.string, value)
    try:
        exact = constants(inspection.schemas, [value], lambda: location)
        return not inspection.never(conjunction(exact, form))
    except StructgenError:
        return True  # not known to be excluded


def _bounds(_: Inspection, visit: Visit) -> Iterator[Advice]:
    """A least above a most."""
    for low, high, crossed in BOUNDS:
        least, most = visit.schema.get(low), visit.schema.get(high)
        numbers = [x for x in (least, most) if isinstance(x, int | float | Decimal)]
        counted = len(numbers) == 2 and bool not in map(type, numbers)
        if counted and {low, high} <= visit.enforced and crossed(*numbers):
            text = f"{low!r} ({least}) and {high!r} ({most}) leave nothing between them"
            yield _warn(visit, low, "crossed bounds", text)


def _useless(inspection: Inspection, visit: Visit) -> Iterator[Advice]:
    """Subschemas that no value fits, or all values although they have keywords."""
    form = inspection.normal_form(visit)
    if form is None or not visit.enforced:
        return
    if inspection.never(form):
        if not any(_never_below(inspection, child) for child in visit.children) or not visit.path:
            yield _warn(visit, "", "never true", "no value fits this subschema")
    elif _is_anything(form):
        yield _inform(visit, "", "always true", "every value fits this subschema")


def _never_below(inspection: Inspection, visit: Visit) -> bool:
    form = inspection.normal_form(visit)
    return form is not None and inspection.never(form)


def _is_anything(form: NormalForm) -> bool:
    names = ("null", "true", "false", "number", "string", "arrays", "objects")
    return all(getattr(form, name) == getattr(ANYTHING, name) for name in names)


# -- keys ---------------------------------------------------------------------------------------


def _forbidden_keys(inspection: Inspection, visit: Visit) -> Iterator[Advice]:
    """Required keys that `additionalProperties` forbids."""
    required = visit.schema.get("required")
    if visit.schema.get("additionalProperties") is not False or not isinstance(required, list):
        return
    for key in required:
        if isinstance(key, str) and not _named(inspection, visit, key):
            text = f"the required key {key!r} is forbidden by 'additionalProperties'"
            yield _warn(visit, "required", "forbidden key", text)


def _closed_branches(inspection: Inspection, visit: Visit) -> Iterator[Advice]:
    """`additionalProperties` does not see the properties of the schemas beside it."""
    rest = visit.schema.get("additionalProperties", True)
    if rest is True or rest == {} or "additionalProperties" in visit.ignored:
        return
    names: dict[str, None] = {}
    for branch in _branches(inspection, visit):
        names |= dict.fromkeys(_property_names(inspection, branch))
    unseen = [name for name in names if not _named(inspection, visit, name)]
    if unseen:
        beside = next(k for k in BRANCHING if k in visit.schema)
        what = "forbids" if rest is False else "applies to"
        text = f"'additionalProperties' does not see into {beside!r}: it {what} {_listed(unseen)}"
        if visit.draft >= 2019:
            text += "; 'unevaluatedProperties' does"
        yield _warn(visit, "additionalProperties", "additionalProperties beside branches", text)


def _branches(inspection: Inspection, visit: Visit) -> Iterator[Visit]:
    yield from (child for child in visit.children if child.keyword in BRANCHING)
    if isinstance(visit.schema.get("$ref"), str):
        yield from inspection.targets(visit)


def _property_names(inspection: Inspection, branch: Visit) -> list[str]:
    form = inspection.normal_form(branch)
    if form is None:
        properties = branch.schema.get("properties")
        return list(properties) if isinstance(properties, dict) else []
    groups = (group for alternative in cases_of(form.objects) for group in alternative.groups)
    return [name for group in groups for name in group.named]


def _named(inspection: Inspection, visit: Visit, key: str) -> bool:
    """Whether `properties` or `patternProperties` of the schema itself name the key."""
    properties = visit.schema.get("properties")
    if isinstance(properties, dict) and key in properties:
        return True
    patterns = visit.schema.get("patternProperties")
    for text in patterns if isinstance(patterns, dict) else ():
        try:
            at = visit.at("patternProperties")
            if matches(inspection.schemas.pattern(text, at, of_keys=True), key):
                return True
        except StructgenError:
            return True  # it is reported as broken or refused
    return False


# -- the rest -----------------------------------------------------------------------------------


def _unreferenced(inspection: Inspection, visit: Visit) -> Iterator[Advice]:
    """Definitions that nothing refers to."""
    for child in visit.children:
        if child.keyword in DEFINITIONS and not inspection.is_used(child):
            text = f"nothing refers to the definition {child.path[1]!r}"
            yield Advice(child.pointer, child.keyword, "unused definition", "warning", text)


def _formats(_: Inspection, visit: Visit) -> Iterator[Advice]:
    """Formats that no specification names."""
    from structgen.schema.formats.formats import SPEC_FORMATS

    name = visit.schema.get("format")
    known = not isinstance(name, str) or name in SPEC_FORMATS or "format" in visit.enforced
    if known or "format" in visit.ignored:
        return
    close = difflib.get_close_matches(str(name), SPEC_FORMATS, 1, SIMILAR)
    meant = f"; was {close[0]!r} meant?" if close else ""
    text = f"no specification names the format {name!r}, so it is an annotation{meant}"
    yield _warn(visit, "format", "unknown format", text)


def _dialects(inspection: Inspection, visit: Visit) -> Iterator[Advice]:
    """Patterns that are no ECMA-262 pattern, or mean something else in another dialect."""
    if inspection.schemas.patterns != AUTO:
        return
    for pointer, keyword, text in _patterns(visit):
        dialect = dialect_of(text)
        if dialect != ECMA.name:
            message = f"the pattern {text!r} is not ECMA-262, and is read as {dialect} has it"
            yield Advice(pointer, keyword, "pattern dialect", "warning", message)
            continue
        others = [name for name in ("re2", "java") if _differs(text, name)]
        if others:
            message = (
                f"the pattern {text!r} is read as ECMA-262 has it, and means something else in "
                f"{' and '.join(others)}; say patterns={others[-1]!r} if that is meant"
            )
            yield Advice(pointer, keyword, "pattern dialect", "warning", message)


_CLASS_IN_CLASS = re.compile(r"\[(?:\\.|[^\]\\])*?(?:&&|\[)").search


def _differs(pattern: str, dialect: str) -> bool:
    if not _CLASS_IN_CLASS(pattern):
        return False
    try:
        return parse(pattern, dialect=dialect) is not parse(pattern)
    except StructgenError:
        return False


def _patterns(visit: Visit) -> Iterator[tuple[str, str, str]]:
    """JSON Pointer, keyword and text of each pattern."""
    if isinstance(visit.schema.get("pattern"), str):
        yield visit.at("pattern"), "pattern", visit.schema["pattern"]
    patterns = visit.schema.get("patternProperties")
    for text in patterns if isinstance(patterns, dict) else ():
        yield visit.at("patternProperties", text), "patternProperties", text


def _anchors(_: Inspection, visit: Visit) -> Iterator[Advice]:
    """Patterns that may match anywhere in the text, or between slashes, where nothing matches."""
    for pointer, keyword, text in _patterns(visit):
        inside = within_slashes(text)
        if inside:
            message = f"the slashes around {text!r} are characters to match: write {inside!r}"
            yield Advice(pointer, keyword, "slashes", "warning", message)
        elif not (text.startswith(("^", r"\A")) or text.endswith(("$", r"\Z", r"\z"))):
            message = f"the pattern {text!r} has no anchors: it may match anywhere in the text"
            yield Advice(pointer, keyword, "no anchors", "info", message)


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MAX_NAMES])
    return shown + (", ..." if len(names) > MAX_NAMES else "")


def _shown(value: Any) -> str:
    text = dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."


CHECKS: tuple[Callable[[Inspection, Visit], Iterator[Advice]], ...] = (
    _no_keyword,
    _misspelt,
    _other_draft,
    _alone,
    _beside_ref,
    _types,
    _excluded_values,
    _bounds,
    _forbidden_keys,
    _closed_branches,
    _formats,
    _anchors,
    _dialects,
    _useless,
    _unreferenced,
)
