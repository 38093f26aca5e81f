"""Puts into words what a normal form accepts, for error messages: "an integer >= 0 or null".

Nothing is prepared: when a message needs it, a normal form is traced back to its expression, which
is split into cases, and each case is described by a phrase per JSON type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from structgen.errors import StructgenError
from structgen.schema.keywords.schemas import Schemas
from structgen.schema.keywords.subschemas import Negation
from structgen.schema.machine.phrases import (
    MAX_SHOWN,
    NAMES,
    bare,
    cut,
    listed,
    named,
    quoted,
    some,
)
from structgen.schema.normal_form.expressions import Expr, OneOf, allowed
from structgen.schema.normal_form.forms import NormalForm
from structgen.schema.report.cases import Cases, Members, Side, tightest
from structgen.schema.values import value_of

LIMITING = ("not", "if")  # keywords that limit values further, mostly without words of their own
# Keywords by which values count that do not fit a subschema, and those that hold names of others.
NEGATING = frozenset(("not", "if", "oneOf", "anyOf", "contains"))
NAMING = frozenset(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"))


class Words:
    """Descriptions of the normal forms of one document."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._cases = Cases(schemas, lambda *_: None)

    def values(self, vector: Iterable[NormalForm]) -> str:
        """The values that fit some form of a vector: "an integer >= 0 or null"."""
        forms = list(vector)
        phrases = dict.fromkeys(phrase for form in forms for phrase in self._of(form))
        shown = list(phrases)[:MAX_SHOWN]
        more = [] if len(phrases) <= MAX_SHOWN else ["..."]
        return " or ".join(shown + more) or "nothing"

    def _of(self, form: NormalForm) -> list[str]:
        expr = self._schemas.expression_of(form)
        if not expr:
            return bare(form)
        try:
            cases = [self._case(case, form) for case in self._cases.of(expr)]
        except StructgenError:  # what is refused is refused elsewhere
            return bare(form)
        return [phrase for case in cases for phrase in case] or bare(form)

    def _case(self, case: Expr, form: NormalForm) -> list[str]:
        left = allowed(case)
        if left is not None:
            values = [v for v in _listing(case) if value_of(v) in left]
            return [listed(values)] if values else []
        members = [(atom, self._cases.effective(atom)) for atom in case]
        phrases = {
            t: (name, "".join(self._details(t, members)))
            for t, name in named(form).items()
            if _admits(members, t)
        }
        more = [k for k in LIMITING if any(k in s and not _excluded(s) for _, s in members)]
        excluded = [quoted(value) for _, schema in members for value in _excluded(schema)]
        for atom in case:
            if isinstance(atom.value, Negation):
                values = _listing(atom.value.expr) if len(atom.value.expr) == 1 else []
                excluded += sorted(quoted(value) for value in values)
                more += [] if values else [_limiting(atom.location)]
        limits = f" other than {some(excluded)}" if excluded else ""
        limits += f" ({_limited(more)})" if more else ""
        if [name for name, _ in phrases.values()] == list(NAMES.values()):
            said = "; ".join(name + details for name, details in phrases.values() if details)
            return [f"any value (if it is {said})" if said else f"any value{limits}"]
        if _only_integers(members) and "number" in phrases:
            phrases["number"] = "an integer", phrases["number"][1]
        joined = " or ".join(name + details for name, details in phrases.values())
        return [joined + limits] if joined else []

    def _details(self, type_: str, members: Members) -> Iterator[str]:
        if type_ == "number":
            yield from _number(members)
        elif type_ == "string":
            yield from _string(members, formats=self._schemas.assert_formats)
        elif type_ == "array":
            yield from _array(members)
        elif type_ == "object":
            yield from _object(members)


def _limited(keywords: list[str]) -> str:
    """That keywords limit values further: those that the schema has, by name."""
    names = [repr(name) for name in dict.fromkeys(keywords) if name]
    return "limited further" + f" by {', '.join(names)}" * bool(names)


def _limiting(place: str) -> str:
    """The keyword that makes the negation of what stands at a place matter, "" if none is there."""
    found, is_name = "", False
    for part in place.partition("#")[2].split("/") if "#" in place else place.split("/"):
        if part in NEGATING and not is_name:
            found = part
        is_name = part in NAMING and not is_name
    return found


def _excluded(schema: dict[str, Any]) -> list[Any]:
    """The values that `not` lists by `const` or `enum`, if it has no other keywords."""
    body = schema.get("not")
    if isinstance(body, dict) and body.keys() == {"const"}:
        return [body["const"]]
    return list(body["enum"]) if isinstance(body, dict) and body.keys() == {"enum"} else []


# -- one type of a case -------------------------------------------------------------------------


def _admits(members: Members, type_: str) -> bool:
    """Whether the `type` keywords of a case admit a JSON type."""
    for _, schema in members:
        said = schema.get("type", type_)
        names = {said} if isinstance(said, str) else set(said)
        if type_ not in names and not (type_ == "number" and "integer" in names):
            return False
    return True


def _only_integers(members: Members) -> bool:
    """Whether some `type` keyword names integers and no other numbers."""
    types = [schema["type"] for _, schema in members if "type" in schema]
    names = [{t} if isinstance(t, str) else set(t) for t in types]
    return any("integer" in n and "number" not in n for n in names)


def _listing(case: Expr) -> list[Any]:
    """The values that the first `enum` or `const` of a case lists."""
    for atom in case:
        if isinstance(atom.value, OneOf):
            return list(atom.value.values)
        if atom.allowed is not None:
            return [atom.value["const"]] if "const" in atom.value else list(atom.value["enum"])
    return []


def _number(members: Members) -> Iterator[str]:
    sides: tuple[tuple[Side, str, str], ...] = (("minimum", ">", ">="), ("maximum", "<", "<="))
    found = [(tightest(members, side), strict, loose) for side, strict, loose in sides]
    bounds = [
        f"{strict if b.strict else loose} {quoted(b.written)}" for b, strict, loose in found if b
    ]
    if bounds:
        yield f" {' and '.join(bounds)}"
    steps = dict.fromkeys(s["multipleOf"] for _, s in members if "multipleOf" in s)
    if steps:
        yield f" that is a multiple of {' and of '.join(map(quoted, steps))}"


def _string(members: Members, *, formats: bool) -> Iterator[str]:
    from structgen.schema.formats.formats import SPEC_FORMATS

    yield _counted(members, "minLength", "maxLength", "character")
    names = dict.fromkeys(schema.get("format") for _, schema in members)
    asserted = [name for name in names if name in SPEC_FORMATS]
    if formats and asserted:
        yield f" in the format {' and '.join(asserted)}"
    patterns = dict.fromkeys(schema["pattern"] for _, schema in members if "pattern" in schema)
    if patterns:
        yield f" that matches {' and '.join(cut(pattern) for pattern in patterns)}"


def _array(members: Members) -> Iterator[str]:
    yield _counted(members, "minItems", "maxItems", "item")
    if any(schema.get("uniqueItems") is True for _, schema in members):
        yield " without equal items"


def _object(members: Members) -> Iterator[str]:
    names = dict.fromkeys(name for _, schema in members for name in schema.get("required", ()))
    if names:
        yield f" with the key{'s' * (len(names) > 1)} {some(names)}"
    yield _counted(members, "minProperties", "maxProperties", "key")


def _counted(members: Members, least: str, most: str, unit: str) -> str:
    """Bounds on a count: " of 2 to 5 items"."""
    low = max((int(s[least]) for _, s in members if least in s), default=0)
    high = min((int(s[most]) for _, s in members if most in s), default=None)
    if high is None:
        return f" of at least {_number_of(low, unit)}" if low else ""
    if low == high:
        return f" of {_number_of(high, unit)}"
    counted = _number_of(high, unit)
    return f" of {low} to {counted}" if low else f" of up to {counted}"


def _number_of(count: int, unit: str) -> str:
    return f"{count} {unit}{'s' * (count != 1)}"
