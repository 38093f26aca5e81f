"""Checks the warning of untested versions, and that every file states the same tested range."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

from structgen.errors import StructgenWarning, UntestedVersionWarning
from structgen.generation.generator import Generator
from structgen.util import versions
from structgen.util.versions import TESTED, release, warn_of_untested

REPOSITORY = Path(__file__).resolve().parents[2]


def pins(file: str) -> dict[str, str]:
    """Versions that a constraints file pins."""
    lines = (REPOSITORY / file).read_text(encoding="utf-8").splitlines()
    return dict(line.split("#")[0].strip().split("==") for line in lines if "==" in line)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What is said to be installed, to be changed; nothing was warned of yet."""
    found = {package: newest for package, (_, newest) in TESTED.items()}

    def version(package: str) -> str:
        if package not in found:
            raise importlib.metadata.PackageNotFoundError(package)
        return found[package]

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(versions, "_warned", set())
    return found


@pytest.mark.parametrize("version", ["99.0", "5.25.0.dev0", "6"])
def test_a_newer_series_is_warned_of_once_where_the_model_is_loaded(
    installed: dict[str, str], model: Any, tokenizer: Any, version: str
) -> None:
    """The warning names package, version and range as data; the model works all the same."""
    installed["transformers"] = version
    with pytest.warns(UntestedVersionWarning, match="transformers .* newer .* tested") as caught:
        generator = Generator(model, tokenizer)
    Generator(model, tokenizer)  # warnings are errors here
    (warning,) = caught
    assert warning.filename == __file__
    message = warning.message
    assert isinstance(message, UntestedVersionWarning)
    assert isinstance(message, StructgenWarning)
    assert (message.package, message.version) == ("transformers", version)
    assert (message.oldest, message.newest) == TESTED["transformers"]
    assert generator.generate("x", {"enum": [1, 2]}).value in {1, 2}


@pytest.mark.parametrize("version", ["5.24.9", "5.24.0.dev1", "5.24.0+cpu", "4.57.0", "unknown"])
def test_what_was_tested_is_not_warned_of(installed: dict[str, str], version: str) -> None:
    """Fixes of a tested series count as tested; what is not installed is no concern."""
    installed["transformers"] = version
    del installed["pydantic"]
    warn_of_untested()  # warnings are errors here


def test_the_warning_can_be_silenced(installed: dict[str, str]) -> None:
    """By its class, as its text says; two packages are two warnings."""
    installed |= {"torch": "99.1", "numpy": "77.0"}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=UntestedVersionWarning)
        warn_of_untested()
    assert said == []
    versions._warned.clear()
    with pytest.warns(UntestedVersionWarning) as caught:
        warn_of_untested()
    assert [str(warning.message).split()[0] for warning in caught] == ["torch", "numpy"]


def test_every_file_states_the_same_range() -> None:
    """Lower bounds of the package, pins of the tests and README agree with what warns."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = re.findall(r'"(\w+>=[\d.]+)"', (REPOSITORY / "setup.py").read_text(encoding="utf-8"))
    bounds = dict(
        line.split(">=")
        for line in (*needed, *extras["jit"], *extras["hf"], *extras["pydantic"])
        if ">=" in line
    )
    oldest, pinned = pins(".ci/oldest.txt"), pins("constraints.txt")
    readme = " ".join((REPOSITORY / "README.md").read_text(encoding="utf-8").split())
    for package, (first, last) in TESTED.items():
        assert release(bounds[package])[:2] == release(first)
        assert release(oldest[package])[:2] == release(first)
        assert release(first) <= release(pinned[package])[:2] <= release(last)
        assert re.search(rf"{package} {re.escape(first)} to {re.escape(last)}", readme)
