"""The result of an update: how novel each arrival was before it was learnt, its position, and alerts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftmap.map.changes import Check, Drift
from driftmap.map.novelty import Alert, differences
from driftmap.utils import Array, Ids


class Arrivals(NamedTuple):
    """The result of :meth:`driftmap.DriftMap.update`; one entry per row."""

    coordinates: Array
    """Positions on the map after the last row, (n, k); (0, k) if the rows were learnt but not placed."""
    frame: int
    """Number of the frame of these coordinates; 0 without coordinates."""
    landmarks_changed: bool
    """True if this is a new frame: rows that were placed before lie elsewhere on it."""
    reach: Array
    """Distance to the nearest landmark divided by the radius, just before the row was learnt; infinity before the first
    radius."""
    quantile: Array
    """The share of recent arrivals whose reach was smaller; see :class:`driftmap.map.novelty.RecentReaches`."""
    nearest: Ids
    """Arrival number of the nearest landmark before the row was learnt; -1 for the first row."""
    alerts: list[Alert]
    """Alerts of the detector; empty without a detector."""
    drifts: Sequence[Drift] = ()
    """Alarms of the monitor; empty without a monitor."""
    checks: Sequence[Check] = ()
    """All checks of the monitor, of which few are alarms."""
    isolation: Array | None = None
    """Distance to the nearest stored point relative to those between stored points, if asked for; infinite while fewer
    than two points are stored. See :mod:`driftmap.map.isolation`."""


def learnt(reach: Array, quantile: Array, nearest: Ids, n_components: int) -> Arrivals:
    """Return the arrivals of rows that were learnt but not placed, without alerts."""
    return Arrivals(np.empty((0, n_components)), 0, False, reach, quantile, nearest, [])


def alerts_of(
    novel: Sequence[int],
    arrivals: Arrivals,
    first: int,
    times: Any,
    names: Sequence[str],
    rows: Array | None,
    landmarks: Array | None,
) -> Iterator[Alert]:
    """Yield alerts for the rows ``novel`` of a batch whose first row is the arrival ``first``.

    ``rows`` and their nearest ``landmarks`` are None if points are not rows of numbers.
    """
    moments = None if times is None else list(times)
    for i in novel:
        yield Alert(
            first + i,
            None if moments is None else moments[i],
            float(arrivals.reach[i]),
            float(arrivals.quantile[i]),
            int(arrivals.nearest[i]),
            () if rows is None or landmarks is None else differences(rows[i], landmarks[i], names),
        )
