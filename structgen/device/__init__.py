"""In: logits on a GPU. Out: logits masked there, or tokens drawn there, by rows that stay there."""

from structgen.device.masking import apply, draw
from structgen.device.sheet import NOTHING, Draws
from structgen.device.table import DeviceMasks, RowTable

__all__ = ["NOTHING", "DeviceMasks", "Draws", "RowTable", "apply", "draw"]
