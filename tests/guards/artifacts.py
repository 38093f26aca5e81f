"""Saved constraints that are kept as files, and what of their format is written down.

The files were written with the small vocabulary, after half of a text had been read, so that some
masks are in them and others are made after loading. They are compressed to take less room here.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structgen as sg
from tests.guards import replay, specs, vocabularies

FOLDER = Path(__file__).parent / "artifacts"
KEPT = FOLDER / "format.json"
PREAMBLE = 64  # bytes in front of the header; the version stands behind the magic number
KINDS = ["hand/user", "hand/discriminated", "regex/looking", "gbnf/lists", "tags/thought"]


def path_of(name: str) -> Path:
    """The compressed file of a spec."""
    return FOLDER / f"{name.replace('/', '-')}.sgc.gz"


@contextmanager
def unpacked(name: str) -> Iterator[Path]:
    """The file of a spec as it was saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.sgc"
        path.write_bytes(gzip.decompress(path_of(name).read_bytes()))
        yield path


def save(name: str, text: bytes, path: Path) -> None:
    """Compile a spec, read half of a text with all masks on the way, and save the constraint."""
    c = sg.compile(specs.makers()[name](), vocabularies.named("small"))
    state = c.start
    for byte in text[: len(text) // 2]:
        replay.row_of(c, state)
        state = c.advance_bytes(state, bytes((byte,)))
    c.save(path)


def layout_of(path: Path) -> dict[str, Any]:
    """How a file is laid out: its versions, what its header names, and its arrays with their types.

    Read by hand, since that is what another reader of the format would see.
    """
    data = path.read_bytes()
    length = int.from_bytes(data[12:20], "little")
    lines = [json.loads(line) for line in data[PREAMBLE : PREAMBLE + length].splitlines()]
    header = lines[0]["header"]
    return {
        "magic": data[:8].hex(),
        "container": int.from_bytes(data[8:12], "little"),
        "kind": lines[0]["kind"],
        "format": header["format"],
        "structgen": header["structgen"],
        "header": sorted(header),
        "automaton": sorted(header["automaton"]),
        "arrays": {line[0]: line[1] for line in sorted(lines[1:])},
    }


def saved_now(name: str, text: bytes) -> dict[str, Any]:
    """The layout of a file that is written now."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "now.sgc"
        save(name, text, path)
        return layout_of(path)


def kept() -> dict[str, Any]:
    """For each file the layout and the text with its note, as they were when it was written."""
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def noted(path: Path, text: bytes) -> str:
    """The note of a text, read by the constraint in a file."""
    c = sg.load(path, vocabularies.named("small"))
    return replay.read(c, "small", text)[0]


def write(check: bool) -> list[str]:
    """Write the files whose layout has changed, or that do not load. Returns what is new."""
    before = kept() if KEPT.exists() else {}
    records = replay.golden()["specs"]
    changed, fresh = [], {}
    for name in KINDS:
        text = before[name]["text"] if name in before else records[name]["texts"][-1]
        layout = saved_now(name, replay.stored(text))
        old = before.get(name, {}).get("layout", {})
        fresh[name] = before.get(name, {})
        if old == layout and _loads(name, fresh[name]):
            continue
        changed.append(f"artifact {name}: " + ("; ".join(different(old, layout)) if old else "new"))
        if not check:
            FOLDER.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "new.sgc"
                save(name, replay.stored(text), path)
                note = noted(path, replay.stored(text))
                path_of(name).write_bytes(gzip.compress(path.read_bytes(), mtime=0))
            fresh[name] = {"layout": layout, "text": text, "note": note}
    if not check:
        lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in fresh.items()]
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return changed


def _loads(name: str, record: dict[str, Any]) -> bool:
    try:
        with unpacked(name) as path:
            return bool(noted(path, replay.stored(record["text"])) == record["note"])
    except (sg.errors.ArtifactError, KeyError, OSError):
        return False


def different(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What differs between two layouts, in words."""
    return [
        f"{key} was {old.get(key)!r} and is {new.get(key)!r}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]
