"""Draws shares and times per engine with matplotlib, as SVG for the page or as files.

Each figure is one panel about as wide as a phone, so that the page sets several beside each other
on a wide screen and one below the other on a narrow one. Colours go by role ("engine 1",
"outcome pass"); in the page's SVG a role becomes a CSS variable, so that a figure follows the
page into its dark scheme, and text stays text, in the page's own font.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from jsonschemabench.report.tables import share
from structgen.cli.terminal import visible

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 4.6  # inches; at 96 dots per inch a little more than a phone is wide

# Distinct for people with any kind of colour vision: the set of Okabe and Ito for the engines,
# steps of lightness for the outcomes, with the loud colours for what must never happen.
LIGHT = {
    "ink": "#1c1e21",
    "quiet": "#5b626c",
    "faint": "#d4d7dc",
    "paper": "#ffffff",
    "engine-1": "#0072b2",
    "engine-2": "#d55e00",
    "engine-3": "#009e73",
    "engine-4": "#b8579a",
    "engine-5": "#606770",
    "engine-6": "#8a6d00",
    "pass": "#8fbfd4",
    "refused-unsatisfiable": "#e4e6ea",
    "refused-satisfiable": "#bfc4cb",
    "incomplete": "#cdb98a",
    "rejected-valid": "#e0a800",
    "crash": "#7b3294",
    "accepted-invalid": "#c8261b",
    "good": "#00634a",
    "bad": "#b3261e",
}
DARK = {
    "ink": "#e4e6ea",
    "quiet": "#a4abb5",
    "faint": "#3a3f47",
    "paper": "#15181c",
    "engine-1": "#56b4e9",
    "engine-2": "#f08a45",
    "engine-3": "#2bc79b",
    "engine-4": "#e39cc9",
    "engine-5": "#a4abb5",
    "engine-6": "#e0c542",
    "pass": "#3d7d98",
    "refused-unsatisfiable": "#3d434c",
    "refused-satisfiable": "#5b626c",
    "incomplete": "#8a7a50",
    "rejected-valid": "#e0b030",
    "crash": "#b583cc",
    "accepted-invalid": "#f4604f",
    "good": "#5fd3ac",
    "bad": "#ff8a7a",
}
Histogram = Mapping[str, Any]  # as `jsonschemabench.running.times` makes them
# In the page's SVG each role first gets a colour that nothing else has, which is then replaced.
MARKS = {role: f"#0f1e{number:02x}" for number, role in enumerate(LIGHT)}
# Lines differ by dash as well as by colour.
Dash = Literal["-"] | tuple[int, tuple[float, ...]]
DASHES: tuple[Dash, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (5, 1.5, 1.2, 1.5)),
    (0, (9, 2)),
    (0, (3, 1)),
)
MOST_STEPS = 12  # of a histogram, for each power of ten
ROLES = 6  # of engines
#: Number of an engine's colour and dash, the same in every figure.
KNOWN = {"structgen": 0, "llguidance": 1, "xgrammar": 2, "outlines-core": 3, "unconstrained": 4}


@dataclass(frozen=True)
class Plot:
    """A figure that is drawn when its colours are known; `alt` says in words what it shows."""

    name: str
    alt: str
    draw: Callable[[Mapping[str, str]], Figure]

    def svg(self, prefix: str) -> str:
        """The figure for the page; `prefix` keeps its ids apart from those of other figures."""
        return _embeddable(self._drawn(MARKS, "svg").decode(), prefix)

    def file(self, form: str) -> bytes:
        """The figure as a file of this format ("png", "svg"), in light colours."""
        return self._drawn(LIGHT, form)

    def _drawn(self, colours: Mapping[str, str], form: str) -> bytes:
        import matplotlib as mpl

        with mpl.rc_context(), warnings.catch_warnings():
            # A name in a script that matplotlib's font lacks is still right in a browser.
            warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
            mpl.rcdefaults()  # whatever the user's own matplotlibrc says
            mpl.rcParams.update(cast(Any, _settings(colours)))
            metadata = {"Date": None} if form == "svg" else None  # the same input, the same file
            out = io.BytesIO()
            self.draw(colours).savefig(out, format=form, dpi=160, metadata=metadata)
            return out.getvalue()


def _settings(colours: Mapping[str, str]) -> dict[str, Any]:
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": "jsonschemabench",
        "text.parse_math": False,  # "$ref" is a keyword, not a formula
        "font.size": 9,
        "text.color": colours["ink"],
        "figure.facecolor": colours["paper"],
        "axes.facecolor": colours["paper"],
        "axes.edgecolor": colours["faint"],
        "axes.labelcolor": colours["ink"],
        "figure.titlesize": 10,
        "figure.titleweight": "bold",
        "legend.title_fontsize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": colours["faint"],
        "grid.linewidth": 0.6,
        "xtick.color": colours["faint"],
        "ytick.color": colours["faint"],
        "xtick.labelcolor": colours["ink"],
        "ytick.labelcolor": colours["ink"],
        "legend.frameon": False,
    }


def coverage(
    name: str,
    title: str,
    groups: Mapping[str, Mapping[str, Mapping[str, int]]],
    outcomes: Sequence[str],
    unit: str = "cases",
    right: Collection[str] = ("pass",),
) -> Plot:
    """Stacked bars: group -> engine -> outcome -> count; `outcomes` worst first, as they rank.

    Behind each bar stands the share of the outcomes that are right, and the count of the worst.
    """

    def draw(colours: Mapping[str, str]) -> Figure:
        from matplotlib.patches import Patch

        bars = [(g, e, counts) for g, engines in groups.items() for e, counts in engines.items()]
        figure, axes = _panel("", 1.2 + 0.17 * len(bars) + 0.3 * len(groups))
        heads = [engine == next(iter(groups[group])) for group, engine, _ in bars]
        middles = np.arange(len(bars)) + 1.7 * np.cumsum(heads) - 0.7
        for middle, first, (group, _, counts) in zip(middles, heads, bars, strict=True):
            if first:
                axes.text(
                    0, middle - 1.15, _label(group, 40), va="center", fontsize=9, fontweight="bold"
                )
            left = 0.0
            for outcome in [o for o in reversed(outcomes) if counts.get(o)]:
                width = 100 * counts[outcome] / sum(counts.values())
                axes.barh(middle, width, 0.82, left=left, color=colours[role(outcome)])
                left += width
            correct = share(sum(counts.get(o, 0) for o in right), sum(counts.values())).text
            axes.text(101, middle, correct, va="center", fontsize=8)
            if worst := counts.get(outcomes[0], 0):
                loud: dict[str, Any] = {"color": colours[role(outcomes[0])], "fontweight": "bold"}
                axes.text(117, middle, f"▲ {worst:,}", va="center", fontsize=8, **loud)
        axes.set_yticks(middles, [_label(engine, 16) for _, engine, _ in bars])
        axes.set(xlim=(0, 100), ylim=(middles[-1] + 0.7, -0.8), xlabel=f"share of {unit}, %")
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(visible=False, axis="y")
        shown = [o for o in reversed(outcomes) if any(counts.get(o) for _, _, counts in bars)]
        labels = [f"{o} (▲ how many)" if o == outcomes[0] else o for o in shown]
        handles = [
            Patch(color=colours[role(o)], label=n) for o, n in zip(shown, labels, strict=True)
        ]
        heading = figure.legend(title=title, handles=handles, loc="outside upper left", ncols=2)
        heading.set_alignment("left")
        heading.get_title().set_fontweight("bold")
        return figure

    return Plot(name, f"{title}, as stacked bars; the table has the figures.", draw)


def role(outcome: str) -> str:
    """The colour role of an outcome."""
    found = outcome.replace(" ", "-")
    return found if found in LIGHT else "refused-satisfiable"


def distribution(name: str, title: str, times: Mapping[str, Histogram]) -> Plot:
    """One outline per engine: what share of its times falls into each of equal log-scale steps."""

    def draw(colours: Mapping[str, str]) -> Figure:
        figure, axes = _panel(title, 3.0)
        ends = [end for found in times.values() for end in (found["ns"][0], found["ns"][-1])]
        fewest = min(found["count"] for found in times.values())
        steps = min(MOST_STEPS, max(3, round(math.sqrt(fewest) / 3)))
        edges = _edges(1e-9 * min(ends), 1e-9 * max(ends), steps)
        for found, (colour, dash) in zip(times.values(), _styles(times, colours), strict=True):
            binned = np.histogram(1e-9 * np.array(found["ns"]), edges, weights=found["n"])[0]
            shares = 100 * binned / found["count"]
            axes.stairs(shares, edges, fill=True, color=colour, alpha=0.12)
            axes.stairs(shares, edges, color=colour, linewidth=1.4, linestyle=dash)
        _time_axis(axes)
        axes.set(ylabel="share of the times, %", ylim=(0, None))
        _key(figure, _lines(times, colours))
        return figure

    return Plot(name, f"{title}, one outline per engine; the table has the percentiles.", draw)


def tail(name: str, title: str, times: Mapping[str, Histogram]) -> Plot:
    """One line per engine: what share of its times is at least so long; both axes are log."""

    def draw(colours: Mapping[str, str]) -> Figure:
        figure, axes = _panel(title, 3.0)
        for found, (colour, dash) in zip(times.values(), _styles(times, colours), strict=True):
            shorter = np.cumsum(found["n"]) - found["n"]
            longer = 100 * (1 - shorter / found["count"])
            seconds = 1e-9 * np.array(found["ns"])
            (line,) = axes.plot(seconds, longer, color=colour, linewidth=1.6, linestyle=dash)
            line.set_marker("o" if len(seconds) == 1 else "")  # a point alone makes no line
        _time_axis(axes)
        axes.set(yscale="log", ylabel="share at least that long, %", ylim=(None, 130))
        if axes.get_ylim()[0] > 2:  # less than two powers of ten
            axes.set_yticks([5, 10, 20, 50, 100])
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.minorticks_off()
        _key(figure, _lines(times, colours))
        return figure

    return Plot(name, f"{title}, one line per engine; the table has the percentiles.", draw)


def _panel(title: str, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    figure.suptitle(title, x=0.02, ha="left")
    return figure, axes


def _key(figure: Figure, handles: Sequence[Artist]) -> None:
    figure.legend(handles=list(handles), loc="outside lower left", ncols=2)


def _lines(engines: Iterable[str], colours: Mapping[str, str]) -> list[Artist]:
    from matplotlib.lines import Line2D

    styles = _styles(engines, colours)
    return [
        Line2D([], [], color=colour, linestyle=dash, linewidth=1.6, label=_label(engine, 20))
        for engine, (colour, dash) in zip(engines, styles, strict=True)
    ]


def _label(text: str, most: int) -> str:
    """A name that fits into a plot; the table beside it has the whole of it."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _styles(engines: Iterable[str], colours: Mapping[str, str]) -> list[tuple[str, Dash]]:
    """Colour and dash of each engine: those that are known look the same in every figure."""
    numbers = dict(KNOWN)
    for engine in engines:
        numbers.setdefault(engine, len(numbers))
    return [
        (colours[f"engine-{numbers[e] % ROLES + 1}"], DASHES[numbers[e] % ROLES]) for e in engines
    ]


def _edges(low: float, high: float, steps: int) -> NDArray[np.float64]:
    """Edges of equal steps in log scale around these times, so many for each power of ten."""
    first = math.floor(steps * math.log10(low))
    last = math.floor(steps * math.log10(high)) + 1
    found: NDArray[np.float64] = 10.0 ** (np.arange(first, last + 1) / steps)
    found[0], found[-1] = min(found[0], low), max(found[-1], high)
    return found


def _time_axis(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    if high < 1000 * low:
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.xaxis.set_major_formatter(lambda value, _: short_time(value))
    axes.xaxis.minorticks_off()


def short_time(seconds: float) -> str:
    """A round time with its unit: 100 ns, 30 µs, 1 ms."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.999 * size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds / 1e-9:g} ns"


def _embeddable(svg: str, prefix: str) -> str:
    """The `<svg>` element alone, its ids prefixed and its marks turned into CSS variables."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    for name, mark in MARKS.items():
        svg = svg.replace(mark, f"var(--{name})")
    return svg
