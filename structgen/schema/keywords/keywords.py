"""The keywords of JSON Schema: what each one demands, as a normal form. Start reading here.

`KEYWORDS`, at the end, maps each keyword to its function and the drafts that have it. A function is
named as the keyword is; a few enforce several keywords that only make sense together: `object_`
(`properties`, `required`, ...), `array` (`items`, ...), `numeric` (`minimum`, ...), `length` and
`contains`. Keywords for numbers and strings are in `keywords.scalars`, those for arrays in
`keywords.arrays`, `unevaluatedItems` and `unevaluatedProperties` in `keywords.unevaluated`.
Keywords that a draft does not know are annotations in it, as the specifications say.

The normal form of a subschema is the conjunction of what its keywords demand (`build`). Where these
demands are enforced while a text is read: strings and numbers by the lexer; objects by
`schema.objects.matcher`; arrays by `schema.arrays.matcher`, `contains` by `schema.arrays.contains`,
`uniqueItems` by `schema.arrays.unique_items`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from structgen.regular.infinite import few_words
from structgen.regular.regex import (
    ANY,
    EMPTY,
    Regex,
    alt,
    words,
)
from structgen.schema.keywords.arrays import array, contains, unique_items
from structgen.schema.keywords.constants import constants
from structgen.schema.keywords.scalars import (
    NUMERIC,
    format_,
    integers,
    length,
    numeric,
    pattern,
)
from structgen.schema.keywords.subschema import Subschema
from structgen.schema.keywords.subschemas import Subschemas
from structgen.schema.keywords.unevaluated import (
    closes,
    unevaluated_items,
    unevaluated_properties,
)
from structgen.schema.normal_form.alternatives import simplified
from structgen.schema.normal_form.branches import Branches, told_apart
from structgen.schema.normal_form.combination import (
    ExactlyOne,
    clauses_of,
    conjunction,
    conjunction_of,
    disjunction,
)
from structgen.schema.normal_form.expressions import FALSE, TRUE, Atom, Children, Expr, conjoin
from structgen.schema.normal_form.forms import (
    ANYTHING,
    NOTHING,
    Clause,
    Exists,
    ForAll,
    NormalForm,
    ObjectAlt,
    PropertyGroup,
)
from structgen.schema.normal_form.listings import ANNOTATIONS
from structgen.schema.normal_form.logic import overlapping, telling_keys
from structgen.schema.references.vocabularies import CLOSES, UNEVALUATED

MOST_WORDS = 64  # keys that a pattern may have to be replaced by these names
LONG_CHAIN = 8  # conditions in the `else` of others from which on they are put apart
MOST_NAMES = 1000  # names that patterns of one schema are replaced by
MANY_BRANCHES = 8  # of `oneOf` from which on they are counted, if they can be
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


# -- any type -----------------------------------------------------------------------------------


def type_(s: Subschema) -> None:
    """`type`: one of these types."""
    wanted = s.schema["type"]
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, list) or not (wanted in TYPES or all(n in TYPES for n in names)):
        raise s.broken("type", f"one of {', '.join(TYPES)}, or a list of them")
    numbers = EMPTY
    if "number" in names:
        numbers = ANYTHING.number
    elif "integer" in names:
        joint = wanted == "integer" and not s.schema.keys().isdisjoint(NUMERIC)
        numbers = ANYTHING.number if joint else integers(s, {})  # then `numeric` does both at once
    s.require(_of_types(tuple(names), numbers))


@lru_cache(maxsize=1024)
def _of_types(names: tuple[str, ...], numbers: Regex) -> NormalForm:
    """The values of some types; numbers: which numbers are among them."""
    return NormalForm(
        "null" in names,
        "boolean" in names,
        "boolean" in names,
        numbers,
        ANY if "string" in names else EMPTY,
        ANYTHING.arrays if "array" in names else (),
        ANYTHING.objects if "object" in names else (),
    )


def enum(s: Subschema) -> None:
    """`enum`: one of these values."""
    values = s.schema["enum"]
    if not isinstance(values, list):
        raise s.broken("enum", "an array")
    s.require(constants(s.schemas, values, partial(s.at, "enum")))


def const(s: Subschema) -> None:
    """`const`: this value."""
    s.require(constants(s.schemas, [s.schema["const"]], partial(s.at, "const")))


# -- combination --------------------------------------------------------------------------------


def all_of(s: Subschema) -> None:
    """`allOf`: all of these schemas."""
    for i, schema in enumerate(s.listed("allOf")):
        s.require(s.normal_form(schema, "allOf", i))


def any_of(s: Subschema) -> None:
    """`anyOf`: at least one of these schemas."""
    forms = [s.normal_form(schema, "anyOf", i) for i, schema in enumerate(s.listed("anyOf"))]
    s.require(disjunction(forms, s.where("anyOf")))


def one_of(s: Subschema) -> None:
    """`oneOf`: exactly one of these schemas.

    Many branches that keys of their own tell apart are counted. Else each branch is conjoined with
    the negations of those that it may overlap with.
    """
    forms = [s.normal_form(schema, "oneOf", i) for i, schema in enumerate(s.listed("oneOf"))]
    if len(forms) > 1 and all(form.has_all_but_objects for form in forms):
        forms = [replace(NOTHING, objects=form.objects) for form in forms]  # others fit them all
    context = s.sole_objects()
    many = len(forms) >= MANY_BRANCHES and not s.schemas.tracks_evaluation
    branches = told_apart(forms, s.schemas.peek) if many else None
    if branches is not None and s.schemas.declared:
        branches = branches.in_declared_order(forms)
    if branches is not None:
        s.require(replace(NOTHING, objects=_counted(s, forms, context, branches)))
        return
    overlaps = overlapping(forms, s.schemas.peek)
    found = disjunction(_cases(s, forms, overlaps, context), s.where("oneOf"))
    if any(overlaps) and len(found.objects) > 1:
        others = partial(_in_none_or_two, s, forms, overlaps)
        objects = found.objects
        found = replace(found, objects=ExactlyOne(lambda: objects, others))
    s.require(found)


def _counted(
    s: Subschema, forms: list[NormalForm], context: Sequence[ObjectAlt], branches: Branches
) -> ExactlyOne:
    """The objects that fit exactly one branch, where these are counted."""
    peek = s.schemas.peek

    def alternatives() -> Sequence[ObjectAlt]:
        return disjunction(_cases(s, forms, overlapping(forms, peek), context)).objects

    def others() -> Sequence[ObjectAlt]:
        return _in_none_or_two(s, forms, overlapping(forms, peek))

    return ExactlyOne(alternatives, others, branches)


def _cases(
    s: Subschema, forms: list[NormalForm], overlaps: list[list[int]], context: Sequence[ObjectAlt]
) -> list[NormalForm]:
    """Each branch of `oneOf`, with the negations of those that it may overlap with."""
    telling: dict[tuple[int, int], list[str]] = {}
    cases = []
    for index, others in enumerate(overlaps):
        form, negations = forms[index], []
        for other in others:
            pair = min(index, other), max(index, other)
            if pair not in telling:
                telling[pair] = telling_keys(form, forms[other], context, s.schemas.peek)
            negations.append(s.negated_form(forms[other], "oneOf", telling[pair]))
        cases.append(conjunction_of([form, *negations], s.where("oneOf")))
    return cases


def _in_none_or_two(
    s: Subschema, forms: list[NormalForm], overlaps: list[list[int]]
) -> tuple[ObjectAlt, ...]:
    """The alternatives of the objects that fit no branch of `oneOf`, or at least two.

    overlaps: for each branch the others that it may have a value in common with.
    """
    where = s.where("oneOf")
    pairs = [(i, j) for i, others in enumerate(overlaps) for j in others if i < j]
    cases = [conjunction_of([s.negated_form(form, "oneOf") for form in forms], where).objects]
    cases += (conjunction(forms[i], forms[j], where).objects for i, j in pairs)
    found = dict.fromkeys(o for objects in cases for o in objects)
    return tuple(replace(o, evaluated=EMPTY) if o.evaluated is not EMPTY else o for o in found)


def not_(s: Subschema) -> None:
    """`not`: the negation of this schema."""
    s.require(s.negated_form(s.normal_form(s.schema["not"], "not"), "not"))


def if_(s: Subschema) -> None:
    """`if`, `then`, `else`: (if and then) or (not if and else)."""
    if _is_long_chain(s.schema) and not s.schemas.tracks_evaluation:
        implications = _implications(s)
        if implications is not None:
            s.conjuncts += implications
            return
    if "then" in s.schema or "else" in s.schema or s.schemas.tracks_evaluation:
        yes = s.normal_form(s.schema["if"], "if")  # without `then` it still marks as evaluated
        no = s.negated_form(yes, "if")
        if "then" in s.schema:
            yes = conjunction(yes, s.normal_form(s.schema["then"], "then"), s.where("then"))
        if "else" in s.schema:
            no = conjunction(no, s.normal_form(s.schema["else"], "else"), s.where("else"))
        s.require(disjunction([yes, no], s.where("if")))


def _is_long_chain(schema: Any) -> bool:
    """Whether `else` has another `if` and nothing besides, and so on, LONG_CHAIN times."""
    for _ in range(LONG_CHAIN):
        schema = schema.get("else")
        if not _is_link(schema):
            return False
    return True


def _is_link(schema: Any) -> bool:
    """Whether a schema is no more than a condition."""
    return (
        isinstance(schema, dict)
        and "if" in schema
        and schema.keys() <= {"if", "then", "else", *ANNOTATIONS}
    )


def _asks_of_languages(form: NormalForm) -> bool:
    """Whether the values of keys that are not named must fit something."""
    groups = [group for o in form.objects for group in o.groups]
    return any(group.patterns or group.additional not in (TRUE, FALSE) for group in groups)


def _implications(s: Subschema) -> list[NormalForm] | None:
    """What a chain of conditions demands, one condition at a time; None where they overlap.

    Where conditions exclude each other, "else" need not be said of each: if the first holds ...,
    if the second holds ..., and if none does .... Alternatives would be as many, but each of them
    with the negations of all before it.
    """
    conditions, demands = [], []
    schema: Any = s.schema
    path: tuple[str, ...] = ()
    while _is_link(schema) or not path:
        conditions.append(s.normal_form(schema["if"], *path, "if"))
        then = s.normal_form(schema["then"], *path, "then") if "then" in schema else ANYTHING
        demands.append(then)
        schema, path = schema.get("else", True), (*path, "else")
    if any(_asks_of_languages(form) for form in demands):
        return None  # then a value has to be looked at in too many ways
    about_objects = not any(form.has_more_than_objects for form in conditions)
    if not about_objects and not all(form.has_all_but_objects for form in conditions):
        return None
    negations = [s.negated_form(form, "if") for form in conditions]
    # of other types the first condition decides
    objects = [replace(NOTHING, objects=form.objects) for form in conditions]
    conditions[1:], others = objects[1:], replace(ANYTHING, objects=())
    negations[1:] = [replace(others, objects=form.objects) for form in negations[1:]]
    if any(overlapping(objects, s.schemas.peek)):
        # mostly each holds where the key is absent that they are about: there the first decides
        where = s.where("if")
        conditions[1:] = [conjunction(form, negations[0], where) for form in conditions[1:]]
        negations[1:] = [disjunction([form, conditions[0]], where) for form in negations[1:]]
        if any(overlapping([objects[0], *conditions[1:]], s.schemas.peek)):
            return None
    found = [
        disjunction([no, then], s.where("then"))
        for no, then in zip(negations, demands, strict=True)
        if then is not ANYTHING
    ]
    rest = s.normal_form(schema, *path)
    return (
        found if rest is ANYTHING else [*found, disjunction([*conditions, rest], s.where("else"))]
    )


def ref(s: Subschema) -> None:
    """`$ref`: the schema that the reference leads to."""
    _refer(s, "$ref")


def dynamic_ref(s: Subschema) -> None:
    """`$dynamicRef`: the same, or the outermost schema in scope with its dynamic anchor."""
    _refer(s, "$dynamicRef")


def recursive_ref(s: Subschema) -> None:
    """`$recursiveRef`: the schema resource, or the outermost recursive one in scope."""
    if s.schema["$recursiveRef"] != "#":
        raise s.broken("$recursiveRef", 'the string "#"')
    _refer(s, "$recursiveRef")


def _refer(s: Subschema, keyword: str) -> None:
    reference = s.schema[keyword]
    if not isinstance(reference, str):
        raise s.broken(keyword, "a string")
    s.require(s.schemas.normal_form(s.schemas.refer(s.atom, reference, keyword)))


# -- objects ------------------------------------------------------------------------------------


def object_(s: Subschema) -> None:
    """`properties` and all other keywords about the members of an object: one object alternative.

    These are `patternProperties`, `additionalProperties`, `propertyNames`, `required`,
    `minProperties` and `maxProperties`; the first four of all make one `PropertyGroup`.
    """
    named = s.children("properties")
    pattern, of = s.schemas.pattern, "patternProperties"
    patterns = tuple(
        [
            (pattern(k, s.at(of, k), of_keys=True), s.child(v, of, k))
            for k, v in s.members(of).items()
        ]
    )
    if patterns and not s.schemas.declared:
        named, patterns = _with_names_for_patterns(named, patterns)
    rest = TRUE
    if "additionalProperties" in s.schema:
        rest = s.child(s.schema["additionalProperties"], "additionalProperties")
    keys = ANY
    if "propertyNames" in s.schema and s.draft >= 6:
        keys = s.schemas.strings(s.child(s.schema["propertyNames"], "propertyNames"))
    required = s.schema.get("required", [])
    if s.draft <= 4 and isinstance(required, bool):
        raise s.broken("required", "an array of property names (draft 3 had a boolean)")
    if not isinstance(required, list) or not all(isinstance(r, str) for r in required):
        raise s.broken("required", "an array of property names")
    groups: tuple[PropertyGroup, ...] = ()
    if named or patterns or rest is not TRUE or keys is not ANY:
        groups = (PropertyGroup(named, patterns, rest, keys),)
    least, most = s.count("minProperties") or 0, s.count("maxProperties")
    names = tuple(dict.fromkeys(required))
    evaluated = EMPTY
    if s.schemas.tracks_evaluation:
        evaluated = alt(words(named), *(keys for keys, _ in patterns))
        evaluated = ANY if "additionalProperties" in s.schema else evaluated
    if groups or names or least or most is not None or evaluated is not EMPTY:
        s.only(objects=(ObjectAlt(groups, names, least, most, evaluated=evaluated),))


Patterns = tuple[tuple[Regex, Expr], ...]


def _with_names_for_patterns(
    named: Mapping[str, Expr], patterns: Patterns
) -> tuple[Mapping[str, Expr], Patterns]:
    """Replace patterns that match only a few keys by these names, which are cheaper."""
    others: dict[str, Expr] = {}
    left = []
    for keys, child in patterns:
        words = few_words(keys, MOST_WORDS) if len(others) < MOST_NAMES else None
        if not words:
            left.append((keys, child))
        for word in sorted(words or ()):
            others[word] = conjoin(others.get(word, named.get(word, TRUE)), child)
    if not others:
        return named, patterns
    joined = named.and_others(others) if isinstance(named, Children) else {**named, **others}
    return joined, tuple(left)


def dependent_required(s: Subschema) -> None:
    """`dependentRequired`: keys that require further keys."""
    for name, needed in s.members("dependentRequired").items():
        if not isinstance(needed, list) or any(not isinstance(n, str) for n in needed):
            raise s.broken("dependentRequired", "arrays of property names")
        _depend(s, name, ANYTHING, tuple(needed))


def dependent_schemas(s: Subschema) -> None:
    """`dependentSchemas`: keys that require the object to fit a schema."""
    for name, schema in s.members("dependentSchemas").items():
        _depend(s, name, s.normal_form(schema, "dependentSchemas", name), ())


def dependencies(s: Subschema) -> None:
    """`dependencies`: both of the above, as drafts 4 to 7 have it; later drafts still allow it."""
    for name, needed in s.members("dependencies").items():
        if not isinstance(needed, list):
            _depend(s, name, s.normal_form(needed, "dependencies", name), ())
        elif all(isinstance(n, str) for n in needed):
            _depend(s, name, ANYTHING, tuple(needed))
        else:
            raise s.broken("dependencies", "schemas and arrays of property names")


def _depend(s: Subschema, name: str, form: NormalForm, needed: tuple[str, ...]) -> None:
    """Either the key `name` is absent, or `needed` are there, too, and `form` fits."""
    absent_key = ForAll(name, FALSE)
    clauses = clauses_of(form.objects[0]) if len(form.objects) == 1 else None
    if clauses is not None and not s.schemas.tracks_evaluation:  # as clauses, in one alternative
        clauses = [*(Clause((Exists(key, TRUE),)) for key in needed), *clauses]
        found = simplified(
            ObjectAlt(clauses=tuple(Clause((absent_key, *clause)) for clause in clauses))
        )
        s.only(objects=() if found is None else (found,))
        return
    # as two alternatives
    absent = ObjectAlt((PropertyGroup({name: FALSE}),))
    present = ObjectAlt((), tuple(dict.fromkeys((name, *needed))))
    with_node = conjunction(form, NormalForm(objects=(present,)), s.where("dependencies"))
    s.only(objects=(absent, *with_node.objects))


Keyword = Callable[[Subschema], None]
_ARRAY = ("prefixItems", "items", "minItems", "maxItems")  # additionalItems only beside items
_OBJECT = (
    "properties", "patternProperties", "additionalProperties", "propertyNames",
    "required", "minProperties", "maxProperties",
)  # fmt: skip

#: All keywords that are enforced: keyword -> (function, first draft, last draft).
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
    **dict.fromkeys(NUMERIC, (numeric, 4, 2020)),
    **dict.fromkeys(("minLength", "maxLength"), (length, 4, 2020)),
    "pattern": (pattern, 4, 2020),
    "format": (format_, 4, 2020),
    **dict.fromkeys(_ARRAY, (array, 4, 2020)),
    **dict.fromkeys(_OBJECT, (object_, 4, 2020)),
    "dependentRequired": (dependent_required, 2019, 2020),
    "dependentSchemas": (dependent_schemas, 2019, 2020),
    "dependencies": (dependencies, 4, 2020),
    **dict.fromkeys(("contains", "minContains", "maxContains"), (contains, 6, 2020)),
    "uniqueItems": (unique_items, 4, 2020),
    "unevaluatedProperties": (unevaluated_properties, 2019, 2020),
    "unevaluatedItems": (unevaluated_items, 2019, 2020),
    CLOSES: (closes, 4, 7),
    "$dynamicRef": (dynamic_ref, 2020, 2020),
    "$recursiveRef": (recursive_ref, 2019, 2019),
}

OTHERS = (  # functions that restrict nothing but numbers, arrays or objects
    numeric, array, object_, dependent_required, dependent_schemas, dependencies, contains,
    unique_items, unevaluated_properties, unevaluated_items, closes,
)  # fmt: skip
LAST = UNEVALUATED  # run last: the others say what is evaluated


_is_last = LAST.__contains__


def build(schemas: Subschemas, atom: Atom) -> NormalForm:
    """The normal form of one subschema: the conjunction of its keywords, left to right."""
    s = Subschema(schemas, atom)
    done: set[Keyword] = set(OTHERS) if schemas.only_strings else set()
    in_order = s.schema if s.schema.keys().isdisjoint(LAST) else sorted(s.schema, key=_is_last)
    for keyword in in_order:
        function, first, last = KEYWORDS.get(keyword, (None, 0, 0))
        if function is not None and first <= s.draft <= last and function not in done:
            done.add(function)
            function(s)
    return s.conjunction()
