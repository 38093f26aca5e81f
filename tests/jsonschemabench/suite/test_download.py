"""The Test Suite is fetched whole or not at all, from a repository made here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from jsonschemabench.errors import BenchError
from jsonschemabench.suite import download
from jsonschemabench.suite.cases import Suite


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(download, "cache_dir", lambda: folder)
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A git repository with a suite of one file."""
    folder = tmp_path / "origin"
    commit(folder, "[]")
    return folder


def commit(folder: Path, contents: str) -> None:
    """One more revision of the repository, made in place where there is none."""
    file = folder / "tests" / "draft7" / "type.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(contents)
    author = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    for command in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "Change"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True, capture_output=True)


def test_a_fetched_suite_can_be_read_and_knows_its_revision(source: Path, cache: Path) -> None:
    """It lies in the cache directory, and nothing else does."""
    folder = download.download(source.as_uri())
    assert [f.id for f in Suite(folder).files()] == ["draft7/type"]
    assert len(download.revision(folder)) >= 7
    assert list(cache.iterdir()) == [folder]


def test_fetching_again_brings_what_is_new(source: Path) -> None:
    """The second call takes the changes since the first."""
    folder = download.download(source.as_uri())
    first = download.revision(folder)
    commit(source, "[ ]")
    assert download.download(source.as_uri()) == folder
    assert download.revision(folder) != first


def test_a_failed_fetch_is_one_clear_line_and_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    """As for a user without a network."""
    with pytest.raises(BenchError, match=r"git cannot fetch .*--dir") as caught:
        download.download((tmp_path / "nowhere").as_uri())
    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


def test_without_git_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """And names the way that needs none."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BenchError, match=r"git is not installed; .*--dir"):
        download.download()


def test_a_cache_that_cannot_be_written_is_one_clear_line(cache: Path) -> None:
    """A file is in the way."""
    cache.write_text("")
    with pytest.raises(BenchError, match="cannot be kept"):
        download.download()


def test_a_folder_that_git_did_not_fetch_has_no_revision(tmp_path: Path) -> None:
    """So none is claimed in the results."""
    assert download.revision(tmp_path) == ""
