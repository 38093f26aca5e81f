"""The layout of mask rows, and logits masked with them.

Mask rows are int32[n, words] with words = ceil(V / 32); token t is allowed iff bit t % 32 of word
t // 32 is set. Bits at V and beyond mean nothing. `apply` takes numpy arrays and torch tensors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from structgen.errors import GenerationError
from structgen.kernels.build.loader import kernels
from structgen.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

Rows = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

_LITTLE = np.dtype("<u4")  # bit 0 of a word is in its first byte, whatever the machine's order


def words(vocab_size: int) -> int:
    """Number of 32-bit words of a mask row for `vocab_size` tokens."""
    return -(-vocab_size // 32)


def allocate(count: int, vocab_size: int) -> Rows:
    """`count` mask rows that allow nothing, int32[count, words]."""
    return np.zeros((count, words(vocab_size)), np.int32)


class FillsMasks(Protocol):
    """The part of a constraint that makes masks. One state must always give the same row."""

    def fill_mask(self, state: int, row: Rows) -> None:
        """Write the allowed tokens of `state` into row int32[words]."""


class HasVocabulary(FillsMasks, Protocol):
    """A constraint that says for which vocabulary its masks are."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary."""


def row_of(constraint: FillsMasks, state: int, vocab_size: int) -> Rows:
    """int32[words]: the mask of a constraint's state."""
    row: Rows = allocate(1, vocab_size)[0]
    constraint.fill_mask(state, row)
    return row


def ids_of(constraint: HasVocabulary, state: int) -> npt.NDArray[np.int64]:
    """int64[k], ascending: the tokens that a constraint allows in a state."""
    size = constraint.vocabulary.size
    return np.flatnonzero(unpack(row_of(constraint, state, size), size))


def unpack(rows: Rows, vocab_size: int) -> Bools:
    """bool[..., vocab_size]: which tokens the rows int32[..., words] allow."""
    data = np.ascontiguousarray(rows).view(np.uint32).astype(_LITTLE, copy=False).view(np.uint8)
    bits = np.unpackbits(data, axis=-1, count=vocab_size, bitorder="little")
    return bits.view(np.bool_)


def unpack_tensor(rows: torch.Tensor, vocab_size: int) -> torch.Tensor:
    """The same for a tensor of rows int32[n, words], on its device."""
    import torch

    shifts = torch.arange(32, device=rows.device, dtype=torch.int32)
    bits = (rows.unsqueeze(-1) >> shifts) & 1
    return bits.flatten(1)[:, :vocab_size] != 0


def pack(allowed: Bools) -> Rows:
    """int32[..., words]: the rows that allow the tokens set in bool[..., vocab_size]."""
    size = allowed.shape[-1]
    data = np.zeros((*allowed.shape[:-1], words(size) * 4), np.uint8)
    packed = np.packbits(allowed, axis=-1, bitorder="little")
    data[..., : packed.shape[-1]] = packed
    return data.view(_LITTLE).astype(np.uint32, copy=False).view(np.int32)


def allow(row: Rows, tokens: Sequence[int]) -> None:
    """Set the bits of some tokens in a row int32[words]."""
    for token in tokens:
        row[token >> 5] |= np.uint32(1 << (token & 31)).view(np.int32)


def forbid(row: Rows, tokens: Sequence[int]) -> None:
    """Clear the bits of some tokens in a row int32[words]."""
    for token in tokens:
        row[token >> 5] &= ~np.uint32(1 << (token & 31)).view(np.int32)


def allows(row: Rows, tokens: npt.NDArray[np.int64]) -> Bools:
    """bool[k]: which of the tokens int64[k] a row int32[words] allows."""
    found: Bools = (row[tokens >> 5] >> (tokens & 31)) & 1 != 0
    return found


def row_id(row: Rows) -> int:
    """A number of 128 bits that stands for a row int32[words]: equal for equal rows, anywhere."""
    return int.from_bytes(hashlib.blake2b(row.tobytes(), digest_size=16).digest())


def apply(logits: npt.NDArray[Any] | torch.Tensor, rows: Rows) -> None:
    """Set logits[i, t] to -inf in place wherever rows[i] does not allow t.

    `logits` is a floating [n, V] array or tensor on any device, `rows` int32[n, ceil(V / 32)].
    A tensor elsewhere gets all rows in one copy. GenerationError when the shapes do not agree.
    """
    if logits.ndim != 2 or rows.shape != (logits.shape[0], words(logits.shape[1])):
        raise GenerationError(
            f"logits of shape {tuple(logits.shape)} and mask rows of shape {rows.shape}",
            expected="[n, V] and [n, ceil(V / 32)]",
            hint="size the vocabulary by the model's logits",
        )
    if isinstance(logits, np.ndarray):
        _apply_numpy(logits, rows)
    elif logits.device.type == "cpu" and logits.is_contiguous():
        _apply_numpy(_shared(logits), rows, _infinity_bits(logits))
    else:
        _apply_on_device(logits, rows)


def _apply_numpy(logits: npt.NDArray[Any], rows: Rows, refused: int = 0xFC00) -> None:
    """`refused` is the bit pattern of -inf for 16-bit floats; 0xFC00 is that of float16."""
    if not logits.flags.c_contiguous or logits.dtype.itemsize not in (2, 4):
        logits[~unpack(rows, logits.shape[1])] = -np.inf
    elif logits.dtype.itemsize == 4:
        kernels("masks.apply").block_float32(logits, np.ascontiguousarray(rows))
    else:
        bits = logits.view(np.uint16)
        kernels("masks.apply").block_uint16(bits, np.ascontiguousarray(rows), np.uint16(refused))


def _shared(logits: torch.Tensor) -> npt.NDArray[Any]:
    """The memory of a CPU tensor as an array; bfloat16, which numpy has not, as uint16."""
    import torch

    if logits.dtype == torch.bfloat16:
        logits = logits.view(torch.uint16)
    shared: npt.NDArray[Any] = logits.detach().numpy()
    return shared


def _infinity_bits(logits: torch.Tensor) -> int:
    import torch

    return 0xFF80 if logits.dtype == torch.bfloat16 else 0xFC00


def _apply_on_device(logits: torch.Tensor, rows: Rows) -> None:
    import torch

    packed = torch.from_numpy(rows).to(logits.device, non_blocking=True)
    logits.masked_fill_(~unpack_tensor(packed, logits.shape[1]), -torch.inf)
