"""Six data sets of a published survey of dimension reduction, and the scores of its 44 methods.

Espadoto et al., *Toward a quantitative survey of dimension reduction techniques*, IEEE TVCG 2019. The files are derived
from the supplement (GitHub, mespadoto/proj-quant-eval) and lie in ``DRIFTMAP_DATA/quality``; they are not part of this
repository.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftmap.utils import Array, Ids

SETS = ("bank", "cnae9", "har", "secom", "seismic", "sms")
MEASURES = ("continuity", "trustworthiness", "neighborhood_hit")
"""Columns of the published scores; all by 7 neighbours."""


class Labelled(NamedTuple):
    """Points with labels."""

    X: Array
    y: Ids

    def distinct(self) -> Labelled:
        """Without rows that are equal to earlier ones."""
        first = np.sort(np.unique(self.X, axis=0, return_index=True)[1])
        return Labelled(self.X[first], self.y[first])


class Score(NamedTuple):
    """What a method reached, and which method."""

    value: float
    method: str


def folder() -> Path:
    """Where the files lie, or an error that says why there are none."""
    if not (data := os.environ.get("DRIFTMAP_DATA")):
        raise FileNotFoundError("DRIFTMAP_DATA is not set")
    if not (path := Path(data) / "quality").is_dir():
        raise FileNotFoundError(f"there is no folder {path}")
    return path


def load(name: str) -> Labelled:
    """One set, in the order of its file."""
    file = folder() / f"{name}.npz"
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    with np.load(file) as arrays:
        return Labelled(arrays["X"].astype(np.float64), arrays["y"])


def published() -> dict[str, dict[str, dict[str, float]]]:
    """Scores of the survey, by data set, method and measure; none if the file is not there."""
    file = folder() / "published.csv"
    if not file.is_file():
        return {}
    scores: dict[str, dict[str, dict[str, float]]] = {}
    with file.open(newline="") as lines:
        for line in csv.DictReader(lines):
            scores.setdefault(line["dataset"], {})[line["method"]] = {name: float(line[name]) for name in MEASURES}
    return scores


def best(scores: dict[str, dict[str, float]], measure: str) -> Score:
    """The method with the largest value.

    >>> best({"PCA": {"continuity": 0.8}, "TSNE": {"continuity": 0.9}}, "continuity")
    Score(value=0.9, method='TSNE')
    """
    return max(Score(values[measure], method) for method, values in scores.items())
