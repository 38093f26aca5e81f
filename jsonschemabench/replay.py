"""The command `replay`: how many forward passes each drafter saves on recorded texts.

No model is needed, because a text is given by its prompt, its spec and its tokens. With no file,
the shipped demo model writes texts first.

    structgen bench replay --quick
    structgen bench replay records.jsonl --tokenizer PATH --drafters suffix,copy
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import structgen
from jsonschemabench.errors import BenchError
from structgen.errors import StructgenError
from structgen.generation.speculation.drafters.copy import CopyDrafter
from structgen.generation.speculation.drafters.forced import ForcedDrafter
from structgen.generation.speculation.drafters.hybrid import HybridDrafter
from structgen.generation.speculation.drafters.jacobi import JacobiDrafter, LookaheadDrafter
from structgen.generation.speculation.drafters.mixture import MixtureDrafter
from structgen.generation.speculation.drafters.ngrams import (
    RecyclingDrafter,
    StandDrafter,
    TrigramDrafter,
)
from structgen.generation.speculation.drafters.suffix import SuffixDrafter
from structgen.generation.speculation.drafters.suffix_index import SuffixIndex
from structgen.generation.speculation.interfaces import Budget
from structgen.generation.speculation.replay import Record, Replayed, replay
from structgen.util.tables import columns
from structgen.vocabulary.vocabulary import Vocabulary

DRAFTERS: dict[str, Callable[[], Any]] = {
    "forced": ForcedDrafter,
    "copy": CopyDrafter,
    "copy-tokens": lambda: CopyDrafter("tokens"),
    "suffix": SuffixDrafter,
    "suffix-tree": lambda: SuffixDrafter(SuffixIndex(), mode="tree", classes=()),
    "suffix-alone": lambda: SuffixDrafter(across=False),
    "recycling": RecyclingDrafter,
    "trigram": TrigramDrafter,
    "stand": StandDrafter,
    "lookahead": LookaheadDrafter,
    "jacobi": JacobiDrafter,
    "suffix+forced": lambda: HybridDrafter([SuffixDrafter()], forced=ForcedDrafter()),
    "copy+forced": lambda: HybridDrafter([CopyDrafter()], forced=ForcedDrafter()),
    "suffix+copy+forced": lambda: HybridDrafter(
        [SuffixDrafter(), CopyDrafter()], forced=ForcedDrafter()
    ),
    "mixture": lambda: MixtureDrafter([ForcedDrafter(), CopyDrafter(), SuffixDrafter()]),
}

TASKS = 100
QUICK_TASKS = 12


def add_parser(commands: Any) -> None:
    """Add the command `replay`."""
    parser = commands.add_parser(
        "replay",
        help="count the passes that drafters save on recorded texts",
        description="Write recorded texts again with drafts, without a model, and count the "
        "forward passes. A record is a line of JSON: spec (a JSON Schema), prompt (a text), and "
        "text, or tokens.",
    )
    parser.add_argument(
        "records", nargs="?", type=Path, metavar="FILE", help="JSON Lines (default: record some)"
    )
    parser.add_argument(
        "--tokenizer", metavar="PATH", help="of the records (default: the demo model's)"
    )
    parser.add_argument(
        "--drafters",
        default=",".join(DRAFTERS),
        metavar="NAMES",
        help="with commas between (default: %(default)s)",
    )
    parser.add_argument("--nodes", type=_count, default=16, metavar="N", help="default: 16")
    parser.add_argument(
        "--tasks",
        type=_count,
        metavar="N",
        help=f"texts that the demo model writes where there is no file (default: {TASKS})",
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep what was recorded")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_TASKS} texts")
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def run(args: argparse.Namespace) -> int:
    """Replay, then print a table or JSON."""
    names = [name.strip() for name in args.drafters.split(",") if name.strip()]
    for name in names:
        if name not in DRAFTERS:
            raise BenchError(f"there is no drafter {name!r}", expected=", ".join(DRAFTERS))
    if args.records is None:
        lines = list(record_demo(args.tasks or (QUICK_TASKS if args.quick else TASKS)))
        if args.save is not None:
            args.save.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        lines = read_lines(args.records)
    records, left_out = records_of(lines, vocabulary(args.tokenizer))
    if not records:
        raise BenchError("there is no record that can be replayed", hint="; ".join(left_out[:3]))
    budget = Budget(nodes=args.nodes)
    done = {}
    for name in names:
        done[name] = replay(records, DRAFTERS[name](), budget)
        print(f"{name}: done", file=sys.stderr)
    left_out += done[names[0]].left_out
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)
    if args.json:
        print(json.dumps({name: figures(one) for name, one in done.items()}))
    else:
        print(table(done))
    return 0


def figures(done: Replayed) -> dict[str, float]:
    """The numbers of one drafter; means are per forward pass."""
    return {
        "texts": len(done.texts),
        "tokens_per_forward": round(done.tokens_per_forward, 3),
        "accepted": round(done.accepted, 3),
        "drafted": round(done.drafted, 2),
        "first_kept": round(done.acceptance[0], 3) if done.acceptance else 0.0,
        "draft_ms": round(1e3 * done.draft_seconds, 3),
    }


def table(done: dict[str, Replayed]) -> str:
    """Rows by drafter, the most tokens per forward pass first."""
    head = ["drafter", "tokens per forward", "kept", "drafted", "depth 1 kept", "ms per draft"]
    rows = [head]
    for name, one in sorted(done.items(), key=lambda item: -item[1].tokens_per_forward):
        found = figures(one)
        rows.append([name, *(f"{found[key]:.2f}" for key in list(found)[1:])])
    return columns(rows)


def vocabulary(path: str | None) -> Vocabulary:
    """That of a transformers tokenizer: a folder or a name; the demo model's without one."""
    from transformers import AutoTokenizer

    from structgen import demo

    try:
        tokenizer = AutoTokenizer.from_pretrained(path or str(demo.model_path()))
    except (OSError, ValueError) as error:
        raise BenchError(f"the tokenizer cannot be loaded: {error}", location=str(path)) from error
    return Vocabulary.from_transformers(tokenizer)


def record_demo(count: int) -> Iterator[dict[str, Any]]:
    """Texts that the demo model writes greedily, for prompts that it has not seen in training."""
    import torch

    from structgen import demo
    from structgen.demo.training.evaluate import NEW_TOKENS, unseen
    from structgen.generation.generator import Generator
    from structgen.generation.settings import Options

    generator = Generator(str(demo.model_path()), device="cpu", dtype="float32")
    options: Options = {"temperature": 0.0, "max_tokens": NEW_TOKENS}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the fastest for so small a model
    try:
        for example in unseen(count):
            done = generator.generate(example.prompt, example.schema, **options)
            asked = {"spec": example.schema, "prompt": example.prompt}
            yield {**asked, "text": done.text, "tokens": list(done.tokens)}
    finally:
        torch.set_num_threads(threads)


def read_lines(path: Path) -> list[Any]:
    """The objects of a JSON Lines file. BenchError where it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"the records cannot be read: {error}", location=str(path)) from error
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                lines.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise BenchError(
                    f"line {number} is not JSON: {error}", location=str(path)
                ) from error
    return lines


def records_of(lines: list[Any], words: Vocabulary) -> tuple[list[Record], list[str]]:
    """Records of lines of {spec, prompt, text or tokens}; and why others are none."""
    constraints: dict[str, Any] = {}
    records, left_out = [], []
    for number, line in enumerate(lines, 1):
        try:
            spec, prompt = line["spec"], line.get("prompt", "")
            tokens = line["tokens"] if "tokens" in line else _encoded(words, line["text"])
            if not all(type(t) is int and 0 <= t < words.size for t in tokens):
                raise ValueError("there are tokens that the tokenizer does not have")
            ends = set(words.eos_ids)
            key = json.dumps(spec, sort_keys=False)
            if key not in constraints:
                constraints[key] = structgen.compile(structgen.JsonSchema(spec), words)
            asked = _encoded(words, prompt) if prompt else []
            kept = tuple(t for t in tokens if t not in ends)
            records.append(Record(constraints[key], tuple(asked), kept, f"record {number}"))
        except (TypeError, AttributeError, KeyError, ValueError, StructgenError) as error:
            left_out.append(f"record {number}: {error}")
    return records, left_out


def _encoded(words: Vocabulary, text: str) -> list[int]:
    found = words.encode_continuation(text)
    if found is None:
        raise ValueError("the tokenizer has no tokens for the text")
    return found


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number
