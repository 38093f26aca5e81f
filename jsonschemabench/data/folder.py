"""Finds the folder with outside data: test suites, packs of cases, tokenizers."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "STRUCTGEN_DATA"


def data_folder(named: Path | None = None) -> Path | None:
    """The folder that is named, or that STRUCTGEN_DATA names, or `../shared/data` if it is there.

    `..` is the folder around the repository. None when nothing is named and that is not there.
    """
    if named is not None:
        return named
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    usual = Path(__file__).resolve().parents[3] / "shared" / "data"
    return usual if usual.is_dir() else None
