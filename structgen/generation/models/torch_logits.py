"""Serves logits that are tensors to the decode loop, and draws from them on an accelerator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import torch

from structgen.generation.distribution import Sampler
from structgen.generation.gpu import NOTHING, DeviceMasks, RowTable, draw
from structgen.generation.interfaces import Constraint, Doubles, Drawn, Rows
from structgen.masks import bitmask


class TorchLogits:
    """Logits float[n, V] on the model's device."""

    def __init__(self, rows: torch.Tensor, hidden: list[torch.Tensor] | None = None) -> None:
        """`hidden`: for each row of the cache [tokens, layers, d], on the model's device."""
        self._rows = rows.contiguous()
        self.hidden = hidden

    def wait(self) -> None:
        """Wait for the device; the CPU has finished already."""
        if self._rows.device.type == "cuda":
            torch.cuda.synchronize(self._rows.device)
        elif self._rows.device.type == "mps":
            torch.mps.synchronize()

    @torch.inference_mode()
    def log_normalizers(self) -> Doubles:
        """float64[n], computed in float64 on the device, or on the CPU where it has no doubles."""
        rows = self._rows.cpu() if self._rows.device.type == "mps" else self._rows
        found: Doubles = torch.logsumexp(rows.double(), dim=-1).cpu().numpy()
        return found

    @torch.inference_mode()
    def apply(self, rows: Rows) -> None:
        """Mask on the device; all mask rows travel in one copy."""
        bitmask.apply(self._rows, rows)

    def numpy(self) -> npt.NDArray[Any]:
        """float32[n, V] (float64 if the model is), in the tensor's own memory where that can be."""
        return _to_host(self._rows)


class DeviceLogits(TorchLogits):
    """Logits on an accelerator, where tokens are drawn as well."""

    def __init__(
        self, rows: torch.Tensor, table: RowTable, hidden: list[torch.Tensor] | None = None
    ) -> None:
        super().__init__(rows, hidden)
        self._table = table

    def masks(self, constraints: Sequence[Constraint], states: Sequence[int]) -> DeviceMasks:
        """The masks of each row's state; what the device has not seen yet travels there."""
        return self._table.masks(constraints, states)

    def draw(
        self, masks: DeviceMasks, samplers: Sequence[Sampler], uniforms: Sequence[float]
    ) -> list[Drawn]:
        """For each row what `Sampler.choose` draws of what is allowed, with this random number."""
        found = draw(self._rows, masks, samplers, uniforms)
        rows = zip(*(column.tolist() for column in found), strict=True)
        return [self._drawn(i, *row) for i, row in enumerate(rows)]

    def rows(self) -> DeviceRows:
        """The rows, which stay where they are until one is looked at."""
        return DeviceRows(self._rows)

    def _drawn(
        self, row: int, token: int, its_logit: float, log_raw: float, log_masked: float
    ) -> Drawn:
        def logit(other: int) -> float:
            return its_logit if other == token else float(self._rows[row, other])

        return Drawn(None if token == NOTHING else token, log_raw, log_masked, logit)


class DeviceRows(Sequence[Any]):
    """Rows of logits on an accelerator, each of which is copied when it is looked at."""

    def __init__(self, rows: torch.Tensor) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        """A row float[V], or with a slice some of them, which are not copied yet."""
        found = self._rows[index]
        return DeviceRows(found) if isinstance(index, slice) else _to_host(found)


def _to_host(rows: torch.Tensor) -> npt.NDArray[Any]:
    """As float32, or float64 if they are that."""
    wide = rows if rows.dtype == torch.float64 else rows.float()
    return wide.detach().cpu().numpy()
