"""A cluster of processes on this machine, and blocks that its workers compute; one kills its worker."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import dask
import numpy as np
from dask.delayed import delayed
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

from driftmap.dask import tasks

N_BLOCKS, ROWS = 24, 500
SETTINGS = {"distributed.scheduler.allowed-failures": 100, "distributed.worker.multiprocessing-method": "forkserver"}
with dask.config.set(SETTINGS):
    get_mp_context()  # which chooses what the server of forks imports
multiprocessing.set_forkserver_preload(["distributed", "driftmap.dask", "driftmap.estimator"])  # workers start fast


@contextlib.contextmanager
def cluster(n_workers, **options):
    """A client of some workers, each a process that is started again when it dies."""
    own = {"host": "127.0.0.1", "dashboard_address": ":0", "threads_per_worker": 1, "silence_logs": 60}
    with (
        dask.config.set(SETTINGS),
        LocalCluster(n_workers=n_workers, **own, **options) as workers,
        Client(workers) as client,
    ):
        yield client


def block(number, seconds=0.0, seen=None):
    """Some rows of a walk; ``seen`` is a folder in which is noted that they were computed."""
    time.sleep(seconds)
    if seen is not None:
        Path(seen, str(number)).touch()
    return np.cumsum(np.random.default_rng(number).standard_normal((ROWS, 6)), axis=0)


def die_once(marker):
    """Kill this process, unless another one has done so before."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), signal.SIGKILL)


def fatal(number, marker):
    """The same rows, but the first worker that computes them dies."""
    die_once(marker)
    return block(number)


def make_merging_fatal(marker):
    """On a worker: the first one that merges dies."""
    merge = tasks.merge

    def fatal_merge(parts):
        die_once(marker)
        return merge(parts)

    tasks.merge = fatal_merge


def stream(**options):
    """The blocks of a walk."""
    return [delayed(block)(number, **options) for number in range(N_BLOCKS)]


@contextlib.contextmanager
def killing(client, rng, most):
    """Meanwhile, workers are killed at random moments, up to so many; gives the list of those that were."""
    killed, done = [], threading.Event()

    def strike():
        while len(killed) < most and not done.wait(rng.uniform(0.05, 1.0)):
            with contextlib.suppress(Exception):  # some worker may just be away
                pid = rng.choice(list(client.run(os.getpid, on_error="ignore").values()))
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield killed
    finally:
        done.set()
        thread.join()


def wait_until(holds, seconds=60.0):
    """Wait for something that is bound to happen."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
