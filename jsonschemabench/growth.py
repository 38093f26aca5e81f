"""The command `growth`: what a token costs at each length of a text that can be made longer.

    python -m jsonschemabench growth --grammar sql.lark --begin "SELECT a" --more ", a" \\
        --end " FROM t;" --tokens 100,1000,10000 --tokenizer llama3.tiktoken

Each length is measured with an engine's fresh constraint, and its tokens are fed twice: what the
constraint computes and keeps the first time, it looks up the second time.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from jsonschemabench.data import cases, vocab
from jsonschemabench.engines import available
from jsonschemabench.engines.engine import Engine, Refused, Spec
from jsonschemabench.errors import BenchError
from jsonschemabench.masks.command import add_lexing, dialect, engine_names
from jsonschemabench.masks.job import feed
from jsonschemabench.running.runner import say_left_out
from structgen import Vocabulary
from structgen.util.tables import markdown, markdown_line

LENGTHS = "100,1000,10000"


def add_parser(commands: Any) -> None:
    """Add the command `growth`."""
    parser = commands.add_parser(
        "growth",
        help="measure whether a token costs more in a longer text of a grammar",
        description="Mask and accept each token of texts of several lengths, made by repeating.",
    )
    work = parser.add_argument_group("work")
    work.add_argument(
        "--grammar", type=Path, required=True, metavar="FILE", help="a .lark or .gbnf file"
    )
    add_lexing(work)
    work.add_argument("--begin", default="", metavar="TEXT", help="how the text begins")
    work.add_argument("--more", required=True, metavar="TEXT", help="what is repeated")
    work.add_argument("--end", default="", metavar="TEXT", help="how it ends")
    work.add_argument(
        "--tokens", default=LENGTHS, metavar="NUMBERS", help=f"lengths (default: {LENGTHS})"
    )
    work.add_argument(
        "--engines", default="structgen", metavar="NAMES", help="(default: structgen)"
    )
    vocab.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Measure, and print a table."""
    lengths = [int(part) for part in args.tokens.split(",") if part.strip().isdigit()]
    if not lengths or not args.more:
        raise BenchError("there is nothing to measure", expected="--tokens 100,1000 and --more")
    case = cases.grammar_case([args.grammar], [args.begin + args.more + args.end], args.lexing)
    engines, left_out = available(engine_names(args.engines))
    vocabulary = vocab.load(args)
    print(markdown(["engine", "tokens", "first time, µs a token: p50, mean", "second time"]))
    for name, engine in engines.items():
        measured = engine()
        measured.prepare(vocabulary)
        _cells(measured, case, vocabulary, [])  # what an engine spends once in a process
        for length in lengths:
            ids = text_of(vocabulary, args.begin, args.more, args.end, length)
            cells = _cells(measured, case, vocabulary, ids)
            print(markdown_line([name, f"{len(ids):,}", *cells]))
    say_left_out(left_out)
    return 0


def text_of(vocabulary: Vocabulary, begin: str, more: str, end: str, length: int) -> list[int]:
    """The tokens of a text with as many repetitions as make it at least `length` tokens long."""
    count = max(1, length // max(1, len(vocab.encode(vocabulary, more))))
    while len(ids := vocab.encode(vocabulary, begin + more * count + end)) < length:
        count += 1 + count // 100
    return ids


def _cells(
    engine: Engine, case: cases.Case, vocabulary: Vocabulary, ids: list[int]
) -> tuple[str, str]:
    kind = dialect(case, type(engine))
    if kind is None:
        return "does not read it", ""
    row = np.zeros(vocabulary.words, np.int32)
    try:
        compiled = engine.compile(Spec(kind, case.texts[kind], lexing=case.lexing))
    except Refused as refusal:
        return f"refused: {refusal}", ""
    found = []
    for _ in range(2):
        times: list[int] = []
        fits, at = feed(compiled.start(row), row, ids, vocabulary.eos_ids[:1], times)
        if not fits:
            return f"refused token {at}", ""
        micros = np.array(times) / 1000
        found.append(f"{np.median(micros):.1f}, {micros.mean():.1f}")
    return found[0], found[1]
