"""What the paper derives from the stock prices: the years of the landmarks, and distances between years."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from driftmap.datasets import Stocks
from driftmap.utils import Array, Ids
from reproduction.scenarios import SelectedLandmarks, Stream


def stocks_of(stream: Stream) -> Stocks:
    """The prices behind the stream."""
    if not isinstance(stream.source, Stocks):
        raise TypeError(f"the stream {stream.key!r} is not made of stock prices")
    return stream.source


def years(stream: Stream) -> Ids:
    """The year of each arrival."""
    return stocks_of(stream).dates.astype("datetime64[Y]").astype(np.int64) + 1970


def landmark_years(stream: Stream, landmarks: SelectedLandmarks) -> dict[int, int]:
    """The number of final landmarks in each year that has some."""
    found, counts = np.unique(years(stream)[landmarks.indices], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def fraction_by_year(stream: Stream, landmarks: SelectedLandmarks) -> tuple[Ids, Array]:
    """The years and, for each arrival from the (m + 1)-th on, the fraction of landmarks in each year, (n - m, 10)."""
    year = years(stream)
    names = np.unique(year)
    column = np.searchsorted(names, year)
    counts = np.bincount(column[: stream.m], minlength=len(names)).astype(np.float64)
    changes = {change.arrival: change for change in landmarks.changes}
    rows = np.empty((len(year) - stream.m, len(names)))
    for arrival in range(stream.m, len(year)):
        if change := changes.get(arrival):
            counts[column[change.came]] += 1
            counts[column[change.left]] -= 1
        rows[arrival - stream.m] = counts
    return names, rows / stream.m


class YearlyDistances(NamedTuple):
    """Mean distances between the mean price vectors of years."""

    among_2013_to_2019: float
    from_2020_to_these: float


def yearly_distances(stream: Stream) -> YearlyDistances:
    """The supplement's comparison of 2020 with the years before, on normalised prices and the Euclidean distance."""
    year = years(stream)
    means = np.array([stream.points[year == y].mean(axis=0) for y in range(2013, 2021)])
    distances = cdist(means, means)
    early = distances[:7, :7][np.triu_indices(7, k=1)]
    return YearlyDistances(float(early.mean()), float(distances[7, :7].mean()))
