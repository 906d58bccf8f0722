"""Local charts: the map around each landmark, and the place of a point in it by its distances."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.utils import Array, Ids

MEMBERS = 8
"""Landmarks of a chart."""
LAST_BITS = MEMBERS - 1
BLENDED = 3
"""Charts whose weighted mean is a place."""
LEAST_CHART_EXTENT = 0.05
"""A direction in which a chart extends less than this share of its largest extent is not a direction of the sheet."""
LEAST_WEIGHT = 1e-12
"""The least weight of the nearest landmark's chart, reached where all landmarks are equally near."""


class Charts(NamedTuple):
    """Landmark MDS on each landmark's surroundings: ``offsets[:, j] + slopes[:, j] @ squared``.

    Squared distances are those to the members of chart j; the slopes of each coordinate sum to 0.
    """

    members: Ids
    """Landmarks of each chart, nearest first, itself the first, (m, e); itself again after the last one."""
    is_member: NDArray[np.bool_]
    """Which of these are members, (m, e)."""
    offsets: Array
    """(k, m)"""
    slopes: Array
    """(k, m, e)"""

    def place(self, squared: Array) -> Array:
        """Return the places of points, given their squared distances to all landmarks, (n, m); each independent of the
        others.

        A place is the mean of those by the three nearest landmarks, if these are in the chart of the nearest one and
        not on another layer of the sheet. The weight of a chart goes to 0 as its landmark becomes the fourth nearest,
        so places are continuous within the cell of a landmark.
        """
        n, e = len(squared), self.members.shape[1]
        nearest, landmarks = self.nearest(squared, BLENDED + 1)
        near, charts = nearest.T[:BLENDED], np.ascontiguousarray(landmarks.T[:BLENDED])
        last = nearest[:, BLENDED] if nearest.shape[1] > BLENDED else np.inf
        with np.errstate(invalid="ignore"):  # infinity over infinity: there are fewer landmarks
            weights = np.where(near < last, (1.0 - np.sqrt(near / last)) ** 2, 0.0)
        weights[0] += LEAST_WEIGHT
        weights /= _sum(weights)
        by_point = charts.T.ravel()
        squares = _take_rows(squared, self.members.take(by_point, axis=0).reshape(n, -1))
        squares -= nearest[:, :1]  # slopes sum to 0; differences do not overflow
        squares = (squares.reshape(n, -1, e) * weights.T[:, :, None]).reshape(n, -1)
        places = [
            (slope.take(by_point, axis=0).reshape(n, -1) * squares).sum(axis=1) + _sum(offset.take(charts) * weights)
            for offset, slope in zip(self.offsets, self.slopes, strict=True)
        ]
        return np.stack(places, axis=1)

    def nearest(self, squared: Array, t: int) -> tuple[Array, Ids]:
        """Return the t nearest landmarks in the chart of the nearest one, and their squared distances, each (n, t).

        Fewer, if all charts have fewer members; infinity, if one chart has fewer.
        """
        first = squared.argmin(axis=1)
        around = self.members.take(first, axis=0)
        near = np.maximum(_take_rows(squared, around), 0.0)
        near[~self.is_member.take(first, axis=0)] = np.inf
        # The last bits of each number hold its position: sorting the numbers as integers also sorts the positions.
        keys = (near.view(np.int64) & ~LAST_BITS) | np.arange(near.shape[1])
        keys.sort(axis=1)
        keys = keys[:, :t]
        return (keys & ~LAST_BITS).view(np.float64), _take_rows(around, keys & LAST_BITS)


def _take_rows(table: NDArray[Any], columns: Ids) -> NDArray[Any]:
    """Return some columns of each row."""
    return table.ravel().take(columns + (np.arange(len(table)) * table.shape[1])[:, None])


def _sum(parts: Array) -> Array:
    """Return sums over the first axis, in an order that does not depend on the number of columns."""
    total: Array = functools.reduce(np.add, parts)
    return total


def make_charts(geodesics: Array, coordinates: Array) -> Charts:
    """Return the charts of landmarks, given their geodesics (m, m; infinity: in another part) and their positions."""
    m = len(coordinates)
    e = min(MEMBERS, m)
    geodesics = np.where(geodesics > 0, geodesics, np.inf)  # a landmark in the same place adds no information
    np.fill_diagonal(geodesics, 0.0)
    members = np.argsort(geodesics, axis=1, kind="stable")[:, :e]
    reached = np.isfinite(np.take_along_axis(geodesics, members, axis=1))
    members = np.where(reached, members, np.arange(m)[:, None])
    sizes = reached.sum(axis=1)
    positions = coordinates[members]
    centres = (positions * reached[:, :, None]).sum(axis=1) / sizes[:, None]
    centred = (positions - centres[:, None]) * reached[:, :, None]
    slopes = -0.5 * np.linalg.pinv(centred, rcond=LEAST_CHART_EXTENT)  # (m, k, e)
    offsets = centres - np.einsum("jke,je->jk", slopes, (centred**2).sum(axis=2))
    return Charts(members, reached, np.ascontiguousarray(offsets.T), np.ascontiguousarray(slopes.transpose(1, 0, 2)))
