"""Find the directory for files that structgen can rebuild."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_dir() -> Path:
    """The directory for rebuildable files; it need not exist, and may not be writable.

    `STRUCTGEN_CACHE` names it outright; otherwise it is `structgen` inside `XDG_CACHE_HOME`, or
    inside the cache directory of the platform (`~/.cache`, `~/Library/Caches`, `%LOCALAPPDATA%`).
    """
    chosen = os.environ.get("STRUCTGEN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return _platform_cache() / "structgen"


def _platform_cache() -> Path:
    xdg = os.environ.get("XDG_CACHE_HOME")
    if xdg and os.path.isabs(xdg):  # the base directory specification ignores relative paths
        return Path(xdg)
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches"
    local = os.environ.get("LOCALAPPDATA")
    if sys.platform == "win32" and local:
        return Path(local)
    return _home() / ".cache"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # no HOME and no entry for the user: a directory that cannot be created
        return Path(os.devnull)
