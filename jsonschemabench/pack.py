"""The command `pack`: makes a pack of cases out of schemas that lie in folders.

    python -m jsonschemabench pack site-packages/ node_modules/ --out pack.jsonl.gz

Every `.json` file below them that is a JSON Schema which structgen compiles becomes a case, of one
folder --each at most. The shipped model writes valid texts for it. From each one invalid text is
made, by taking out or changing one part of the value; `jsonschema` says which changes are faults.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from referencing.exceptions import Unresolvable
from tqdm import tqdm

import structgen as sg
from jsonschemabench.errors import BenchError
from structgen.demo import model_path
from structgen.errors import StructgenError

KEYWORDS = {"$schema", "properties", "definitions", "$defs", "oneOf", "anyOf", "allOf", "items"}
OTHERS: tuple[Any, ...] = (None, -1, "", [], {}, "other")  # values that a part is changed to


def add_parser(commands: Any) -> None:
    """Add the command `pack`."""
    parser = commands.add_parser(
        "pack",
        help="make a pack of cases out of schemas of your own",
        description="Make a pack for `masks --cases` out of the JSON Schemas below some folders, "
        "with texts that the shipped model writes for them.",
    )
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="a .jsonl.gz file")
    parser.add_argument(
        "--each",
        type=int,
        default=40,
        metavar="N",
        help="cases of one folder at most (default: 40)",
    )
    parser.add_argument(
        "--texts", type=int, default=2, metavar="N", help="valid texts of a case (default: 2)"
    )
    parser.add_argument(
        "--max-tokens", type=int, default=400, metavar="N", help="of a text (default: 400)"
    )
    parser.add_argument(
        "--max-bytes",
        type=int,
        default=100_000,
        metavar="N",
        help="larger schemas are left out (default: 100,000)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N")


def run(args: argparse.Namespace) -> int:
    """Write the pack, and say what was left out."""
    found = list(_schemas(args))
    if not found:
        raise BenchError("there are no JSON Schemas", expected="folders with .json files")
    torch.set_num_threads(1)  # the model is small: threads would wait for each other
    generator = sg.Generator(str(model_path()))
    rng = random.Random(args.seed)
    left_out: Counter[str] = Counter()
    cases = 0
    with gzip.open(args.out, "wt", encoding="utf-8") as out:
        for name, schema in tqdm(found, unit="schema", file=sys.stderr):
            try:
                tests = list(tests_of(generator, schema, args.texts, args.max_tokens, rng))
            except StructgenError as error:
                left_out[error.kind] += 1
                continue
            out.write(json.dumps({"id": name, "schema": schema, "tests": tests}) + "\n")
            cases += 1
    reasons = "".join(f", {count} {kind}" for kind, count in left_out.most_common())
    print(f"{args.out}: {cases} cases; left out: {sum(left_out.values())}{reasons}")
    return 0


def _schemas(args: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """Name and contents of each schema; of a folder with many, some at random."""
    seen = set()
    for folder in args.folders:
        number = 0
        files = sorted(folder.rglob("*.json"))
        random.Random(args.seed).shuffle(files)
        for path in files:
            if number >= args.each or not path.is_file() or path.stat().st_size > args.max_bytes:
                continue
            try:
                schema = json.loads(path.read_text(encoding="utf-8"))
            except (ValueError, RecursionError):
                continue
            text = json.dumps(schema, sort_keys=True)
            if isinstance(schema, dict) and KEYWORDS & schema.keys() and text not in seen:
                seen.add(text)
                number += 1
                yield f"{folder.name}---{path.stem}-{number}", schema


def tests_of(
    generator: sg.Generator, schema: Any, count: int, max_tokens: int, rng: random.Random
) -> Iterator[dict[str, Any]]:
    """`count` valid values of a schema, each followed by an invalid one where there is one near.

    Raises what compiling and generating raise.
    """
    spec = sg.JsonSchema(schema, whitespace="any")
    validator = validator_for(schema, Draft202012Validator)(schema)
    for seed in range(count):
        text = generator.generate("", spec, max_tokens=max_tokens, seed=seed, temperature=1.0).text
        value = json.loads(text)
        yield {"data": value, "valid": True}
        changed = fault_near(value, lambda other: _fits(validator, other), rng)
        if changed is not None:
            yield {"data": changed[0], "valid": False}


def _fits(validator: Any, value: Any) -> bool:
    """Whether jsonschema accepts a value; a reference that it cannot follow counts as if it did."""
    try:
        return bool(validator.is_valid(value))
    except (Unresolvable, re.error, RecursionError):
        return True


def fault_near(value: Any, fits: Any, rng: random.Random) -> tuple[Any] | None:
    """A value that does not fit, in a tuple: one part is gone or changed. None if all fit."""
    changes = list(_changes(value))
    rng.shuffle(changes)
    for path, change in changes[:40]:
        changed = [deepcopy(value)]
        place: Any = changed
        for step in path[:-1]:
            place = place[step]
        if change is _GONE:
            del place[path[-1]]
        else:
            place[path[-1]] = change
        if changed and not fits(changed[0]):
            return (changed[0],)
    return None


_GONE = object()


def _changes(value: Any, path: tuple[Any, ...] = (0,)) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Paths into `[value]`, with what to put there, or _GONE."""
    for other in OTHERS:
        if other != value:
            yield path, other
    if len(path) > 1:
        yield path, _GONE
    if isinstance(value, dict | list):
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _changes(part, (*path, step))
