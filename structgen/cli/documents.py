"""A schema from a file or a part of one, and the other files that its references lead to.

Only files that the user names are read: the one with the schema, and those of `--documents`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from structgen.cli.reading import STDIN, YAML_ENDINGS, bad, broken, is_inline, read_json, shown
from structgen.errors import StructgenError
from structgen.schema.references.documents import uris_in
from structgen.schema.references.vocabularies import stated_draft
from structgen.schema.values import dumps

if TYPE_CHECKING:
    from referencing import Registry

ENDINGS = (".json", *YAML_ENDINGS)


Files = dict[str, Path]  # by the names that references have for them


def read_schema(source: str, given: list[str]) -> tuple[Any, Registry[Any] | None]:
    """The schema that SPEC names, and the documents that its references lead to.

    source: a file, `-`, JSON text, or `FILE#/pointer` for a part of a file. given: files and
    folders. A document of a folder is known by its path in it (`types/id.json`), another one by
    the name of its file; and each by its own `$id`.
    """
    files: Files = {name: path for each in given for name, path in _named(each)}
    path, mark, fragment = source.partition("#")
    if mark and not is_inline(source) and not _is_file(source) and _is_file(path):
        name = _name_of(path, files) or quote(Path(path).name)
        files[name] = Path(path)
        schema: Any = {"$ref": f"{name}#{fragment}"}
        return schema, _registry_of(_documents(schema, files))
    schema = read_json(source, "schema")
    if not isinstance(schema, dict | bool):
        broken(f"the schema is {_kind(schema)}", shown(source), "an object, true or false")
    own = None if source == STDIN or is_inline(source) else _name_of(source, files)
    if own is not None and "/" in own and isinstance(schema, dict):
        keyword = "id" if stated_draft(schema) <= 4 else "$id"
        schema = {keyword: own, **schema}  # what its references are relative to
    return schema, _registry_of(_documents(schema, files)) if given else None


def _name_of(path: str, files: Files) -> str | None:
    """The name of a file that is one of them."""
    return next((name for name, known in files.items() if known.samefile(path)), None)


def _named(path: str) -> Iterator[tuple[str, Path]]:
    """The name and path of a file, or of each in a folder."""
    folder = Path(path)
    if not folder.is_dir():
        read_json(path, "document")  # what is wrong with it is wrong whether it is needed or not
        yield quote(folder.name), folder
        return
    files = sorted(p for p in folder.rglob("*") if p.suffix in ENDINGS and p.is_file())
    if not files:
        bad("there is no document", path, f"files ending in {' '.join(ENDINGS)}")
    yield from ((quote(file.relative_to(folder).as_posix()), file) for file in files)


def _documents(schema: Any, files: Files) -> dict[str, Any]:
    """What references lead to, from a schema on; all files where one leads to no file's name."""
    found: dict[str, Any] = {}
    todo, known = [(schema, "")], {*files}
    while todo:
        names, references = uris_in(*todo.pop())
        known |= names
        named = references <= known
        # where one leads elsewhere, one of the files may have that `$id`
        wanted = references if named else {*files}
        for name in sorted(wanted & files.keys() - found.keys()):
            with nullcontext() if named else suppress(StructgenError):
                found[name] = read_json(str(files[name]), "document")
                todo.append((found[name], name))
    return {name: value for name, value in found.items() if isinstance(value, dict | bool)}


def _registry_of(documents: dict[str, Any]) -> Registry[Any]:
    """A registry whose documents are of the draft that refers to them, unless they state one."""
    from referencing import Registry, Specification

    return Registry[Any]().with_contents(
        documents.items(), default_specification=Specification.OPAQUE
    )


def _is_file(path: str) -> bool:
    with suppress(OSError, ValueError):  # of what no path can be
        return Path(path).is_file()
    return False


def _kind(schema: Any) -> str:
    return "text" if isinstance(schema, str) else dumps(schema)[:40]
