"""Write results to stdout; messages, colours and progress to stderr.

What goes to a stderr that cannot be written is lost without a word.
Colours and progress lines appear only where a person looks on: on a terminal, unless NO_COLOR is
set or TERM is `dumb`. Everything else is plain text, so that logs and pipes stay readable.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import unicodedata
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

from structgen.errors import StructgenError, StructgenWarning

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
REDRAW = 0.1  # seconds between two drawings of a progress line
CLEAR_LINE = "\r\x1b[2K"
EXTRAS = {  # the extra of structgen that installs each
    "torch": "hf",
    "transformers": "hf",
    "safetensors": "hf",
    "pydantic": "pydantic",
    "tiktoken": "tokenizers",
    "sentencepiece": "tokenizers",
    "fastapi": "hf,server",
    "uvicorn": "hf,server",
    "prometheus_client": "hf,server",
    "pyarrow": "hf,ray",
    "ray": "hf,ray",
}


class Terminal:
    """Where a command writes: `out` for its result, `err` for all it says about it."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out = sys.stdout if out is None else out
        self.err = sys.stderr if err is None else err
        self._drawn = False
        self._last = 0.0
        if not is_terminal(self.out) and hasattr(self.out, "reconfigure"):
            self.out.reconfigure(encoding="utf-8", errors="strict")  # JSON is UTF-8 everywhere

    def result(self, text: str, *, end: str = "\n") -> None:
        """Write a result, or a piece of one, to stdout at once."""
        self.out.write(text + end)
        self.out.flush()

    def json(self, value: object, *, indent: int | None = None) -> None:
        """Write a result as JSON."""
        self.result(json.dumps(value, ensure_ascii=False, indent=indent))

    def say(self, text: str = "") -> None:
        """Write one line to stderr."""
        with contextlib.suppress(OSError):
            self.clear()
            self.err.write(text + "\n")
            self.err.flush()

    def fail(self, text: str) -> None:
        """Write an error to stderr, without characters that would act on the terminal."""
        self.say(f"structgen: {self.styled('error:', 'red', 'bold')} {visible(text)}")

    @contextlib.contextmanager
    def showing_warnings(self) -> Iterator[None]:
        """Write structgen's own warnings as lines of this program while the block runs."""
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, StructgenWarning):
                self.say(f"structgen: {self.styled('warning:', 'yellow')} {visible(str(message))}")
            else:
                before(message, category, *place, **more)

        warnings.showwarning = show
        try:
            yield
        finally:
            warnings.showwarning = before

    def styled(self, text: str, *styles: str, on_out: bool = False) -> str:
        """`text` in colour if the stream it goes to (stderr, or stdout) shows colours."""
        stream = self.out if on_out else self.err
        if not styles or not shows_colour(stream):
            return text
        codes = ";".join(STYLES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def progress(self, text: str) -> None:
        """Show `text` in place of the last progress line; nothing where no person reads it."""
        now = time.monotonic()
        if now - self._last < REDRAW or not is_terminal(self.err) or is_dumb():
            return
        self._last = now
        self._drawn = True
        with contextlib.suppress(OSError):
            self.err.write(CLEAR_LINE + text)
            self.err.flush()

    def clear(self) -> None:
        """Remove the progress line, if there is one."""
        if self._drawn:
            self.err.write(CLEAR_LINE)
            self.err.flush()
            self._drawn = False


def is_terminal(stream: TextIO) -> bool:
    """Whether a person sees what is written there; closed streams count as no."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def is_dumb() -> bool:
    """Whether the terminal says that it knows no control sequences."""
    return os.environ.get("TERM") == "dumb"


def shows_colour(stream: TextIO) -> bool:
    """Whether control sequences for colours are welcome on `stream`."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and not is_dumb()


def visible(text: str) -> str:
    """`text` with control and direction characters, newlines excepted, written as escapes."""
    return "".join(
        ascii(c)[1:-1] if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs") else c
        for c in text
    )


def amount(count: float, unit: str) -> str:
    """A count of bytes (`unit` is "B") or things, with a prefix: 1536, "B" gives "1.5 KiB"."""
    if unit != "B":
        return f"{count:,.0f} {unit}" + ("" if count == 1 else "s")
    for prefix in ("", "Ki", "Mi"):
        if count < 1024:
            return f"{count:.0f} B" if not prefix else f"{count:.1f} {prefix}B"
        count /= 1024
    return f"{count:.1f} GiB"


def duration(seconds: float) -> str:
    """A time in the unit that suits it: "850 µs", "12 ms", "3.4 s"."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def describe(error: Exception) -> str | None:
    """What to tell the user about an error, or None if it is a bug that deserves its traceback."""
    if isinstance(error, StructgenError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        name = (error.name or "").partition(".")[0]
        if name in EXTRAS:
            return (
                f"this needs {name}, which is not installed; "
                f"run: pip install 'structgen[{EXTRAS[name]}]'"
            )
    if isinstance(error, OSError):
        where = "at stdout" if error.filename is None else f"at {error.filename}; check the path"
        return f"{error.strerror or error} {where}"
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    return None
