"""An `Alignment` as one HTML page without scripts, fonts or network."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence

from structgen.generation.sampling.alignment import Alignment, Field, Position, Shares, Spot
from structgen.generation.sampling.results import Estimate

SHOWN_FIELDS = 12  # those that differ most

_STYLE = """
:root { --paper: #fff; --ink: #1b1f24; --quiet: #5c6670; --faint: #dfe3e8; --masked: #c2571a;
  --aligned: #1f6fb4; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --ink: #e8eaed; --quiet: #a0a8b2; --faint: #343a42; --masked: #f0935a;
    --aligned: #6fb1ec; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1rem 1.25rem 4rem; background: var(--paper);
  color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { margin: .5rem 0; font-size: 1.6rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 2.5rem 0 .25rem; padding-top: .75rem; border-top: 2px solid var(--ink);
  font-size: 1.2rem; }
h3 { margin: 1.2rem 0 .3rem; font-size: 1rem; font-weight: 600; overflow-wrap: anywhere; }
p { max-width: 46rem; margin: .5rem 0; }
.note { color: var(--quiet); font-size: .92rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 1rem;
  margin: 1.2rem 0; padding: 0; }
.figures div { border-top: 3px solid var(--masked); padding-top: .4rem; }
.figures dt { color: var(--quiet); font-size: .88rem; line-height: 1.3; min-height: 2.4em; }
.figures dd { margin: .1rem 0 0; font-size: 1.5rem; font-variant-numeric: tabular-nums; }
.figures small { color: var(--quiet); font-size: .85rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--faint); text-align: left;
  vertical-align: top; }
th { border-bottom: 2px solid var(--ink); font-weight: 600; }
.number { text-align: right; white-space: nowrap; }
code { font: .88em/1.4 ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere;
  white-space: pre-wrap; }
pre { margin: .4rem 0; padding: .6rem .8rem; border: 1px solid var(--faint); border-radius: .3rem;
  max-height: 14rem; overflow: auto; font: .85rem/1.4 ui-monospace, "DejaVu Sans Mono", monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.shares { display: grid; grid-template-columns: minmax(6rem, 22rem) 1fr; gap: .35rem .8rem;
  align-items: center; margin: .3rem 0 1rem; }
.bar { display: flex; align-items: center; gap: .4rem; font-size: .82rem; line-height: 1.1;
  font-variant-numeric: tabular-nums; color: var(--quiet); }
.bar i { display: block; height: .6rem; min-width: 1px; border-radius: 2px; }
.masked { background: var(--masked); }
.aligned { background: var(--aligned); }
.key { display: inline-block; width: .7em; height: .7em; margin-right: .35em; border-radius: 2px; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--quiet); font-size: 11px; font-family: inherit; }
figure { margin: 1rem 0; }
figcaption { font-size: .92rem; margin-bottom: .3rem; }
@media (max-width: 40rem) { .shares { grid-template-columns: 1fr; } }
"""

_READING = """
<p class="note">Masking removes the tokens that cannot follow and scales up the rest, one step at a
time. It does not know how probable it is that a text which goes on with a token can still end well,
so it writes some texts more often than the model, asked for a text that fits, would. A mass that is
removed everywhere alike distorts nothing; what distorts is that it differs between texts.</p>
"""

_POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 900, 190, 44, 24


def page(found: Alignment, title: str, prompt: str) -> str:
    """The page; `title` stands on top, `prompt` is what the model was asked."""
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        _POLICY,
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{_drawn(found)}</p><pre>{html.escape(prompt)}</pre>{_figures(found)}{_READING}",
        "<h2>Along the text</h2>",
        _along(found.positions),
        "<h2>Where most is removed</h2>",
        _spots(found.spots),
    ]
    if found.fields:
        parts += ["<h2>Fields</h2>", _key(), *map(_field, found.fields[:SHOWN_FIELDS])]
    parts += ["<h2>Whole texts</h2>", _key(), _texts(found.texts), "</body></html>\n"]
    return "".join(parts)


def _drawn(found: Alignment) -> str:
    kind = "exact draws of" if found.exact else "weighted draws of"
    return (
        f"{found.drawn} texts were drawn by masking, and {found.aligned} by {found.sampler}, "
        f"which are {kind} what the model means: its own distribution, given that the text fits. "
        "The model was asked this:"
    )


def _figures(found: Alignment) -> str:
    nats = "nats"
    cards = [
        ("the model satisfies the spec by itself", *_estimate(found.satisfied, 100, "%")),
        ("KL(masked ‖ aligned)", *_estimate(found.kl_masked, 1, nats)),
        ("KL(aligned ‖ masked)", *_estimate(found.kl_aligned, 1, nats)),
        (
            "what the masked texts are worth",
            f"{found.effective_sample_size:.1f}",
            f"of {found.drawn} aligned ones",
        ),
        ("probability removed in a step", f"{100 * found.removed:.2f}", "% on average"),
    ]
    if found.unfinished:
        cards.append(
            ("attempts at masking that came to no end", f"{100 * found.unfinished:.1f}", "%")
        )
    if not found.trustworthy:
        remark = (
            "<p><strong>The two distributions hardly overlap</strong>: the masked texts are worth "
            "so few aligned ones that the figures are rough.</p>"
        )
    else:
        remark = ""
    inner = "".join(
        f"<div><dt>{label}</dt><dd>{value} <small>{unit}</small></dd></div>"
        for label, value, unit in cards
    )
    return f'<dl class="figures">{inner}</dl>{remark}'


def _estimate(one: Estimate, scale: float, unit: str) -> tuple[str, str]:
    """The value, and its error with the unit."""
    error = scale * one.standard_error
    if 0 < abs(one.value) < 1e-3:
        return f"{scale * one.value:.1e}", f"± {error:.1e} {unit}"
    digits = 3 if scale == 1 else 1
    if math.isfinite(error):
        return f"{scale * one.value:.{digits}f}", f"± {error:.{digits}f} {unit}"
    return f"{scale * one.value:.{digits}f}", unit


def _along(positions: Sequence[Position]) -> str:
    removed = _chart(
        positions, lambda p: p.removed, "var(--masked)", "mean probability removed at each token"
    )
    distortion = _chart(
        positions,
        lambda p: p.distortion,
        "var(--aligned)",
        "share of the distortion that arises at each token (of the variance of the log-weights)",
    )
    return removed + distortion


def _chart(
    positions: Sequence[Position], value: Callable[[Position], float], colour: str, caption: str
) -> str:
    """Bars over the tokens of the text; bars of tokens that few texts have are paler."""
    values = [value(p) for p in positions]
    top = _ceiling(max(values, default=0.0))
    low = min(0.0, -_ceiling(-min(values, default=0.0))) if min(values, default=0.0) < 0 else 0.0
    plot = _HEIGHT - _BOTTOM - 8
    step = (_WIDTH - _LEFT - 8) / max(len(positions), 1)

    def y(level: float) -> float:
        return 8 + plot * (top - level) / (top - low)

    bars = []
    for p, level in zip(positions, values, strict=True):
        upper, lower = y(max(level, 0.0)), y(min(level, 0.0))
        bars.append(
            f'<rect x="{_LEFT + step * p.index:.2f}" y="{upper:.2f}" '
            f'width="{max(step - (1 if step > 3 else 0), 0.5):.2f}" '
            f'height="{max(lower - upper, 0):.2f}" fill="{colour}" '
            f'opacity="{0.3 + 0.7 * p.reached:.2f}"><title>token {p.index + 1}: {level:.1%}, '
            f"in {p.reached:.0%} of the texts</title></rect>"
        )
    lines = "".join(
        f'<line x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y(level):.1f}" y2="{y(level):.1f}" '
        f'stroke="var(--faint)"/><text x="{_LEFT - 6}" y="{y(level) + 4:.1f}" '
        f'text-anchor="end">{level:.3g}</text>'
        for level in sorted({low, 0.0, top / 2, top})
    )
    every = max(1, math.ceil(len(positions) / 18))
    ticks = "".join(
        f'<text x="{_LEFT + step * (i + 0.5):.1f}" y="{_HEIGHT - 6}" '
        f'text-anchor="middle">{i + 1}</text>'
        for i in range(0, len(positions), every)
    )
    return (
        f"<figure><figcaption>{caption}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{caption}">'
        f"{lines}{''.join(bars)}{ticks}</svg></figure>"
    )


def _ceiling(value: float) -> float:
    """The next number of the form 1, 2 or 5 times a power of ten; at least 0.01."""
    if value <= 0.01:
        return 0.01
    unit = 10.0 ** math.floor(math.log10(value))
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= value * (1 - 1e-9))


def _spots(spots: Sequence[Spot]) -> str:
    if not spots:
        return "<p>The mask removed nothing.</p>"
    rows = "".join(
        f'<tr><td class="number">{spot.removed:.1%}</td><td class="number">{spot.share:.0%}</td>'
        f'<td class="number">{spot.index + 1}</td><td>{_end(spot.text)}</td>'
        f"<td>{_tokens(spot.wanted)}</td><td>{_tokens(spot.left)}</td></tr>"
        for spot in spots
    )
    return (
        '<p class="note">Removed probability times how many texts come by.</p>'
        '<div class="scroll"><table><thead><tr><th class="number">removed</th>'
        '<th class="number">of texts</th><th class="number">token</th><th>after</th>'
        "<th>what the model wanted</th><th>what masking writes</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _tokens(tokens: Iterable[tuple[str, float]]) -> str:
    shown = [f"<code>{_code(text)}</code> {p:.1%}" for text, p in tokens if p >= 0.0005]
    return ", ".join(shown) or "nothing probable"


def _field(field: Field) -> str:
    name = field.pointer or "the whole"
    return (
        f"<h3><code>{html.escape(name)}</code> <small class='note'>"
        f"{field.distance:.0%} of the texts would have to change</small></h3>{_bars(field.values)}"
    )


def _texts(texts: Sequence[Shares]) -> str:
    if max((max(one.masked, one.aligned) for one in texts), default=0.0) * len(texts) < 1:
        lead = '<p class="note">Most texts came once: shares of whole texts say little here.</p>'
        return lead + _bars(texts)
    return _bars(texts)


def _bars(values: Sequence[Shares]) -> str:
    longest = max((max(one.masked, one.aligned) for one in values), default=1.0) or 1.0

    def bar(kind: str, share: float) -> str:
        width = 80 * share / longest
        return (
            f'<div class="bar"><i class="{kind}" style="width:{width:.1f}%"></i>{share:.1%}</div>'
        )

    inner = "".join(
        f"<code>{_code(one.text)}</code><div>{bar('masked', one.masked)}"
        f"{bar('aligned', one.aligned)}</div>"
        for one in values
    )
    return f'<div class="shares">{inner}</div>'


def _key() -> str:
    return (
        '<p class="note"><span class="key masked"></span>masked '
        '&nbsp; <span class="key aligned"></span>aligned</p>'
    )


def _end(text: str) -> str:
    """The last characters of a text, as HTML."""
    shown = _code(text[-60:]) if text else ""
    return f"<code>{'…' if len(text) > 60 else ''}{shown}</code>" if text else "the prompt"


def _code(text: str) -> str:
    """Text with its spaces at the edges and its control characters made visible."""
    inner = text.strip(" ")
    if not inner:
        return "␣" * len(text)
    start = text.index(inner[0])
    padded = "␣" * start + inner + "␣" * (len(text) - start - len(inner))
    return html.escape("".join(c if c.isprintable() else ascii(c)[1:-1] for c in padded))
