"""What may come next in a JSON text, and which keys are missing, in words for error messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from structgen.schema.machine import phrases
from structgen.schema.machine.frames import JsonFrame, next_names, next_unnamed
from structgen.schema.normal_form.forms import NormalForm

Describe = Callable[[Iterable[NormalForm]], str]


def expected(
    frame: JsonFrame, pending: JsonFrame | None, describe: Describe | None, *, closing: bool
) -> str:
    """What may come next in a frame.

    pending: for an array in which an item may begin, the frame for that. describe: puts into words
    what normal forms accept. closing: whether the open value would be complete here.
    """
    wanted: list[str] = []
    if frame.kind == "end":
        return "the end of the text"
    if frame.stage == "value":
        return _value(frame, describe)
    if frame.stage in ("after", "read"):
        if any(t.matcher.may_go_on(t.progress) for t in frame.threads):
            wanted.append("','")
    elif frame.kind == "array":
        wanted += [] if pending is None else [_value(pending, describe)]
    else:
        wanted += phrases.keys(next_names(frame), others=bool(next_unnamed(frame)))
    if closing and frame.stage not in ("key", "next"):
        wanted.append("'}'" if frame.kind == "object" else "']'")
    return " or ".join(wanted)


def _value(frame: JsonFrame, describe: Describe | None) -> str:
    """The value that a frame waits for."""
    needed = dict.fromkeys(t.need for t in frame.threads) or (0,)
    return (describe or phrases.plain)([frame.vector[need] for need in needed])


def missing(frame: JsonFrame) -> str:
    """The keys that must still come in an object, "" if there are none."""
    if frame.kind != "object":
        return ""
    found = [t.matcher.missing(t.progress) for t in frame.threads]
    return phrases.required([k for k in found[0] if all(k in names for names in found)])
