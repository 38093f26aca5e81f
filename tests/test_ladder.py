"""The packages form a ladder: each imports only what stands below it, and none import in circles.

Imports inside functions count, and so do those for type checkers alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

#: From the bottom up. A name with a dot stands apart from the package that it is in.
LADDER = (
    "errors",
    "version",
    "util",
    "kernels",
    "vocabulary",
    "regular",
    "automata",
    "masks",
    "spec",
    "schema",
    "grammar",
    "constraint",
    "compose",
    "demo",
    "generation",
    "",  # `structgen/__init__.py`: the public names, imported when first used
    "demo.training",
    "integrations",
    "server",
    "cli",
    "__main__",
)
MOST_MODULES = 16  # in one folder; a dozen is usual


def module_of(path: Path) -> str:
    """The name of a module, without `structgen.` in front."""
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    parts = parts[1:] if parts[0] == "structgen" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> Mapping[str, Path]:
    """The shipped modules and their files."""
    found = [*(REPOSITORY / "kernels").rglob("*.py")]
    for entry in (REPOSITORY / "structgen").iterdir():
        if not entry.is_symlink():
            found += entry.rglob("*.py") if entry.is_dir() else [entry][: entry.suffix == ".py"]
    return {module_of(path): path for path in sorted(found)}


def typing_only(tree: ast.AST) -> set[ast.AST]:
    """The nodes of a module that only type checkers look at."""
    return {
        inside
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inside in ast.walk(node)
    }


def imported(node: ast.AST) -> Iterator[str]:
    """The shipped modules that a node imports."""
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        home = node.module or ""
        if home.partition(".")[0] == "structgen":
            for alias in node.names:
                full = f"{home}.{alias.name}".partition(".")[2]
                yield full if full in modules() else home.partition(".")[2]
    elif isinstance(node, ast.Import):
        for alias in node.names:
            root, _, name = alias.name.partition(".")
            if root == "structgen" and name in modules():
                yield name


@cache
def all_imports() -> tuple[Mapping[str, frozenset[str]], Mapping[str, frozenset[str]]]:
    """What each module imports when it runs, and what it imports for type checkers, too."""
    running, typing = {}, {}
    for name, path in modules().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        left_out = typing_only(tree)
        found = [(node, other) for node in ast.walk(tree) for other in imported(node)]
        own = {(node, other) for node, other in found if other in modules() and other != name}
        typing[name] = frozenset(other for _, other in own)
        running[name] = frozenset(other for node, other in own if node not in left_out)
    return running, typing


def imports(*, typing: bool) -> Mapping[str, frozenset[str]]:
    """What each module imports; typing: also for type checkers alone."""
    return all_imports()[typing]


def rung(module: str) -> int:
    """How high a module stands."""
    named = [step for step in LADDER if module == step or (module.startswith(f"{step}.") and step)]
    return LADDER.index(max(named, key=len))


def circles(graph: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """The sets of modules that import each other in circles (R. Tarjan, 1972)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_modules: list[str] = []
    found = []

    def visit(module: str) -> None:
        numbers[module] = lowest[module] = len(numbers)
        open_modules.append(module)
        for other in sorted(graph[module]):
            if other not in numbers:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in open_modules:
                lowest[module] = min(lowest[module], numbers[other])
        if lowest[module] == numbers[module]:
            start = open_modules.index(module)
            if len(open_modules) - start > 1:
                found.append(sorted(open_modules[start:]))
            del open_modules[start:]

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        for module in graph:
            if module not in numbers:
                visit(module)
    finally:
        sys.setrecursionlimit(limit)
    return found


def test_every_module_has_a_rung() -> None:
    """A new package is put into LADDER on purpose."""
    for module in modules():
        assert rung(module) >= 0
    assert {"errors", "kernels.tables", "cli.main", ""} <= modules().keys()


def test_packages_import_only_what_stands_below() -> None:
    """No import leads up the ladder, not even inside a function."""
    upward = [
        f"{module} imports {other}"
        for module, others in imports(typing=False).items()
        for other in sorted(others)
        if rung(other) > rung(module)
    ]
    assert upward == []


def test_no_modules_import_in_circles() -> None:
    """Not even by imports inside functions, or for type checkers."""
    assert circles(imports(typing=True)) == []


def test_imports_for_types_lead_down_too() -> None:
    """What only type checkers import stands below as well."""
    upward = [
        f"{module} imports {other}"
        for module, others in imports(typing=True).items()
        for other in sorted(others)
        if rung(other) > rung(module) and module != ""
    ]
    assert upward == []


def test_a_circle_is_found() -> None:
    """Circles of two and of three modules, and none where there is none."""
    graph = {"a": "b", "b": "ca", "c": "", "d": "ef", "e": "f", "f": "d"}
    sets = {module: frozenset(others) for module, others in graph.items()}
    assert circles(sets) == [["a", "b"], ["d", "e", "f"]]
    assert circles({"a": frozenset("b"), "b": frozenset()}) == []


@pytest.mark.parametrize("folder", ["structgen", "kernels"])
def test_folders_hold_few_modules(folder: str) -> None:
    """The list of a folder's modules can be read at a glance."""
    counts: dict[str, int] = {}
    for path in modules().values():
        parent = str(path.parent.relative_to(REPOSITORY))
        counts[parent] = counts.get(parent, 0) + (path.name != "__init__.py")
    crowded = {p: n for p, n in counts.items() if p.startswith(folder) and n > MOST_MODULES}
    assert crowded == {}
