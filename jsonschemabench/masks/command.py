"""The command `masks`: what each engine gets right of each case, and how long its masks take.

Engines take turns case by case, each in a child process of its own, one at a time. Results go to a
file as they come; the same command goes on where an interrupted one stopped.

    python -m jsonschemabench masks --cases maskbench-dev.jsonl.gz --tokenizer llama3.tiktoken
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from jsonschemabench.data import cases, shipped_cases, vocab
from jsonschemabench.data.cases import Case, Instance
from jsonschemabench.engines import ENGINES, available
from jsonschemabench.engines.engine import Engine, Refused, Spec
from jsonschemabench.errors import BenchError
from jsonschemabench.masks.job import CLOCKS, USES, MaskJob, start
from jsonschemabench.masks.tables import failures, tables
from jsonschemabench.running import outcomes
from jsonschemabench.running.results import Writer, header
from jsonschemabench.running.runner import Runner, say_left_out
from jsonschemabench.running.workers import Limits
from structgen import Vocabulary
from structgen.grammar.ir import LEXINGS
from structgen.grammar.shipped import NAMES

DEFAULT_ENGINES = "structgen,llguidance"
SCHEMA_BYTES = 64_000  # longer schemas are not copied into results
WRONG_INSTANCES = 5  # so many are copied


def add_parser(commands: Any) -> None:
    """Add the command `masks`."""
    parser = commands.add_parser(
        "masks",
        help="measure masks on MaskBench cases, or on a grammar",
        description="Compile each case, then mask and accept each token of its instances, with "
        "several engines side by side. Prints tables, and writes every record to --out.",
    )
    work = parser.add_argument_group("work")
    work.add_argument("--cases", type=Path, metavar="PACK", help="a .jsonl[.gz] file or a folder")
    work.add_argument("--every", type=_positive, default=1, metavar="N", help="each N-th case only")
    work.add_argument("--limit", type=_positive, metavar="N", help="N cases at most")
    work.add_argument(
        "--grammar",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="instead of --cases: a .lark or .gbnf file; give it in several dialects, and each "
        "engine takes the one it reads",
    )
    work.add_argument("--texts", type=Path, metavar="FILE", help="texts of the grammar, one a line")
    work.add_argument(
        "--shipped",
        nargs="*",
        choices=NAMES,
        metavar="NAME",
        help="instead of --cases: the grammars that ship with structgen, all or some, with their "
        "accepting examples; other engines get what they can read of them",
    )
    add_lexing(work)
    vocab.add_options(parser)
    add_run_options(parser, DEFAULT_ENGINES, "masks.jsonl")
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="cpu: the time that the thread computes, for a machine that others use as well; "
        "what threads of an engine's own do is not in it (default: wall)",
    )


def add_lexing(group: Any) -> None:
    """`--lexing`."""
    group.add_argument(
        "--lexing",
        choices=LEXINGS,
        default=LEXINGS[0],
        help="how structgen cuts texts of a .lark file into terminals: as Lark's dynamic lexer, as "
        "its contextual one, or in that one's order among what can come next (default: free)",
    )


def add_run_options(parser: argparse.ArgumentParser, engines: str, out: str) -> None:
    """The options of a run over cases; by default with `engines`, its results going to `out`."""
    group = parser.add_argument_group("run")
    group.add_argument(
        "--engines",
        default=engines,
        metavar="NAMES",
        help=f"of {', '.join(ENGINES)}, with commas between, or all (default: {engines})",
    )
    group.add_argument("--out", type=Path, default=Path(out), metavar="FILE", help="results file")
    group.add_argument(
        "--fresh", action="store_true", help="begin anew where --out holds an earlier run"
    )
    group.add_argument("--failures", action="store_true", help="list what does not pass")
    group.add_argument(
        "--ray",
        type=_positive,
        default=0,
        metavar="N",
        help="share the cases out among N actors at most of a Ray cluster, on whose machines this "
        "folder can be imported",
    )
    add_limits(group)


def add_limits(group: Any) -> None:
    """`--time-limit` and `--memory-limit`."""
    group.add_argument(
        "--time-limit", type=float, default=60.0, metavar="S", help="seconds a case (default: 60)"
    )
    group.add_argument(
        "--memory-limit",
        type=float,
        default=8.0,
        metavar="GIB",
        help="memory of an engine's process (default: 8)",
    )


def limits(args: argparse.Namespace) -> Limits:
    """The limits of the options."""
    return Limits(seconds=args.time_limit, memory=int(args.memory_limit * 2**30))


def engine_names(text: str) -> list[str]:
    """The engines that `--engines` names."""
    names = ENGINES if text == "all" else text.split(",")
    return [name for part in names if (name := part.strip())]


def run(args: argparse.Namespace) -> int:
    """Measure, then print the tables and what was left out."""
    work, digest = _work(args)
    engines, left_out = available(engine_names(args.engines))
    vocabulary = vocab.load(args)
    options = {
        "cases": digest,
        "every": args.every,
        "limit": args.limit,
        "time_limit": args.time_limit,
        "memory_limit": args.memory_limit,
        "clock": args.clock,
    }
    begun = header("masks", engines, vocabulary, options)
    with Writer(args.out, begun, fresh=args.fresh) as writer:
        runner = Runner(engines, start, (vocabulary,), limits(args), writer, left_out, args.ray)
        records = runner.run(work, Jobs(vocabulary, args.clock), record_of)
    if isinstance(work, cases.Pack):
        left_out += work.left_out
    print(tables(writer.header, records, list(engines)))
    if args.failures:
        print(failures(records))
    say_left_out(left_out)
    return 0


class Jobs:
    """Makes the job of a case for each engine in turn; the tokens are made once for all."""

    def __init__(self, vocabulary: Vocabulary, clock: str = "wall") -> None:
        self._vocabulary = vocabulary
        self._clock = clock
        self._case: Case | None = None
        self._tokens: list[list[int]] = []

    def __call__(self, case: Case, engine: type[Engine]) -> MaskJob:
        """The job. Refused when the engine reads none of the case's dialects."""
        kind = dialect(case, engine)
        if kind is None:
            reads, offered = ", ".join(engine.kinds), ", ".join(case.texts)
            raise Refused("unsupported", f"{engine.name} reads {reads}, not {offered}")
        if self._case is not case:
            self._tokens = [vocab.encode(self._vocabulary, i.text) for i in case.instances]
            self._case = case
        spec = Spec(kind, case.texts[kind], lexing=case.lexing)
        return MaskJob(spec, self._tokens, self._clock)


def dialect(case: Case, engine: type[Engine]) -> str | None:
    """The kind of spec that an engine takes of a case."""
    return next((kind for kind in engine.kinds if kind in case.texts), None)


def record_of(case: Case, engine: type[Engine], found: dict[str, Any]) -> dict[str, Any]:
    """The record of what an engine made of a case."""
    record: dict[str, Any] = {
        "kind": "case",
        "case": case.id,
        "engine": engine.name,
        "dataset": case.dataset,
        "outcome": outcomes.PASS,
        "features": case.features,
    }
    record |= {
        key: value
        for key, value in found.items()
        if key.endswith("_ns") or key.startswith("memory") or key in USES
    }
    _judge(case, found, record)
    if record["outcome"] not in (outcomes.PASS, outcomes.REFUSED_UNSATISFIABLE):
        text = case.texts[dialect(case, engine) or next(iter(case.texts))]
        if len(text) <= SCHEMA_BYTES:
            record["schema"] = text
        else:
            record["schema_bytes"] = len(text)
    return record


def _judge(case: Case, found: dict[str, Any], record: dict[str, Any]) -> None:
    """Add the outcome to a record, and what is wrong."""
    if "died" in found:
        record |= {"outcome": outcomes.CRASH, "reason": found["died"]["reason"]}
        record["error"] = {"kind": "crash", "message": found["died"]["message"]}
    elif "contradiction" in found:
        record |= {"outcome": outcomes.CRASH, "reason": "contradiction"}
        record["error"] = {"kind": "contradiction", "message": found["contradiction"]}
    elif "refused" in found:
        refusal = found["refused"]
        any_valid = any(instance.valid for instance in case.instances)
        record["outcome"] = outcomes.of_refusal(refusal["kind"], any_valid=any_valid)
        record["error"] = refusal
    else:
        answers = list(zip(case.instances, found["accepted"], found["positions"], strict=True))
        wrong = [(i, accepted, at) for i, accepted, at in answers if accepted != i.valid]
        record["instances"] = len(answers)
        if wrong:
            record["outcome"] = outcomes.worst(
                outcomes.of_instance(valid=i.valid, accepted=accepted) for i, accepted, _ in wrong
            )
            record["wrong"] = [_wrong(*answer) for answer in wrong[:WRONG_INSTANCES]]


def _wrong(instance: Instance, accepted: bool, position: int) -> dict[str, Any]:
    shown = {"text": instance.text} if instance.data is None else {"data": instance.data}
    return {**shown, "valid": instance.valid, "accepted": accepted, "position": position}


def _work(args: argparse.Namespace) -> tuple[cases.Pack | list[Case], str]:
    """The cases that the options name, and a digest of them."""
    given = (args.cases is not None, bool(args.grammar), args.shipped is not None)
    if given == (True, False, False):
        pack = cases.read_pack(args.cases, args.every, args.limit)
        return pack, pack.digest
    if given == (False, True, False) and args.texts is not None:
        case, digest = cases.read_grammars(args.grammar, args.texts, args.lexing)
        return [case], digest
    if given == (False, False, True):
        return shipped_cases.read(args.shipped or NAMES)
    raise BenchError(
        "it is not clear what to measure", expected="--cases, --grammar and --texts, or --shipped"
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number
