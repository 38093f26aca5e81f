"""README.md, CONTRIBUTING.md and docs/ name only what is there."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

import structgen

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / name / "README.md" for name in ("grammars", "jsonschemabench")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
FOLDERS = "structgen|kernels|grammars|tests|docs|jsonschemabench|notebooks"


def name_of(page: Path) -> str:
    """The path as a test id."""
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link is that of a file or folder, and of a heading in it."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        if not found.exists() or (heading and heading not in anchors(found)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_and_modules_exist(page: Path) -> None:
    """Every path in backticks exists, and so does every dotted name that begins with structgen."""
    text = page.read_text(encoding="utf-8")
    paths = re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", text)
    missing = [path for path in paths if not (ROOT / path).exists()]
    dotted = set(re.findall(r"\bstructgen(?:\.[A-Za-z_]\w*)+", text))
    assert missing + sorted(name for name in dotted if not resolves(name)) == []


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one. Kernels are not imported."""
    parts = name.split(".")
    if parts[-1] in {"egg", "sgc"}:  # a file name
        return True
    for size in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:size])
        if not (path.is_dir() or path.with_suffix(".py").exists()):
            continue
        if size == len(parts):
            return True
        found: object = importlib.import_module(".".join(parts[:size]))
        for part in parts[size:]:
            found = getattr(found, part, None)
        return found is not None
    return False


def test_every_public_name_is_described() -> None:
    """The reference has each name of `structgen.__all__`, and no other."""
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    package: Any = structgen
    described = set(re.findall(r"^\| `sg\.(\w+)", text, re.MULTILINE))
    assert sorted(described) == sorted(package.__all__)
