"""What kernel modules write types with: numba's own, or a stand-in where kernels are compiled.

A kernel module names numba's types at its top, for the signatures of its kernels, and in the bodies
of kernels. Where a library has the kernels (`kernels.build.opening`), nobody reads signatures, and
numba, which takes long to import, is not needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structgen.kernels.build.library import Library
from structgen.kernels.build.opening import open_library


class StandIn:
    """Takes every expression of types in signatures, and says nothing of it."""

    def __call__(self, *_: object, **__: object) -> StandIn:
        """Itself, whatever it is called with."""
        return self

    def __getitem__(self, _: object) -> StandIn:
        return self

    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__"):  # what Python asks of objects
            raise AttributeError(name)
        return self


#: where kernels have been compiled ahead; None where this process does it, or runs plain Python
LIBRARY: Library | None = open_library()
numba: Any
types: Any
intrinsic: Any
reference: Any  #: the type of the address of a tuple: see `kernels.build.pointers`
if LIBRARY is None:
    import numba
    from numba import types
    from numba.extending import intrinsic

    from structgen.kernels.build.pointers import reference
else:
    numba = np  # has all that bodies ask for, should somebody run one as plain Python
    types = intrinsic = reference = StandIn()
