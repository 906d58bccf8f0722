"""A truer map from the same landmarks: stress of Driftmap's embeddings beside the paper's and beside the floor.

One pass, the tight rule, the paper's m, and distances to the m landmarks alone. Classical MDS and batch stress see all
distances between all points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform

from driftmap.datasets import s_curve_stream
from driftmap.embedding import LandmarkMDS, LandmarkStress, choose_anchors
from driftmap.landmarks import OnlineLandmarks
from driftmap.paper.effort import Effort
from driftmap.paper.scenarios import DIMENSIONS, Measured, Stream, map_of_all_points
from driftmap.paper.stresses import nested_stress
from driftmap.quality import stress

Array = NDArray[np.float64]

METHODS = {
    "published": "the paper's online embedding",
    "all": "classical MDS on all points",
    "lmds": "LMDS, tight rule",
    "weighted": "weighted LMDS",
    "stress": "stress, landmarks only",
    "anchors": "stress, 128 anchors",
    "floor": "batch stress on all points (floor)",
}
"""How maps are made, from the paper's to the best there is."""
ANCHORS = 128
SEEDS = 20
FLOOR_POINTS = 2600
"""Batch stress needs all distances at once; longer streams are represented by this many points, evenly spread."""


class Fidelity(NamedTuple):
    """Normalised stress of one map."""

    data: str
    k: int
    method: str
    sigma: float
    note: str = ""


def fidelity(measured: Sequence[Measured], effort: Effort) -> list[Fidelity]:
    """All methods on the data sets, and the S-curve averaged over other random points."""
    rows: list[Fidelity] = []
    for one in measured:
        rows += _of_stream(one.stream, effort)
        if one.stream.key == "s-curve":
            rows += _over_seeds(one.stream.m, 3 if effort.is_quick else SEEDS)
    return rows


def maps(points: Array, m: int, k: int) -> dict[str, Array]:
    """Positions of all points by the methods that see the landmarks of one pass only."""
    selector = OnlineLandmarks(m).fit(points)
    landmarks, masses = selector.landmark_indices_, selector.landmark_mass_.astype(np.float64)
    between, distances = selector.landmark_distances(), selector.distances(points)
    anchors, anchor_masses = choose_anchors(landmarks, selector.cells(), ANCHORS)
    return {
        "lmds": LandmarkMDS(k).fit(between).place(distances),
        "weighted": LandmarkMDS(k, weighted=True).fit(between, masses).place(distances),
        "stress": LandmarkStress(k).fit(between, masses).place(distances),
        "anchors": LandmarkStress(k)
        .fit(between, masses, anchors=distances[anchors], anchor_masses=anchor_masses)
        .place(distances),
    }


def _of_stream(stream: Stream, effort: Effort) -> list[Fidelity]:
    points, rows = stream.points, []
    some = np.unique(np.linspace(0, len(points) - 1, FLOOR_POINTS).astype(np.int64))
    note = "" if len(some) == len(points) else f"{len(some):,} of {len(points):,} points"
    for k in _dimensions(stream.key):
        rows += [Fidelity(stream.key, k, method, stress(points, Y)) for method, Y in maps(points, stream.m, k).items()]
    everything = map_of_all_points(points, max(DIMENSIONS))
    classical = nested_stress(points, [everything])[0]
    rows += [Fidelity(stream.key, k, "all", float(classical[k - 1])) for k in _dimensions(stream.key)]
    if not (effort.is_quick and len(points) > 2000):  # minutes of work
        between = squareform(pdist(points[some]))
        rows += [
            Fidelity(stream.key, k, "floor", LandmarkStress(k).fit(between).stress_, note)
            for k in _dimensions(stream.key)
        ]
    return rows


def _over_seeds(m: int, seeds: int) -> list[Fidelity]:
    """The S-curve with other random points: means over seeds."""
    found: dict[tuple[int, str], list[float]] = {}
    for seed in range(seeds):
        points = s_curve_stream(random_state=seed)
        for k in _dimensions("s-curve"):
            for method, Y in maps(points, m, k).items():
                found.setdefault((k, method), []).append(stress(points, Y))
    return [
        Fidelity("s-curve", k, f"{method} (mean of {seeds} seeds)", float(np.mean(values)), f"sd {np.std(values):.4f}")
        for (k, method), values in found.items()
    ]


def _dimensions(key: str) -> Sequence[int]:
    """The S-curve is three-dimensional: with k = 3 every method is exact."""
    return (1, 2) if key == "s-curve" else DIMENSIONS
