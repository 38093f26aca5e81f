"""In: models smaller than the target, or parts of it. Out: drafters that ask them."""

from structgen.speculate.models.drafter import ModelDrafter

__all__ = ["ModelDrafter"]
