"""The kernels that Python calls, by their names.

They are those of :mod:`driftmap._kernels.machine`, which are there sooner than numba's functions and called more
quickly; elsewhere than with CPython on Linux and x86-64, numba's functions themselves.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

KERNELS = {
    "abreast": ("settle_near",),
    "boxes": ("look_ahead", "remember_all"),
    "cells": ("add_records", "cheapest", "close_pairs_at_least", "drop_landmark", "insert_into_cell", "set_seconds"),
    "columns": ("side_by_side",),
    "distances": ("cross_squared",),
    "forget": ("expired", "farthest", "learn_forgetting", "sweep_every", "take_out"),
    "learn": ("advance",),
    "line": ("arrange_on_line", "place_rows_on_line"),
    "measure": ("squared_to_places",),
    "pairs": ("closest_beyond_matrix",),
    "placing": ("settle_rows",),
    "project": ("infer_squared", "project", "project_rows"),
    "replace": ("admit_paper", "admit_tight"),
    "scan": ("centre_rows", "scan_direct", "scan_filtered", "scan_matrix"),
    "witnesses": ("generation", "merge_cells", "merge_costs", "weights_at"),
}
"""In which files they are."""
MODULES = {name: f"{__package__}.{module}" for module, names in KERNELS.items() for name in names}

WITHOUT_NUMBA = (sys.platform, sys.implementation.name, platform.machine()) == ("linux", "cpython", "x86_64") and (
    "DRIFTMAP_NUMBA" not in os.environ
)
"""Whether kernels load without numba once they have been compiled."""


def is_ready(kernel: Any) -> bool:
    """Whether a kernel can be called at once: it has been compiled or loaded in this process."""
    return bool(kernel.signatures if hasattr(kernel, "signatures") else kernel.doors)


@functools.cache
def is_kept(kernel: Any) -> bool:
    """Whether a kernel has been compiled on this machine when somebody first asks: it only has to be loaded."""
    return is_kept_by_now(kernel)


def is_kept_by_now(kernel: Any) -> bool:
    """Whether a kernel has been compiled on this machine."""
    if not hasattr(kernel, "py_func"):
        return bool(kernel.is_kept())
    return any(Path(kernel.stats.cache_path or "").glob(f"*.{kernel.py_func.__name__}-*.nbc"))


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if WITHOUT_NUMBA:
        from driftmap._kernels.machine import Kernel

        found: Any = Kernel(name, MODULES[name])
    else:
        found = getattr(import_module(MODULES[name]), name)
    globals()[name] = found
    return found
