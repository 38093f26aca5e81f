"""`structgen.support`: for each subschema, which keywords are enforced, which are not, and why.

A keyword is judged by running the function that enforces it, so the report agrees with what
compiling does. A refused schema gets a full report, not only its first error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from structgen.errors import SpecError, StructgenError
from structgen.schema.normal_form.combination import cases_of
from structgen.schema.report.advice import Advice, advice_on
from structgen.schema.report.inspection import Inspection, Problem, Visit
from structgen.schema.report.slips import COMPANIONS

Status = Literal["enforced", "annotation", "refused", "broken"]

OTHER_DRAFT = "a keyword of other drafts only"
UNKNOWN = "no keyword of JSON Schema"
ORGANISES = "restricts nothing by itself"
NO_EFFECT = "restricts nothing with this value"
BESIDE_REF = "ignored beside '$ref' up to draft 7"
LEFT_OUT = "of a vocabulary that the metaschema leaves out"


@dataclass(frozen=True)
class KeywordSupport:
    """What becomes of one keyword: "enforced", "annotation" (it restricts nothing), "refused"
    (legal, but compiling raises `UnsupportedSchemaError` or `BudgetError`) or "broken"
    (`SpecError`). `reason` says why; it is empty where the keyword is enforced.
    """

    keyword: str
    status: Status
    reason: str = ""


@dataclass(frozen=True)
class Cost:
    """What a subschema costs, estimated from its compiled form.

    alternatives: how many forms an object or array is tried against at once (`anyOf` adds,
    `allOf` multiplies); 1 is the usual case and the cheap one. states: states of the automata over
    the characters of its strings, numbers and keys, each made when a text first needs it.
    capped: counting stopped at a limit, there are more. shortest: bytes of the shortest value
    that fits, None where no value does.
    """

    alternatives: int
    states: int
    capped: bool
    shortest: int | None


@dataclass(frozen=True)
class NodeSupport:
    """One subschema: its place, its keywords in order, and its cost (None where refused)."""

    pointer: str
    keywords: tuple[KeywordSupport, ...]
    cost: Cost | None


@dataclass(frozen=True)
class SupportReport:
    """What structgen makes of a schema.

    draft: the draft it was read under. nodes: one report per subschema that is an object, in the
    order of the document. advice: warnings and remarks, in the same order. problem: the error
    that compiling raises, None when it compiles.
    """

    draft: int
    nodes: tuple[NodeSupport, ...]
    advice: tuple[Advice, ...]
    problem: StructgenError | None

    @property
    def warnings(self) -> tuple[Advice, ...]:
        """The advice that is more than a remark."""
        return tuple(a for a in self.advice if a.level == "warning")

    def with_status(self, status: Status) -> list[tuple[str, KeywordSupport]]:
        """The (pointer, keyword) pairs of one status."""
        return [(n.pointer, k) for n in self.nodes for k in n.keywords if k.status == status]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        problem = self.problem
        return {
            "draft": self.draft,
            "compiles": problem is None,
            "problem": None if problem is None else {"kind": problem.kind, "text": str(problem)},
            "nodes": [asdict(node) for node in self.nodes],
            "advice": [asdict(advice) for advice in self.advice],
        }


def support(schema: Any, **options: Any) -> SupportReport:
    """What structgen enforces of a schema and what not, at what cost, and what looks like a slip.

    schema: whatever `compile` takes for JSON: a schema (dict, bool or JSON text), `JsonSchema`, a
    Python type. options: those of `JsonSchema`, where `schema` is none yet. Broken and refused
    schemas are reported, too; SpecError is raised only for what is no schema at all.
    """
    from structgen.schema.coerce import coerce
    from structgen.schema.json_schema import JsonSchema

    if isinstance(schema, str | bytes | dict | bool):
        schema = JsonSchema(schema, **options)
    spec = coerce(schema).portable()
    if not isinstance(spec, JsonSchema):
        raise SpecError(f"{type(spec).__name__} is no JSON Schema", expected="a JSON Schema")
    if not isinstance(spec.schema, dict | bool):
        raise SpecError("the schema is neither an object nor a boolean", location="#")
    inspection = Inspection(spec)
    problem = inspection.compile_problem()
    if problem is not None:
        inspection.attribute(problem)
    nodes = tuple(
        NodeSupport(v.pointer, tuple(_keywords(inspection, v)), _cost(inspection, v))
        for v in inspection.visits
    )
    return SupportReport(inspection.draft, nodes, tuple(advice_on(inspection)), problem)


def _keywords(inspection: Inspection, visit: Visit) -> Iterator[KeywordSupport]:
    for keyword in visit.schema:
        problem = visit.problems.get(keyword)
        if problem is not None:
            yield KeywordSupport(keyword, _status(problem), problem.reason)
        elif keyword in visit.ignored:
            beside = visit.draft <= 7 and "$ref" in visit.schema
            yield KeywordSupport(keyword, "annotation", BESIDE_REF if beside else LEFT_OUT)
        elif keyword in visit.enforced:
            yield KeywordSupport(keyword, "enforced")
        elif keyword in COMPANIONS and COMPANIONS[keyword] not in visit.schema:
            reason = f"restricts nothing without {COMPANIONS[keyword]!r}"
            yield KeywordSupport(keyword, "annotation", reason)
        else:
            yield KeywordSupport(keyword, "annotation", _why_not(inspection, keyword, visit.draft))


def _status(problem: Problem) -> Status:
    return "broken" if isinstance(problem.error, SpecError) else "refused"


def _why_not(inspection: Inspection, keyword: str, draft: int) -> str:
    if inspection.is_foreign(keyword, draft):
        return OTHER_DRAFT
    if inspection.has_function(keyword, draft):
        return NO_EFFECT
    return ORGANISES if inspection.drafts_of(keyword) else UNKNOWN


def _cost(inspection: Inspection, visit: Visit) -> Cost | None:
    form = inspection.normal_form(visit)
    if form is None:
        return None
    try:
        shortest = inspection.schemas.costs.of_form(form)
    except StructgenError:  # something that it needs is refused
        return None
    states, capped = inspection.count_states(form)
    return Cost(max(1, len(form.arrays), len(cases_of(form.objects))), states, capped, shortest)
