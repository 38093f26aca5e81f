"""Writes what `aligned` measured as Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jsonschemabench.aligned.runs import ARMS, Budget, Reference, Run, divergence
from jsonschemabench.aligned.tasks import FAMILIES
from jsonschemabench.aligned.toy import SAMPLES, Distance
from structgen.util.tables import markdown

EXACT = ("cars", "rejection")
HEAD = "tasks,sampler,right,no answer,log p,KL,answers,rows,seconds,checks".split(",")


def toy_table(found: Sequence[Distance]) -> str:
    """One line per sampler on the grammar of seventeen strings."""
    rows = [
        [d.sampler, f"{d.kl:.4f}", f"{d.floor:.4f}", f"{d.empirical:.4f}", "0.0400"] for d in found
    ]
    title = (
        "The grammar 00000 | 1xxxx, whose law is known: KL(sampler || exact) in nats, of the\n"
        f"law after {SAMPLES} samples and by counting those samples. A floor is what chance alone\n"
        "gives an exact sampler."
    )
    head = ["sampler", "KL of its law", "floor", "KL by counting", "floor"]
    return f"{title}\n\n{markdown(head, rows)}"


def checks_table(checks: tuple[float, float], vocabulary: int) -> str:
    """Membership checks of AWRS, where masking goes wrong and on ordinary extraction tasks."""
    hard, usual = checks
    return (
        f"Tokens that AWRS tests per token written, of the demo model's {vocabulary:,}:\n"
        f"{hard:.2f} ({hard / vocabulary:.2%}) where masking goes wrong, "
        f"{usual:.2f} ({usual / vocabulary:.2%}) on extraction tasks."
    )


def task_table(budget: Budget, runs: Sequence[Run], evidence: dict[str, Reference]) -> str:
    """One line per family of tasks and arm."""
    limit = f"{budget.rows} rows of the model" if budget.rows else f"{budget.seconds} seconds"
    rows = []
    for family in FAMILIES:
        for arm in ARMS:
            own = [r for r in runs if r.task.family == family and r.arm == arm]
            if own:
                rows.append([family, arm, *_figures(arm, own, evidence)])
    title = f"The demo model, {limit} for each run; the last answer counts."
    return f"{title}\n\n{markdown(HEAD, rows)}"


NOTES = """\
right: share of last answers that are what the text says. log p: mean log-probability of the last
answers under the model. KL: of the answers' law from the posterior, in nats, by their weights, with
its standard error; 0 where the sampler is exact, an upper bound for smc, none for best of 8, which
chooses. A KL rests on an estimate of the evidence (see below): where CARS found too few texts for
one, SMC made it, which may be far too small, and so may be the KL, marked by "?". answers, rows,
seconds: per run. checks: tokens tested per token written."""


def reference_lines(evidence: dict[str, Reference]) -> str:
    """How probable the model makes each task's spec, and how that is known."""
    rows = [
        [name, f"{r.log_evidence / math.log(10):.1f}", f"{r.relative_error:.0%}", r.sampler]
        for name, r in evidence.items()
    ]
    head = ["task", "log10 evidence", "standard error", "reference"]
    return f"How probable the model makes each spec by itself.\n\n{markdown(head, rows)}"


def _figures(arm: str, runs: Sequence[Run], evidence: dict[str, Reference]) -> list[str]:
    answered = [run for run in runs if run.answers]
    logp = [run.answers[-1].logp_model for run in answered]
    tokens = sum(run.tokens for run in runs)
    checks = sum(run.checks for run in runs) / tokens if tokens and arm == "awrs" else math.nan
    return [
        f"{np.mean([run.right for run in runs]):.0%}",
        f"{1 - len(answered) / len(runs):.0%}",
        f"{np.mean(logp):.1f}" if logp else "-",
        _divergence(arm, runs, evidence),
        f"{np.mean([len(run.answers) for run in runs]):.1f}",
        f"{np.mean([run.rows for run in runs]):.0f}",
        f"{np.mean([run.seconds for run in runs]):.2f}",
        "-" if math.isnan(checks) else f"{checks:.1f}",
    ]


def _divergence(arm: str, runs: Sequence[Run], evidence: dict[str, Reference]) -> str:
    if arm in EXACT:
        return "0"
    kl, error = divergence(runs, evidence)
    if math.isnan(kl):
        return "-"
    sign = "<= " if arm.startswith("smc") else ""
    sure = all(evidence[run.task.name].sampler == "cars" for run in runs)
    return f"{sign}{kl:.2f} ± {error:.2f}{'' if sure else ' ?'}"
