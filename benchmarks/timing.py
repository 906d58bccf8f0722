"""Shared by all benchmarks: timing of runs in turn, limits, and a description of the machine."""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_info

TICK = {True: "ok", False: "MISSED"}
PACKAGES = ("numpy", "scipy", "scikit-learn", "driftmap")


def best(run: Callable[[], object], times: int) -> float:
    """Return the time of the shortest of several runs, in seconds."""
    return in_turn([run], times, time.perf_counter)[0]


def in_turn(
    runs: Sequence[Callable[[], object]],
    times: int,
    clock: Callable[[], float] = time.process_time,
    enough: float = np.inf,
) -> list[float]:
    """Return the shortest time of each of several runs, which take turns so that load affects all of them equally.

    The default clock is the CPU time of this process: with one thread it equals the wall-clock time on an idle machine,
    and other jobs hardly affect it. Work on several threads needs a wall clock. Turns stop after ``enough`` seconds.
    """
    turns: list[list[float]] = []
    while len(turns) < times and np.sum(turns) < enough:
        turns.append([_seconds(run, clock) for run in runs])
    return np.min(turns, axis=0).tolist()


def _seconds(run: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    run()
    return clock() - start


def plain_work(threads: int) -> Callable[[], object]:
    """Return work outside of Python on this number of threads; its speed-up is the most that the machine can give."""
    pool, part = ThreadPoolExecutor(threads), np.linspace(0, 1, 10**5)
    return lambda: list(pool.map(np.sin, [part] * 400))


class Limit(NamedTuple):
    """A claim and its measurement."""

    what: str
    goal: str
    measured: str
    ok: bool


def at_least(what: str, goal: float, measured: Iterable[float]) -> Limit:
    """Return a limit that the least of all measured numbers must reach."""
    return _limit(what, f">= {goal:g}", measured, min, lambda number: number >= goal)


def at_most(what: str, goal: float, measured: Iterable[float]) -> Limit:
    """Return a limit that the largest of all measured numbers must not exceed."""
    return _limit(what, f"<= {goal:g}", measured, max, lambda number: number <= goal)


def _limit(
    what: str,
    goal: str,
    measured: Iterable[float],
    worst: Callable[[list[float]], float],
    holds: Callable[[float], bool],
) -> Limit:
    numbers = list(measured)
    text = f"{worst(numbers):.3g}"
    if len(numbers) > 1:
        text += f" at worst; {sum(map(holds, numbers))} of {len(numbers)} within"
    return Limit(what, goal, text, holds(worst(numbers)))


def summary(limits: Iterable[Limit]) -> str:
    """Return all limits as a table."""
    rows = [f"| {limit.what} | {limit.goal} | {limit.measured} | {TICK[limit.ok]} |" for limit in limits]
    return "\n".join(["| limit | goal | measured | |", "|---|---|---|---|", *rows])


def processor() -> str:
    """Return the processor's name, and the kernels that the BLAS library selected."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        fields = (line.partition(":") for line in cpuinfo.read_text().splitlines())
        name = next((value.strip() for key, _, value in fields if key.strip() == "model name"), name)
    kernels = {pool["architecture"] for pool in threadpool_info() if "architecture" in pool}
    return ", ".join([name, *sorted(kernels)])


def machine() -> str:
    """Return processor and versions, for the head of every table."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


def command(description: str | None, run: Callable[[bool], list[Limit]]) -> None:
    """Run a benchmark as a command: print the machine, its tables, and a summary of its limits, if any."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter streams, fewer repetitions")
    quick = parser.parse_args().quick
    print(f"{machine()}\n")
    limits = run(quick)
    if limits:
        print(f"\n{summary(limits)}")
