"""Compares each drafter with plain decoding, and writes the figures as Markdown tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jsonschemabench.speculate.runs import PLAIN, REGIONS, Run
from structgen.util.tables import markdown

RESAMPLES = 2000


@dataclass(frozen=True)
class Figures:
    """One arm on one workload.

    tokens_per_forward: those of the prompt's pass not counted. wall_ratio: plain decoding's time
    over this arm's, per token: geometric mean over tasks, with a 95 % interval by resampling tasks;
    reading the prompt included in `end_to_end`; `processor_ratio` is the same by processor time,
    which says more on a busy machine. predicted: tokens per forward over what a pass and
    a draft cost. acceptance: by depth. regions: share of tokens that came from drafts. by_drafter:
    how many came from whose.
    """

    workload: str
    arm: str
    tasks: int
    tokens: int
    tokens_per_forward: float
    wall_ratio: float
    interval: tuple[float, float]
    end_to_end: float
    processor_ratio: float
    predicted: float
    read_per_forward: float
    acceptance: tuple[float, ...]
    shares: dict[str, float]
    regions: dict[str, tuple[int, float]]
    by_drafter: dict[str, int]
    same: bool


def figures(runs: Sequence[Run], cost: Callable[[int], float], unit: float) -> list[Figures]:
    """Of every workload and arm, in the order met. cost(n): T(n)/T(1). unit: T(1) in seconds."""
    keys = dict.fromkeys((run.workload, run.arm) for run in runs)
    return [
        _figures(
            [r for r in runs if (r.workload, r.arm) == (workload, arm)],
            [r for r in runs if (r.workload, r.arm) == (workload, PLAIN)],
            cost,
            unit,
        )
        for workload, arm in keys
    ]


def _figures(
    own: Sequence[Run], plain: Sequence[Run], cost: Callable[[int], float], unit: float
) -> Figures:
    forwards = sum(run.forwards for run in own)
    logs = _log_ratios(own, plain, lambda run: run.per_token)
    whole = _log_ratios(own, plain, lambda run: run.seconds / run.tokens)
    worked = _log_ratios(own, plain, lambda run: run.processor / run.later)
    passes = [read + 1 for run in own for read, _, _ in run.rounds] or [1]
    tau = sum(run.later for run in own) / max(forwards, 1)
    texts = sum(run.texts for run in own) / len(own)
    draft = sum(run.draft for run in own) * texts / max(forwards, 1) / unit if unit else 0.0
    deepest = max((len(run.tried) for run in own), default=0)
    spent = {name: sum(getattr(run, name) for run in own) for name in ("draft", "verify", "other")}
    total = sum(spent.values())
    return Figures(
        workload=own[0].workload,
        arm=own[0].arm,
        tasks=len(own),
        tokens=sum(run.tokens for run in own),
        tokens_per_forward=tau,
        wall_ratio=math.exp(logs.mean()),
        interval=interval(logs),
        end_to_end=math.exp(whole.mean()),
        processor_ratio=math.exp(worked.mean()),
        predicted=tau / (float(np.mean([cost(n) for n in passes])) + draft),
        read_per_forward=float(np.mean(passes)) - 1,
        acceptance=tuple(_share_at(own, depth) for depth in range(deepest)),
        shares={name: part / total if total else 0.0 for name, part in spent.items()},
        regions={name: _region(own, name) for name in REGIONS},
        by_drafter=dict(sum((Counter(run.by_drafter) for run in own), Counter[str]())),
        same=all(run.same for run in own),
    )


def interval(logs: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % interval of exp of a mean, by resampling float64[tasks]."""
    rng = np.random.default_rng(0)
    means = rng.choice(logs, (RESAMPLES, len(logs))).mean(1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return float(low), float(high)


def _log_ratios(
    own: Sequence[Run], plain: Sequence[Run], time: Callable[[Run], float]
) -> npt.NDArray[np.float64]:
    """float64[tasks]: log of plain decoding's time over this arm's, for the same task."""
    base = {(run.session, run.task): time(run) for run in plain}
    return np.array([math.log(base[run.session, run.task] / time(run)) for run in own])


def _share_at(runs: Sequence[Run], depth: int) -> float:
    tried = sum(run.tried[depth] for run in runs if depth < len(run.tried))
    return sum(run.kept[depth] for run in runs if depth < len(run.kept)) / max(tried, 1)


def _region(runs: Sequence[Run], name: str) -> tuple[int, float]:
    tokens = sum(run.regions[name][0] for run in runs)
    return tokens, sum(run.regions[name][1] for run in runs) / max(tokens, 1)


HEADS = (
    "workload,drafter,tokens/pass,wall ratio,95 %,end to end,processor,predicted,read/pass,"
    "by depth,draft; verify; other"
).split(",")


def table(found: Sequence[Figures]) -> str:
    """One line for each workload and arm, as Markdown."""
    rows = []
    for f in found:
        depths = " ".join(f"{share:.0%}" for share in f.acceptance[:6])
        shares = " ".join(f"{part:.0%}" for part in f.shares.values())
        cells = [
            f.workload,
            f.arm + ("" if f.same else " *"),
            f"{f.tokens_per_forward:.2f}",
            f"{f.wall_ratio:.2f}",
            f"{f.interval[0]:.2f} to {f.interval[1]:.2f}",
            f"{f.end_to_end:.2f}",
            f"{f.processor_ratio:.2f}",
            f"{f.predicted:.2f}",
            f"{f.read_per_forward:.1f}",
            depths,
            shares if f.arm != PLAIN else "",
        ]
        rows.append(cells)
    text = markdown(HEADS, rows)
    if not all(f.same for f in found):
        text += "\n\n`*`: not every text is that of plain decoding (near-ties in low precision)"
    return text


def overview(found: Sequence[Figures]) -> str:
    """A line for each drafter, a column for each workload, as Markdown."""
    workloads = list(dict.fromkeys(f.workload for f in found))
    cells = {
        (f.arm, f.workload): f"{f.tokens_per_forward:.2f}, {f.wall_ratio:.2f} "
        f"({f.interval[0]:.2f} to {f.interval[1]:.2f}), {f.processor_ratio:.2f}"
        for f in found
        if f.arm != PLAIN
    }
    arms = dict.fromkeys(arm for arm, _ in cells)
    rows = [[arm, *(cells.get((arm, w), "") for w in workloads)] for arm in arms]
    title = "Tokens per pass, times as fast (95 %), the same by processor time:"
    return f"{title}\n\n{markdown(['drafter', *workloads], rows)}"


def region_table(found: Sequence[Figures]) -> str:
    """Where the tokens stand, how many of them came from drafts, and from whose, as Markdown."""
    heads = [f"{r} tokens, drafted" for r in REGIONS]
    rows = []
    for f in found:
        if f.arm != PLAIN:
            cells = [f"{n}, {share:.0%}" for n, share in f.regions.values()]
            cells.append(", ".join(f"{n} {k}" for n, k in Counter(f.by_drafter).most_common()))
            rows.append([f.workload, f.arm, *cells])
    return markdown(["workload", "drafter", *heads, "kept, by drafter"], rows)
