"""The handful of cases that matter: kernels in short slices, each with the least numpy work that it is compared with.

A slice takes some milliseconds at most, so a kernel and its reference can take turns many times. Everything goes
through the public estimators, on one thread: what a user gets is what is kept fast. ``benchmarks/speed.py`` checks the
ratios, ``pytest benchmarks`` prints the times.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.mapping import products
from benchmarks.storm import Pass, spiral
from benchmarks.stream import product_and_minimum, seasonal
from driftmap import DriftMap
from driftmap.landmarks import OnlineLandmarks

M = 100
LEARNT = 100_000
SLICES = 16
LEFT = 10_000
"""Arrivals of a storm that has not ended when it is compared."""


class Case(NamedTuple):
    """Two runs to compare: a kernel, and its reference on the same rows."""

    kernel: Callable[[], object]
    reference: Callable[[], object]


def learning(d: int, rows: int, memory: str | None) -> Case:
    """Learning in steady state, against the blocked product and row minimum."""
    stream = seasonal(LEARNT + SLICES * rows, d)
    landmarks = OnlineLandmarks(M, memory=memory).partial_fit(stream[:LEARNT])
    L = stream[:: LEARNT // M][:M].copy()
    parts = np.split(stream[LEARNT:], SLICES)
    coming, again = itertools.cycle(parts), itertools.cycle(parts)
    return Case(
        lambda: landmarks.partial_fit(next(coming)),
        lambda: product_and_minimum(next(again), L),
    )


def mapping(embedding: str, rows: int) -> Case:
    """A batch, against the products with the landmarks and with their positions."""
    stream = seasonal(20_000, 16)
    mapper = DriftMap(n_landmarks=M, embedding=embedding).fit(stream)
    X, L, P = stream[:rows], mapper.landmarks_, np.ones((M, 2))
    return Case(lambda: mapper.transform(X), lambda: products(X, L, P, 1024))


def replacements(stored: int = 6000, rows: int = 5) -> Case:
    """Arrivals that all replace a landmark, against passes over as many stored points."""
    stream = spiral(stored + LEFT)
    landmarks = OnlineLandmarks(500, memory=None).partial_fit(stream[:stored])
    coming = iter(np.split(stream[stored:], LEFT // rows))
    one = Pass(stream[:stored])
    return Case(lambda: landmarks.partial_fit(next(coming)), lambda: [one(y) for y in stream[:rows]])


def single_rows(rows: int = 50) -> Case:
    """Row by row, learnt and mapped, against nearest landmarks found with small numpy operations."""
    stream = seasonal(20_000, 16)
    mapper = DriftMap(n_landmarks=M).fit(stream)
    L = mapper.landmarks_
    singles = [stream[i : i + 1] for i in range(rows)]
    return Case(
        lambda: [mapper.partial_fit(row).transform(row) for row in singles],
        lambda: [((L - row) ** 2).sum(axis=1).argmin() for row in singles],
    )


CASES: dict[str, Callable[[], Case]] = {
    "learning, d=16, m=100": lambda: learning(16, 16_384, "auto"),
    "learning, d=128, m=100": lambda: learning(128, 4096, "auto"),
    "scanning blocks, d=16, m=100, all stored": lambda: learning(16, 8192, None),
    "mapping, lmds, d=16, m=100": lambda: mapping("lmds", 16_384),
    "mapping, stress, d=16, m=100": lambda: mapping("stress", 2048),
    "replacing, d=16, m=500": replacements,
    "row by row, d=16, m=100": single_rows,
}
"""How each is set up, which takes longer than a slice."""
