"""Writes what the guards compare with, and says what has changed: `python -m tests.guards.write`.

Texts that were drawn before are kept, and read again; only new specs, and those whose text no
longer fits, get new ones. `--check` writes nothing. `--shuffle SEED` takes the specs in another
order, which must make no difference. `masks`, `artifacts` or `names` writes only these.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import structgen as sg
from structgen import errors
from tests.guards import artifacts, names, replay, schema_writer, specs, vocabularies

ALWAYS = ["small", "demo", "large"]
FEWER = {"shipped/python_lines": ["demo"]}  # what takes long to compile, once only
EVERY = 14  # of how many specs one is read with the real vocabulary, too
DRAWN = 460
SLOW = 1.0  # seconds of a spec that are told
EXAMPLES = Path(__file__).resolve().parents[2] / "grammars"


def main() -> int:
    """Do what the module says. Returns 1 when `--check` found a difference."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("what", nargs="*", choices=[[], "masks", "artifacts", "names"])
    reader.add_argument("--check", action="store_true")
    reader.add_argument("--shuffle", type=int, metavar="SEED")
    options = reader.parse_args()
    what = options.what or ["masks", "artifacts", "names"]
    changed: list[str] = []
    if "masks" in what:
        changed += masks(options.check, options.shuffle)
    if "artifacts" in what:
        changed += artifacts.write(options.check)
    if "names" in what:
        changed += names.write(options.check)
    for line in changed:
        say(line)
    say(f"{len(changed)} changes{' (nothing written)' if options.check else ''}")
    return int(bool(changed) and options.check)


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{line}\n")


def masks(check: bool, shuffle: int | None) -> list[str]:
    """Write the drawn schemas, where there are none, and the record of each spec."""
    if not specs.DRAWN.exists():
        write_lines(specs.DRAWN, {str(n): schema_writer.drawn(n) for n in range(DRAWN)})
    kept = replay.golden()["specs"] if replay.GOLDEN.exists() else {}
    makers = specs.makers()
    order = list(makers)
    if shuffle is not None:
        Random(shuffle).shuffle(order)
    fresh, changed = {}, [f"{name}: gone" for name in kept if name not in makers]
    for name in order:
        start = time.perf_counter()
        fresh[name] = record(name, makers[name], kept.get(name))
        if name not in kept:
            changed.append(f"{name}: new")
        else:
            changed += replay.differences(name, makers[name], kept[name], fresh[name])
        if (seconds := time.perf_counter() - start) > SLOW:
            say(f"{name} takes {seconds:.1f} s")
    names_used = {v for found in fresh.values() for v in found.get("rows", {})}
    hashes = {name: vocabularies.named(name).hash for name in sorted(names_used - {"real"})}
    if vocabularies.real_path().exists():
        hashes["real"] = vocabularies.named("real").hash
    elif "real" in names_used:
        hashes["real"] = replay.golden()["vocabularies"]["real"]
    if not check:
        head = json.dumps({"vocabularies": hashes})[:-1]
        lines = [f"{json.dumps(name)}: {json.dumps(fresh[name])}" for name in makers]
        text = f'{head},\n"specs": {{\n' + ",\n".join(lines) + "\n}}\n"
        replay.GOLDEN.write_text(text, encoding="utf-8")
    return changed


def write_lines(path: Path, table: dict[str, Any]) -> None:
    """Write a JSON object with a line for each of its members."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def record(name: str, make: Callable[[], Any], kept: replay.Record | None) -> replay.Record:
    """The record of a spec as it is now, for the texts of the one that was kept, if they fit."""
    used = FEWER.get(name, ALWAYS)
    if zlib.crc32(name.encode()) % EVERY == 0 or name in ("shipped/json", "shipped/sql"):
        used = used + (["real"] if vocabularies.real_path().exists() else [])
    if kept is not None and "texts" in kept:
        found = replay.replayed(make, kept["texts"], used)
        if "real" in kept["rows"] and "rows" in found:  # kept where there is no file to read anew
            found["rows"].setdefault("real", kept["rows"]["real"])
        if not refuses(found) or refuses(kept):
            return found
    try:
        texts = texts_of(name, make)
    except errors.StructgenError as error:
        return replay.refusal(error)
    return replay.replayed(make, texts, used)


def refuses(found: replay.Record) -> bool:
    """Whether a text of a record did not fit."""
    return any("!" in note for notes in found.get("rows", {}).values() for note in notes)


def texts_of(name: str, make: Callable[[], Any]) -> list[str]:
    """New texts for a spec: some examples of a shipped grammar, and a random one."""
    rng = Random(f"walk {name}")
    vocabulary = ALWAYS[zlib.crc32(name.encode()) % 3]
    c = sg.compile(make(), vocabularies.named(vocabulary))
    texts = [replay.shown(replay.walked(c, rng))]
    if name.startswith("shipped/"):
        path = EXAMPLES / f"{name.partition('/')[2]}.examples.txt"
        blocks = ("\n" + path.read_text(encoding="utf-8").removesuffix("\n")).split("\n%% ")
        plain = [text for text in blocks if text.startswith("accept: ")]
        found = [text.partition("\n")[2] for text in plain]
        texts = sorted((t for t in found if len(t) < 300), key=len)[-2:] + texts
    return texts


if __name__ == "__main__":
    sys.exit(main())
