"""What all modules share: array types, validation of input, threads and locks."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
"""Arrival numbers or rows."""
