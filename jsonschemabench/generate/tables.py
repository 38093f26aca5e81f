"""Writes the records of `generate` as Markdown tables of coverage, efficiency and quality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jsonschemabench.generate.samplers import MEANING, UNCONSTRAINED
from jsonschemabench.running.outcomes import ACCEPTED_INVALID, CRASH, INCOMPLETE
from jsonschemabench.running.times import merged, quantile
from structgen.util.tables import markdown

Record = dict[str, Any]

NONE = "-"  # where a figure does not apply


def tables(header: dict[str, Any], records: Sequence[Record]) -> str:
    """Everything that a run found, as Markdown."""
    options, machine = header["options"], header["machine"]
    engines = _engines(header, records)
    model = f"{options['parameters']:,} parameters, {options['dtype']}, {options['device']}"
    where = f"{machine['cores']} cores, Python {machine['python']}"
    size = f"{header['vocabulary']['size']:,}"
    parts = [
        f"{header['date']}, {where}; {options['model']} ({model}), vocabulary of {size} tokens",
        coverage(records, engines),
        by_dataset(records, engines),
        efficiency(records, engines),
        decode_step(records, engines),
        quality(records, engines, options["samplers"]),
    ]
    return "\n\n".join(part for part in parts if part)


def coverage(records: Sequence[Record], engines: Sequence[str]) -> str:
    """How many schemas each engine compiles, and how many valid texts it writes."""
    judged = [r for r in records if r["valid"] is not None]
    rows = []
    for engine in engines:
        own = [r for r in judged if r["engine"] == engine]
        counts = Counter(r["outcome"] for r in own)
        declared, valid = _declared(own), _valid(own)
        alone = engine == UNCONSTRAINED
        rows.append(
            [
                engine,
                f"{len(own):,}",
                NONE if alone else _share(declared, len(own)),
                _share(valid, len(own)),
                NONE if alone else _share(valid, declared),
                f"{counts[INCOMPLETE]:,}",
                f"{counts[ACCEPTED_INVALID]:,}",
                f"{len(own) - declared - counts[CRASH]:,}",
                f"{counts[CRASH]:,}",
            ]
        )
    head = "tasks declared empirical compliance incomplete invalid refused crashed".split()
    skipped = len(records) - len(judged)
    note = (
        "Declared: the engine compiles the schema. Empirical: the text is valid by the jsonschema "
        "library, formats checked. Compliance: empirical / declared. A text that the token budget "
        "or the time limit cut off is incomplete, and not compliant."
    )
    if skipped:
        note += f" {skipped} texts are left out, as the library cannot judge them."
    short = {r["case"] for r in records if not r.get("prompt_whole", True)}
    if short:
        note += f" The prompts of {len(short)} tasks have no schema: it would fill the context."
    return f"## Coverage\n\n{markdown(['Engine', *head], rows)}\n\n{note}"


def by_dataset(records: Sequence[Record], engines: Sequence[str]) -> str:
    """Declared and empirical coverage of each dataset, if there are several."""
    names = sorted({r["dataset"] for r in records})
    if len(names) < 2:
        return ""
    rows = []
    for name in names:
        inside = [r for r in records if r["dataset"] == name and r["valid"] is not None]
        row = [name, f"{len({r['case'] for r in inside}):,}"]
        for engine in engines:
            own = [r for r in inside if r["engine"] == engine]
            empirical = _share(_valid(own), len(own))
            alone = engine == UNCONSTRAINED
            row.append(empirical if alone else f"{_share(_declared(own), len(own))}, {empirical}")
        rows.append(row)
    return markdown(["Declared, empirical", "tasks", *engines], rows)


def efficiency(records: Sequence[Record], engines: Sequence[str]) -> str:
    """Times of a text on the tasks in which every engine wrote one."""
    common = _common(records, engines)
    title = f"Median times, ms, on the {len(common):,} tasks in which all engines write a text"
    rows = []
    for engine in engines:
        own = [r for r in records if r["engine"] == engine and r["case"] in common]
        if own:
            later = [_per_token(r) for r in own if r["tokens"] > 1]
            rows.append(
                [
                    engine,
                    _ms(r["compile_ns"] for r in own) if engine != UNCONSTRAINED else NONE,
                    _ms(r["first_token_ns"] for r in own),
                    _ms(later),
                    _ms(r["total_ns"] for r in own),
                    f"{np.mean([r['tokens'] for r in own]):.1f}",
                ]
            )
    if not rows:
        return "## Efficiency\n\nThere is no task in which all engines write a text."
    head = ["compile", "first token", "each later token", "total", "tokens (mean)"]
    note = (
        "First token: from the start, so compilation and the reading of the prompt are in it. "
        "Engines that compile lazily pay in the first token and the later ones."
    )
    return f"## Efficiency\n\n{markdown([title, *head], rows)}\n\n{note}"


def decode_step(records: Sequence[Record], engines: Sequence[str]) -> str:
    """What an engine adds to a decode step, on all texts that it wrote."""
    rows = []
    for engine in engines:
        own = [r for r in records if r["engine"] == engine and r.get("tokens")]
        if not own:
            continue
        model, masks, other, tokens, size = (
            sum(r[name] for r in own)
            for name in ("model_ns", "engine_ns", "other_ns", "tokens", "bytes")
        )
        total = model + masks + other
        steps = merged(r["engine_step"] for r in own)
        alone = engine == UNCONSTRAINED
        rows.append(
            [
                engine,
                f"{1e9 * size / total:,.0f}",
                NONE if alone else f"{1e9 * size / masks:,.0f}",
                f"{total / tokens / 1e6:,.2f}",
                NONE if alone else f"{masks / tokens / 1e3:,.1f}",
                *((NONE, NONE) if alone else (_us(steps, 0.5), _us(steps, 0.99))),
                NONE if alone else f"{masks / total:.1%}",
            ]
        )
    head = ["bytes/s", "bytes/s, engine alone", "step, ms", "engine, µs", "p50", "p99", "share"]
    note = (
        "Bytes of output per second of decoding (the prompt left out); what the engine by itself "
        "would manage if the model took no time; the mean step, and the engine's part of it "
        "(mask and accept)."
    )
    return f"{markdown(['Decode step', *head], rows)}\n\n{note}" if rows else ""


def quality(records: Sequence[Record], engines: Sequence[str], samplers: Sequence[str]) -> str:
    """The share of right fields, for each sampler and engine."""
    judged = [r for r in records if "fields" in r]
    if not judged:
        return "## Quality\n\nThere is no task with a known answer: see --tasks and --demo-tasks."
    rows = []
    for sampler in samplers:
        for engine in engines:
            own = [r for r in judged if r["engine"] == engine and r["sampler"] == sampler]
            if own:
                perfect = sum(r["right"] == r["fields"] for r in own)
                right, fields = (sum(r[name] for r in own) for name in ("right", "fields"))
                rows.append(
                    [
                        sampler,
                        NONE if engine == UNCONSTRAINED else engine,
                        f"{len(own):,}",
                        _share(right, fields),
                        _share(perfect, len(own)),
                        _share(sum(r["json"] for r in own), len(own)),
                        _share(_valid(own), len(own)),
                    ]
                )
    head = ["Sampler", "engine", "tasks", "fields right", "all right", "JSON", "valid"]
    meaning = " ".join(f"{name}: {MEANING[name]}." for name in samplers)
    note = (
        "A field is a leaf value of the answer; missing and needless ones are wrong, and so are "
        f"all where the output is no JSON. {meaning}"
    )
    return f"## Quality\n\n{markdown(head, rows)}\n\n{note}"


def _engines(header: dict[str, Any], records: Sequence[Record]) -> list[str]:
    """The engines that have records, those of the header first."""
    found = dict.fromkeys([*header["engines"], *(r["engine"] for r in records)])
    return [name for name in found if any(r["engine"] == name for r in records)]


def _common(records: Sequence[Record], engines: Sequence[str]) -> set[str]:
    written = [
        {r["case"] for r in records if r["engine"] == e and r.get("tokens")} for e in engines
    ]
    return set.intersection(*written) if written else set()


def _declared(records: Iterable[Record]) -> int:
    return sum(r["declared"] for r in records)


def _valid(records: Iterable[Record]) -> int:
    return sum(r["valid"] is True for r in records)


def _per_token(record: Record) -> float:
    """ns for each token behind the first."""
    return float((record["total_ns"] - record["first_token_ns"]) / (record["tokens"] - 1))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else NONE


def _ms(times_ns: Iterable[float]) -> str:
    found = list(times_ns)
    return f"{np.median(found) / 1e6:,.2f}" if found else NONE


def _us(histogram: dict[str, Any], q: float) -> str:
    return f"{quantile(histogram, q) / 1e3:,.1f}"
