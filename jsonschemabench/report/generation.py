"""Tables of a run of `generate`: coverage as the JSONSchemaBench paper defines it, and speed."""

from __future__ import annotations

from jsonschemabench.generate.samplers import UNCONSTRAINED
from jsonschemabench.report.data import Record, Run
from jsonschemabench.report.tables import Cell, Figure, Table, count, share, significant
from jsonschemabench.running.outcomes import PASS

SPEED = ("tokens", "bytes", "total_ns", "first_token_ns", "model_ns", "engine_ns", "other_ns")
NOTHING = Figure(float("nan"), "–")


def generation(run: Run) -> list[Table]:
    """The tables, none where the run is of another command."""
    found = {engine: _judged(run.records(engine)) for engine in run.engines}
    rows = [_coverage(engine, records) for engine, records in found.items() if records]
    if not rows:
        return []
    heads = ["engine", "cases", "declared", "empirical", "compliance", "right fields"]
    note = (
        "Declared: schemas that the engine takes. Empirical: cases whose text is finished and "
        "valid. Compliance: empirical, divided by declared."
    )
    tables = [Table("Coverage, as JSONSchemaBench defines it", heads, rows, note)]
    speeds = [_speed(engine, run.records(engine)) for engine in run.engines]
    heads = ["engine", "texts", "tokens", "bytes/s", "bytes/s, engine alone"]
    heads += ["ms per later token", "engine's share"]
    note = (
        "Bytes of text per second of decoding, the prompt left out, and per second of the engine "
        "alone; milliseconds for each token behind the first; the engine's share of decoding."
    )
    return [*tables, Table("Speed of writing", heads, [row for row in speeds if row], note)]


def _judged(records: list[Record]) -> list[Record]:
    """The records whose text could be judged."""
    return [r for r in records if "declared" in r and r.get("valid", "") is not None]


def _coverage(engine: str, records: list[Record]) -> list[Cell]:
    declared = sum(bool(record["declared"]) for record in records)
    valid = sum(record["outcome"] == PASS for record in records)
    right, fields = (sum(_number(r, name) for r in records) for name in ("right", "fields"))
    alone = engine == UNCONSTRAINED
    return [
        engine,
        count(len(records)),
        NOTHING if alone else share(declared, len(records)),
        share(valid, len(records)),
        NOTHING if alone else share(valid, declared),
        share(right, fields),
    ]


def _speed(engine: str, records: list[Record]) -> list[Cell]:
    """Nothing for an engine that wrote nothing."""
    written = [r for r in records if _number(r, "tokens") > 1 and all(n in r for n in SPEED)]
    if not written:
        return []
    tokens, size, total, first, model, own, other = (
        sum(_number(record, name) for record in written) for name in SPEED
    )
    decoding = model + own + other
    later = (total - first) / (tokens - len(written)) / 1e6
    return [
        engine,
        count(len(written)),
        count(tokens),
        _figure(1e9 * size / decoding) if decoding else NOTHING,
        _figure(1e9 * size / own) if own else NOTHING,
        _figure(later),
        share(own, decoding) if own else NOTHING,
    ]


def _figure(value: float) -> Figure:
    return Figure(value, significant(value))


def _number(record: Record, name: str) -> int:
    value = record.get(name)
    return value if isinstance(value, int) else 0
