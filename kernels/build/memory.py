"""Memory for the time that a kernel runs, from the C library: numba's runtime is not there."""

from __future__ import annotations

from typing import Any

import numpy as np

from structgen.kernels.build.decorators import interpreted
from structgen.kernels.build.language import LIBRARY


def _array(size: int) -> Any:
    return np.empty(size, np.uint8)


def _nothing(_: Any) -> None:
    pass


#: borrowed(size) is uint8[size], with anything in it, until a kernel says give_back(it)
borrowed: Any = _array
give_back: Any = _nothing
if LIBRARY is None and not interpreted():
    from structgen.kernels.build import pointers

    borrowed, give_back = pointers.borrowed, pointers.give_back
