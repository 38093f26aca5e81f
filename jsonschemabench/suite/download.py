"""Fetches the JSON Schema Test Suite with git into the cache directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from jsonschemabench.errors import BenchError
from jsonschemabench.suite.cases import SUITE
from structgen.util.cache_dir import cache_dir

SOURCE = "https://github.com/json-schema-org/JSON-Schema-Test-Suite.git"
PATIENCE = 300.0  # seconds; a clone of the newest revision takes a few


def suite_cache() -> Path:
    """Where the suite is kept once it has been fetched."""
    return cache_dir() / SUITE


def download(source: str = SOURCE) -> Path:
    """Fetch the newest revision of the suite, or the changes since the last time."""
    folder = suite_cache()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.is_dir():
            _git("-C", str(folder), "pull", "--quiet", "--ff-only")
            return folder
        # A clone that is interrupted leaves nothing behind that looks like a suite.
        with tempfile.TemporaryDirectory(dir=folder.parent) as part:
            clone = Path(part) / SUITE
            _git("clone", "--quiet", "--depth", "1", source, str(clone))
            clone.rename(folder)
    except OSError as error:
        raise BenchError(
            f"the Test Suite cannot be kept: {error.strerror}", location=str(folder.parent)
        ) from error
    return folder


def revision(folder: Path) -> str:
    """The commit of a suite that git fetched, "" of any other folder."""
    if not (folder / ".git").exists() or shutil.which("git") is None:
        return ""
    asked = ["git", "-C", str(folder), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _git(*arguments: str) -> None:
    if shutil.which("git") is None:
        raise BenchError("git is not installed", hint="install it, or name a copy with --dir")
    quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
            env=quiet,
        )
        problem = done.stderr.strip().splitlines()[-1:] if done.returncode else None
    except subprocess.TimeoutExpired:
        problem = [f"no answer within {PATIENCE:.0f} s"]
    if problem is not None:
        raise BenchError(
            f"git cannot fetch the Test Suite ({' '.join(problem) or 'it says no reason'})",
            hint="check the network, or name a copy with --dir or STRUCTGEN_DATA",
        )
