"""A package's stub says which names it has, and they are imported when they are first asked for."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

STUB = """
from lazily.one import first as first, second
from lazily import two as two
from lazily.two import __version__ as __version__

another = second
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a package with the stub above, and two modules."""
    folder = tmp_path / "lazily"
    folder.mkdir()
    (folder / "__init__.pyi").write_text(STUB)
    (folder / "__init__.py").write_text(
        "from structgen.util.lazy import names_of_stub\n"
        "__getattr__, __dir__ = names_of_stub(__name__, __file__)\n"
    )
    (folder / "one.py").write_text("first, second = 0, 2\n")
    (folder / "two.py").write_text('__version__ = "1.0"\n')
    monkeypatch.syspath_prepend(tmp_path)
    return "lazily"


def test_names_are_those_of_the_stub(package: str) -> None:
    """Imported names, modules and other names for them; what the stub keeps to itself is not."""
    module = importlib.import_module(package)
    assert "lazily.one" not in sys.modules
    assert module.__all__ == ["another", "first", "two"]
    assert dir(module) == ["__version__", "another", "first", "two"]
    assert (module.first, module.another, module.__version__) == (0, 2, "1.0")
    assert module.two is sys.modules["lazily.two"]
    with pytest.raises(AttributeError, match="no attribute 'second'"):
        _ = module.second
