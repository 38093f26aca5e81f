"""How the package is built: as setuptools does it, with compiled kernels in a wheel (`setup.py`).

Only wheels need numba for that. An editable install and a source distribution compile nothing.
"""

from __future__ import annotations

import os
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]
WITH_KERNELS = "STRUCTGEN_WITH_KERNELS"  # in the environment of `setup.py`


def get_requires_for_build_wheel(settings: Any = None) -> list[str]:
    """What setuptools asks for, and what compiles kernels."""
    os.environ[WITH_KERNELS] = "1"
    return [*build_meta.get_requires_for_build_wheel(settings), "numba>=0.61", "numpy>=2.0"]


def prepare_metadata_for_build_wheel(folder: str, settings: Any = None) -> str:
    """See PEP 517."""
    os.environ[WITH_KERNELS] = "1"
    return build_meta.prepare_metadata_for_build_wheel(folder, settings)


def build_wheel(folder: str, settings: Any = None, metadata: str | None = None) -> str:
    """See PEP 517."""
    os.environ[WITH_KERNELS] = "1"
    return build_meta.build_wheel(folder, settings, metadata)
