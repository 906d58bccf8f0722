"""Measure a storm of replacements: python -m benchmarks.storm [--quick]

A spiral in eight planes with incommensurable periods grows by a factor e every 2,000 arrivals: each arrival is farther
from all landmarks than the radius, and replaces one of 500. This requires at least one pass over the stored points:
their distances to the new point, and the minimum with their previous distances. In NumPy that is a product with a
vector, whose time is measured at several numbers of stored points and summed over the arrivals. With bounded memory,
few points are stored and the 500 landmarks dominate the cost: there a replacement must not take longer than with all
points stored. Times are CPU times on one thread. A storm that takes too long is stopped and compared up to that point.
"""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.learning import MEMORIES
from benchmarks.timing import TICK, Limit, at_least, at_most, command, in_turn
from driftmap.landmarks import OnlineLandmarks

D, M, N = 16, 500, 10**5
GOAL, UNCOVERED = 2.0, 0.95
PART = 2000
TURNS = np.sqrt([2, 3, 5, 7, 11, 13, 17, 19])
"""Angle between successive arrivals in each plane."""


def spiral(n: int) -> np.ndarray:
    """Return n points of the spiral."""
    t = np.arange(n)[:, None]
    circles = np.stack([np.cos(t * TURNS), np.sin(t * TURNS)], axis=2).reshape(n, D)
    return np.exp(t / 2000) * circles


class Pass:
    """One pass over stored points in NumPy, in the fastest form."""

    def __init__(self, X: np.ndarray) -> None:
        self.with_norms = np.column_stack([-2 * X, (X**2).sum(axis=1)])  # |x - y|^2 - |y|^2 is one product
        self.products, self.nearest = np.empty(len(X)), np.full(len(X), np.inf)
        self.newcomer = np.ones(X.shape[1] + 1)

    def __call__(self, y: np.ndarray) -> None:
        """Compute the distances to a new point, and the minimum."""
        self.newcomer[:-1] = y
        np.matmul(self.with_norms, self.newcomer, out=self.products)
        np.minimum(self.nearest, self.products, out=self.nearest)


def seconds_of_pass(X: np.ndarray) -> float:
    """Return the time of a pass over these points."""
    one, y = Pass(X), X[-1]
    return in_turn([lambda: [one(y) for _ in range(20)]], 3)[0] / 20


def storm(memory: str | None, budget: float) -> tuple[OnlineLandmarks, float, float]:
    """Learn the spiral until the budget is spent; return the landmarks, the seconds, and those of the passes."""
    X, landmarks = spiral(N), OnlineLandmarks(M, memory=memory)
    ours = passes = earlier = 0.0
    for a in range(0, N, PART):
        start = time.process_time()
        landmarks.partial_fit(X[a : a + PART])
        ours += time.process_time() - start
        later = seconds_of_pass(X[: len(landmarks.stored_indices_)])
        passes, earlier = passes + PART * (earlier + later) / 2, later
        if ours > budget:
            break
    return landmarks, ours, passes


def run(quick: bool) -> list[Limit]:
    """Print the table; return the limits."""
    print("| memory | arrivals | uncovered | stored | ours (s) | us for one | passes in numpy (s) | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    limits, each = [], []
    with threadpool_limits(1):
        for name, memory in MEMORIES.items():
            landmarks, ours, passes = storm(memory, 5 if quick else 30)
            n, stored = landmarks.n_samples_seen_, len(landmarks.stored_indices_)
            uncovered = landmarks.n_replacements_ / (n - M)
            mark = f" {TICK[ours / passes <= GOAL]}" if memory is None else ""
            print(
                f"| {memory} | {n:,} | {uncovered:.1%} | {stored:,} | {ours:.2f} | {ours / n * 1e6:.0f} | "
                f"{passes:.2f} | {ours / passes:.2f}{mark} |",
                flush=True,
            )
            if memory is None:
                limits.append(at_most(f"storm of replacements{name}: times the passes in numpy", GOAL, [ours / passes]))
            limits.append(at_least(f"storm of replacements{name}: share of arrivals uncovered", UNCOVERED, [uncovered]))
            each.append(ours / n)
    limits.append(at_most("storm of replacements: time of one, to that with all stored", 1.0, [each[0] / each[1]]))
    return limits


if __name__ == "__main__":
    command(__doc__, run)
