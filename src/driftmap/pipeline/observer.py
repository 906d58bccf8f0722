"""Observers of a run: progress, outputs, films and the live view. Each sees every update, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from driftmap.map.changes import Check, Drift
from driftmap.map.novelty import Alert
from driftmap.map.stream_map import StreamMap
from driftmap.tables.table import Chunk
from driftmap.utils import Array, Ids


class Update(NamedTuple):
    """Some rows of a run and what was computed for them. A field that the pass does not compute is None."""

    stage: str
    """"measuring", "learning" or "mapping"."""
    first: int
    """Arrival number of the first row."""
    rows: Chunk
    """The rows in the units of the table; after a running normalisation, in its units."""
    is_learnt: bool = False
    """Whether the map has just learnt these rows."""
    coordinates: Array | None = None
    """Positions on the map, (n, k)."""
    frames: Ids | None = None
    """Number of the frame in which each row was placed. None: the frame of the finished map."""
    reach: Array | None = None
    """Distance to the nearest landmark over the radius, just before the row was learnt."""
    quantile: Array | None = None
    """Share of recent rows with a smaller reach, just before the row was learnt."""
    residual: Array | None = None
    """Root mean squared error of the row's landmark distances on the map."""
    nearest: Ids | None = None
    """Arrival number of the landmark nearest to each row before it was learnt; -1 if there was none."""
    alerts: Sequence[Alert] = ()
    """Alerts of these rows, in the names and units of the table, with the label as time."""
    drifts: Sequence[Drift] = ()
    """Alarms of the monitor after these rows, likewise."""
    checks: Sequence[Check] = ()
    """Checks of the monitor after these rows."""
    isolation: Array | None = None
    """Distance to the nearest stored point relative to those between stored points, just before the row was learnt."""


class Observer:
    """Base class of observers."""

    every: int | None = None
    """Ask for an update whenever the number of arrivals is a multiple of this. None: after any number of rows."""

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Process an update, and the map after it."""
        raise NotImplementedError

    def idle(self) -> None:
        """The source has no further rows for now; called again and again until it has."""

    def flush(self) -> None:
        """Write what was observed so far, since a checkpoint is about to rely on it."""

    def finish(self, mapper: StreamMap) -> None:
        """All rows have been mapped."""


def pieces(rows: Chunk, first: int, observers: Sequence[Observer]) -> Iterator[Chunk]:
    """Split rows where an observer asks for an update; ``first`` rows have arrived before them."""
    start, n = 0, len(rows.features)
    while start < n:
        periods = [observer.every for observer in observers if observer.every is not None]
        stop = min([n, *(start + every - (first + start) % every for every in periods)])
        yield rows if stop - start == n else rows.part(start, stop)
        start = stop
