"""Shared utilities: array types, validation of input, threads and locks."""

import os

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
"""Arrival numbers or row numbers."""

PathLike = str | os.PathLike[str]

SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
"""The smallest positive normal number in double precision."""
