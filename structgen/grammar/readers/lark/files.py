"""Finds the files that a Lark grammar imports, and keeps their texts so that a copy needs no files.

Lark asks for files by the folder of the importing grammar and a path. The folders it sees here are
names, not places on this machine: "" is the folder of the grammar itself, so a grammar that was
stored with the texts of its imports finds them again anywhere.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from structgen.errors import SpecError

MAIN = "grammar.lark"
_LIBRARY = "lark"
_PATH = "import path "


class Files:
    """Finds imported grammars: in import paths, beside the importing file, in Lark's library.

    folder: of the grammar itself, None when it comes from no file. stored: texts by name, if they
    were kept from an earlier time; nothing else is read then. texts: what has been read, by name.
    last: the name of the one that was read last.
    """

    def __init__(
        self,
        folder: Path | None = None,
        import_paths: Sequence[str] = (),
        stored: Mapping[str, str] | None = None,
    ) -> None:
        self.texts: dict[str, str] = {}
        self.last = MAIN
        self._stored = stored
        self._folders = {f"{_PATH}{i}": Path(path) for i, path in enumerate(import_paths)}
        self._beside = folder

    def load(self, base: str | None, path: str) -> tuple[str, str]:
        """The name and text of an imported grammar, as Lark wants it of an import source."""
        for name in self._names(base, path.replace("\\", "/")):
            text = self._read(name)
            if text is not None:
                self.texts[name] = text
                self.last = name
                return name, text
        raise SpecError(
            f"the imported grammar {path!r} is not found",
            expected="a file in import_paths, beside the grammar, or in Lark's library",
            hint="%import .name looks beside the grammar, %import name in import_paths",
        )

    def _names(self, base: str | None, path: str) -> list[str]:
        """The names under which a path is looked for, in order."""
        folders = list(self._folders)
        if self._stored is not None:
            roots = {name.partition("/")[0] for name in self._stored}
            folders = sorted(root for root in roots if root.startswith(_PATH))
        names = [f"{folder}/{path}" for folder in folders]
        if base is not None:
            names.append(f"{base}/{path}" if base else path)
        return [*names, f"{_LIBRARY}/{path}"]

    def _read(self, name: str) -> str | None:
        if self._stored is not None:
            return self._stored.get(name)
        folder, _, path = name.partition("/")
        if folder == _LIBRARY:
            return _of_library(path)
        if folder in self._folders:
            found = self._folders[folder] / path
        elif self._beside is not None:
            found = self._beside / name
        else:
            return None
        try:
            return found.read_text(encoding="utf-8")
        except OSError:
            return None
        except UnicodeDecodeError as error:
            raise SpecError(f"the imported grammar {name!r} is not UTF-8") from error


@lru_cache(maxsize=64)
def _of_library(path: str) -> str | None:
    """The text of a grammar that Lark ships."""
    try:
        data = pkgutil.get_data(_LIBRARY, f"grammars/{path}")
    except OSError:
        return None
    return None if data is None else data.decode()
