"""Compiling on two cores, the first time on a machine.

This process compiles how arrivals are taken in, a second one meanwhile what uncovered arrivals change, and then how
arrivals are compared in blocks, which is needed for speed only: nobody waits for that. It leaves everything in the
cache. Where there can be no second process, this one compiles everything, when it is needed.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from driftmap._kernels import doors
from driftmap.parallel import n_cores

LONGEST = 60.0
"""Seconds after which nobody waits for the other process any more."""
LOOK = 0.01
"""Seconds between two looks at what it has done."""
NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)

_others: list[subprocess.Popen[bytes]] = []
"""Processes that may still be at work."""


@contextlib.contextmanager
def compiled_beside(dtype: str, n_landmarks: int, d: int) -> Iterator[None]:
    """While this process compiles its half, another one compiles what has to be there besides, before this goes on."""
    wanted = f"main({dtype!r}, {n_landmarks}, {d})"
    command = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; {wanted}"
    other = _python("-c", command) if _possible() else None
    from driftmap._kernels.compiler import without_collecting  # which takes long to import

    try:
        with without_collecting():
            yield
        if not doors.is_kept_by_now(doors.advance):  # nothing can be kept: what the other process compiles is lost
            _end()
        end = time.monotonic() + LONGEST
        while other is not None and other.poll() is None and not doors.is_kept_by_now(doors.merge_cells):
            if time.monotonic() > end:
                other.kill()
            time.sleep(LOOK)
    except BaseException:
        _end()
        raise


def is_busy() -> bool:
    """Whether another process compiles something that should not be compiled here as well."""
    _others[:] = [other for other in _others if other.poll() is None]
    return bool(_others)


def _possible() -> bool:
    """Whether there is a second core, and this is Python and not a program with Python in it."""
    name = Path(sys.executable or "").name.lower()
    return n_cores() > 1 and name.startswith("python") and not getattr(sys, "frozen", False)


def _python(*arguments: str) -> subprocess.Popen[bytes] | None:
    nothing = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        other = subprocess.Popen(
            [sys.executable, *arguments], stdin=nothing, stdout=nothing, stderr=nothing, creationflags=NO_WINDOW
        )
        _others.append(other)
        return other
    return None


@atexit.register
def _end() -> None:
    """No process outlives this one; see also :func:`_end_with_parent`."""
    for other in _others:
        other.kill()
        other.wait()
    _others.clear()


def _end_with_parent() -> None:
    """Let the system end this process with the one that started it, even if that is killed; Linux only."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main(dtype: str, n_landmarks: int, d: int) -> None:
    """Compile what replaces landmarks and makes room, then what compares rows in blocks, for points like these."""
    _end_with_parent()
    from driftmap.landmarks.euclidean import compile_scan
    from driftmap.state import StreamState

    X, state = np.zeros((1, 1), dtype), StreamState(1, 1.0, weighted=True)
    state.reserve(1)
    state.cells["landmark"][0] = 0
    nothing, numbers, gone = np.zeros(2, np.int64), np.empty(2), np.zeros(1, np.bool_)
    doors.admit_tight(
        X, 1, state.radius, state.records, state.chain, state.cells, 0, nothing, np.empty((1, 2)), numbers, numbers
    )
    doors.merge_costs(X, nothing, nothing, nothing, numbers, nothing[:0], state.witnesses, numbers)
    doors.merge_cells(X, nothing, nothing, nothing, numbers, 0, 0, 1.0, state.witnesses, gone, nothing)
    compile_scan(np.zeros((1, d), dtype), n_landmarks)
