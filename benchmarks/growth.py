"""Measure how time and memory grow: python -m benchmarks.growth [--quick]

The time is CPU time on one thread to learn the seasonal stream of 16 numbers. The exponent is the slope of log(time)
against log(length of the stream) or log(number of landmarks), where 1 means proportional growth; the slope between the
last two columns is printed next to it. Memory is the resident memory of a process per point, with every point stored.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.learning import MEMORIES
from benchmarks.stream import bytes_per_point, seasonal
from benchmarks.timing import TICK, Limit, at_most, command, in_turn
from driftmap.landmarks import OnlineLandmarks

D, M, N = 16, 100, 2 * 10**5
LENGTHS = (10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6)
LANDMARKS = (20, 50, 100, 200, 500)
DIMENSIONS = (3, 16, 128)
GOAL, GOAL_BYTES = 1.1, 64
"""The largest exponent, and the most bytes per stored point besides its numbers (a record and spare capacity)."""


def seconds(X: np.ndarray, m: int, memory: str | None) -> float:
    """Return the time to learn a stream."""
    return in_turn([lambda: OnlineLandmarks(m, memory=memory).partial_fit(X)], 5, enough=0.5)[0]


def exponent(sizes: tuple[int, ...], times: list[float]) -> float:
    """Return the slope of the least-squares line in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def time_table(what: str, sizes: tuple[int, ...], times: dict[str, list[float]]) -> list[Limit]:
    """Print the times and their exponents; return the limits."""
    print(f"\n| {what} | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent | at the end |")
    print("|---|" + "---|" * (len(sizes) + 2))
    limits = []
    for memory, row in times.items():
        slope, last = exponent(sizes, row), exponent(sizes[-2:], row[-2:])
        cells = " | ".join(f"{t:.4f}" for t in row)
        print(f"| seconds{memory} | {cells} | {slope:.2f} {TICK[slope <= GOAL]} | {last:.2f} |", flush=True)
        limits.append(at_most(f"exponent of time against {what}{memory}", GOAL, [slope]))
    return limits


def time(quick: bool) -> list[Limit]:
    """Measure growth with the length of the stream and with the number of landmarks."""
    lengths = tuple(n for n in LENGTHS if not quick or n <= 10**6)
    X = seasonal(max(lengths), D)
    by_length = {name: [seconds(X[:n], M, memory) for n in lengths] for name, memory in MEMORIES.items()}
    by_landmarks = {name: [seconds(X[:N], m, memory) for m in LANDMARKS] for name, memory in MEMORIES.items()}
    return time_table("n", lengths, by_length) + time_table("m", LANDMARKS, by_landmarks)


def memory(quick: bool) -> list[Limit]:
    """Measure bytes per stored point besides its numbers, without a limit and with one that is not reached."""
    print("\n| d | bytes per stored point | in addition to its numbers | with a limit |\n|---|---|---|---|")
    excess, n = [], 2 * 10**5 if quick else 10**6
    for d in DIMENSIONS:
        used, limited = bytes_per_point(d, n), bytes_per_point(d, n, memory=2 * n)
        if used is None or limited is None:
            print("not measured: this system has no /proc")
            return []
        excess.append(used - 8 * d)
        ticked = f"{excess[-1]:.0f} {TICK[excess[-1] <= GOAL_BYTES]}"
        print(f"| {d} | {used:.0f} | {ticked} | {limited - 8 * d:.0f} |", flush=True)
    return [at_most("bytes per stored point in addition to its numbers", GOAL_BYTES, excess)]


def run(quick: bool) -> list[Limit]:
    """Print the tables; return the limits."""
    with threadpool_limits(1):
        return time(quick) + memory(quick)


if __name__ == "__main__":
    command(__doc__, run)
