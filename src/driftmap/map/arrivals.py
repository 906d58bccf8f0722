"""What is said of arrivals: how novel each was before it was learnt, where it lies, and which are worth an alert."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from driftmap.map.novelty import Alert, NoveltyDetector, differences
from driftmap.utils import Array, Ids


class Scores(NamedTuple):
    """How novel arrivals were just before each of them was learnt; one entry per row."""

    reach: Array
    """Distance to the nearest landmark divided by the radius; infinity: there was no radius yet."""
    quantile: Array
    """The share of recent arrivals whose reach was smaller; see :class:`driftmap.map.novelty.RecentReaches`."""
    nearest: Ids
    """Arrival number of the nearest landmark; -1: there was none."""
    alerts: list[Alert]
    """Those of the detector, if one was given."""


class RowNovelty(NamedTuple):
    """The novelty of rows that are mapped; one entry per row."""

    reach: Array
    """Just before the row was learnt."""
    quantile: Array
    """Just before the row was learnt."""
    residual: Array
    """On the map on which the row is placed; see :class:`~driftmap.map.Novelty`."""


class Arrivals(NamedTuple):
    """What :meth:`driftmap.DriftMap.update` says of the rows it was given."""

    coordinates: Array
    """Positions on the map after the last of the rows, (n, k)."""
    frame: int
    """Number of the frame of these coordinates."""
    landmarks_changed: bool
    """Whether this frame is a new one, since landmarks have changed since coordinates were given out before."""
    reach: Array
    """Novelty just before each row was learnt: distance to the nearest landmark divided by the radius."""
    quantile: Array
    """The share of recent arrivals whose reach was smaller; see :class:`driftmap.map.novelty.RecentReaches`."""
    nearest: Ids
    """Arrival number of the landmark that was nearest; -1: there was none."""
    alerts: list[Alert]
    """Those of the detector, if one was given."""


def alerts_of(
    novel: Sequence[int],
    scores: Scores,
    first: int,
    times: Any,
    names: Sequence[str],
    rows: Array | None,
    landmarks: Array | None,
) -> Iterator[Alert]:
    """The alerts at these places of a batch that begins with the arrival ``first``.

    ``rows`` and their nearest ``landmarks`` are None where points are not rows of numbers.
    """
    moments = None if times is None else list(times)
    for i in novel:
        yield Alert(
            first + i,
            None if moments is None else moments[i],
            float(scores.reach[i]),
            float(scores.quantile[i]),
            int(scores.nearest[i]),
            () if rows is None or landmarks is None else differences(rows[i], landmarks[i], names),
        )


def after_callback(detector: NoveltyDetector | None, scores: Scores) -> Scores:
    """The scores, once the callback has been given the alerts."""
    if detector is not None and detector.callback is not None:
        for alert in scores.alerts:
            detector.callback(alert)
    return scores
