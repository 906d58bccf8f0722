"""The command ``driftmap``, also ``python -m driftmap``, as a process that does nothing else."""

import gc
import os
import sys

YOUNG = 100_000
"""Objects made before garbage is looked for: modules make many, all of which stay."""
TURN = 0.0005
"""Seconds after which a thread lets others go on: those that read and those that map wait for each other often."""


def run() -> int:
    """Set up the process, and carry out the command in it."""
    gc.set_threshold(YOUNG)
    sys.setswitchinterval(TURN)
    if sys.argv[1:2] == ["embed"]:  # which uses threads of its own; those of BLAS take their time to start
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from driftmap.cli import main

    code = main()
    gc.freeze()  # nothing is looked for at the end: the system takes everything back at once
    return code


if __name__ == "__main__":
    raise SystemExit(run())
