"""Judge how a constraint fares on one schema against an independent validator.

`examine` compiles, compares verdicts, walks, and measures; whatever goes wrong is a `Fault`, with
the schema and the text that show it, and `smaller` makes both as small as they can be.
"""

from __future__ import annotations

import json
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import jsonschema
import numpy as np

import structgen as sg
from structgen.errors import BudgetError, StructgenError, UnsatisfiableSchemaError
from tests.fuzz.values import LIKED, garbled, more_texts, reordered
from tests.helpers.oracle import Decider, json_decider
from tests.helpers.schemas import Schema, loops
from tests.helpers.values import spelt

BYTES = sg.Vocabulary([*(bytes((i,)) for i in range(256)), b""], eos_ids=[256])
HANG = 20.0  # seconds of the processor for one schema
PATIENCE = 5.0  # the same while a fault is made smaller
SLOW = 2.0  # seconds of the processor for a compile or a mask
LAYOUTS = [("any", "any"), ("declared", "bounded"), ("declared", "compact"), ("any", "compact"),
           ("declared", "any")]  # fmt: skip
COMPACT = LAYOUTS[2]


class HangError(Exception):
    """A schema took longer than `HANG`."""


class Progress:
    """The text that is being read, for the report of a hang or a crash."""

    text = b""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise HangError where the block takes the processor for longer."""

    def stop(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)  # again, should a callback swallow it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass
class Fault:
    """What went wrong: its kind, the schema, and the text (or where the time went)."""

    kind: str
    schema: Schema
    text: str = ""
    detail: str = ""
    layout: tuple[str, str] = LAYOUTS[0]


@dataclass
class Report:
    """What was done with one schema or many."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)

    def add(self, other: Report) -> None:
        """Count in another report."""
        self.counts.update(other.counts)
        self.faults += other.faults


def warm_up() -> None:
    """Have the kernels compiled, which takes long once on a machine."""
    constraint = compiled({}, LAYOUTS[0])
    constraint.fill_mask(constraint.start, np.zeros(BYTES.words, np.uint32))


def legal(schema: Schema) -> bool:
    """Whether the metaschema accepts the schema."""
    try:
        jsonschema.validators.validator_for(schema).check_schema(schema)
    except jsonschema.SchemaError:
        return False
    return True


def compiled(
    schema: Schema, layout: tuple[str, str], formats: bool = False, **options: Any
) -> sg.Constraint:
    """The constraint of a schema, with one token for each byte."""
    order, space = layout
    options["formats"] = "assert" if formats else "annotate"
    spec = sg.JsonSchema(schema, property_order=order, whitespace=space, **options)
    return sg.compile(spec, BYTES)


def accepts(constraint: sg.Constraint, text: bytes) -> bool:
    """Whether a whole text is accepted."""
    return constraint.is_accepting(constraint.advance_bytes(constraint.start, text))


def compare(
    schema: Schema, texts: list[bytes], formats: bool = False, rng: Random | None = None
) -> Report:
    """Verdicts of the constraint (any order, any white space) beside the oracle's.

    rng: for texts from other sources, too (`tests.fuzz.values`), and the other order of keys.
    """
    report = Report()
    decide = json_decider(schema, formats=formats)
    verdicts = [decide(text) for text in texts]
    report.counts["schemas"] += 1
    started = time.process_time()
    try:
        constraint = compiled(schema, LAYOUTS[0], formats)
    except UnsatisfiableSchemaError:
        report.counts["unsatisfiable"] += 1
        report.counts["pairs"] += len(texts)
        report.counts["invalid"] += len(texts) - sum(verdicts)
        valid = [text for text, verdict in zip(texts, verdicts, strict=True) if verdict]
        if valid:
            report.faults.append(Fault("called unsatisfiable", schema, _shown(min(valid, key=len))))
        return report
    except StructgenError as error:
        report.counts[f"refused: {error.kind}"] += 1
        kind = "budget" if isinstance(error, BudgetError) else f"refused: {error.kind}"
        report.faults.append(Fault(kind, schema, detail=str(error)))
        return report
    _slow(report, schema, "compile", started)
    report.counts["compiled"] += 1
    if rng is not None:
        more = texts_of(list(more_texts(constraint, schema, rng)), rng)
        more += [garbled(text, rng) for text in rng.sample(texts, min(len(texts), 2))]
        texts = texts + more
        verdicts += map(decide, more)
    for text, verdict in zip(texts, verdicts, strict=True):
        Progress.text = text
        report.counts["pairs"] += 1
        report.counts["valid" if verdict else "invalid"] += 1
        try:
            accepted = accepts(constraint, text)
            if verdict and accepted:
                _completes(report, schema, constraint, text)
        except BudgetError as error:
            report.faults.append(Fault("budget", schema, _shown(text), str(error)))
            continue
        if accepted != verdict:
            kind = "accepted invalid" if accepted else "rejected valid"
            report.faults.append(Fault(kind, schema, _shown(text)))
    if rng is not None and rng.random() < 0.3 and any(verdicts):
        valid = [text for text, verdict in zip(texts, verdicts, strict=True) if verdict]
        report.add(declared(schema, valid[:4], formats))
    return report


def declared(schema: Schema, texts: list[bytes], formats: bool = False) -> Report:
    """In declared order and compact every valid value has a text, too, with its numbers."""
    report = Report()
    try:
        constraint = compiled(schema, COMPACT, formats, spelling="any")
    except UnsatisfiableSchemaError:
        shown = _shown(min(texts, key=len))
        return Report(faults=[Fault("declared order loses a value", schema, shown, layout=COMPACT)])
    except BudgetError:
        return report
    for text in texts:
        value = json.loads(text)
        orders = None if "Infinity" in json.dumps(value) else reordered(value)
        if orders is None:
            continue
        report.counts["values in declared order"] += 1
        if not any(accepts(constraint, order.encode()) for order in orders):
            report.faults.append(
                Fault("declared order loses a value", schema, _shown(text), layout=COMPACT)
            )
    return report


def _completes(report: Report, schema: Schema, constraint: sg.Constraint, text: bytes) -> None:
    """The shortest completion of each fourth prefix of a valid text is at most as long as it."""
    for at in range(0, len(text), 4):
        state = constraint.advance_bytes(constraint.start, text[:at])
        rest = constraint.shortest_completion(state)
        report.counts["completions"] += 1
        if len(rest) > len(text) - at:
            found = f"completed with {rest!r}"
            report.faults.append(Fault("completion too long", schema, _shown(text[:at]), found))
            return


def _slow(report: Report, schema: Schema, what: str, started: float) -> None:
    spent = time.process_time() - started
    if spent > SLOW:
        report.faults.append(Fault("slow", schema, detail=f"{what}: {spent:.1f} s"))


def walk(
    schema: Schema,
    layout: tuple[str, str],
    decide: Decider,
    rng: Random,
    steps: int = 40,
    formats: bool = False,
) -> Report:
    """A random walk: no place is stuck, every completion is valid, some masks by brute force."""
    report = Report()
    started = time.process_time()
    try:
        constraint = compiled(schema, layout, formats)
    except StructgenError as error:
        report.counts[f"walks refused: {error.kind}"] += 1
        return report
    _slow(report, schema, f"compile {layout}", started)
    report.counts["walks"] += 1
    Progress.text = text = b""
    state = constraint.start

    def fault(kind: str, detail: str = "") -> None:
        report.faults.append(Fault(kind, schema, _shown(text), detail, layout))

    try:
        for _ in range(rng.randrange(steps)):
            started = time.process_time()
            row = np.zeros(BYTES.words, np.uint32)
            constraint.fill_mask(state, row)
            _slow(report, schema, f"mask after {text!r}", started)
            report.counts["places"] += 1
            allowed = [b for b in range(256) if row[b // 32] >> (b % 32) & 1]
            if rng.random() < 0.02:
                alive = [b for b in range(256) if constraint.advance(state, b) != sg.DEAD]
                if alive != allowed:
                    fault("mask is not advance", f"mask {bytes(allowed)!r}, alive {bytes(alive)!r}")
            if not allowed and not constraint.is_accepting(state):
                fault("dead end")
                return report
            if not _check_end(constraint, state, text, decide, fault) or not allowed:
                return report
            liked = [b for b in allowed if b in LIKED]
            byte = rng.choice(liked if liked and rng.random() < 0.9 else allowed)
            Progress.text = text = text + bytes((byte,))
            state = constraint.advance(state, byte)
            if state == sg.DEAD:
                fault("mask is not advance", "an allowed byte is not accepted")
                return report
        _check_end(constraint, state, text, decide, fault)
    except BudgetError as error:
        fault("budget", str(error))
    return report


def _check_end(
    constraint: sg.Constraint,
    state: int,
    text: bytes,
    decide: Decider,
    fault: Callable[..., None],
) -> bool:
    rest = constraint.shortest_completion(state)
    if not constraint.is_accepting(constraint.advance_bytes(state, rest)):
        fault("completion not accepted", repr(rest))
        return False
    if (rest == b"") != constraint.is_accepting(state):
        fault("completion does not say where the text may end", repr(rest))
        return False
    if not decide(text + rest):
        fault("walk ends invalid", repr(text + rest))
        return False
    return True


def guarded(schema: Schema, work: Callable[[], Report], seconds: float = HANG) -> Report:
    """The report of some work; a hang or a crash is a fault, too."""
    Progress.text = b""
    try:
        with time_limit(seconds):
            return work()
    except HangError:
        fault = Fault("hang", schema, _shown(Progress.text), f"more than {seconds} s")
        return Report(faults=[fault])
    except BudgetError as error:
        return Report(faults=[Fault("budget", schema, _shown(Progress.text), str(error))])
    except Exception as error:  # noqa: BLE001  what it is goes into the report
        place = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
        return Report(faults=[Fault("crash", schema, _shown(Progress.text), detail[:400])])


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "backslashreplace")


# -- smaller ------------------------------------------------------------------------------------


def again(fault: Fault, schema: Schema, value: Any) -> Fault | None:
    """The fault of the same kind that another schema and value show, None if there is none."""
    if not legal(schema) or loops(schema):
        return None
    report = guarded(schema, lambda: _once(fault, schema, value), PATIENCE)
    return next((found for found in report.faults if found.kind == fault.kind), None)


def _once(fault: Fault, schema: Schema, value: Any) -> Report:
    if fault.kind in VERDICTS:
        texts = [] if value is NO_VALUE else [json.dumps(value, ensure_ascii=False).encode()]
        if fault.kind in ORDERS:
            return declared(schema, texts) if texts and _valid(schema, texts[0]) else Report()
        return compare(schema, texts)
    report = compare(schema, [])
    if fault.kind not in {"budget", "slow", "hang", "crash"} or not report.faults:
        for seed in range(30):
            report.add(walk(schema, fault.layout, json_decider(schema), Random(seed)))
            if any(found.kind == fault.kind for found in report.faults):
                break
    return report


def _valid(schema: Schema, text: bytes) -> bool:
    return json_decider(schema)(text)


ORDERS = {"declared order loses a value"}
VERDICTS = {"accepted invalid", "rejected valid", "called unsatisfiable", *ORDERS}
NO_VALUE = object()


def smaller(fault: Fault, seconds: float = 40.0) -> Fault:
    """The same kind of fault with a smaller schema and value, as far as time allows."""
    value: Any = NO_VALUE
    if fault.kind in VERDICTS:
        value = json.loads(fault.text)
        if again(fault, fault.schema, value) is None:
            return fault  # the spelling matters
    stop = time.monotonic() + seconds
    schema, progress = fault.schema, True
    while progress and time.monotonic() < stop:
        progress = False
        for candidate in _reductions(schema):
            if time.monotonic() > stop:
                break
            found = again(fault, candidate, value)
            if found is not None:
                schema, fault, progress = candidate, found, True
                break
        for candidate in _reductions(value) if value is not NO_VALUE else ():
            if time.monotonic() > stop:
                break
            found = again(fault, schema, candidate)
            if found is not None:
                value, fault, progress = candidate, found, True
                break
    return fault


def _reductions(value: Any) -> Iterator[Any]:
    """Values one step smaller: a part left out, or put in the place of the whole."""
    if isinstance(value, dict):
        for key in value:
            if key != "$schema":
                yield {k: v for k, v in value.items() if k != key}
        if "$schema" not in value:
            yield from (v for v in value.values() if isinstance(v, dict | list))
            yield True
        for key, child in value.items():
            if key != "$schema":
                yield from ({**value, key: c} for c in _reductions(child))
    elif isinstance(value, list):
        for at in range(len(value)):
            yield value[:at] + value[at + 1 :]
        for at, child in enumerate(value):
            yield from ([*value[:at], c, *value[at + 1 :]] for c in _reductions(child))
    elif isinstance(value, str) and len(value) > 1 and not value.startswith(("#", "http")):
        yield value[0]
    elif isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        yield from (n for n in (0, 1, 2) if abs(n) < abs(value))


def texts_of(values: list[Any], rng: Random) -> list[bytes]:
    """Texts of values, most of them oddly spelt."""
    return [spelt(value, rng, plain=rng.random() < 0.3).encode() for value in values]
