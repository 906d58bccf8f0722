"""What is known of arrivals: how novel each was before it was learnt, where it lies, and which are worth an alert."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftmap.map.novelty import Alert, differences
from driftmap.utils import Array, Ids


class Arrivals(NamedTuple):
    """What :meth:`driftmap.DriftMap.update` returns for the rows that it was given; one entry per row."""

    coordinates: Array
    """Positions on the map after the last of the rows, (n, k); (0, k) if the rows were learnt and not placed."""
    frame: int
    """Number of the frame of these coordinates; 0 if there are none."""
    landmarks_changed: bool
    """True if this frame is a new one: rows that were placed before lie elsewhere on it."""
    reach: Array
    """Distance to the nearest landmark divided by the radius, just before the row was learnt; infinity if there was no
    radius yet."""
    quantile: Array
    """The share of recent arrivals whose reach was smaller; see :class:`driftmap.map.novelty.RecentReaches`."""
    nearest: Ids
    """Arrival number of the landmark that was nearest; -1 if there was none."""
    alerts: list[Alert]
    """Alerts of the detector, if one was given."""


def learnt(reach: Array, quantile: Array, nearest: Ids, n_components: int) -> Arrivals:
    """Return arrivals that have been learnt and not placed, without alerts."""
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
    """Yield the alerts at these places of a batch that begins with the arrival ``first``.

    ``rows`` and their nearest ``landmarks`` are None where points are not rows of numbers.
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
