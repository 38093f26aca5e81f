"""In: logits on a GPU. Out: logits masked there, or tokens drawn there, by rows that stay there."""

from structgen.generation.gpu.masking import apply, draw
from structgen.generation.gpu.sheet import NOTHING, Draws
from structgen.generation.gpu.table import DeviceMasks, RowTable

__all__ = ["NOTHING", "DeviceMasks", "Draws", "RowTable", "apply", "draw"]
