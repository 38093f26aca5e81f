"""Names the keywords that leave no value, where nothing fits a schema.

Parts of the schema are left out for as long as nothing fits what remains: keywords, required keys,
and subschemas, in whose place `true` stands. What cannot be left out any more excludes each other:
a minimal unsatisfiable subset, found by halving (Junker, QuickXplain, AAAI 2004, section 4). Only
parts without which more values fit are tried, so that nothing else is the reason in the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from structgen.errors import BudgetError, StructgenError
from structgen.regular.syntax.pattern import within_slashes
from structgen.schema.keywords.keywords import KEYWORDS
from structgen.schema.machine.phrases import quoted
from structgen.schema.references.metaschemas import DEFINITIONS, depth_of, subschemas
from structgen.schema.references.resources import Path, target_within
from structgen.schema.references.vocabularies import UNEVALUATED, stated_draft
from structgen.util.cancellation import checkpoint, limited
from structgen.util.json_pointer import location, pointer_to, unescape_pointer

MAX_WORK = 20_000  # units of work for all schemas that are tried
TRY = 20  # of these for each, besides what it takes to combine
NAMES_PER_UNIT = 16  # keywords that are looked at in a unit of work
SHOWN = 6  # parts

# Keywords without which fewer values may fit: what others mean depends on them.
_FIXED = frozenset(("if", "minContains", "maxContains", "$dynamicRef", "$recursiveRef"))
# Keywords under which a weaker subschema makes a weaker schema, besides containers and `anyOf`.
_MONOTONE = frozenset(("items", "additionalItems", "additionalProperties", "propertyNames"))
# Containers of subschemas whose names or places say what other keywords apply to.
_CONTAINERS = frozenset(("properties", "patternProperties", "prefixItems", "allOf"))
_BRANCHES = frozenset(("then", "else"))
# Keywords under which a weaker subschema may make a stronger schema.
_TURNING = frozenset(("not", "oneOf", "if", "maxContains", *UNEVALUATED))
_GONE = object()  # in the place of what has been left out


def conflict(schema: Any, is_satisfiable: Callable[[Any], bool]) -> dict[str, Any]:
    """The parts that exclude each other in a schema that nothing fits, by their JSON Pointers.

    is_satisfiable: whether something fits a weaker schema. Empty where that takes too long to find.
    """
    try:
        with limited(MAX_WORK):
            paths = list(_Search(schema, is_satisfiable).needed_below(()))
    except (BudgetError, RecursionError):
        return {}
    return {location(pointer_to(path)): _value_at(schema, path) for path in paths}


def in_words(parts: dict[str, Any]) -> str:
    """Those parts, for a hint."""
    listed = [f"{pointer} ({quoted(value)})" for pointer, value in parts.items()][:SHOWN]
    more = f", and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    verb = "exclude each other" if len(parts) > 1 else "leaves no value"
    patterns = (value for pointer, value in parts.items() if pointer.endswith("/pattern"))
    slip = next(filter(None, map(within_slashes, patterns)), "")
    meant = f"; patterns have no slashes around them: {slip!r}" if slip else ""
    return f"{', '.join(listed)}{more} {verb}{meant}"


class _Part(NamedTuple):
    """What can be left out: a keyword, a required key, or a subschema, which becomes `true`."""

    path: Path
    keyword: str  # to which it belongs
    is_subschema: bool = False


class _Search:
    """Leaves out parts of a schema."""

    def __init__(self, schema: Any, is_satisfiable: Callable[[Any], bool]) -> None:
        self._schema, self._is_satisfiable = schema, is_satisfiable
        self._draft = stated_draft(schema)
        self._left_out: dict[Path, _Part] = {}
        names = Counter(self._keywords())
        self._size, self._turns = names.total(), not _TURNING.isdisjoint(names)
        self._entered: set[Path] = set()  # targets of references

    def needed_below(self, path: Path) -> Iterator[Path]:
        """The paths of what is needed of the subschema at a path, which is needed itself."""
        parts = list(self._parts(path))
        self._leave_out(parts)
        needed = [part for part in parts if part.path not in self._left_out]
        if not needed:
            yield path
        for part in needed:
            yield from self._needed_within(part)

    def _needed_within(self, part: _Part) -> Iterator[Path]:
        """What is needed of a part that is."""
        path, value = part.path, _value_at(self._schema, part.path)
        if (part.is_subschema or part.keyword in _MONOTONE) and isinstance(value, dict):
            yield from self.needed_below(path)
        elif part.keyword == "anyOf":
            for i in range(len(value)):
                yield from self.needed_below((*path, i))
        else:
            target = self._target(value) if part.keyword == "$ref" else None
            if target is None or target in self._entered or self._turns:
                yield path
                return
            self._entered.add(target)
            yield from self.needed_below(target)

    def _parts(self, path: Path) -> Iterator[_Part]:
        """What can be left out of the subschema at a path, of which nothing has been yet."""
        schema = _value_at(self._schema, path)
        if not isinstance(schema, dict):
            return
        if "$ref" in schema and self._draft <= 7:  # the other keywords do not count
            schema = {"$ref": schema["$ref"]}
        asks_others = not schema.keys().isdisjoint(UNEVALUATED)  # what other keywords say
        for keyword, value in schema.items():
            at = (*path, keyword)
            if keyword == "required" and isinstance(value, list):
                yield from (_Part((*at, i), keyword) for i in range(len(value)))
            elif keyword in _CONTAINERS or (keyword == "items" and isinstance(value, list)):
                if keyword != "allOf" or not asks_others:
                    steps = value if isinstance(value, dict) else range(len(value))
                    asking = (step for step in steps if value[step] not in (True, {}))
                    yield from (_Part((*at, step), keyword, True) for step in asking)
            elif keyword in _BRANCHES or (keyword in KEYWORDS and keyword not in _FIXED):
                tells = keyword == "$ref" or depth_of(keyword, value, self._draft) > 0
                if keyword in UNEVALUATED or not (asks_others and tells):
                    yield _Part(at, keyword)

    def _keywords(self) -> Iterator[str]:
        """The keywords of all subschemas that count, as often as there are."""
        todo, seen = [self._schema], set[int]()
        while todo:
            schema = todo.pop()
            if not isinstance(schema, dict) or id(schema) in seen:
                continue
            seen.add(id(schema))
            yield from schema
            inside = subschemas(schema, self._draft)
            todo += [inner for path, inner in inside if path[0] not in DEFINITIONS]
            target = self._target(schema.get("$ref"))
            todo += [] if target is None else [_value_at(self._schema, target)]

    def _target(self, reference: Any) -> Path | None:
        """The path that a reference within the document leads to."""
        if not (isinstance(reference, str) and reference.startswith("#/")):
            return None
        if not isinstance(target_within(self._schema, reference), dict):
            return None
        path: list[str | int] = []
        at = self._schema
        for token in map(unescape_pointer, reference.split("/")[1:]):
            path.append(int(token) if isinstance(at, list) else token)
            at = at[path[-1]]
        return tuple(path)

    def _leave_out(self, parts: list[_Part]) -> None:
        """Leave out as many of the parts as nothing fits without."""
        if not parts:
            return
        if not self._fits_without(parts):
            self._left_out |= {part.path: part for part in parts}
        elif len(parts) > 1:
            half = len(parts) // 2
            self._leave_out(parts[half:])
            self._leave_out(parts[:half])

    def _fits_without(self, parts: list[_Part]) -> bool:
        """Whether something fits the schema without these and what has been left out."""
        checkpoint(TRY + self._size // NAMES_PER_UNIT)
        left_out = [*self._left_out.values(), *parts]
        try:
            return self._is_satisfiable(_without(self._schema, left_out, 0))
        except BudgetError:
            raise
        except (StructgenError, RecursionError):
            return True  # so that the parts stay


def _without(value: Any, parts: list[_Part], depth: int) -> Any:
    """A value without these parts of it, whose paths lead here by their first `depth` steps.

    Subschemas become `true`; what has none of the parts is not copied.
    """
    below: dict[str | int, list[_Part]] = {}
    for part in parts:
        if len(part.path) == depth:
            return True if part.is_subschema else _GONE
        below.setdefault(part.path[depth], []).append(part)
    found = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    for step, inside in below.items():
        found[step] = _without(found[step], inside, depth + 1)
    kept = {step: inner for step, inner in found.items() if inner is not _GONE}
    return kept if isinstance(value, dict) else list(kept.values())


def _value_at(document: Any, path: Path) -> Any:
    """What a path leads to."""
    for step in path:
        document = document[step]
    return document
