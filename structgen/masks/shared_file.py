"""Save what the specs of a vocabulary share to a file, and read it back one lexeme mask at a time.

A lexeme mask is kept under the number of its lexer state and a digest of the lexicon, which decide
it. The file is a cache: one that is damaged, of another version or for another vocabulary is not
used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from structgen.automata.lexer.lexicon import Lexicon
from structgen.errors import ArtifactError
from structgen.kernels.build.loader import kernels
from structgen.masks.parts import CharacterCounts, LexemeMask
from structgen.util import container
from structgen.version import __version__

if TYPE_CHECKING:
    from structgen.vocabulary.vocabulary import Vocabulary

KIND = "common parts"
FORMAT = 2
MAX_BYTES = 16 << 20  # of lexeme masks in a file
MAX_DIGESTS = 64  # of lexicons that are remembered

_digests: dict[int, tuple[Lexicon, str]] = {}  # by id, which is a lexicon's own while it is held

Key = tuple[str, int]  # digest of a lexicon, number of a state
Masks = Iterable[tuple[Key, LexemeMask]]
# The arrays of a file: dtype and number of dimensions. Those of lexeme ends are the ends of all
# masks one after the other; `sizes` says how many ends and bytes of text each mask has.
_LEXEME_ENDS = {"node": "i4", "label": "i4", "before": "u1", "start": "i4", "text": "u1"}
_FORMS = {"state": ("i4", 1), "rows": ("i4", 2), "sizes": ("i4", 2), "started": ("i4", 2),
          "most": ("i4", 2)} | {name: (form, 1) for name, form in _LEXEME_ENDS.items()}  # fmt: skip


def digest_of(lexicon: Lexicon) -> str:
    """A hex digest of all that a lexicon consists of."""
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
    path: str | os.PathLike[str],
    vocabulary: Vocabulary,
    masks: Masks,
    counts: Mapping[bool, CharacterCounts],
) -> None:
    """Write lexeme masks, the first ones where all take more than MAX_BYTES, and character counts.

    Raises ArtifactError when the file cannot be written.
    """
    chosen: dict[Key, LexemeMask] = {}
    room = MAX_BYTES
    for key, mask in masks:
        room -= 0 if key in chosen else mask.nbytes
        if room < 0:
            break
        chosen.setdefault(key, mask)
    every = list(chosen.values())
    arrays: dict[str, npt.NDArray[Any]] = {
        "state": np.array([q for _, q in chosen], np.int32),
        "rows": np.array([mask.row for mask in every], np.int32).reshape(-1, vocabulary.words),
        "sizes": np.array(
            [(len(m.lexeme_ends.node), len(m.lexeme_ends.text)) for m in every], np.int32
        ).reshape(-1, 2),
        "started": np.array([found.started for found in counts.values()]),
        "most": np.array([found.most for found in counts.values()]),
    }
    for name, form in _LEXEME_ENDS.items():
        found = [np.zeros(0, form), *(getattr(mask.lexeme_ends, name) for mask in every)]
        arrays[name] = np.concatenate(found).astype(form)
    header = {
        "structgen": __version__,
        "format": FORMAT,
        "vocabulary": vocabulary.hash,
        "lexicons": [digest for digest, _ in chosen],
        "escapes": list(counts),
    }
    container.write(path, KIND, header, arrays)


class SavedParts:
    """The lexeme masks of a file, each made again when asked for, and `character_counts`."""

    def __init__(self, path: str | os.PathLike[str], vocabulary: Vocabulary) -> None:
        """Read a file that `save` wrote for this vocabulary, and check all of it.

        Raises ArtifactError when it is missing, damaged, of another version or vocabulary.
        """
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
        end_count, text = self._ends[-1].tolist()
        lengths = {
            "node": end_count,
            "label": end_count,
            "before": end_count,
            "start": end_count + count,
            "text": text,
        }
        escapes = header.get("escapes")
        counts = self._arrays["started"], self._arrays["most"]
        if not isinstance(escapes, list) or [x.shape for x in counts] != [
            (len(escapes), self._nodes),
            (len(escapes), 32 * words),
        ]:
            raise self._damaged("started")
        if self._arrays["rows"].shape != (count, words) or sizes.shape != (count, 2):
            raise self._damaged("rows")
        for name, length in lengths.items():
            if len(self._arrays[name]) != length:
                raise self._damaged(name)
        self._index = {
            (str(d), q): i for i, (d, q) in enumerate(zip(lexicons, states, strict=True))
        }
        every = zip(escapes, *counts, strict=True)
        self.character_counts = {bool(any_): CharacterCounts(*found) for any_, *found in every}

    def __len__(self) -> int:
        return len(self._index)

    def items(self) -> Masks:
        """All lexeme masks, as saved; their terminals are not checked, as no lexicon is at hand."""
        for key, index in self._index.items():
            yield key, self._mask(index)

    def lexeme_mask(self, lexicon: Lexicon, q: int) -> LexemeMask | None:
        """The lexeme mask of a state; None if it was not saved, or leads outside of the tables."""
        index = self._index.get((digest_of(lexicon), q))
        if index is None:
            return None
        found = self._mask(index)
        return found if self._is_sound(found, len(lexicon.terminals)) else None

    def _is_sound(self, mask: LexemeMask, terminals: int) -> bool:
        """Whether no number leads a kernel outside of the trie, the terminals or the text."""
        node, label, before, start, text = mask.lexeme_ends
        within = [(node, self._nodes), (label, terminals), (before, 2), (start, len(text) + 1)]
        if any((numbers < 0).any() or (numbers >= end).any() for numbers, end in within):
            return False
        ordered = (np.diff(node) > 0).all() and (np.diff(start) >= 0).all()
        return bool(ordered) and (start[0], start[-1]) == (0, len(text))

    def _mask(self, index: int) -> LexemeMask:
        # Ends a to b and bytes of text c to d; `start` has one entry more than ends for each mask.
        (a, c), (b, d) = self._ends[index : index + 2].tolist()
        arrays = self._arrays
        ends = kernels("masks.lexeme_walk").LexemeEnds(
            node=arrays["node"][a:b].copy(),
            label=arrays["label"][a:b].copy(),
            before=arrays["before"][a:b].copy(),
            start=arrays["start"][a + index : b + index + 1].copy(),
            text=arrays["text"][c:d].copy(),
        )
        return LexemeMask(arrays["rows"][index].copy(), ends)

    def _damaged(self, name: str) -> ArtifactError:
        return ArtifactError(f"{name!r} is not that of a file of shared masks", location=self._path)
