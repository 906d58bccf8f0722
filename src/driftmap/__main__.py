"""The command ``driftmap``, also ``python -m driftmap``, as a separate process."""

from __future__ import annotations

import gc
import os
import sys

try:
    import signal
except KeyboardInterrupt:  # the module is Python code, too
    os.write(2, b"driftmap: interrupted\n")
    os._exit(130)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

COLLECTION_THRESHOLD = 100_000
"""Objects created before garbage collection: modules create many, all of which stay."""
SWITCH_INTERVAL = 0.0005
"""Seconds after which a thread yields to others: readers and learners wait for each other often."""
SIGNALS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
"""The signals that end the command, and what it prints then."""


def quit_immediately(signum: int, frame: FrameType | None) -> NoReturn:
    """Handle a signal by ending the process, without an exception.

    An exception might be raised while a module is imported, a lock is taken or a file is removed: then it, or the
    cleanup, would be lost.
    """
    remove_unfinished = getattr(sys.modules.get("driftmap.storage.atomic"), "remove_unfinished", None)
    if remove_unfinished is not None:
        remove_unfinished()
    line = "\r\x1b[2K" if os.isatty(2) else ""  # there may be a progress bar
    line += f"driftmap: {SIGNALS[signal.Signals(signum).name]}\n"
    try:
        os.write(2, line.encode())
    finally:
        leave(128 + signum)


def leave(code: int) -> NoReturn:
    """End the process without a shutdown of the interpreter, in which threads of libraries may crash."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, RuntimeError, ValueError):
            continue  # closed, or in use
    os._exit(code)


def run() -> NoReturn:
    """Set up the process, and carry out the command in it."""
    for descriptor in (0, 1, 2):  # a closed descriptor would be reused by the next file that is opened
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in SIGNALS:
        signum = getattr(signal, name, None)
        if signum is not None and signal.getsignal(signum) is not signal.SIG_IGN:  # ignored under nohup
            signal.signal(signum, quit_immediately)
    gc.set_threshold(COLLECTION_THRESHOLD)
    sys.setswitchinterval(SWITCH_INTERVAL)
    if sys.argv[1:2] in (["embed"], ["follow"], ["watch"], ["contacts"]):  # BLAS threads start slowly
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from driftmap.cli import main

    leave(main())


if __name__ == "__main__":
    run()
