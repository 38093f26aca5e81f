"""The library of kernels is found, or made once; its functions take what they should."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structgen.kernels.build import compilation, kept, library, opening
from structgen.kernels.build.language import LIBRARY
from structgen.kernels.build.loader import kernels
from structgen.util.cache_dir import cache_dir

needs_library = pytest.mark.skipif(LIBRARY is None, reason="kernels are not taken from a library")
# opens a library, which takes a moment to make, and writes down who made it
OPENING = """
import shutil, sys, time; from pathlib import Path
from structgen.kernels.build import compilation, opening
def compile_all(path, level, kept):
    with open(sys.argv[2], "a") as log: print(level, file=log)
    time.sleep(0.2); shutil.copyfile(sys.argv[1], path); return path
compilation.compile_all = compile_all
print(opening.open_library().address("structgen.kernels.tables.lookup") > 0)
"""
FIRST_MASK = """
import sys; import numpy as np; import structgen as sg
vocabulary = sg.Vocabulary([bytes([i]) for i in range(256)] + [b"<end>"], eos_ids=[256])
for spec in ({"type": "object"}, sg.Regex("[a-z]+"), sg.Lark('start: "a" start "b" | "c"')):
    constraint = sg.compile(spec, vocabulary)
    row = np.zeros(vocabulary.words, np.int32)
    constraint.fill_mask(constraint.start, row)
    assert row.any()
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""


def python(code: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    """A process that runs some code."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def path_of_library() -> Path:
    """The file that this process has opened."""
    name = f"{library.levels()[0]}-{library.digest()}{library.ENDING}"
    path = cache_dir() / "kernels" / name
    return path if path.exists() else path.with_name(name + library.OBJECTS)


@needs_library
def test_no_mask_needs_numba() -> None:
    """Of a schema, a pattern or a grammar."""
    said, wrong = python(FIRST_MASK).communicate()
    assert said == "[]\n", wrong


@needs_library
def test_processes_that_start_at_once_make_one_library(tmp_path: Path) -> None:
    """One makes it, the others wait for it, and those that come later find it."""
    if path_of_library().suffix == library.OBJECTS:
        pytest.skip("nothing here can link")
    log = tmp_path / "log"
    given = OPENING, path_of_library(), log
    running = [python(*given, STRUCTGEN_CACHE=str(tmp_path)) for _ in range(3)]
    assert {process.communicate()[0] for process in running} == {"True\n"}
    assert python(*given, STRUCTGEN_CACHE=str(tmp_path)).communicate()[0] == "True\n"
    assert log.read_text().splitlines() == [library.levels()[0]]


@needs_library
def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """Each process then makes a library for itself, and leaves nothing."""
    if path_of_library().suffix == library.OBJECTS:
        pytest.skip("nothing here can link")
    given = OPENING, path_of_library(), tmp_path / "log"
    found = [python(*given, STRUCTGEN_CACHE="/dev/null/none").communicate()[0] for _ in range(2)]
    assert found == ["True\n", "True\n"]
    assert len((tmp_path / "log").read_text().splitlines()) == 2


@pytest.mark.parametrize("how", ["NUMBA_DISABLE_JIT", "STRUCTGEN_KERNELS"])
def test_kernels_may_be_had_in_other_ways(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As plain Python, or compiled in the process: without a library."""
    monkeypatch.setenv(how, "1")
    assert opening.open_library() is None


def test_without_numba_nothing_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has no library that fits is told what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ImportError, match="pip install numba"):
        compilation.compile_all(tmp_path / "library", "")


V2 = frozenset(library._NEEDED["x86-64-v2"])
V3 = V2 | library._NEEDED["x86-64-v3"]


@pytest.mark.parametrize(
    ("machine", "flags", "wanted"),
    [
        ("x86_64", V3, ("x86-64-v3", "x86-64-v2")),
        ("x86_64", V3 - {"avx2"}, ("x86-64-v2",)),
        ("x86_64", V3 - {"popcnt"}, ("",)),
        ("x86_64", frozenset(), ("x86-64-v2",)),
        ("aarch64", frozenset(), ("generic",)),
        ("riscv64", frozenset(), ("",)),
    ],
)
def test_a_processor_gets_what_it_can_run(
    machine: str, flags: frozenset[str], wanted: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best level first; where nothing is known of it, a lower one, or itself."""
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(library, "_flags", lambda: {*flags})
    assert library.levels() == wanted


def test_the_newest_libraries_are_kept(tmp_path: Path) -> None:
    """Those of sources as they were go, the oldest first."""
    for i in range(opening.KEPT + 3):
        path = tmp_path / f"{i}{library.ENDING}"
        path.touch()
        os.utime(path, (i, i))
    opening._prune(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{i}{library.ENDING}" for i in range(3, opening.KEPT + 3)
    }


def test_every_source_of_kernels_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change makes another digest; one of what only runs on a GPU, or opens libraries, not."""
    for name in ("trie/scan.py", "tables.py", "gpu/rows.py", "build/library.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(library, "SOURCES", tmp_path)
    found = [library.digest()]
    for name in ("trie/scan.py", "tables.py", "gpu/rows.py", "build/library.py"):
        (tmp_path / name).write_text("changed")
        found.append(library.digest())
    assert [one != other for one, other in pairwise(found)] == [
        True, True, False, False
    ]  # fmt: skip


def test_modules_stand_behind_what_they_need() -> None:
    """All that have kernels, in an order in which they can be compiled."""
    names = compilation.module_names()
    found = kept.needs(names)
    assert sorted(found) == names
    order = list(found)
    for name, others in found.items():
        assert all(order.index(other) < order.index(name) for other in others)


# -- what functions of a library take --------------------------------------------------------------


def table() -> Any:
    """A hash table of the kernels that has 7 under 5."""
    found = np.full((4, 2), -1, np.int64)
    kernels("tables").insert(found, 5, 7)
    return found


@pytest.mark.parametrize("key", [5, np.int64(5), np.int32(5), np.uint8(5)])
def test_whatever_is_like_an_int_is_one(key: Any) -> None:
    """Of Python or numpy."""
    assert kernels("tables").lookup(table(), key) == 7


@needs_library
@pytest.mark.parametrize("key", ["5", None, 1 << 63, -(1 << 63) - 1])
def test_what_is_no_int_of_64_bits_is_refused(key: Any) -> None:
    """With Python's own error."""
    with pytest.raises((TypeError, ValueError, OverflowError)):
        kernels("tables").lookup(table(), key)


def test_ints_may_be_as_small_or_as_large_as_they_can() -> None:
    """-1 and the ends of the range are ints like others."""
    for key in (-2, -(1 << 63), (1 << 63) - 1):
        found = table()
        kernels("tables").insert(found, key, -1)
        assert kernels("tables").lookup(found, key) == -1


class Derived(np.ndarray[Any, Any]):
    """A class of arrays, such as numpy's memory maps."""


def test_derived_arrays_are_arrays() -> None:
    """They lie in memory as others do."""
    assert kernels("tables").lookup(table().view(Derived), 5) == 7


@needs_library
@pytest.mark.parametrize(
    "given",
    [
        np.zeros((4, 2), np.int32),
        np.zeros((4, 2), np.uint64),
        np.zeros((4, 2), np.float64),
        np.zeros((4, 2), ">i8"),
        np.zeros(8, np.int64),
        np.zeros((4, 2, 1), np.int64),
        np.zeros((4, 4), np.int64)[:, ::2],
        np.zeros((2, 4), np.int64).T,
        np.zeros(65, np.uint8)[1:].view(np.int64).reshape(4, 2),
        np.broadcast_to(np.int64(0), (4, 2)),
        [[0, 0]],
        None,
    ],
    ids=lambda value: f"{getattr(value, 'dtype', value)}{getattr(value, 'shape', '')}",
)
def test_another_array_is_refused(given: Any) -> None:
    """One that is laid out in another way is never read as if it were not."""
    with pytest.raises(TypeError, match="array"):
        kernels("tables").lookup(given, 5)


@needs_library
def test_what_is_written_to_must_be_writable() -> None:
    """And what is only read need not be."""
    fixed = np.zeros(4, np.int32)
    fixed.flags.writeable = False
    edits = np.array([1, 5], np.int32)
    edits.flags.writeable = False
    apply = kernels("masks.row_edits").apply
    with pytest.raises(TypeError, match="array"):
        apply(fixed, edits)
    row = np.zeros(4, np.int32)
    apply(row, edits)
    assert row.tolist() == [0, 5, 0, 0]


@needs_library
@pytest.mark.parametrize("given", [(), (1,), (1, 2, 3, 4)])
def test_the_number_of_arguments_is_looked_at(given: tuple[int, ...]) -> None:
    """Fewer or more are an error."""
    with pytest.raises(TypeError, match="number of arguments"):
        kernels("tables").lookup(*given)


@needs_library
def test_tuples_are_looked_at() -> None:
    """A tuple that is too short, or no tuple, is refused where tables are wanted."""
    for given in ((), "tables", (np.zeros(1, np.int32),), 1.5):
        with pytest.raises((TypeError, IndexError, SystemError)):
            kernels("lexer.rows").fill_row(given, 0)


@needs_library
def test_kernels_say_what_they_do() -> None:
    """A compiled kernel has the name, the module and the words of its source."""
    lookup = kernels("tables").lookup
    assert (lookup.__name__, lookup.__module__) == ("lookup", "structgen.kernels.tables")
    assert lookup.__doc__.startswith("Value of `key` in a hash table")


# -- making one ------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("can_link", [True, False])
def test_a_library_is_made(can_link: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a linker, or of object files that LLVM links when they are opened."""
    if not can_link:
        monkeypatch.setattr(compilation, "LINKERS", ())
    path = tmp_path / f"some{library.ENDING}"
    made = compilation.compile_all(path, library.levels()[-1], ["tables"])
    assert made.name == path.name + ("" if can_link else library.OBJECTS)
    code = (
        "import sys; from pathlib import Path; import numpy as np\n"
        "from structgen.kernels.build import library\n"
        "made = library.Library(Path(sys.argv[1]))\n"
        "def lookup(table, key): '''Find.'''\n"
        "def insert(table, key, value): '''Add.'''\n"
        "lookup.__module__ = insert.__module__ = 'structgen.kernels.tables'\n"
        "table = np.full((4, 2), -1, np.int64)\n"
        "made.function(insert)(table, 1, 9)\n"
        "print(made.function(lookup)(table, 1), made.address(library.name_of(lookup)) > 0)"
    )
    said, wrong = python(code, made).communicate()
    assert said == "9 True\n", wrong
    assert [path.name for path in tmp_path.iterdir()] == [made.name]


def test_what_cannot_be_compiled_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what the process has said that failed."""
    (tmp_path / "numba.py").write_text("raise ImportError('numba is broken here')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RuntimeError, match="numba is broken here"):
        compilation.compile_all(tmp_path / "library", "", ["tables"])


def test_a_module_is_compiled_again_where_something_it_needs_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And every one where it changes how they are compiled."""
    line = "from structgen.kernels.{} import x\n"
    sources = {
        "a.py": "", "b/c.py": line.format("a"), "b/d.py": line.format("b.c"), "e.py": "",
        "build/wrappers.py": "", "build/opening.py": "", "gpu/rows.py": "",
    }  # fmt: skip
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for module in (library, kept):
        monkeypatch.setattr(module, "SOURCES", tmp_path)
    names = ["b.d", "a", "e", "b.c"]
    before, changed = kept.digests(names, "level"), dict[str, set[str]]()
    assert len({*before.values()}) == len(names)
    assert not {*before.values()} & {*kept.digests(names, "other").values()}
    for name, text in sources.items():
        (tmp_path / name).write_text(text + "# changed\n")
        after = kept.digests(names, "level")
        changed[name] = {each for each in names if after[each] != before[each]}
        (tmp_path / name).write_text(text)
    assert changed == {
        "a.py": {"a", "b.c", "b.d"}, "b/c.py": {"b.c", "b.d"}, "b/d.py": {"b.d"}, "e.py": {"e"},
        "build/wrappers.py": {*names}, "build/opening.py": set(), "gpu/rows.py": set(),
    }  # fmt: skip


def test_what_a_module_needs_is_what_it_imports() -> None:
    """Python's own reader of sources finds the same kernel modules."""
    names = compilation.module_names()
    for name, found in kept.needs(names).items():
        tree = ast.parse(kept.source_of(name).read_text("utf-8"))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom | ast.Import)]
        imported = set[str]()
        for node in nodes:
            inside = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                inside = [node.module or "", *(f"{node.module}.{each}" for each in inside)]
            imported |= {each.removeprefix("structgen.kernels.") for each in inside}
        assert imported & {*names} == {*found}, name


@pytest.mark.thorough
def test_what_was_compiled_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another library takes the object files; what is not there is made from what numba kept."""
    asked, workers = [], compilation._workers

    def noted(*given: Any) -> Any:
        asked.append(given[-1])
        return workers(*given)

    monkeypatch.setattr(compilation, "_workers", noted)
    objects, names = tmp_path / "modules", ["tables", "trie.nodes", "trie.scan"]
    made = [
        compilation.compile_all(tmp_path / each, library.levels()[-1], names, objects)
        for each in ("one", "two")
    ]
    (scan,) = objects.glob("trie.scan-*")
    shutil.rmtree(scan)
    made.append(compilation.compile_all(tmp_path / "six", library.levels()[-1], names, objects))
    assert asked == [3, 0, 1]
    assert made[0].read_bytes() == made[1].read_bytes()
    assert all(
        library.Library(each).address("structgen.kernels.trie.scan.walk_scan") for each in made
    )


def test_a_folder_is_there_as_a_whole(tmp_path: Path) -> None:
    """Whoever is quicker makes it; a remainder goes, and what was broken off leaves nothing."""
    place = tmp_path / "some"
    place.mkdir()
    (place / "remainder").touch()
    for text in ("first", "second"):
        with kept.begun(place) as folder:
            (folder / kept.OBJECT).write_text(text)
            assert folder != place
        assert [path.name for path in tmp_path.iterdir()] == ["some"]
        assert [path.name for path in place.iterdir()] == [kept.OBJECT]
        assert (place / kept.OBJECT).read_text() == "first"
    with pytest.raises(KeyboardInterrupt), kept.begun(tmp_path / "other"):
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["some"]


def test_folders_that_nobody_uses_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest first, and none that somebody may be at."""
    monkeypatch.setattr(kept, "KEPT", 3)
    now = time.time()
    for i in range(8):
        (tmp_path / f"{i}").mkdir()
        os.utime(tmp_path / f"{i}", (now, now - (0 if i == 1 else 2 * kept.FRESH) + i))
    kept.prune(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"1", "6", "7"}


@pytest.mark.slow
def test_kernels_compiled_just_now_give_the_same_rows() -> None:
    """Those of the specs, drawn at random and by hand, that a library is compared with as well."""
    command = [sys.executable, "-m", "pytest", "tests/guards/test_golden_masks.py", "-q", "-x"]
    done = subprocess.run(
        [*command, "-k", "drawn or by_hand", "-p", "no:cacheprovider"],
        env=os.environ | {library.HOW: library.JIT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
