"""The streams: the paper's three, and one that keeps drifting."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist

from benchmarks.stream import restless
from driftmap.datasets import load_hospital, load_stocks, s_curve_stream

ALL_PAIRS = 10_000  # up to this length, maps are judged by all points
SAMPLE = 2_000


@dataclass(frozen=True)
class Stream:
    """Points in order of arrival."""

    name: str
    points: np.ndarray

    @property
    def half(self) -> int:
        """Number of points in the first half; the others are new."""
        return len(self.points) // 2

    @functools.cached_property
    def distances(self) -> np.ndarray:
        """The distances of all pairs of the sample, as scipy's pdist orders them."""
        return pdist(self.points[self.sample])

    @property
    def sample(self) -> np.ndarray:
        """The rows by which a map is judged: all or, for a long stream, a sorted random sample of 2,000."""
        n = len(self.points)
        if n <= ALL_PAIRS:
            return np.arange(n)
        return np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False))


def _s_curve(quick: bool) -> np.ndarray:
    return s_curve_stream(300 if quick else 1000)


def _spy(quick: bool) -> np.ndarray:
    return load_stocks().normalized[:: 8 if quick else 1]


def _hospital(quick: bool) -> np.ndarray:
    return load_hospital().spectra()[:: 24 if quick else 1]


def _drift(quick: bool) -> np.ndarray:
    return restless(1_500 if quick else 100_000, 16)


STREAMS: dict[str, tuple[str, Callable[[bool], np.ndarray]]] = {
    "s-curve": ("S-curve", _s_curve),
    "spy": ("SPY", _spy),
    "hospital": ("Hospital", _hospital),
    "drift": ("Drifting stream", _drift),
}


def load(key: str, quick: bool) -> Stream:
    """Return one of STREAMS, complete or thinned out."""
    name, points = STREAMS[key]
    return Stream(name, np.ascontiguousarray(points(quick), dtype=np.float64))
