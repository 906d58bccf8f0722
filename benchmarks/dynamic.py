"""Two data sets of a published benchmark of dynamic projections, the scores of its 13 methods, and its measures.

Vernier et al., *Guided stable dynamic projections*, 2021: the same points at many times. The files are derived from
GitHub, EduardoVernier/landmark-based-dynamic-projections, and lie in ``DRIFTMAP_DATA/dynamic``; they are not part of
this repository.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from driftmap.utils import Array

SETS = ("cartolastd", "sorts")
STABILITY, FIDELITY = "stab_spearman", "spat_spearman"
"""Columns of the published scores."""


class Scores(NamedTuple):
    """How stable a sequence of maps is, and how well each keeps distances."""

    stability: float
    """Spearman correlation of how far points move in the data and on the map from each time to the next."""
    fidelity: float
    """Spearman correlation of the distances between points of each time in the data and on the map."""


def file_of(name: str) -> Path:
    """A file in the folder of the benchmark, or an error that says why it is not there."""
    if not (data := os.environ.get("DRIFTMAP_DATA")):
        raise FileNotFoundError("DRIFTMAP_DATA is not set")
    if not (file := Path(data) / "dynamic" / name).is_file():
        raise FileNotFoundError(f"there is no file {file}")
    return file


def load(name: str) -> Array:
    """The same n points at T times, (T, n, d)."""
    with np.load(file_of(f"{name}.npz")) as arrays:
        return arrays["X"].astype(np.float64)


def published(name: str) -> dict[str, Scores]:
    """The published scores by method."""
    with file_of(f"{name}-published.csv").open(newline="") as lines:
        return {line[""]: Scores(float(line[STABILITY]), float(line[FIDELITY])) for line in csv.DictReader(lines)}


def generated() -> dict[str, Array]:
    """Two sets of the same kind that are generated, of which nothing is published and to which nothing was tuned.

    Ten clusters in 100 dimensions that shrink where they are, and eight in 20 dimensions that wander while their points
    tremble.
    """
    rng = np.random.default_rng(3)
    centres, labels = 4 * rng.uniform(-0.5, 0.5, (10, 100)), rng.integers(0, 10, 600)
    around = rng.standard_normal((600, 100))
    shrinking = np.array([centres[labels] + around * 0.88**t for t in range(20)])
    rng = np.random.default_rng(5)
    labels, centres = rng.integers(0, 8, 500), 4 * rng.standard_normal((8, 20))
    speeds, around, times = 0.35 * rng.standard_normal((8, 20)), rng.standard_normal((500, 20)), []
    for _ in range(30):
        centres = centres + speeds
        speeds = 0.9 * speeds + 0.15 * rng.standard_normal(speeds.shape)
        around = around + 0.08 * rng.standard_normal(around.shape)
        times.append(centres[labels] + around)
    return {"shrinking clusters": shrinking, "wandering clusters": np.array(times)}


def score(X: Array, Y: Array) -> Scores:
    """The measures of a sequence of maps, (T, n, k), of points (T, n, d).

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((4, 10, 2))
    >>> [round(value, 6) for value in score(X, 3 * X)]
    [1.0, 1.0]
    """
    moved = [np.linalg.norm(np.diff(Z, axis=0), axis=2).ravel() for Z in (X, Y)]
    apart = [np.concatenate([pdist(at) for at in Z]) for Z in (X, Y)]
    return Scores(*(float(spearmanr(*pair).statistic) for pair in (moved, apart)))
