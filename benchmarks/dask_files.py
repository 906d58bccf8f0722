"""Compares two local workers with one process on Parquet files, and models larger runs; see ``benchmarks.dask``."""

from __future__ import annotations

import math
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster
from threadpoolctl import threadpool_limits

from benchmarks.timing import Limit, at_most
from driftmap import DriftMap
from driftmap import dask as on_dask
from driftmap.dask.blocks import LEAF_ROWS, MOST_LEAVES, Partition, leaves, parquet_files

D, M, WORKERS, FAN_IN, FILE_ROWS = 16, 100, 2, 8, 10**6
CPU, GROWTH, MODEL = 2.0, 11.0, 1.5
PLANNED_ROWS, PLANNED_CORES, BYTES_PER_SECOND = 10**12, 1024, 10**8
"""The modelled run: rows, cores, and the bytes that a worker receives per second."""


class Used(NamedTuple):
    """Resources that a process has used so far."""

    cpu: float
    peak: int
    """Peak memory in bytes."""


def used() -> Used:
    """Return the resources that this process has used so far."""
    # getrusage is unsuitable: its maximum includes the parent's memory at the start of this process.
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
    return Used(time.process_time(), 1024 * int(peak))


def mapper() -> DriftMap:
    """Return an unfitted map."""
    return DriftMap(n_landmarks=M)


def write_walk(folder: Path, rows: int) -> None:
    """Write a random walk in single precision, in files of a million rows."""
    position = np.zeros(D)
    for i in range(rows // FILE_ROWS):
        walk = position + np.cumsum(np.random.default_rng(i).standard_normal((FILE_ROWS, D)), axis=0)
        position = walk[-1]
        columns = {f"x{j}": column for j, column in enumerate(walk.T.astype(np.float32))}
        pq.write_table(pa.table(columns), folder / f"{i:06}.parquet")


# --- a single process ---


def alone(work: Callable[..., Any], *args: Any) -> Any:
    """Run a function in a new process, to measure its resources."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_with_one_thread, work, *args).result()


def _with_one_thread(work: Callable[..., Any], *args: Any) -> Any:
    with threadpool_limits(1):
        return work(*args)


def read(parts: list[Partition]) -> float:
    """Return the CPU seconds to read files."""
    start = used().cpu
    for part in parts:
        for _ in part.source.pieces():
            pass
    return used().cpu - start


def learn(parts: list[Partition]) -> tuple[list[float], int]:
    """Return the CPU seconds to read and learn each of several files in order, and the peak memory."""
    estimator, seconds = mapper(), []
    for part in parts:
        start = used().cpu
        for rows, _ in part.source.pieces():
            estimator.partial_fit(rows)
        seconds.append(used().cpu - start)
    return seconds, used().peak


def fill(parts: list[Partition]) -> float:
    """Return the median CPU seconds to read and learn a file from an empty state, without the first, which imports."""
    return float(np.median([learn([part])[0][0] for part in parts][1:]))


def merge(parts: list[Partition]) -> float:
    """Return the CPU seconds of a merge per part after the first."""
    first, *later = [mapper().fit(np.concatenate([rows for rows, _ in part.source.pieces()])) for part in parts]
    coresets = [part.coreset() for part in later]
    start = used().cpu
    first.merge(*coresets)
    return (used().cpu - start) / len(coresets)


# --- the cluster ---


class Run(NamedTuple):
    """The resources of a run over all rows."""

    rows: int
    n_leaves: int
    alone: float
    """CPU seconds to read and learn in one process."""
    alone_peak: int
    learning: float
    """CPU seconds of the workers."""
    learning_time: float
    mapping: float
    client: float
    """CPU seconds of client and scheduler."""
    peaks: list[int]
    tightness: float
    """The bound divided by the exact covering radius."""


def run_on_cluster(folder: Path, rows: int) -> Run:
    """Learn, map and certify files on two workers, and learn them in one process."""
    seconds, alone_peak = alone(learn, parquet_files(sorted(folder.glob("*.parquet"))))
    here = time.process_time()
    cluster = LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0", silence_logs=60
    )
    with cluster, Client(cluster) as client, tempfile.TemporaryDirectory(dir=folder) as out:
        parts = parquet_files(sorted(folder.glob("*.parquet")))
        client.run(mapper)  # imports the package in all workers

        def all_used() -> float:
            return sum(worker.cpu for worker in client.run(used).values())

        start, clock = all_used(), time.perf_counter()
        fitted = on_dask.fit(mapper(), parts, fan_in=FAN_IN)
        learning, clock = all_used() - start, time.perf_counter() - clock
        certified = on_dask.embed(fitted, parts, Path(out), ["x1", "x2"], certify=True)
        mapping = all_used() - start - learning
        peaks = [worker.peak for worker in client.run(used).values()]
        tightness = fitted.coverage_bound_ / certified.covering_radius_
    here = time.process_time() - here
    n = len(leaves(parts, None))
    return Run(rows, n, sum(seconds), alone_peak, learning, clock, mapping, here, peaks, tightness)


# --- the model ---


class Model(NamedTuple):
    """CPU seconds, each measured in one process on a few files."""

    reading: float
    """Per row."""
    learning: float
    """Per row, once the memory is full; without reading."""
    filling: float
    """Per leaf, to fill the memory of a new state."""
    merging: float
    """Per merged part after the first."""
    mapping: float
    """Per row, with reading, writing and certifying."""

    def learning_cpu(self, rows: float, n_leaves: int) -> float:
        """Return the CPU seconds to learn rows in this number of leaves, and to merge them."""
        return rows * (self.reading + self.learning) + n_leaves * self.filling + (n_leaves - 1) * self.merging

    def learning_time(self, rows: float, n_leaves: int, cores: int) -> float:
        """Return the seconds to learn the leaves of one core, then for merges and transfers up to the root."""
        leaf = rows / n_leaves * (self.reading + self.learning) + self.filling
        return math.ceil(n_leaves / cores) * leaf + self.merging_time(n_leaves)

    def merging_time(self, n_leaves: int) -> float:
        """Return the seconds between the last leaf and the root: merges and transfers on each level."""
        return depth(n_leaves) * (FAN_IN - 1) * (self.merging + bytes_of_a_leaf() / BYTES_PER_SECOND)


def bytes_of_a_leaf() -> float:
    """Return the maximum size of a leaf, with the default memory."""
    return 100 * M * (8 * D + 24)


def depth(n_leaves: int) -> int:
    """Return the number of levels of merges between leaves and root."""
    levels = 0
    while n_leaves > 1:
        n_leaves, levels = math.ceil(n_leaves / FAN_IN), levels + 1
    return levels


def measured_model(folder: Path, mapping: float) -> Model:
    """Measure the constants of the model on eight files."""
    parts = parquet_files(sorted(folder.glob("*.parquet"))[:8])
    later = alone(learn, parts)[0][1:]
    reading, steady = alone(read, parts) / (len(parts) * FILE_ROWS), np.mean(later) / FILE_ROWS
    filling = max(alone(fill, parts) - steady * FILE_ROWS, 0.0)
    return Model(reading, steady - reading, filling, alone(merge, parts), mapping)


def print_runs(runs: list[Run], model: Model) -> list[Limit]:
    """Print the table of runs; return their limits."""
    rows = {
        "leaves": lambda run: f"{run.n_leaves}",
        "reading and learning in one process, CPU s": lambda run: f"{run.alone:.1f}",
        "learning on two workers, CPU s": lambda run: f"{run.learning:.1f}",
        "the same by the model": lambda run: f"{model.learning_cpu(run.rows, run.n_leaves):.1f}",
        "learning on two workers, s on the clock": lambda run: f"{run.learning_time:.1f}",
        "mapping, certifying and writing on two workers, CPU s": lambda run: f"{run.mapping:.1f}",
        "client and scheduler, CPU s": lambda run: f"{run.client:.1f}",
        "peak of memory, one process, MB": lambda run: f"{run.alone_peak / 1e6:.0f}",
        "peak of memory, each worker, MB": lambda run: ", ".join(f"{peak / 1e6:.0f}" for peak in run.peaks),
        "bound / exact covering radius": lambda run: f"{run.tightness:.3f}",
    }
    print("| rows | " + " | ".join(f"{run.rows:,}" for run in runs) + " |")
    print("|---" * (1 + len(runs)) + "|")
    for what, text in rows.items():
        print(f"| {what} | " + " | ".join(map(text, runs)) + " |")
    print()
    predicted = [model.learning_cpu(run.rows, run.n_leaves) for run in runs]
    off = [max(run.learning / p, p / run.learning) for run, p in zip(runs, predicted, strict=True)]
    return [
        at_most("learning on two workers / in one process, CPU", CPU, [run.learning / run.alone for run in runs]),
        at_most("learning, ten times the rows", GROWTH, [runs[1].learning / runs[0].learning]),
        at_most("peak of a worker, ten times the rows", 1.5, [max(runs[1].peaks) / max(runs[0].peaks)]),
        at_most("model and measured CPU differ by a factor of", MODEL, off),
        at_most("exact covering radius / stated bound", 1.0, [1 / run.tightness for run in runs]),
    ]


def print_plan(model: Model) -> None:
    """Print the model's prediction for the planned run."""
    rows, cores = PLANNED_ROWS, PLANNED_CORES
    n_leaves = min(MOST_LEAVES, rows // LEAF_ROWS)
    names = ("reading", "learning", "filling", "merging", "mapping")
    units = ("us a row", "us a row", "ms a leaf", "ms a part", "us a row")
    scale = (1e6, 1e6, 1e3, 1e3, 1e6)
    constants = zip(names, units, [v * s for v, s in zip(model, scale, strict=True)], strict=True)
    print("Constants: " + ", ".join(f"{name} {value:.3g} {unit}" for name, unit, value in constants) + "\n")
    shipped = bytes_of_a_leaf()
    print(f"| {rows:.0e} rows x {D} on {cores:,} cores | |\n|---|---|")
    print(f"| leaves, levels of merges | {n_leaves:,}, {depth(n_leaves)} |")
    print(f"| bytes that a leaf sends | {shipped / 1e6:.2f} MB |")
    print(f"| bytes that travel in all | {(n_leaves - 1) * shipped / 1e9:.1f} GB |")
    print(f"| bytes that arrive at one worker between leaves and root | {depth(n_leaves) * 7 * shipped / 1e6:.0f} MB |")
    print(f"| learning, CPU hours | {model.learning_cpu(rows, n_leaves) / 3600:.0f} |")
    print(f"| of which filling memories and merging | {n_leaves * (model.filling + model.merging) / 3600:.2f} |")
    print(f"| learning, minutes | {model.learning_time(rows, n_leaves, cores) / 60:.1f} |")
    print(f"| of which between the last leaf and the root, seconds | {model.merging_time(n_leaves):.1f} |")
    print(f"| mapping and certifying, minutes | {rows * model.mapping / cores / 60:.1f} |\n")


def run(rows: int, folder: Path) -> list[Limit]:
    """Write the files, run a tenth of the rows and all of them, delete the files."""
    if rows % (10 * FILE_ROWS):
        raise SystemExit(f"--rows must be a multiple of {10 * FILE_ROWS:,}")
    folder.mkdir(parents=True, exist_ok=True)
    needed = int(rows * (4 * D * 1.2 + 20))
    if shutil.disk_usage(folder).free < needed:
        raise SystemExit(f"{folder} needs {needed / 1e9:.0f} GB of free space")
    print(
        f"Random walk, {D} columns in single precision, files of {FILE_ROWS:,} rows, {M} landmarks, fan-in {FAN_IN}\n"
    )
    runs = []
    for n in (rows // 10, rows):
        with tempfile.TemporaryDirectory(dir=folder) as part:
            write_walk(Path(part), n)
            os.sync()
            runs.append(run_on_cluster(Path(part), n))
            if n == rows:
                model = measured_model(Path(part), runs[0].mapping / runs[0].rows)
    limits = print_runs(runs, model)
    print_plan(model)
    return limits
