"""The command ``driftmap``, also ``python -m driftmap``, as a process that does nothing else."""

import gc
import os
import signal
import sys
from types import FrameType

YOUNG = 100_000
"""Objects made before garbage is looked for: modules make many, all of which stay."""
TURN = 0.0005
"""Seconds after which a thread lets others go on: those that read and those that map wait for each other often."""


def quit_at_once(signum: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C during imports, some of which cannot be broken off by an exception."""
    os.write(2, b"driftmap: interrupted\n")
    os._exit(128 + signum)


def run() -> int:
    """Set up the process, and carry out the command in it."""
    for descriptor in (0, 1, 2):  # one that is closed would be given to the next file that is opened
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    default = signal.getsignal(signal.SIGINT)
    if default is signal.default_int_handler:  # else the process was started to ignore it
        signal.signal(signal.SIGINT, quit_at_once)
    gc.set_threshold(YOUNG)
    sys.setswitchinterval(TURN)
    if sys.argv[1:2] == ["embed"]:  # which uses threads of its own; those of BLAS take their time to start
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from driftmap.cli import main

    code = main(ready=lambda: signal.signal(signal.SIGINT, default))
    gc.freeze()  # nothing is looked for at the end: the system takes everything back at once
    return code


if __name__ == "__main__":
    raise SystemExit(run())
