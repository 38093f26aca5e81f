"""`structgen inspect`: what is in files of saved constraints, after checking every byte."""

from __future__ import annotations

import argparse
import json
from typing import Any

from structgen.cli.options import add_command
from structgen.cli.terminal import Terminal, amount, duration, visible
from structgen.util.tables import columns

FINE = 0
LABEL = 14  # columns
BULKY = ("schema", "documents", "pattern", "texts", "text", "sources", "grammar")  # not for a line
SHOWN = 60  # characters of what a spec says, at most


def add(commands: Any) -> None:
    """Add the command `inspect`."""
    parser = add_command(commands, "inspect", "Say what is in a compiled file, and check it.", run)
    parser.add_argument("files", metavar="FILE", nargs="+", help="a file that `compile` wrote")
    parser.add_argument("--json", action="store_true", help="write it as JSON, an object a line")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Exit status 0 when all files are sound; the first that is not is an error."""
    for i, path in enumerate(args.files):
        found = contents(path)
        if args.json:
            terminal.json(found)
            continue
        if i:
            terminal.result("")
        terminal.result("\n".join(lines(found)))
    return FINE


def contents(path: str) -> dict[str, Any]:
    """All that a file says, as JSON values. ArtifactError when a byte of it is wrong.

    A file of another version of structgen is read as far as its container goes.
    """
    from structgen.constraint import artifact
    from structgen.errors import ArtifactError
    from structgen.util import container

    file = container.File(path, artifact.KIND)
    file.verify()
    try:
        spec = json.loads(file.array(artifact.SPEC).tobytes())
    except (ValueError, RecursionError) as error:
        raise ArtifactError("the spec is not understood", location=path) from error
    places = {name: file.place(name) for name in file.names}
    arrays = {name: place.stop - place.start for name, place in places.items()}
    rows = artifact.rows_of(file) if "places" in arrays else 0
    positions = len(file.section("positions")) if "positions" in arrays else 0
    return {
        "file": path,
        **{name: value for name, value in file.header.items() if name != "automaton"},
        "spec": spec,
        "positions": positions,
        "rows": rows,
        "bytes": {"file": file.size, "arrays": arrays},
        "checksums": "fine",
    }


def lines(found: dict[str, Any]) -> list[str]:
    """The same for people."""
    spec, size = found["spec"], found["bytes"]
    options = ", ".join(
        f"{name} {value}" for name, value in spec.items() if name not in ("kind", *BULKY) and value
    )
    texts = [json.dumps(spec[name], ensure_ascii=False) for name in BULKY if spec.get(name)]
    said = " ".join(texts)
    said = said if len(said) <= SHOWN else f"{said[:SHOWN]}... ({amount(len(said), 'character')})"
    arrays: list[tuple[str, ...]] = [(n, amount(b, "B")) for n, b in size["arrays"].items()]
    facts = [
        ("spec", f"{found.get('kind')} {visible(said)}"),
        ("options", visible(options) or "none"),
        ("vocabulary", f"{found.get('tokens'):,} tokens, hash {found.get('vocabulary')}"),
        ("written by", f"structgen {found.get('structgen')}, format {found.get('format')}"),
        ("explored", explored(found.get("explored"))),
        ("masks", f"{found['positions']:,} positions, {found['rows']:,} different rows"),
        ("automaton", ", ".join(f"{name} {n:,}" for name, n in found.get("size", {}).items())),
        ("checksums", found["checksums"]),
        ("size", amount(size["file"], "B")),
    ]
    shown = [f"{label:{LABEL}}{text}" for label, text in facts]
    indented = [f"{'':{LABEL}}{line}" for line in columns(arrays).splitlines()]
    return [visible(found["file"]), *shown, *indented]


def explored(found: dict[str, Any] | None) -> str:
    """How far masks were made ahead of time, in words."""
    if not found:
        return "what was used before it was saved"
    text = f"{amount(found['states'], 'state')}, longest mask {duration(found['longest'])}, "
    text += f"made in {duration(found['seconds'])}"
    if found["complete"]:
        return f"all {text}"
    limits = f"{amount(found['max_states'], 'state')} or {amount(found['max_bytes'], 'B')}"
    return f"{text}; stopped at {limits}, the rest is made when needed"
