"""A cache folder makes each constraint once, for threads and processes, and right."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structgen as sg
from structgen.constraint import artifact, compiler
from structgen.constraint.cache import Cache
from structgen.errors import ArtifactError

TOKENS = [bytes((b,)) for b in range(256)] + [b"true", b"aa", b'{"']
VOCABULARY = sg.Vocabulary([*TOKENS, None], eos_ids=[len(TOKENS)])
SPEC = sg.JsonSchema({"type": "object", "properties": {"a": {"type": "string"}}})
REGEX = sg.Regex("(ab|ba){1,3}")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The specs that have been compiled since, in order."""
    found: list[Any] = []
    compile_spec = compiler.compile

    def counted(spec: Any, *args: Any, **options: Any) -> sg.Constraint:
        found.append(spec)
        return compile_spec(spec, *args, **options)

    monkeypatch.setattr(compiler, "compile", counted)
    return found


def first_row(constraint: sg.Constraint, text: bytes = b"") -> np.ndarray:
    """The mask after some text."""
    row = np.zeros(constraint.vocabulary.words, np.int32)
    constraint.fill_mask(constraint.advance_bytes(constraint.start, text), row)
    return row


def test_a_spec_is_compiled_once(tmp_path: Path, compiled: list[Any]) -> None:
    """Then the constraint is handed out while it lives, and loaded when it does not."""
    folder = tmp_path / "made" / "here"
    cache = Cache(folder, max_states=30)
    one = cache.compile(SPEC, VOCABULARY)
    assert cache.compile(SPEC, VOCABULARY) is one
    assert len(cache) == 1
    expected = first_row(one, b'{"')
    del one
    again = cache.compile(SPEC, VOCABULARY)
    other = Cache(folder).compile(SPEC, VOCABULARY)
    assert other is not again
    assert compiled == [SPEC]
    for loaded in (again, other):
        np.testing.assert_array_equal(first_row(loaded, b'{"'), expected)


@pytest.mark.parametrize("alone", [False, True])
def test_a_spec_with_a_rule_about_tokens_is_compiled_once(
    alone: bool, tmp_path: Path, compiled: list[Any]
) -> None:
    """Its constraint is over a smaller vocabulary; it loads for the whole one, and forgets well."""
    rule = sg.filters.each_token(sg.Regex("[a-z]{1,4}"))
    spec = rule if alone else sg.all_of(sg.Regex("(true|aa|b){2}"), rule)
    made = Cache(tmp_path).compile(spec, VOCABULARY)
    cache = Cache(tmp_path, max_memory=0)
    loaded = cache.compile(spec, VOCABULARY)
    assert len(compiled) == 1
    for text in (b"", b"tr", b"true", b"aaa"):
        np.testing.assert_array_equal(first_row(loaded, text), first_row(made, text))
    loaded._drop_tables()
    np.testing.assert_array_equal(first_row(loaded, b"aa"), first_row(made, b"aa"))
    cache.store(loaded)
    assert len(cache) == 1
    with pytest.raises(ArtifactError):
        sg.load(cache.path_of(artifact.key_of(spec, VOCABULARY)), other_vocabulary())


def other_vocabulary() -> sg.Vocabulary:
    """With one token more."""
    return sg.Vocabulary([*TOKENS, b"bb", None], eos_ids=[len(TOKENS) + 1])


def test_a_loaded_constraint_parses_as_its_spec_does(tmp_path: Path) -> None:
    """A Python type is saved as a schema, and is a type again for whoever asks with it."""
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Point", x=(int, ...))
    spec = sg.JsonSchema(model.model_json_schema() | {"additionalProperties": False})
    for cache in (Cache(tmp_path), Cache(tmp_path)):
        assert cache.compile(model, VOCABULARY).spec.parse('{"x": 1}') == model(x=1)
        assert cache.compile(spec, VOCABULARY).spec.parse('{"x": 1}') == {"x": 1}


def test_specs_options_and_vocabularies_have_their_own_files(tmp_path: Path) -> None:
    """Nothing is mistaken for another."""
    cache = Cache(tmp_path, max_states=5)
    other = sg.Vocabulary([*TOKENS, None], eos_ids=[0])
    made = [
        cache.compile(SPEC, VOCABULARY),
        cache.compile(SPEC, other),
        cache.compile(sg.JsonSchema(SPEC.schema, whitespace="compact"), VOCABULARY),
        cache.compile(REGEX, VOCABULARY),
    ]
    assert len(cache) == len(made)
    assert cache.compile(SPEC, VOCABULARY) is made[0]


@pytest.mark.parametrize("damage", ["flip", "cut", "version", "empty", "folder"])
def test_what_is_damaged_is_made_anew(damage: str, tmp_path: Path, compiled: list[Any]) -> None:
    """A bad file costs its compilation, and is replaced where that can be."""
    cache = Cache(tmp_path, max_states=5)
    expected = first_row(cache.compile(REGEX, VOCABULARY))
    (path,) = tmp_path.glob("*.sgc")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1 if damage == "flip" else 0
    data[8] += damage == "version"
    path.write_bytes(bytes({"cut": data[:-1], "empty": b""}.get(damage, data)))
    if damage == "folder":
        path.unlink()
        path.mkdir()
    for count in (2, 3 if damage == "folder" else 2):
        found = Cache(tmp_path, max_states=5).compile(REGEX, VOCABULARY)
        np.testing.assert_array_equal(first_row(found), expected)
        assert len(compiled) == count


def test_the_files_used_last_are_kept(tmp_path: Path) -> None:
    """Past `max_bytes` the others go; what was just written stays, whatever its size."""
    cache = Cache(tmp_path, max_states=5)
    specs = [sg.Regex(f"{c}+") for c in "abcd"]
    paths = []
    for age, spec in enumerate(specs):
        cache.compile(spec, VOCABULARY)
        path = cache.path_of(artifact.key_of(spec, VOCABULARY))
        os.utime(path, (1000 + age, 1000 + age))
        paths.append(path)
    size = paths[0].stat().st_size
    assert cache.nbytes >= 4 * size - 512
    small = Cache(tmp_path, max_bytes=3 * size + 512, max_states=5)
    small.compile(specs[0], VOCABULARY)  # the oldest, but used now
    small.compile(sg.Regex("e+"), VOCABULARY)
    assert [path.exists() for path in paths] == [True, False, False, True]
    Cache(tmp_path, max_bytes=0).compile(sg.Regex("f+"), VOCABULARY)
    assert len(cache) == 1
    cache.clear()
    assert len(cache) == cache.nbytes == 0


def test_what_was_made_since_can_be_written_back(tmp_path: Path) -> None:
    """`store` keeps the masks of a server's day for the next one."""
    text = b'{"a": "xy'
    cache = Cache(tmp_path, max_states=0)
    constraint = cache.compile(SPEC, VOCABULARY)
    expected = first_row(constraint, text)
    before = cache.nbytes
    cache.store(constraint)
    assert cache.nbytes > before
    loaded = Cache(tmp_path).compile(SPEC, VOCABULARY)
    np.testing.assert_array_equal(first_row(loaded, text), expected)
    assert "_masks" not in vars(loaded)


def test_a_folder_that_cannot_be_written_still_serves(tmp_path: Path) -> None:
    """Constraints come out of it as if nothing were kept; only `store` says so."""
    file = tmp_path / "file"
    file.write_text("in the way")
    cache = Cache(file / "folder", max_states=5)
    constraint = cache.compile(REGEX, VOCABULARY)
    assert first_row(constraint).any()
    assert len(cache) == 0
    with pytest.raises(ArtifactError, match="cannot be written"):
        cache.store(constraint)


def test_threads_that_start_together_compile_once(tmp_path: Path, compiled: list[Any]) -> None:
    """The others wait for the one that has the lock."""
    caches = [Cache(tmp_path, max_states=20) for _ in range(4)]
    rows: list[np.ndarray] = []

    def work(cache: Cache) -> None:
        rows.append(first_row(cache.compile(SPEC, VOCABULARY), b'{"'))

    threads = [threading.Thread(target=work, args=(cache,)) for cache in caches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 4
    assert all((row == rows[0]).all() for row in rows)
    assert compiled == [SPEC]


PROCESS = """
import sys
import structgen as sg
from structgen.constraint import compiler
from structgen.constraint.cache import Cache
tokens = [bytes((b,)) for b in range(256)]
vocabulary = sg.Vocabulary([*tokens, None], eos_ids=[256])
compile_spec, made = compiler.compile, []
compiler.compile = lambda *args, **options: made.append(1) or compile_spec(*args, **options)
cache = Cache(sys.argv[1], max_bytes=int(sys.argv[2]), max_states=20)
for pattern in ["a+", "b{3}", "(ab)*", "a+", "b{3}"]:
    constraint = cache.compile(sg.Regex(pattern), vocabulary)
    after = constraint.advance_bytes(constraint.start, b"bbb")
    assert constraint.is_accepting(after) == (pattern == "b{3}")
    cache.store(constraint)
    del constraint
print(len(made))
"""


@pytest.mark.parametrize("max_bytes", [1 << 30, 1])
def test_processes_share_a_folder(max_bytes: int, tmp_path: Path) -> None:
    """All come out right, also where files are deleted under them; else each is made once."""
    command = [sys.executable, "-c", PROCESS, str(tmp_path), str(max_bytes)]
    root = Path(__file__).resolve().parents[2]
    running = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(root)}
        )
        for _ in range(3)
    ]
    made = [int(process.communicate(timeout=120)[0]) for process in running]
    assert all(process.returncode == 0 for process in running)
    assert sum(made) == 3 if max_bytes > 1 else sum(made) >= 3
    assert not [path for path in tmp_path.iterdir() if path.suffix not in (".sgc", "")]
