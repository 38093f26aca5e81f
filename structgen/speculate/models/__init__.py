"""In: models smaller than the target, or parts of it. Out: drafters that ask them."""

from structgen.speculate.models.clasp import Clasp
from structgen.speculate.models.contrast import Contrast
from structgen.speculate.models.drafter import ModelDrafter
from structgen.speculate.models.layer_skip import LayerSkipDrafter
from structgen.speculate.models.selectors import EarlyExit, NearestPrompt, Swift
from structgen.speculate.models.text_drafter import NgramCache, Retokenizer, TextDrafter

__all__ = [
    "Clasp",
    "Contrast",
    "EarlyExit",
    "LayerSkipDrafter",
    "ModelDrafter",
    "NearestPrompt",
    "NgramCache",
    "Retokenizer",
    "Swift",
    "TextDrafter",
]
