"""What all modules share: array types, validation of input, threads and locks."""

import os

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
"""Arrival numbers or rows."""

PathLike = str | os.PathLike[str]

SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
"""The smallest positive number in double precision that has all its digits."""
