"""`compile` makes each file of a folder of specs once, and `inspect` reads it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import structgen
from structgen.cli.commands import compile_jobs
from structgen.cli.main import main
from structgen.constraint import artifact
from structgen.util import container
from tests.cli.conftest import PERSON

SCHEMAS = {
    "a.json": {"type": "boolean"},
    "b.json": {"enum": [1, 22, "x"]},
    "inner/a.json": {"type": "integer", "minimum": 0, "maximum": 99},
    "inner/deep/c.json": PERSON,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with schemas, one of them broken, and a file of another kind."""
    for name, schema in SCHEMAS.items():
        path = tmp_path / "specs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(schema))
    (tmp_path / "specs" / "bad.json").write_text('{"type": 5}')
    (tmp_path / "specs" / "notes.txt").write_text("not a spec")
    return tmp_path / "specs"


def made_in(out: Path) -> list[str]:
    """The files in a folder, by their paths within it."""
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # warnings are those of Ray's own packages
@pytest.mark.usefixtures("ray_cluster")
def test_all_specs_of_a_folder_are_compiled_on_a_cluster(
    folder: Path, tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same by actors of Ray; the files of a run before are kept."""
    compile_folder(folder, tokenizer, tmp_path / "out", capsys, "--ray")
    assert main(["compile", str(folder), "-o", str(tmp_path / "out"), "--tokenizer", tokenizer,
                 "--max-states", "60", "--ray"]) == 2  # fmt: skip
    assert capsys.readouterr().out.count("kept") == len(SCHEMAS)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_all_specs_of_a_folder_are_compiled(
    folder: Path, tokenizer: str, tmp_path: Path, jobs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By one process, and by several."""
    compile_folder(folder, tokenizer, tmp_path / "out", capsys, "--jobs", jobs)


def compile_folder(
    folder: Path, tokenizer: str, out: Path, capsys: pytest.CaptureFixture[str], *how: str
) -> None:
    """Files lie as the specs do; a bad spec is told of and costs nothing but itself."""
    options = ["--tokenizer", tokenizer, *how, "--max-states", "60"]
    assert main(["compile", str(folder), "-o", str(out), *options]) == 2
    table, err = capsys.readouterr()
    assert made_in(out) == ["a.sgc", "b.sgc", "inner/a.sgc", "inner/deep/c.sgc"]
    assert "bad.json" in err
    assert "'type' is 5" in err
    assert "1 spec of 5 failed" in err
    lines = table.splitlines()
    assert lines[0].split() == ["spec", "states", "rows", "bytes", "longest", "mask", "time"]
    assert [line.split()[0] for line in lines[1:-1]] == sorted(
        str(folder / name) for name in SCHEMAS
    )
    assert lines[-1].startswith("4 specs")
    assert sum("60+" in line for line in lines) == 1
    vocabulary = structgen.Vocabulary.from_tiktoken(tokenizer)
    for name, schema in SCHEMAS.items():
        loaded = structgen.load((out / name).with_suffix(".sgc"), vocabulary)
        lazy = structgen.compile(structgen.JsonSchema(schema), vocabulary)
        rows = np.zeros((2, vocabulary.words), np.int32)
        for row, constraint in zip(rows, (loaded, lazy), strict=True):
            constraint.fill_mask(constraint.start, row)
        np.testing.assert_array_equal(*rows)


def test_what_is_there_is_kept(
    folder: Path, tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless it is damaged, of another spec, with other options, or worked out less far."""
    out = tmp_path / "out"
    (folder / "bad.json").unlink()
    command = ["compile", str(folder), "-o", str(out), "--tokenizer", tokenizer]

    def kept(*options: str) -> set[str]:
        assert main([*command, *options]) == 0
        lines = capsys.readouterr().out.splitlines()[1:-1]
        assert len(lines) == 4
        return {Path(line.split()[0]).name for line in lines if line.endswith("kept")}

    assert kept("--max-states", "80") == set()
    times = {path: path.stat().st_mtime_ns for path in out.rglob("*.sgc")}
    assert kept("--max-states", "80") == {"a.json", "b.json", "c.json"}
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.sgc")} == times
    assert kept("--max-states", "70") == {"a.json", "b.json", "c.json"}
    assert kept("--max-states", "90") == {"a.json", "b.json"}  # c has more
    data = bytearray((out / "b.sgc").read_bytes())
    data[-1] ^= 1
    (out / "b.sgc").write_bytes(data)
    (folder / "a.json").write_text('{"type": "null"}')
    (out / "inner" / "a.sgc").unlink()
    assert kept("--max-states", "90") == {"c.json"}
    assert kept("--max-states", "90", "--whitespace", "compact") == set()


def test_specs_may_be_given_in_all_ways(
    folder: Path, tokenizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, patterns, Python types and grammars, together; a pattern may cross folders."""
    (tmp_path / "shapes.py").write_text("class Point:\n    pass\n\nNumber = int | float\n")
    grammar = tmp_path / "sum.lark"
    grammar.write_text('start: "1" ("+" "1")*\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    specs = ["shapes:Number", str(grammar), str(folder / "b.json"), str(folder / "**" / "c.json")]
    options = ["-o", "out", "--tokenizer", tokenizer, "--max-states", "20"]
    assert main(["compile", *specs, *options]) == 0
    assert made_in(tmp_path / "out") == ["b.sgc", "c.sgc", "shapes.Number.sgc", "sum.sgc"]
    assert main(["compile", specs[0], *options]) == 0
    assert main(["compile", specs[0], "-o", "one.sgc", *options[2:]]) == 0
    assert (tmp_path / "one.sgc").read_bytes()
    sys.modules.pop("shapes")


def test_two_specs_never_share_a_file(
    folder: Path, tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is overwritten in silence; the same spec twice is one."""
    files = [str(folder / "a.json"), str(folder / "inner" / "a.json")]
    out = ["-o", str(tmp_path / "out"), "--tokenizer", tokenizer]
    assert main(["compile", *files, *out]) == 2
    assert "would go into one file" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main(["compile", files[0], files[0], *out]) == 0
    assert (tmp_path / "out").is_file()


@pytest.mark.parametrize("spec", ["{}/*.xml", "{}/empty"])
def test_specs_that_are_not_there_are_told(
    spec: str, tmp_path: Path, tokenizer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty folder, and a pattern that nothing matches."""
    (tmp_path / "empty").mkdir()
    command = [
        "compile",
        spec.format(tmp_path),
        "-o",
        str(tmp_path / "o"),
        "--tokenizer",
        tokenizer,
    ]
    assert main(command) == 2
    assert "there is no spec" in capsys.readouterr().err


def test_a_process_that_dies_costs_its_spec_only(tokenizer: str, tmp_path: Path) -> None:
    """It is reported, and the other specs are done by those that are left."""
    (tmp_path / "dies.py").write_text("import os\nos._exit(9)\n")
    for name in "abc":
        (tmp_path / f"{name}.json").write_text('{"type": "null"}')
    specs = ["dies:Model", *(str(tmp_path / f"{name}.json") for name in "abc")]
    command = [sys.executable, "-m", "structgen", "compile", *specs, "-o", "out", "--jobs", "2"]
    done = subprocess.run(
        [*command, "--tokenizer", tokenizer],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "dies:Model: the process ended with status 9" in done.stderr
    assert made_in(tmp_path / "out") == ["a.sgc", "b.sgc", "c.sgc"]


def test_killed_in_the_middle_it_leaves_no_half_file(tokenizer: str, tmp_path: Path) -> None:
    """What has its name is whole, and the next run goes on from there."""
    out = tmp_path / "out"
    specs = []
    for at in range(12):
        specs.append(str(tmp_path / f"s{at:02}.json"))
        Path(specs[-1]).write_text(json.dumps(PERSON | {"title": str(at)}))
    command = [sys.executable, "-m", "structgen", "compile", *specs, "-o", str(out)]
    command += ["--tokenizer", tokenizer, "--max-states", "60"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    while running.poll() is None and len(list(out.glob("*.sgc"))) < 3:
        time.sleep(0.005)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    vocabulary = structgen.Vocabulary.from_tiktoken(tokenizer)
    finished = list(out.glob("*.sgc"))
    assert len(finished) >= 3
    for path in finished:
        container.read(path, artifact.KIND)
        structgen.load(path, vocabulary)
    times = {path: path.stat().st_mtime_ns for path in finished}
    assert main(command[3:]) == 0
    assert len(list(out.glob("*.sgc"))) == 12
    assert {path: path.stat().st_mtime_ns for path in finished} == times


def test_leftovers_go_once_they_are_old(tmp_path: Path) -> None:
    """A file that is being written stays."""
    old, new = tmp_path / ".a.sgc.1.00.sgtmp", tmp_path / ".b.sgc.2.00.sgtmp"
    for path in (old, new, tmp_path / "c.sgtmp"):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    os.utime(tmp_path / "c.sgtmp", (1, 1))
    container.remove_leftovers(tmp_path)
    assert made_in(tmp_path) == [new.name, "c.sgtmp"]


def test_progress_says_when_it_will_be_done(folder: Path, tokenizer: str, tmp_path: Path) -> None:
    """Every report names the spec; with outcomes there is an estimate."""
    vocabulary = structgen.Vocabulary.from_tiktoken(tokenizer)
    task = compile_jobs.Task(str(folder / "inner" / "deep" / "c.json"), tmp_path / "c.sgc")
    options = compile_jobs.Settings({}, 200, 1 << 28, keep=False, debug=False)
    seen: list[tuple[int, int]] = []
    (outcome,) = compile_jobs.run_all(
        [task], options, vocabulary, 4, lambda _, done, known: seen.append((done, known))
    )
    assert outcome.states == 200
    assert [done for done, _ in seen] == [64, 128, 192]
    assert all(done <= known <= 200 for done, known in seen)


def test_inspect_says_what_is_in_a_file(
    person: str, tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For people and as JSON: spec, options, vocabulary, versions, counts, bytes, limits."""
    path = str(tmp_path / "person.sgc")
    options = ["--tokenizer", tokenizer, "--max-states", "50", "--whitespace", "compact"]
    assert main(["compile", person, "-o", path, *options]) == 0
    capsys.readouterr()
    assert main(["inspect", path]) == 0
    text = capsys.readouterr().out
    vocabulary = structgen.Vocabulary.from_tiktoken(tokenizer)
    for part in ("json_schema", "whitespace compact", vocabulary.hash, "50 states", "records"):
        assert part in text
    assert main(["inspect", "--json", path, path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    found = json.loads(lines[0])
    assert found["spec"]["schema"] == PERSON
    assert found["explored"]["states"] == 50
    assert found["explored"]["complete"] is False
    assert found["explored"]["longest"] > 0
    assert found["positions"] >= 50 >= found["rows"] > 3
    assert found["bytes"]["file"] == Path(path).stat().st_size
    assert found["structgen"] == structgen.__version__


def test_inspect_refuses_what_is_damaged(
    person: str, tokenizer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Any byte, and any other file."""
    path = tmp_path / "person.sgc"
    assert main(["compile", person, "-o", str(path), "--tokenizer", tokenizer]) == 0
    data = bytearray(path.read_bytes())
    data[-5] ^= 4
    path.write_bytes(data)
    for file in (str(path), person):
        assert main(["inspect", file]) == 2
        assert file in capsys.readouterr().err
