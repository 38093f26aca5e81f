"""A schema from a file or a part of one, and the other files that its references lead to.

Only files that the user names are read: the one with the schema, and those of `--documents`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from structgen.cli.reading import STDIN, YAML_ENDINGS, bad, broken, is_inline, read_json, shown
from structgen.errors import StructgenError
from structgen.schema.references.vocabularies import stated_draft
from structgen.schema.values import dumps

if TYPE_CHECKING:
    from referencing import Registry

ENDINGS = (".json", *YAML_ENDINGS)


class Document(NamedTuple):
    """A file, by the name that references have for it."""

    name: str
    path: Path
    contents: Any


def read_schema(source: str, given: list[str]) -> tuple[Any, Registry[Any] | None]:
    """The schema that SPEC names, and the documents that its references may lead to.

    source: a file, `-`, JSON text, or `FILE#/pointer` for a part of a file. given: files and
    folders. A document of a folder is known by its path in it (`types/id.json`), another one by
    the name of its file; and each by its own `$id`.
    """
    documents = [document for path in given for document in _read(path)]
    path, mark, fragment = source.partition("#")
    if mark and not is_inline(source) and not _is_file(source) and _is_file(path):
        whole = next((d for d in documents if d.path.samefile(path)), None)
        if whole is None:
            whole = Document(quote(Path(path).name), Path(path), read_json(path, "schema"))
            documents.append(whole)
        return {"$ref": f"{whole.name}#{fragment}"}, _registry_of(documents)
    schema = read_json(source, "schema")
    if not isinstance(schema, dict | bool):
        broken(f"the schema is {_kind(schema)}", shown(source), "an object, true or false")
    is_file = source != STDIN and not is_inline(source)
    same = next((d for d in documents if is_file and d.path.samefile(source)), None)
    if same is not None and "/" in same.name and isinstance(schema, dict):
        keyword = "id" if stated_draft(schema) <= 4 else "$id"
        schema = {keyword: same.name, **schema}  # what its references are relative to
    return schema, _registry_of(documents) if documents else None


def _read(path: str) -> Iterator[Document]:
    """The documents of a file or a folder; files of a folder that are no schemas are left out."""
    folder = Path(path)
    if not folder.is_dir():
        yield Document(quote(folder.name), folder, read_json(path, "document"))
        return
    files = sorted(p for p in folder.rglob("*") if p.suffix in ENDINGS and p.is_file())
    if not files:
        bad("there is no document", path, f"files ending in {' '.join(ENDINGS)}")
    for file in files:
        with suppress(StructgenError):
            contents = read_json(str(file), "document")
            if isinstance(contents, dict | bool):
                yield Document(quote(file.relative_to(folder).as_posix()), file, contents)


def _registry_of(documents: list[Document]) -> Registry[Any]:
    """A registry whose documents are of the draft that refers to them, unless they state one."""
    from referencing import Registry, Specification

    return Registry[Any]().with_contents(
        ((document.name, document.contents) for document in documents),
        default_specification=Specification.OPAQUE,
    )


def _is_file(path: str) -> bool:
    with suppress(OSError, ValueError):  # of what no path can be
        return Path(path).is_file()
    return False


def _kind(schema: Any) -> str:
    return "text" if isinstance(schema, str) else dumps(schema)[:40]
