"""Room for large arrays, and for those that grow.

Each time one grows, the old array is let go. What comes from the heap may stay there as a hole between other things,
and a stream that stores every point would take half as much memory again; what the system gave, it takes back as a
whole.
"""

from __future__ import annotations

import contextlib
import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LARGE = 2**20
"""Bytes from which on memory comes from the system."""
PRIVATE: dict[str, Any] = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
"""A forked process gets a copy; elsewhere than on Unix there are none."""


def empty(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """As ``numpy.empty``; what is never touched takes no memory."""
    size = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    if size < LARGE:
        return np.empty(shape, dtype)
    try:
        memory = mmap.mmap(-1, size, **PRIVATE)
    except OSError as error:
        raise MemoryError(f"there is no room for {size:,} bytes") from error
    with contextlib.suppress(AttributeError, OSError):  # where there are none
        memory.madvise(mmap.MADV_HUGEPAGE)  # as numpy does: fewer and larger pages are sooner there
    return np.ndarray(shape, dtype, buffer=memory)
