"""Writes what a case demands of arrays and objects in a dialect."""

from __future__ import annotations

from dataclasses import replace

from structgen.regular.regex import ANY
from structgen.schema.export.dialects import ProviderDialect
from structgen.schema.export.writer import Exported, Writer
from structgen.schema.keywords.keywords import KEYWORDS
from structgen.schema.keywords.subschema import Subschema
from structgen.schema.normal_form.expressions import FALSE, TRUE, Atom, Expr, conjoin
from structgen.schema.normal_form.forms import ANY_OBJECT, ArrayAlt, ObjectAlt, PropertyGroup
from structgen.schema.normal_form.logic import group_child
from structgen.schema.references.vocabularies import CLOSES
from structgen.schema.report.advice import IN_PLACE, SAYS_TYPE, TYPE_OF
from structgen.schema.report.cases import Members, pointer_of

_BRANCHING = (IN_PLACE | SAYS_TYPE) - {"type", "enum", "const"}
_JOINING = frozenset(("allOf", "$ref"))
_ABOUT_OTHER_KEYS = frozenset(("unevaluatedProperties", CLOSES))


def acts_as_items(schema: Exported) -> bool:
    """Whether `unevaluatedItems` does the same as `items` would."""
    rivals = {"items", "additionalItems", "contains"} | _BRANCHING
    return "unevaluatedItems" in schema and not rivals & schema.keys()


def applies_to_all_other_keys(writer: Writer, members: Members, schema: Exported) -> bool:
    """Whether `unevaluatedProperties` applies to all keys that no subschema of the case names."""
    first = members[0][1]
    if schema is not first or not _ABOUT_OTHER_KEYS & schema.keys():
        return False
    cases = writer.cases.of((members[0][0],))
    rivals = (_BRANCHING - _JOINING) | {"additionalProperties"}
    return (
        len(cases) == 1
        and set(cases[0]) == {atom for atom, _ in members}
        and not any(rivals & other.keys() for _, other in members)
        and not any(_ABOUT_OTHER_KEYS & other.keys() for _, other in members[1:])
    )


def _is_about(type_: str, schema: Exported) -> bool:
    return any(TYPE_OF.get(keyword) == type_ for keyword in schema)


def closed_object(properties: Exported, dialect: ProviderDialect) -> Exported:
    """An object with exactly these keys, all required, as far as the dialect can express it."""
    schema: Exported = {"type": "object", "properties": properties, "required": list(properties)}
    if dialect.takes("object", "additionalProperties"):
        schema["additionalProperties"] = False
    if dialect.ordering and properties:
        schema["propertyOrdering"] = list(properties)
    return schema


# -- arrays -------------------------------------------------------------------------------------


def array(writer: Writer, members: Members) -> Exported | None:
    """The schema of the arrays of a case, None if no array fits."""
    found = _arrays(writer, members)
    if found is None:
        return None
    place = pointer_of(*_first_with(members, ("items", "prefixItems")))
    prefix = [writer.write(found.child(i), place) for i in range(found.prefix)]
    possible = next((i for i, child in enumerate(prefix) if child is None), None)
    if possible is not None:
        prefix = prefix[:possible]
        found = replace(found, most=possible)
    most = found.most
    open_ended = most is None or most > len(prefix)
    tail = writer.write(found.child(found.prefix), place) if open_ended else None
    if tail is None and open_ended:
        most = len(prefix)
    if most is not None and found.least > most:
        return None
    schema: Exported = {"type": "array"}
    heads = [child for child in prefix if child is not None]
    if heads and writer.dialect.takes("array", "prefixItems"):
        schema["prefixItems"] = heads
        if tail is not None:
            schema["items"] = tail
    else:
        branches = heads + ([tail] if tail is not None else [])
        schema["items"] = writer.union(branches) or {"type": "null"}
        if len(heads) > 0 and any(child != schema["items"] for child in branches):
            atom, keyword = _first_with(members, ("prefixItems", "items"))
            writer.lose(atom, keyword, "looser", "the dialect cannot say which item comes where")
    _put_counts(writer, members, schema, found.least, most)
    return schema


def _arrays(writer: Writer, members: Members) -> ArrayAlt | None:
    """The conjunction of what the subschemas of a case demand of items."""
    lists: list[tuple[tuple[Expr, ...], Expr]] = []
    least, most = 0, None
    for atom, schema in members:
        if not _is_about("array", schema):
            continue
        subschema = Subschema(writer.schemas, atom)
        KEYWORDS["items"][0](subschema)
        if not subschema.conjuncts[-1].arrays:
            return None
        said = subschema.conjuncts[-1].arrays[0]
        lists += said.lists
        if acts_as_items(schema):
            child = writer.schemas.child(schema["unevaluatedItems"], atom, "unevaluatedItems")
            head = said.lists[0][0] if said.lists else ()
            lists.append(((TRUE,) * len(head), child))
        least = max(least, said.least)
        most = said.most if most is None else most if said.most is None else min(most, said.most)
    return ArrayAlt(tuple(lists), least, most)


def _put_counts(
    writer: Writer, members: Members, schema: Exported, least: int, most: int | None
) -> None:
    dialect = writer.dialect
    for keyword, count in (("minItems", least), ("maxItems", most)):
        if count is None or (keyword, count) == ("minItems", 0):
            continue
        values = dialect.values.get(keyword)
        if dialect.takes("array", keyword) and (values is None or count in values):
            schema[keyword] = count
            continue
        if dialect.takes("array", keyword) and values and keyword == "minItems":
            schema[keyword] = max(value for value in values if value <= count)
        atom, said = _first_with(members, (keyword, "items", "prefixItems", "additionalItems"))
        writer.lose(atom, said, "looser", f"the dialect cannot say {keyword!r}: {count}")


def _first_with(members: Members, keywords: tuple[str, ...]) -> tuple[Atom, str]:
    """The first subschema with one of the keywords, in the order of the keywords."""
    for keyword in keywords:
        for atom, schema in members:
            if keyword in schema:
                return atom, keyword
    return members[0][0], keywords[0]


# -- objects ------------------------------------------------------------------------------------


def object_(writer: Writer, members: Members) -> Exported | None:
    """The schema of the objects of a case, None if no object fits."""
    said = [_object(writer, a) for a, s in members if _is_about("object", s)]
    if None in said:
        return None
    groups = [group for o in said if o for group in o.groups]
    if members and applies_to_all_other_keys(writer, members, members[0][1]):
        groups.append(_unevaluated(writer, members[0][0], groups))
    required = dict.fromkeys(name for o in said if o for name in o.required)
    names = dict.fromkeys([*(name for group in groups for name in group.named), *required])
    dialect = writer.dialect
    properties: Exported = {}
    impossible = []
    for name in names:
        place = pointer_of(*_naming(members, name))
        child = writer.write(conjoin(*(group_child(group, name) for group in groups)), place)
        if child is not None:
            properties[name] = child
        elif name in required:
            return None
        else:
            impossible.append(name)
    schema: Exported = {"type": "object", "properties": properties}
    rest = _rest(writer, members, groups)
    if rest is not True and dialect.takes("object", "additionalProperties"):
        schema["additionalProperties"] = rest
    if rest is not False and impossible:
        atom, keyword = _first_with(members, ("properties",))
        text = f"the dialect cannot forbid the keys {', '.join(map(repr, impossible))}"
        writer.lose(atom, keyword, "looser", text)
    _put_required(writer, members, schema, list(required))
    _put_key_counts(writer, members, schema, [o for o in said if o], len(required))
    if dialect.ordering and properties:
        schema["propertyOrdering"] = list(properties)
    return schema


def _naming(members: Members, name: str) -> tuple[Atom, str, str]:
    """The path to the schema of a key, for losses."""
    atoms = (atom for atom, schema in members if name in schema.get("properties", {}))
    return next(atoms, members[0][0]), "properties", name


def _object(writer: Writer, atom: Atom) -> ObjectAlt | None:
    """What one subschema demands of members."""
    subschema = Subschema(writer.schemas, atom)
    KEYWORDS["properties"][0](subschema)
    if not subschema.conjuncts:
        said = ANY_OBJECT
    elif not subschema.conjuncts[-1].objects:
        return None
    else:
        said = subschema.conjuncts[-1].objects[0]
    return said


def _unevaluated(writer: Writer, atom: Atom, groups: list[PropertyGroup]) -> PropertyGroup:
    """The `PropertyGroup` that `unevaluatedProperties` amounts to beside these."""
    keyword = CLOSES if CLOSES in atom.value else "unevaluatedProperties"
    child = writer.schemas.child(atom.value[keyword], atom, keyword)
    named = {name: TRUE for group in groups for name in group.named}
    patterns = tuple((keys, TRUE) for group in groups for keys, _ in group.patterns)
    return PropertyGroup(named, patterns, child)


def _rest(writer: Writer, members: Members, groups: list[PropertyGroup]) -> Exported | bool:
    """The value of `additionalProperties` in the result: false, true, or a schema."""
    dialect = writer.dialect
    closed = any(group.additional == FALSE and not group.patterns for group in groups)
    where = _first_with(
        members, ("additionalProperties", "patternProperties", "properties", "type")
    )
    if closed and dialect.takes("object", "additionalProperties"):
        return False
    if dialect.closed:
        writer.lose(
            where[0], "additionalProperties", "stricter", "no keys but the named ones are let in"
        )
        return False
    if any(group.names is not ANY for group in groups):
        atom, keyword = _first_with(members, ("propertyNames",))
        writer.lose(atom, keyword, "looser", "the dialect has no such keyword")
    choices = [_choices(group) for group in groups]
    telling = [alternatives for alternatives in choices if TRUE not in alternatives]
    if not telling and not any(group.patterns for group in groups):
        return True
    if not dialect.takes("object", "additionalProperties"):
        writer.lose(*where, "looser", "the dialect cannot restrict keys that it does not name")
        return True
    if len(telling) != 1 or any(group.patterns for group in groups):
        text = "which key has which schema cannot be said of keys without a name"
        writer.lose(*where, "looser", text)
    if not telling:
        return True
    written = [writer.write(expr, pointer_of(*where)) for expr in telling[0]]
    return writer.union([part for part in written if part is not None]) or False


def _choices(group: PropertyGroup) -> list[Expr]:
    """What the value of a key without a name may have to fit."""
    found = dict.fromkeys((group.additional, *(child for _, child in group.patterns)))
    return [expr for expr in found if expr != FALSE]


def _put_required(writer: Writer, members: Members, schema: Exported, required: list[str]) -> None:
    properties = schema["properties"]
    optional = [name for name in properties if name not in required]
    if not writer.dialect.all_required:
        if required:
            schema["required"] = required
        for name in writer.beyond_limit(optional):
            atom, *path = _naming(members, name)
            text = f"the optional key {name!r} is left out, the dialect has no room for more"
            writer.lose(atom, "properties", "stricter", text, *path)
            del properties[name]
        return
    schema["required"] = list(properties)
    for name in optional:
        nullable = writer.union([properties[name], {"type": "null"}]) or {"type": "null"}
        atom, *path = _naming(members, name)
        known = nullable == properties[name]
        text = f"the key {name!r} becomes required, with null for its absence"
        writer.lose(atom, "required", "stricter" if known else "both", text, *path)
        if not known:
            writer.null_if_absent.add(name)
        properties[name] = nullable


def _put_key_counts(
    writer: Writer, members: Members, schema: Exported, said: list[ObjectAlt], required: int
) -> None:
    dialect = writer.dialect
    counts = {
        "minProperties": max((o.least for o in said), default=0),
        "maxProperties": min((o.most for o in said if o.most is not None), default=None),
    }
    for keyword, count in counts.items():
        if count is None or (keyword == "minProperties" and count <= required):
            continue
        if dialect.takes("object", keyword):
            schema[keyword] = count
        else:
            atom, _ = _first_with(members, (keyword,))
            writer.lose(atom, keyword, "looser", "the dialect has no such keyword")
