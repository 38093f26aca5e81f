"""The rules of the house that can be checked on the source files.

Short functions with few parameters, a docstring on top of each module, kernels reached only as
`structgen.kernels`, and an import that is light and changes nothing for others.
"""

from __future__ import annotations

import ast
import importlib.metadata
import io
import json
import subprocess
import sys
import token
import tokenize
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import structgen

REPOSITORY = Path(__file__).resolve().parent.parent
MAX_LINES = 60
MAX_PARAMETERS = 9

PUBLIC_NAMES = [
    "DEAD",
    "FINAL",
    "Cache",
    "Choice",
    "Constraint",
    "CustomGenerate",
    "Ebnf",
    "FreeText",
    "Gbnf",
    "Generator",
    "Grammar",
    "Indentation",
    "JsonSchema",
    "Lark",
    "LogitsProcessor",
    "Regex",
    "Tag",
    "Tags",
    "Vocabulary",
    "all_of",
    "alt",
    "any_of",
    "ask",
    "ask_async",
    "assert_enforced",
    "check",
    "compile",
    "errors",
    "export_gbnf",
    "export_schema",
    "fill_masks",
    "filters",
    "generate",
    "json_schema",
    "literal",
    "load",
    "many",
    "optional",
    "penalties",
    "ref",
    "regex",
    "rule",
    "sample",
    "separated",
    "seq",
    "sequence",
    "shipped",
    "some",
    "speculate",
    "support",
    "tools",
]

# What `import structgen` must leave alone; it may use numpy and numba, nothing heavier.
HEAVY = [
    "torch",
    "transformers",
    "tokenizers",
    "tiktoken",
    "sentencepiece",
    "lark",
    "interegular",
    "jsonschema",
    "referencing",
    "pydantic",
    "triton",
    "jedi",
    "fastapi",
    "uvicorn",
    "prometheus_client",
]

IMPORT_PROBE = """
import json, random, sys, warnings
import numpy
def snapshot():
    return {
        "recursion limit": sys.getrecursionlimit(),
        "integer digits": sys.get_int_max_str_digits(),
        "warning filters": repr(warnings.filters),
        "excepthook": repr(sys.excepthook),
        "random": repr(random.getstate()),
        "numpy random": repr(numpy.random.get_state()),
        "numpy errors": repr(numpy.geterr()),
        "print options": repr(numpy.get_printoptions()),
    }
try:
    import numba  # numba is allowed, and what it does to warnings is its own affair
except ImportError:
    pass
before = snapshot()
import structgen
after = snapshot()
json.dump({
    "changed": [key for key in before if before[key] != after[key]],
    "modules": sorted(sys.modules),
    "top level": [name for name in sys.modules if name in ("kernels", "grammars")],
}, sys.stdout)
"""


def sources(*folders: str) -> list[Path]:
    """Python files of the folders, links not followed, so that each file comes once."""
    found = [path for folder in folders for path in sorted((REPOSITORY / folder).rglob("*.py"))]
    return [path for path in found if not path.is_relative_to(REPOSITORY / "structgen" / "kernels")]


def name_of(path: Path) -> str:
    """The path as messages show it."""
    return str(path.relative_to(REPOSITORY))


class Function(NamedTuple):
    """A function or method: its lines, those of its docstring, and how many parameters it takes."""

    name: str
    lines: range
    docstring: range
    parameters: int


class Source(NamedTuple):
    """What the rules ask of a file. imported: the packages at the root of its imports."""

    docstring: str
    functions: list[Function]
    imported: set[str]


@cache
def source(path: Path) -> Source:
    """A file, parsed once; its syntax tree is not kept, since there are a thousand."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions: list[Function] = []
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(function_of(node))
        elif isinstance(node, ast.Import):
            imported.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            imported.add((node.module or "").partition(".")[0])
    return Source(ast.get_docstring(tree, clean=False) or "", functions, imported)


def function_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    """What the rules ask of a function."""
    first, given = node.body[0], node.args
    has_docstring = ast.get_docstring(node) is not None
    return Function(
        node.name,
        range(node.lineno, (node.end_lineno or node.lineno) + 1),
        range(first.lineno, (first.end_lineno or 0) + 1 if has_docstring else first.lineno),
        len(given.posonlyargs + given.args + given.kwonlyargs),
    )


def code_lines(path: Path) -> set[int]:
    """The lines of a file that hold code: no comments, no docstrings, not blank."""
    text = path.read_text(encoding="utf-8")
    skipped = {token.NL, token.NEWLINE, token.COMMENT, token.INDENT, token.DEDENT}
    found: set[int] = set()
    for item in tokenize.generate_tokens(io.StringIO(text).readline):
        if item.type not in skipped:
            found.update(range(item.start[0], item.end[0] + 1))
    return found.difference(*(function.docstring for function in source(path).functions))


SHIPPED = sources("structgen", "kernels")
EVERYTHING = sources("structgen", "kernels", "tests", "jsonschemabench")


def test_there_are_sources_to_check() -> None:
    """The folders are found, so the rules below are not kept by an empty list."""
    assert REPOSITORY / "structgen" / "errors.py" in SHIPPED
    assert any(path.is_relative_to(REPOSITORY / "kernels") for path in SHIPPED)


def test_functions_are_short_and_take_few_parameters() -> None:
    """No shipped function has more than 60 lines of code or takes more than 9 parameters."""
    found = []
    for path in SHIPPED:
        functions = source(path).functions
        long = [function for function in functions if len(function.lines) > MAX_LINES]
        code = code_lines(path) if long else set()
        found += [
            f"{name_of(path)}: {function.name} has {count} lines of code"
            for function in long
            if (count := len(code.intersection(function.lines))) > MAX_LINES
        ]
        found += [
            f"{name_of(path)}: {function.name} takes {function.parameters} parameters"
            for function in functions
            if function.parameters > MAX_PARAMETERS
        ]
    assert found == []


def test_a_module_says_on_top_what_it_is() -> None:
    """Each has a docstring whose first line is a sentence, not "In: ... Out: ..."."""
    firsts = {
        name_of(path): source(path).docstring.partition("\n")[0]
        for path in [*EVERYTHING, *sources("notebooks")]
    }
    silent = [name for name, first in firsts.items() if not first.strip() or first[:3] == "In:"]
    assert silent == []


def test_kernels_and_grammars_are_reached_through_structgen() -> None:
    """Nothing imports the folders at the top by their own names, which belong to other packages."""
    found = [
        f"{name_of(path)}: {root}"
        for path in EVERYTHING
        for root in source(path).imported & {"kernels", "grammars"}
    ]
    assert found == []


def test_the_links_lead_to_the_folders_at_the_top() -> None:
    """`structgen.kernels` and `structgen.grammars` are those folders, without `__init__.py`."""
    for name in ("kernels", "grammars"):
        link = REPOSITORY / "structgen" / name
        assert link.resolve() == (REPOSITORY / name).resolve()
        assert not (link / "__init__.py").exists()


def test_only_structgen_is_installed() -> None:
    """The installed distribution owns one top-level name, so it cannot collide with another."""
    try:
        distribution = importlib.metadata.distribution("structgen")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("structgen is not installed here, only on the path")
    assert (distribution.read_text("top_level.txt") or "").split() == ["structgen"]
    assert distribution.version == structgen.__version__


@pytest.fixture(scope="module")
def fresh_import() -> dict[str, list[str]]:
    """What a new interpreter looks like after `import structgen`."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_PROBE],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, list[str]] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize("heavy", HEAVY)
def test_importing_structgen_does_not_import(
    heavy: str, fresh_import: dict[str, list[str]]
) -> None:
    """Libraries that only some uses need are imported by those uses."""
    assert heavy not in fresh_import["modules"]


def test_importing_structgen_compiles_nothing(fresh_import: dict[str, list[str]]) -> None:
    """Kernel modules compile when they are imported, so the first import leaves them alone."""
    kernels = [name for name in fresh_import["modules"] if name.startswith("structgen.kernels.")]
    assert kernels == []


def test_importing_structgen_changes_nothing_for_others(
    fresh_import: dict[str, list[str]],
) -> None:
    """Recursion limit, warning filters, random state and the like are as before."""
    assert fresh_import["changed"] == []
    assert fresh_import["top level"] == []


def test_the_public_names_are_these() -> None:
    """`structgen.__all__` is what is promised: a new or lost name is a decision made here."""
    package: Any = structgen  # its stub does not spell `__all__` out
    assert sorted(package.__all__) == sorted(PUBLIC_NAMES)
    assert all(hasattr(structgen, name) for name in package.__all__)
