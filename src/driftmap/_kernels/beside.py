"""Compiling on two cores, the first time on a machine.

Half of what a long stream needs is compiled by this process, the other half meanwhile by a second one, which leaves it
in numba's cache. Where there can be none, this process compiles everything, when it is needed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from driftmap._kernels.doors import are_without_numba, without_numba

LONGEST = 60.0
"""Seconds after which nobody waits for the other process any more."""
NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)


@contextlib.contextmanager
def compiled_beside(dtype: str) -> Iterator[None]:
    """While this process compiles how arrivals are taken in, another one compiles what uncovered arrivals change."""
    wanted = f"main({dtype!r}, lean={are_without_numba()})"
    command = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; {wanted}"
    other = _python("-c", command) if _possible() else None
    collecting = gc.isenabled()
    gc.disable()  # a compiler makes many objects that stay, and the collector would look at them again and again
    try:
        yield
        if other is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                other.wait(LONGEST)
    finally:
        if collecting:
            gc.enable()
        if other is not None and other.poll() is None:
            other.kill()


def _possible() -> bool:
    """Whether there is a second core, and this is Python and not a program with Python in it."""
    name = Path(sys.executable or "").name.lower()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores > 1 and name.startswith("python") and not getattr(sys, "frozen", False)


def _python(*arguments: str) -> subprocess.Popen[bytes] | None:
    nothing = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        return subprocess.Popen(
            [sys.executable, *arguments], stdin=nothing, stdout=nothing, stderr=nothing, creationflags=NO_WINDOW
        )
    return None


def main(dtype: str, lean: bool = False) -> None:
    """Compile what replaces landmarks and makes room, for points of this precision."""
    import numpy as np

    if lean:
        without_numba()
    from driftmap._kernels.doors import admit_tight, merge_cells, merge_costs
    from driftmap.state import StreamState

    gc.disable()
    X, state = np.zeros((1, 1), dtype), StreamState(1, 1.0, weighted=True)
    state.reserve(1)
    state.cells["landmark"][0] = 0
    nothing, numbers, gone = np.zeros(2, np.int64), np.empty(2), np.zeros(1, np.bool_)
    admit_tight(
        X, 1, state.radius, state.records, state.chain, state.cells, 0, nothing, np.empty((1, 2)), numbers, numbers
    )
    merge_costs(X, nothing, nothing, nothing, numbers, nothing[:0], state.witnesses, numbers)
    merge_cells(X, nothing, nothing, nothing, numbers, 0, 0, 1.0, state.witnesses, gone, nothing)
