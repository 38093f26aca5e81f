"""The command `suite`: which tests of the JSON Schema Test Suite each engine gets right.

Each instance is fed token by token, one byte a token unless a tokenizer is named. Formats are
annotations in required files and asserted in those about formats, for engines that leave the
choice; the remotes go to engines that take further documents.

    python -m jsonschemabench suite --dir JSON-Schema-Test-Suite --draft draft2020-12
"""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from jsonschemabench.data import vocab
from jsonschemabench.data.features import features
from jsonschemabench.data.folder import data_folder
from jsonschemabench.engines import available
from jsonschemabench.engines.engine import JSON_SCHEMA, Engine, Spec
from jsonschemabench.errors import BenchError
from jsonschemabench.masks.command import add_run_options, engine_names, limits
from jsonschemabench.running import outcomes
from jsonschemabench.running.judge import JudgeJob, Judgement, all_alike, start
from jsonschemabench.running.results import Writer, header
from jsonschemabench.running.runner import Runner, say_left_out
from jsonschemabench.suite.cases import DRAFTS, SERVER, Suite, SuiteCase, SuiteFile
from jsonschemabench.suite.download import download, revision, suite_cache
from jsonschemabench.suite.tables import failures, tables
from structgen import Vocabulary

DEFAULT_ENGINES = "structgen,llguidance,xgrammar"


def add_parser(commands: Any) -> None:
    """Add the command `suite`."""
    parser = commands.add_parser(
        "suite",
        help="run the official JSON Schema Test Suite",
        description="Feed each instance of the JSON Schema Test Suite token by token to several "
        "engines. Prints tables by draft and by keyword, and writes every record to --out.",
    )
    work = parser.add_argument_group("work")
    folder = work.add_mutually_exclusive_group()
    folder.add_argument(
        "--dir",
        type=Path,
        metavar="DIR",
        help="the suite, or a folder that holds it (default: what STRUCTGEN_DATA names, then "
        "../shared/data, then what --download has fetched)",
    )
    folder.add_argument(
        "--download", action="store_true", help="fetch the suite with git, or what is new in it"
    )
    work.add_argument(
        "--draft",
        action="append",
        choices=DRAFTS,
        default=[],
        help="a draft; give it several times for several (default: all that are there)",
    )
    work.add_argument("--optional", action="store_true", help="the optional tests, too")
    work.add_argument("--formats", action="store_true", help="the tests of formats, too")
    work.add_argument(
        "--keyword",
        action="append",
        default=[],
        metavar="NAME",
        help="only the files of that name, such as items or email; give it several times",
    )
    vocab.add_options(parser, "bytes")
    add_run_options(parser, DEFAULT_ENGINES, "suite.jsonl")


def run(args: argparse.Namespace) -> int:
    """Judge the tests, then print the tables and what was left out."""
    suite = _suite(args)
    files = _files(suite, args)
    engines, left_out = available(engine_names(args.engines))
    vocabulary = vocab.load(args)
    digest = blake2b(digest_size=8)
    for file in files:
        digest.update(f"{file.id} {file.digest}\n".encode())
    options = {
        "suite": digest.hexdigest(),
        "revision": revision(suite.root),
        "drafts": sorted({file.draft for file in files}),
        "optional": args.optional,
        "formats": args.formats,
        "keywords": args.keyword,
        "time_limit": args.time_limit,
        "memory_limit": args.memory_limit,
    }
    begun = header("suite", engines, vocabulary, options)
    documents = {draft: suite.remotes(draft) for draft in options["drafts"]}
    with Writer(args.out, begun, fresh=args.fresh) as writer:
        runner = Runner(engines, start, (vocabulary,), limits(args), writer, left_out, args.ray)
        cases = [case for file in files for case in file.cases]
        records = runner.run(cases, jobs(vocabulary, documents), record_of)
    print(tables(writer.header, records, list(engines)))
    if args.failures:
        print(failures(records))
    say_left_out(suite.left_out + left_out)
    return 0


def jobs(
    vocabulary: Vocabulary, documents: Mapping[str, Mapping[str, Any]]
) -> Callable[[SuiteCase, type[Engine]], JudgeJob]:
    """What makes the job of a case for an engine; `documents`: the remotes of each draft."""

    def job(case: SuiteCase, _engine: type[Engine]) -> JudgeJob:
        tokens = [vocab.encode(vocabulary, instance.text) for instance in case.instances]
        valid = [instance.valid for instance in case.instances]
        return JudgeJob(spec_of(case, documents[case.draft]), tokens, valid)

    return job


def spec_of(case: SuiteCase, documents: Mapping[str, Any]) -> Spec:
    """What an engine is asked to compile."""
    text = json.dumps(case.schema)
    # Only a schema that names their server can lead to the remotes; the others need not carry them.
    remotes = documents if SERVER in text else {}
    return Spec(JSON_SCHEMA, text, remotes, "assert" if case.asserts_formats else "annotate")


def record_of(case: SuiteCase, engine: type[Engine], answer: dict[str, Any]) -> dict[str, Any]:
    """The record of what an engine made of a case; `tests` has the outcome of each."""
    record: dict[str, Any] = {
        "kind": "case",
        "case": case.id,
        "engine": engine.name,
        "dataset": case.draft,
        "outcome": outcomes.PASS,
        "features": features(case.schema),
        "file": case.file,
        "description": case.description,
    }
    if "died" in answer:
        record["reason"] = answer["died"]["reason"]
        message = answer["died"]["message"]
        judged = all_alike(len(case.instances), outcomes.CRASH, "crash", message)
    else:
        judged = answer["judged"]
    record |= {"outcome": judged.outcome, "tests": list(judged.outcomes)}
    if judged.error:
        record["error"] = {"kind": judged.kind, "message": judged.error}
    if judged.outcome not in (outcomes.PASS, outcomes.REFUSED_UNSATISFIABLE):
        record["schema"] = json.dumps(case.schema)
        wrong = _wrong(case, judged)
        record |= {"wrong": wrong} if wrong else {}
    return record


def _wrong(case: SuiteCase, judged: Judgement) -> list[dict[str, Any]]:
    """The instances on which an engine gave the wrong answer."""
    each = zip(case.instances, case.names, judged.outcomes, judged.positions, strict=True)
    return [
        {
            "description": name,
            "data": instance.data,
            "valid": instance.valid,
            "accepted": not instance.valid,
            "position": position,
        }
        for instance, name, outcome, position in each
        if outcome in (outcomes.ACCEPTED_INVALID, outcomes.REJECTED_VALID)
    ]


def _suite(args: argparse.Namespace) -> Suite:
    """The suite in the folder that is named, or in the first of the usual ones that holds it."""
    if args.dir is not None or args.download:
        return Suite(download() if args.download else args.dir)
    usual = [folder for folder in (data_folder(), suite_cache()) if folder is not None]
    for folder in usual:
        with contextlib.suppress(BenchError):
            return Suite(folder)
    raise BenchError(
        "no JSON Schema Test Suite is there",
        location=" or ".join(map(str, usual)),
        hint="name its folder with --dir or STRUCTGEN_DATA, or fetch it with --download",
    )


def _files(suite: Suite, args: argparse.Namespace) -> list[SuiteFile]:
    found = list(suite.files(args.draft, optional=args.optional, formats=args.formats))
    names = {file.name.rpartition("/")[2] for file in found}
    for name in args.keyword:
        if name not in names:
            suite.left_out.append(f"{name}: no file of that name is among those asked for")
    if args.keyword:
        found = [file for file in found if file.name.rpartition("/")[2] in args.keyword]
    if not found:
        say_left_out(suite.left_out)
        raise BenchError("there is nothing to run", location=str(suite.root / "tests"))
    return found
