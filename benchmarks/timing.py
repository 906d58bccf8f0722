"""What all benchmarks share: timing runs in turn, limits with their ticks, and the machine they were measured on."""

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
    """The shortest of several runs, in seconds."""
    return in_turn([run], times, time.perf_counter)[0]


def in_turn(
    runs: Sequence[Callable[[], object]],
    times: int,
    clock: Callable[[], float] = time.process_time,
    enough: float = np.inf,
) -> list[float]:
    """The shortest time of each of several runs that take turns, so that a busy moment meets all of them alike.

    The clock is the processor time of this process by default: with one thread it is what a clock on the
    wall shows on an idle machine, and other jobs hardly change it. Work on several threads needs the wall clock. No
    further turn begins after ``enough`` seconds.
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
    """Work without Python, some tenths of a second on so many threads: what two gain is all that the machine gives."""
    pool, part = ThreadPoolExecutor(threads), np.linspace(0, 1, 10**5)
    return lambda: list(pool.map(np.sin, [part] * 400))


class Limit(NamedTuple):
    """Something promised, and what was measured."""

    what: str
    goal: str
    measured: str
    ok: bool


def at_least(what: str, goal: float, measured: Iterable[float]) -> Limit:
    """A limit that the least of all measured numbers must reach."""
    return _limit(what, f">= {goal:g}", measured, min, lambda number: number >= goal)


def at_most(what: str, goal: float, measured: Iterable[float]) -> Limit:
    """A limit that the largest of all measured numbers must not exceed."""
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
    """All limits as a table."""
    rows = [f"| {limit.what} | {limit.goal} | {limit.measured} | {TICK[limit.ok]} |" for limit in limits]
    return "\n".join(["| limit | goal | measured | |", "|---|---|---|---|", *rows])


def processor() -> str:
    """The processor's name as the system gives it, and which of its kernels the linear algebra library chose."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        fields = (line.partition(":") for line in cpuinfo.read_text().splitlines())
        name = next((value.strip() for key, _, value in fields if key.strip() == "model name"), name)
    kernels = {pool["architecture"] for pool in threadpool_info() if "architecture" in pool}
    return ", ".join([name, *sorted(kernels)])


def machine() -> str:
    """Processor and versions, for the head of every table."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


def command(description: str | None, run: Callable[[bool], list[Limit]]) -> None:
    """A benchmark on the command line: the machine, its tables, and a summary of its limits if it has any."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter streams, fewer repetitions")
    quick = parser.parse_args().quick
    print(f"{machine()}\n")
    limits = run(quick)
    if limits:
        print(f"\n{summary(limits)}")
