"""Keep constraints in a folder on disk, so that each is compiled once for all processes.

A file for each spec (with its options), vocabulary and version of structgen, named by a digest of
them. Files are replaced as a whole, so readers need no lock; whoever makes one holds a lock, so
that many processes that start at once make each only once. A lock is the system's, and gone with
the process that held it. One more file for each vocabulary has the parts of masks that all its
specs share, for specs that nobody has compiled yet.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, WeakValueDictionary

from structgen.constraint import artifact, compiler, loading
from structgen.constraint.constraint import MAX_BYTES, Constraint
from structgen.constraint.precompute import Explored, explore
from structgen.errors import ArtifactError
from structgen.masks.shared import shared_masks
from structgen.masks.shared_file import SavedParts, digest_of, save
from structgen.schema.coerce import coerce
from structgen.schema.report.slips import look_for_slips
from structgen.spec.base import Spec
from structgen.util.container import remove_leftovers
from structgen.vocabulary.vocabulary import checked_vocabulary

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary

ENDING = ".sgc"
SHARED_ENDING = ".sgr"  # of the file with what all specs of a vocabulary share
MAX_FILES_BYTES = 4 << 30
MAX_STATES = 1000


class Cache:
    """Constraints kept in a folder; safe to use from many threads and processes at once.

    A file that is damaged or of another version is made anew. A folder that cannot be written is
    read. Within a process, a constraint that is still in use is handed out again.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        max_bytes: int = MAX_FILES_BYTES,
        max_states: int = MAX_STATES,
        max_memory: int = MAX_BYTES,
    ) -> None:
        """Use a folder, which is made when the first file is written.

        max_bytes: of all files together; the least recently used ones are deleted. max_states:
        how many states of a new constraint get their masks ahead of time (see `explore`); 0 leaves
        all of them to their first use. max_memory: `max_bytes` of each constraint.
        """
        self.directory = Path(directory)
        self.max_bytes = max_bytes
        self.max_states = max_states
        self.max_memory = max_memory
        self._live: WeakValueDictionary[str, Constraint] = WeakValueDictionary()
        self._opened: WeakSet[Vocabulary] = WeakSet()  # whose shared parts have been looked for

    def compile(self, spec: Any, vocabulary: Vocabulary, *, strict: bool = False) -> Constraint:
        """The constraint of a spec: the one in use, from its file, or compiled and written.

        Takes and raises what `structgen.compile` does. It warns of misspelt keywords when it
        compiles; with `strict` they are an error in any case.
        """
        wanted = coerce(spec)
        if strict:
            look_for_slips(wanted, strict=True)
        self._open(checked_vocabulary(vocabulary))
        key = artifact.key_of(wanted, vocabulary)
        found = self._live.get(key)
        if found is None or found.spec != wanted:
            found = self._loaded(key, wanted, vocabulary) or self._made(key, wanted, vocabulary)
            self._live[key] = found
        return found

    def store(self, constraint: Constraint) -> None:
        """Write a constraint with all that it has made until now, for those who come later.

        ArtifactError when the folder cannot be written.
        """
        handed_out = (key for key, live in self._live.items() if live is constraint)
        key = next(handed_out, None) or artifact.key_of(constraint.spec, constraint.vocabulary)
        self._write(key, constraint, None)
        self._share(constraint.vocabulary)

    def clear(self) -> None:
        """Delete all files. Constraints that were loaded from them stay as they are."""
        for path, _, _ in self._files(shared=True):
            path.unlink(missing_ok=True)

    def __len__(self) -> int:
        """How many constraints are in the folder."""
        return len(self._files())

    @property
    def nbytes(self) -> int:
        """Bytes of all files together."""
        return sum(size for _, size, _ in self._files(shared=True))

    def path_of(self, key: str) -> Path:
        """The file of a constraint; `key` is what `artifact.key_of` says."""
        return self.directory / f"{key}{ENDING}"

    def _loaded(self, key: str, spec: Spec, vocabulary: Vocabulary) -> Constraint | None:
        path = self.path_of(key)
        try:
            found = loading.load(path, vocabulary, spec=spec, max_bytes=self.max_memory)
            found.is_accepting(found.start)  # what is wrong with its automaton is said now
        except ArtifactError:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # used now
        return found

    def _made(self, key: str, spec: Spec, vocabulary: Vocabulary) -> Constraint:
        with self._locked(key):
            found = self._loaded(key, spec, vocabulary)  # made by who had the lock before
            if found is not None:
                return found
            made = compiler.compile(spec, vocabulary, max_bytes=self.max_memory)
            explored = explore(made, self.max_states) if self.max_states else None
            with contextlib.suppress(ArtifactError):
                self._write(key, made, explored)
        self._share(made.vocabulary)
        return made

    def _shared_path(self, vocabulary: Vocabulary) -> Path:
        return self.directory / f"{vocabulary.hash[:40]}{SHARED_ENDING}"

    def _open(self, vocabulary: Vocabulary) -> None:
        """Use the parts of rows that processes before this one have made for a vocabulary."""
        if vocabulary not in self._opened:
            self._opened.add(vocabulary)
            path = self._shared_path(vocabulary)
            with contextlib.suppress(ArtifactError):
                shared_masks(vocabulary).use(SavedParts(path, vocabulary))
                with contextlib.suppress(OSError):
                    os.utime(path)

    def _share(self, vocabulary: Vocabulary) -> None:
        """Write what has been made for all specs of a vocabulary, beside what others have."""
        common, path = shared_masks(vocabulary), self._shared_path(vocabulary)
        if not common.made or not common.character_counts:
            return
        with self._locked(vocabulary.hash), contextlib.suppress(ArtifactError):
            parts = [((digest_of(lexicon), q), part) for lexicon, q, part in common.items()]
            with contextlib.suppress(ArtifactError):
                parts += SavedParts(path, vocabulary).items()
            save(path, vocabulary, parts, common.character_counts)
            common.made = 0
            self._trim(path)

    def _write(self, key: str, constraint: Constraint, explored: Explored | None) -> None:
        with contextlib.suppress(OSError):  # what is wrong with it, writing will say
            self.directory.mkdir(parents=True, exist_ok=True)
        path = self.path_of(key)
        artifact.save(constraint, path, explored)
        self._trim(path)

    def _trim(self, newest: Path) -> None:
        """Delete the files that were used least recently until the others fit."""
        files = sorted(self._files(shared=True), key=lambda file: file[2])
        total = sum(size for _, size, _ in files)
        for path, size, _ in files:
            if total <= self.max_bytes:
                break
            if path != newest:
                with contextlib.suppress(OSError):
                    path.unlink()
                total -= size
        remove_leftovers(self.directory)

    def _files(self, *, shared: bool = False) -> list[tuple[Path, int, float]]:
        """The files with their sizes and when they were last used; `shared` ones too."""
        found = []
        for path in self.directory.glob("*.sg?"):
            if path.suffix != ENDING and not (shared and path.suffix == SHARED_ENDING):
                continue
            with contextlib.suppress(OSError):  # another process has deleted it just now
                status = path.stat()
                found.append((path, status.st_size, status.st_mtime))
        return found

    @contextlib.contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        """Hold the lock that this key shares with few others; without one where none is to be had.

        Two processes that make the same file at once only do work twice.
        """
        import fcntl

        try:
            folder = self.directory / "locks"
            folder.mkdir(parents=True, exist_ok=True)
            file = os.open(folder / key[:2], os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            yield
            return
        try:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)  # and with it the lock
