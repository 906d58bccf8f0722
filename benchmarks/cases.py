"""The most important kernels in short slices, each with a minimal NumPy reference.

A slice takes a few milliseconds at most, so that a kernel and its reference can take turns many times. Kernels run
through the public estimators on one thread, as for users. ``benchmarks/speed.py`` checks the ratios, ``pytest
benchmarks`` prints the times.
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
"""Arrivals available for the slices of a storm."""


class Case(NamedTuple):
    """A kernel, and its reference on the same rows."""

    kernel: Callable[[], object]
    reference: Callable[[], object]


def learning(d: int, rows: int, memory: str | None) -> Case:
    """Learning in steady state, against a blocked product and row minimum."""
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
    """Mapping a batch, against products with the landmarks and with their positions."""
    stream = seasonal(20_000, 16)
    mapper = DriftMap(n_landmarks=M, embedding=embedding, n_anchors=128).fit(stream)
    X, L, P = stream[:rows], mapper.landmarks_, np.ones((M, 2))
    return Case(lambda: mapper.transform(X), lambda: products(X, L, P, 1024))


def replacements(stored: int = 6000, rows: int = 5) -> Case:
    """Arrivals that each replace a landmark, against passes over all stored points."""
    stream = spiral(stored + LEFT)
    landmarks = OnlineLandmarks(500, memory=None).partial_fit(stream[:stored])
    coming = iter(np.split(stream[stored:], LEFT // rows))
    one = Pass(stream[:stored])
    return Case(lambda: landmarks.partial_fit(next(coming)), lambda: [one(y) for y in stream[:rows]])


def single_rows(rows: int = 50) -> Case:
    """Learning and mapping row by row, against nearest landmarks found with small NumPy operations."""
    stream = seasonal(20_000, 16)
    mapper = DriftMap(n_landmarks=M, n_anchors=128).fit(stream)
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
"""Functions that set up each case."""
