"""Masking and drawing on a GPU, with mask rows that stay on the device between steps."""

from structgen.generation.gpu.masking import apply, draw
from structgen.generation.gpu.sheet import DrawnTokens
from structgen.generation.gpu.table import DeviceMasks, RowTable
from structgen.kernels.gpu.columns import NOTHING

__all__ = ["NOTHING", "DeviceMasks", "DrawnTokens", "RowTable", "apply", "draw"]
