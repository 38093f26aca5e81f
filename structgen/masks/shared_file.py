"""In: what the specs of a vocabulary share. Out: a file of it, and the parts again, one by one.

A part is kept under the number of its lexer state and a digest of the lexicon, which decide it. The
file is a cache: what is damaged, of another version or for another vocabulary is not used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automata.lexer.lexicon import Lexicon
from structgen.errors import ArtifactError
from structgen.kernels.build.loader import kernels
from structgen.masks.shared import Characters, LexemeMask
from structgen.util import container
from structgen.version import __version__

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary

KIND = "common parts"
FORMAT = 1
MAX_BYTES = 16 << 20  # of parts in a file
MAX_DIGESTS = 64  # of lexicons, remembered

_digests: dict[int, tuple[Lexicon, str]] = {}  # by id, which is a lexicon's own while it is held

Key = tuple[str, int]  # digest of a lexicon, number of a state
Parts = Iterable[tuple[Key, LexemeMask]]
_CROSSINGS = {"node": "i4", "label": "i4", "before": "u1", "start": "i4", "text": "u1"}
_FORMS = {"state": ("i4", 1), "rows": ("i4", 2), "sizes": ("i4", 2), "started": ("i4", 1),
          "most": ("i4", 1)} | {name: (form, 1) for name, form in _CROSSINGS.items()}  # fmt: skip


def digest_of(lexicon: Lexicon) -> str:
    """What tells a lexicon from all others of this version of structgen."""
    held = _digests.get(id(lexicon))
    if held is None:
        digest = blake2b(repr(lexicon.terminals).encode(), digest_size=16)
        for array in (lexicon.rows, lexicon.accept, lexicon.recorded):
            digest.update(np.ascontiguousarray(array).tobytes())
        if len(_digests) >= MAX_DIGESTS:
            _digests.clear()
        held = _digests[id(lexicon)] = (lexicon, digest.hexdigest())
    return held[1]


def save(
    path: str | os.PathLike[str], vocabulary: Vocabulary, parts: Parts, characters: Characters
) -> None:
    """Write parts, those that come first where all take more than MAX_BYTES. ArtifactError."""
    chosen: dict[Key, LexemeMask] = {}
    room = MAX_BYTES
    for key, inside in parts:
        room -= 0 if key in chosen else inside.nbytes
        if room < 0:
            break
        chosen.setdefault(key, inside)
    every = list(chosen.values())
    arrays: dict[str, npt.NDArray[Any]] = {
        "state": np.array([q for _, q in chosen], np.int32),
        "rows": np.array([inside.row for inside in every], np.int32).reshape(-1, vocabulary.words),
        "sizes": np.array(
            [(len(i.crossings.node), len(i.crossings.text)) for i in every], np.int32
        ).reshape(-1, 2),
        "started": characters.started,
        "most": characters.most,
    }
    for name, form in _CROSSINGS.items():
        found = [np.zeros(0, form), *(getattr(inside.crossings, name) for inside in every)]
        arrays[name] = np.concatenate(found).astype(form)
    header = {
        "structgen": __version__,
        "format": FORMAT,
        "vocabulary": vocabulary.hash,
        "lexicons": [digest for digest, _ in chosen],
    }
    container.write(path, KIND, header, arrays)


class SavedParts:
    """The parts of a file, each made again when asked for. characters: those of free strings."""

    def __init__(self, path: str | os.PathLike[str], vocabulary: Vocabulary) -> None:
        """Read a file that `save` wrote for this vocabulary, checking all of it. ArtifactError."""
        header, self._arrays = container.read(path, KIND)
        self._path = str(path)
        self._nodes = len(vocabulary.trie.byte)
        wanted = {"structgen": __version__, "format": FORMAT, "vocabulary": vocabulary.hash}
        lexicons = header.get("lexicons")
        if any(header.get(name) != value for name, value in wanted.items()):
            raise self._damaged("header")
        for name, (form, dimensions) in _FORMS.items():
            array = self._arrays.get(name)
            if array is None or array.dtype.str[1:] != form or array.ndim != dimensions:
                raise self._damaged(name)
        states, sizes = self._arrays["state"].tolist(), self._arrays["sizes"].astype(np.int64)
        count = len(states)
        if not isinstance(lexicons, list) or len(lexicons) != count or (sizes < 0).any():
            raise self._damaged("sizes")
        self._ends = np.cumsum(np.concatenate([np.zeros((1, 2), np.int64), sizes]), axis=0)
        words = vocabulary.words
        crossings, text = self._ends[-1].tolist()
        lengths = {
            "node": crossings,
            "label": crossings,
            "before": crossings,
            "start": crossings + count,
            "text": text,
            "started": self._nodes,
            "most": 32 * words,
        }
        if self._arrays["rows"].shape != (count, words) or sizes.shape != (count, 2):
            raise self._damaged("rows")
        for name, length in lengths.items():
            if len(self._arrays[name]) != length:
                raise self._damaged(name)
        self._places = {
            (str(d), q): i for i, (d, q) in enumerate(zip(lexicons, states, strict=True))
        }
        self.characters = Characters(self._arrays["started"], self._arrays["most"])

    def __len__(self) -> int:
        return len(self._places)

    def items(self) -> Parts:
        """All parts, as they were saved: their labels are those of lexicons nobody has seen."""
        for key, place in self._places.items():
            yield key, self._part(place)

    def inside(self, lexicon: Lexicon, q: int) -> LexemeMask | None:
        """The part of a state, None if it was not saved, or leads outside of the tables."""
        place = self._places.get((digest_of(lexicon), q))
        if place is None:
            return None
        found = self._part(place)
        return found if self._is_sound(found, len(lexicon.terminals)) else None

    def _is_sound(self, part: LexemeMask, labels: int) -> bool:
        """Whether no number leads a kernel outside of the trie, the labels or the text."""
        node, label, before, start, text = part.crossings
        within = [(node, self._nodes), (label, labels), (before, 2), (start, len(text) + 1)]
        if any((numbers < 0).any() or (numbers >= end).any() for numbers, end in within):
            return False
        ordered = (np.diff(node) > 0).all() and (np.diff(start) >= 0).all()
        return bool(ordered) and (start[0], start[-1]) == (0, len(text))

    def _part(self, place: int) -> LexemeMask:
        (a, c), (b, d) = self._ends[place : place + 2].tolist()
        arrays = self._arrays
        crossings = kernels("masks.lexeme_walk").Crossings(
            node=arrays["node"][a:b].copy(),
            label=arrays["label"][a:b].copy(),
            before=arrays["before"][a:b].copy(),
            start=arrays["start"][a + place : b + place + 1].copy(),
            text=arrays["text"][c:d].copy(),
        )
        return LexemeMask(arrays["rows"][place].copy(), crossings)

    def _damaged(self, name: str) -> ArtifactError:
        return ArtifactError(f"{name!r} is not that of common parts", location=self._path)
