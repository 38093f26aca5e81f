"""The table of the cases that some engine did not get right, to be sorted and filtered on the page.

A row is a case, with the outcome of each engine; what unfolds below it are the messages, the
instances that were judged wrongly, and the schema. All of it comes from outside, so all of it is
escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jsonschemabench.plots import role
from jsonschemabench.report.data import RIGHT, Record, Run, dataset_of, rank
from jsonschemabench.report.tables import Table, escape
from jsonschemabench.running.outcomes import PASS

SHOWN_CHARACTERS = 4000  # of a schema or an instance; what is left out is said
SHOWN_HINT = 100
ONE_LINE = 72  # characters; what is longer is shown with line breaks
IN_MARKDOWN = 50  # rows; the page has them all


@dataclass(frozen=True)
class Failures:
    """The cases that at least one engine did not get right, worst first, `left_out` not shown."""

    engines: Sequence[str]
    cases: Sequence[tuple[str, Mapping[str, Record]]]
    left_out: int = 0

    def html(self) -> str:
        """The filters and the table."""
        outcomes = {r["outcome"] for _, case in self.cases for r in case.values()} - {PASS}
        datasets = {_dataset(case) for _, case in self.cases}
        filters = [
            '<label>Search in names, messages, schemas <input type="search" name="search"></label>',
            _select("dataset", "Dataset", "all datasets", sorted(datasets)),
            _select("engine", "Engine", "any engine", self.engines),
            _select("outcome", "Outcome", "any failure", sorted(outcomes, key=rank)),
            "<output></output>",
        ]
        classes = ["", ' class="dataset"', *("" for _ in self.engines)]
        heads = "".join(
            f'<th scope="col"{named}>{escape(head)}</th>'
            for head, named in zip(self._heads(), classes, strict=True)
        )
        rows = "".join(self._rows(case_id, case) for case_id, case in self.cases)
        left_out = (
            f'<p class="left-out">{self.left_out:,} more cases, none worse than these, are left '
            "out; --failures shows more.</p>"
            if self.left_out
            else ""
        )
        return (
            '<section class="cases"><h3>Failures</h3><p class="note">Cases that at least one '
            "engine did not get right, worst first. Each unfolds.</p>"
            f'<form class="filters" hidden>{"".join(filters)}</form>{left_out}'
            '<div class="scroll" tabindex="0"><table class="sortable"><thead><tr>'
            f"{heads}</tr></thead>{rows}</table></div></section>\n"
        )

    def table(self) -> Table:
        """The first of the cases with their outcomes, for Markdown."""
        rows = [
            [case_id, _dataset(case), *self._outcomes(case)]
            for case_id, case in self.cases[:IN_MARKDOWN]
        ]
        total = len(self.cases) + self.left_out
        note = f"The worst {len(rows)} of {total:,} cases." if total > len(rows) else ""
        return Table("Failures", self._heads(), rows, note)

    def _heads(self) -> list[str]:
        return ["case", "dataset", *self.engines]

    def _outcomes(self, case: Mapping[str, Record]) -> list[str]:
        return [str(case[e]["outcome"]) if e in case else "not run" for e in self.engines]

    def _rows(self, case_id: str, case: Mapping[str, Record]) -> str:
        dataset = _dataset(case)
        cells = []
        for engine in self.engines:
            if engine not in case:
                cells.append('<td class="figure" data-key="">not run</td>')
                continue
            outcome = str(case[engine]["outcome"])
            fails = "" if outcome in RIGHT else " data-fails"
            cells.append(
                f'<td class="outcome {role(outcome)}" data-key="{rank(outcome)}"{fails} '
                f'data-outcome="{escape(outcome)}" data-engine="{escape(engine)}">'
                f"{escape(outcome)}</td>"
            )
        return (
            f'<tbody data-dataset="{escape(dataset)}"><tr class="head">'
            f'<td class="id">{escape(case_id)}</td><td class="dataset">{escape(dataset)}</td>'
            f"{''.join(cells)}</tr>"
            f'<tr><td class="more" colspan="{2 + len(self.engines)}">{_details(case)}</td></tr>'
            "</tbody>\n"
        )


def failures(run: Run, limit: int) -> Failures:
    """The failures of a run, the worst `limit` of them."""

    def badness(item: tuple[str, Mapping[str, Record]]) -> tuple[list[int], str]:
        return sorted(rank(record["outcome"]) for record in item[1].values()), item[0]

    wrong = [
        item
        for item in run.cases.items()
        if any(record["outcome"] not in RIGHT for record in item[1].values())
    ]
    wrong.sort(key=badness)
    return Failures(run.engines, wrong[:limit], max(0, len(wrong) - limit))


def _dataset(case: Mapping[str, Record]) -> str:
    return dataset_of(next(iter(case.values())))[0]


def _details(case: Mapping[str, Record]) -> str:
    """What unfolds: messages by engine, instances judged wrongly, the schema."""
    described = [str(r["description"]) for r in case.values() if r.get("description")]
    parts = [f"<p>{escape(text)}</p>" for text in described[:1]]
    for engine, record in case.items():
        if record["outcome"] in RIGHT:
            continue
        parts.append(f"<p><b>{escape(engine)}</b>: {escape(_why(record))}</p>")
        wrong = record.get("wrong")
        if isinstance(wrong, list):
            parts += [_instance(one) for one in wrong if isinstance(one, dict)]
    schemas = [record["schema"] for record in case.values() if "schema" in record]
    sizes = [record["schema_bytes"] for record in case.values() if "schema_bytes" in record]
    if schemas:
        parts.append(f"<p>Schema:</p>{_pre(schemas[0])}")
    elif sizes:
        parts.append(f"<p>Schema of {escape(str(sizes[0]))} bytes, too large to be kept.</p>")
    return f"<details><summary>{escape(_hint(case))}</summary>{''.join(parts)}</details>"


def _hint(case: Mapping[str, Record]) -> str:
    """What the folded row shows: the first message there is."""
    for engine, record in case.items():
        error = record.get("error")
        if record["outcome"] not in RIGHT and isinstance(error, dict) and error.get("message"):
            return f"{engine}: {str(error['message'])[:SHOWN_HINT]}"
    return "instances and schema"


def _why(record: Record) -> str:
    """The outcome with the reason and the message that the record has for it."""
    error = record.get("error")
    if isinstance(error, dict):
        error = f"{error.get('kind', '')}: {error.get('message', '')}"
    given = [record["outcome"], record.get("reason"), error]
    return ", ".join(str(one) for one in given if one)


def _instance(wrong: Mapping[str, Any]) -> str:
    valid = "valid" if wrong.get("valid") else "invalid"
    verdict = "accepted" if wrong.get("accepted") else "rejected"
    position = wrong.get("position")
    after = f" after {position:,} tokens" if isinstance(position, int) else ""
    return f"<p>{valid}, but {verdict}{after}:</p>{_pre(wrong.get('data'))}"


def _pre(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
        if len(text) > ONE_LINE:
            text = json.dumps(value, indent=2, ensure_ascii=False)
    except RecursionError:  # nested nearly as deep as can be read at all
        text = "(nested too deep to be shown)"
    left_out = len(text) - SHOWN_CHARACTERS
    note = f"\n... {left_out:,} more characters" if left_out > 0 else ""
    return f"<pre>{escape(text[:SHOWN_CHARACTERS] + note)}</pre>"


def _select(name: str, label: str, nothing: str, values: Iterable[str]) -> str:
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    return (
        f'<label>{label} <select name="{name}"><option value="">{nothing}</option>{options}'
        "</select></label>"
    )
