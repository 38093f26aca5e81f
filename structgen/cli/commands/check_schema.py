"""`structgen check-schema`: what is enforced, at what cost, and what looks like a mistake.

Exit status: 0 fine, 1 warnings or something refused, 2 a broken schema. Remarks alone are fine.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from structgen.cli import inputs, reading
from structgen.cli.options import add_command, add_schema, schema_options
from structgen.cli.terminal import Terminal, amount, visible

if TYPE_CHECKING:
    from structgen.schema.report.support import Cost, NodeSupport, SupportReport

FINE = 0
DOUBTFUL = 1
BROKEN = 2
COSTLIEST = 5  # subschemas whose cost is shown
LABEL = 11  # columns

COLOURS = {"broken": "red", "refused": "red", "warning": "yellow", "info": "dim"}


def add(commands: Any) -> None:
    """Add the command `check-schema`."""
    parser = add_command(
        commands, "check-schema", "Say what is enforced of a schema, and what looks wrong.", run
    )
    add_schema(parser, order="declared", whitespace="bounded")
    parser.add_argument("--json", action="store_true", help="write the whole report as JSON")
    parser.add_argument(
        "--all",
        action="store_true",
        help=f"show every subschema, not only the {COSTLIEST} costliest",
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Exit status 0 if nothing is to be said but remarks, 1 if there is, 2 for a broken schema."""
    import structgen

    spec = inputs.load_spec(args.schema, schema_options(args))
    if not args.regex and inputs.is_grammar(args.schema):
        return check_grammar(spec, reading.shown(args.schema), terminal, as_json=args.json)
    report = structgen.support(spec)
    if args.json:
        terminal.json(report.to_json(), indent=2)
    else:
        show(report, reading.shown(args.schema), terminal, everything=args.all)
    return status_of(report)


def check_grammar(spec: Any, name: str, terminal: Terminal, *, as_json: bool) -> int:
    """Show what is useless in a grammar; exit status 1 if anything is."""
    rules = spec.rules()
    found = spec.findings()
    written = [rule for rule in rules.rules.values() if not rule.source_rule]
    if as_json:
        entries = [
            {"kind": f.kind, "name": f.name, "place": str(f.place or ""), "message": f.message}
            for f in found
        ]
        counts = {"rules": len(written), "terminals": len(rules.terminals)}
        terminal.json({**counts, "findings": entries}, indent=2)
        return DOUBTFUL if found else FINE
    terminal.result(
        f"{name}: {amount(len(written), 'rule')}, {amount(len(rules.terminals), 'terminal')}"
    )
    for finding in found:
        line("warning", str(finding.place or ""), finding.message, terminal)
    spec.automaton()
    terminal.result(terminal.styled("it compiles", "green", on_out=True))
    return DOUBTFUL if found else FINE


def status_of(report: SupportReport) -> int:
    """The exit status that a report comes to."""
    from structgen.errors import SpecError

    if report.with_status("broken") or isinstance(report.problem, SpecError):
        return BROKEN
    doubtful = report.warnings or report.with_status("refused") or report.problem is not None
    return DOUBTFUL if doubtful else FINE


def show(report: SupportReport, name: str, terminal: Terminal, *, everything: bool) -> None:
    """The report as text: a line of figures, what is wrong, costs, the verdict."""
    counts = {s: len(report.with_status(s)) for s in ("enforced", "annotation", "refused")}
    total = sum(len(node.keywords) for node in report.nodes)
    figures = ", ".join(f"{count} {status}" for status, count in counts.items())
    terminal.result(
        f"{name}: draft {report.draft}, {amount(len(report.nodes), 'subschema')}, "
        f"{amount(total, 'keyword')}: {figures}"
    )
    for status in ("broken", "refused"):
        for pointer, support in report.with_status(status):
            line(status, pointer, f"{support.keyword!r}: {support.reason}", terminal)
    for advice in report.advice:
        line(advice.level, advice.pointer, advice.message, terminal)
    for node in report.nodes if everything else costliest(report):
        described = "" if node.cost is None else in_words(node.cost)
        if everything:
            described = "; ".join(filter(None, (statuses(node), described)))
        line("node" if everything else "cost", node.pointer, described, terminal)
    if report.problem is None:
        terminal.result(terminal.styled("it compiles", "green", on_out=True))
    else:
        wrong = terminal.styled("it does not compile:", "red", on_out=True)
        terminal.result(f"{wrong} {visible(str(report.problem))}")


def line(label: str, pointer: str, text: str, terminal: Terminal) -> None:
    """One entry: a label in its colour, a place, a text."""
    styled = terminal.styled(f"{label:{LABEL}}", COLOURS.get(label, "dim"), on_out=True)
    terminal.result(f"{styled}{visible(pointer)}  {visible(text)}")


def costliest(report: SupportReport) -> list[NodeSupport]:
    """The subschemas whose cost is above the usual, most alternatives first, then most states."""
    found = [n for n in report.nodes if n.cost and (n.cost.alternatives > 1 or n.cost.states > 1)]
    found.sort(key=lambda n: (-n.cost.alternatives, -n.cost.states) if n.cost else (0, 0))
    return found[:COSTLIEST]


def statuses(node: NodeSupport) -> str:
    """The keywords of a subschema by status: "enforced type, items"."""
    by_status: dict[str, list[str]] = {}
    for support in node.keywords:
        by_status.setdefault(support.status, []).append(support.keyword)
    return "; ".join(f"{status} {', '.join(names)}" for status, names in by_status.items())


def in_words(cost: Cost) -> str:
    """A cost in words."""
    shortest = "nothing fits" if cost.shortest is None else f"shortest {amount(cost.shortest, 'B')}"
    states = f"over {amount(cost.states, 'state')}" if cost.capped else amount(cost.states, "state")
    return f"{amount(cost.alternatives, 'alternative')}, {states}, {shortest}"
