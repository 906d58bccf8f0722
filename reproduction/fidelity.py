"""Stress of Driftmap's embeddings, compared with the paper's embedding and with the best that batch methods reach.

Driftmap's embeddings use one pass, the tight rule, the paper's m, and the distances to the m landmarks only. Classical
MDS and batch stress use the distances between all points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform

from driftmap.datasets import s_curve_stream
from driftmap.embedding import Anchors, LandmarkMDS, LandmarkStress, choose_anchors
from driftmap.landmarks.online import LandmarkEngine
from driftmap.utils import Array
from reproduction.nested_stress import ReportFraction, nested_stress, no_progress
from reproduction.scenarios import DIMENSIONS, DataSetResults, Stream
from reproduction.settings import Settings

N_ANCHORS = 128
METHOD_TITLES = {
    "published": "the paper's online embedding (as published)",
    "all": "classical MDS on all points",
    "lmds": "LMDS, tight rule",
    "weighted": "weighted LMDS",
    "stress": "stress, landmarks only",
    "anchors": f"stress, {N_ANCHORS} anchors",
    "floor": "batch stress on all points (floor)",
}
"""The rows of the table, from the paper's embedding to the floor."""
N_SEEDS = 20
FLOOR_POINTS, QUICK_FLOOR_POINTS = 2600, 600
"""Batch stress stores all distances, so a longer stream is reduced to this number of points, evenly spread."""
MEAN_OF_SEEDS = "s-curve-mean"
COLUMN_TITLES = {"s-curve": "S-curve", MEAN_OF_SEEDS: "S-curve (mean)", "spy": "SPY", "hospital": "Hospital"}


class Fidelity(NamedTuple):
    """Normalised stress of one map."""

    data: str
    k: int
    method: str
    sigma: float
    note: str = ""


def fidelity(
    all_results: Sequence[DataSetResults], settings: Settings, progress: ReportFraction = no_progress
) -> list[Fidelity]:
    """All methods on the data sets, and the S-curve averaged over other random points."""
    rows: list[Fidelity] = []
    for done, results in enumerate(all_results):
        progress(done / len(all_results))
        key = results.stream.key
        sigma = {"published": results.stresses["published"][0].sigma, "all": results.sigma_all_points}
        rows += [Fidelity(key, k, method, float(of[k - 1])) for method, of in sigma.items() for k in _dimensions(key)]
        rows += _of_stream(results.stream, QUICK_FLOOR_POINTS if settings.is_quick else FLOOR_POINTS, settings.is_quick)
        if key == "s-curve":
            rows += _over_seeds(results.stream.m, 3 if settings.is_quick else N_SEEDS)
    return rows


def maps(points: Array, m: int, k: int) -> dict[str, Array]:
    """Positions of all points by the methods that use the landmarks of one pass only."""
    selector = LandmarkEngine(m).partial_fit(points)
    landmarks, masses = selector.landmark_indices_, selector.landmark_mass_.astype(np.float64)
    between, distances = selector.landmark_distances(), selector.distances(points)
    ids, shares = choose_anchors(selector.cells()[0], N_ANCHORS)
    anchors = Anchors(ids, landmarks, shares, distances[ids])
    return {
        "lmds": LandmarkMDS(k).fit(between).place(distances),
        "weighted": LandmarkMDS(k, weighted=True).fit(between, masses).place(distances),
        "stress": LandmarkStress(k).fit(between, masses).place(distances),
        "anchors": LandmarkStress(k).fit(between, masses, anchors=anchors).place(distances),
    }


def _of_stream(stream: Stream, most: int, quick: bool) -> list[Fidelity]:
    points, key = stream.points, stream.key
    some = np.unique(np.linspace(0, len(points) - 1, most).astype(np.int64))
    sample = "" if len(some) == len(points) else f"on {len(some):,} of {len(points):,} points"
    rows = []
    for k in _dimensions(key):
        placed = maps(points, stream.m, k)
        seen = some if quick else np.arange(len(points))
        sigma = nested_stress(points[seen], [Y[seen] for Y in placed.values()])[:, -1]
        note = sample if quick else ""
        rows += [Fidelity(key, k, method, float(s), note) for method, s in zip(placed, sigma, strict=True)]
        between = squareform(pdist(points[some]))
        rows.append(Fidelity(key, k, "floor", LandmarkStress(k).fit(between).stress_, sample))
    return rows


def _over_seeds(m: int, seeds: int) -> list[Fidelity]:
    """Means over S-curves with other random points."""
    found: dict[tuple[int, str], list[float]] = {}
    for seed in range(seeds):
        points = s_curve_stream(random_state=seed)
        for k in _dimensions("s-curve"):
            placed = maps(points, m, k)
            for method, sigma in zip(placed, nested_stress(points, list(placed.values()))[:, -1], strict=True):
                found.setdefault((k, method), []).append(float(sigma))
    note = f"S-curve, mean of {seeds} seeds, sd"
    return [
        Fidelity(MEAN_OF_SEEDS, k, method, float(np.mean(values)), f"{note} {np.std(values):.4f}")
        for (k, method), values in found.items()
    ]


def _dimensions(key: str) -> Sequence[int]:
    """The S-curve is three-dimensional: with k = 3 every method is exact."""
    return (1, 2) if key == "s-curve" else DIMENSIONS


def columns(rows: Sequence[Fidelity]) -> list[tuple[str, int]]:
    """The data sets and dimensions of the rows, in the order of the table."""
    return list(
        dict.fromkeys((row.data, row.k) for row in sorted(rows, key=lambda row: list(COLUMN_TITLES).index(row.data)))
    )


def as_table(rows: Sequence[Fidelity]) -> list[list[str]]:
    """A row per method and a column per data set and dimension, the first row being the heading."""
    value = {(row.method, row.data, row.k): row.sigma for row in rows}
    heading = ["", *(f"{COLUMN_TITLES[data]}, k={k}" for data, k in columns(rows))]
    body = [
        [title, *(f"{s:.4f}" if (s := value.get((method, *column))) is not None else "" for column in columns(rows))]
        for method, title in METHOD_TITLES.items()
    ]
    return [heading, *body]


def notes(rows: Sequence[Fidelity]) -> list[str]:
    """Footnotes: samples and means."""
    return list(
        dict.fromkeys(f"{COLUMN_TITLES[row.data]}, {METHOD_TITLES[row.method]}: {row.note}" for row in rows if row.note)
    )


def to_markdown(rows: Sequence[Fidelity], mode: str) -> str:
    """The table, with its notes."""
    heading, *body = as_table(rows)
    lines = ["# Stress of maps from the landmarks of one pass", "", f"Mode: {mode}.", ""]
    lines += [f"| {' | '.join(line)} |" for line in (heading, ["---"] * len(heading), *body)]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes(rows)), ""])
