"""Public functions, classes and methods take the parameters that they took.

They are written down in `names.json`; `python -m tests.guards.write names` does so anew.
"""

from __future__ import annotations

import pytest

from tests.guards import names


def test_public_names_take_what_they_took() -> None:
    """Names, parameters in their order, and plain defaults are those that are written down."""
    pytest.importorskip("torch", reason="some names are for models")
    kept = names.kept()
    found = names.different(kept, names.public(kept))
    if found:
        shown = "\n".join(found)
        pytest.fail(
            f"public names differ; `python -m tests.guards.write names` if this is meant\n{shown}",
            pytrace=False,
        )
