"""A process that carries out cases, so that one that crashes or hangs is a failure and not the end."""

import multiprocessing
import os
import resource
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from importlib import import_module

from torture.case import Case

KINDS = {
    "learning": 2, "interrupts": 1, "checkpoints": 2, "states": 1, "inputs": 2, "addresses": 1, "disks": 1,
    "outputs": 1, "kills": 4, "follows": 4, "messages": 4, "forgetting": 4, "signals": 4, "clusters": 1,
    "connections": 1, "levels": 1, "runs": 2, "recordings": 1, "databases": 4, "webhooks": 2,
}  # fmt: skip
"""Each is a module with a function ``run(case)``, and has a share of the time; to start processes takes long."""
SECONDS = 300
"""A case that takes longer hangs."""
MOST_MEMORY = 6 * 2**30


def carry_out(name):
    """What a case counted, and its failure as text, empty if there is none."""
    kind, _, number = name.partition("-")
    if kind not in KINDS or not number.isdigit():
        raise ValueError(f"{name!r} is no case; a case is one of {', '.join(KINDS)} and a number, learning-17")
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        case = Case(name, folder)
        try:
            import_module(f"torture.{kind}").run(case)
        except Exception:
            return case.counts, traceback.format_exc()
    return case.counts, ""


def serve(connection):
    os.setsid()  # what a case has started is ended with it
    for signum in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):  # a shell lets what it starts by & ignore them
        signal.signal(signum, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    warnings.simplefilter("ignore")
    while (name := connection.recv()) is not None:
        connection.send(carry_out(name))


class Worker:
    """Carries out cases one after the other, in a process that is replaced when it dies."""

    def __init__(self):
        self._process = None

    def run(self, name):
        """As :func:`carry_out`; also if the process crashes or hangs."""
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=serve, args=(other,))
            self._process.start()
            other.close()
        try:
            self._connection.send(name)
            if self._connection.poll(SECONDS):
                return self._connection.recv()
            failure = f"it takes more than {SECONDS} seconds"
        except (EOFError, OSError):
            self._process.join()
            failure = f"its process ended with exit code {self._process.exitcode}"
        self.close()
        return Counter(cases=1), failure

    def close(self):
        if self._process is not None:
            self._process.join(0)
            if self._process.is_alive():
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.join()
            self._connection.close()
            self._process = None
