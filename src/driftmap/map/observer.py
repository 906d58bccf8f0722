"""Observers: a progress bar, a table, an animation, and other watchers of a stream that is learnt and mapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from driftmap.io.tables import Chunk
from driftmap.map.novelty import Alert
from driftmap.map.stream_map import StreamMap
from driftmap.utils import Array, Ids


class Update(NamedTuple):
    """Some rows, and what has just been done with them."""

    stage: str
    """"measuring", "learning" or "mapping"."""
    first: int
    """Arrival number of the first of the rows."""
    rows: Chunk
    """As the map learns them if the stage is learning, else as they were read."""
    is_learnt: bool = False
    """Whether the map has learnt them just now."""
    coordinates: Array | None = None
    frames: Ids | None = None
    """For each row, the number of the frame in which it was placed, where that is not the last one."""
    reach: Array | None = None
    """Of each row just before it was learnt, where novelty is wanted; see :class:`driftmap.map.Arrivals`."""
    quantile: Array | None = None
    residual: Array | None = None
    """Of each row on the map on which it is placed; see :class:`driftmap.map.Novelty`."""
    alerts: Sequence[Alert] = ()
    """Of rows that have just been learnt, with the names and units of the table and the label as time."""
    nearest: Ids | None = None
    """Arrival numbers of the landmarks that were nearest just before each row was learnt; -1 if there was none."""

    def novelty(self) -> dict[str, Array]:
        """Return reach, quantile and residual by name; nothing where novelty is not wanted."""
        if self.reach is None or self.quantile is None or self.residual is None:
            return {}
        return {"reach": self.reach, "quantile": self.quantile, "residual": self.residual}


class Observer:
    """Sees every update of a stream, in order."""

    every: int | None = None
    """Learning pauses for an update whenever the number of arrivals is a multiple of this; None: at any time."""

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """See some rows, and the map after them."""
        raise NotImplementedError

    def flush(self) -> None:
        """A checkpoint counts on what was observed so far: it must outlive a crash from now on."""

    def finish(self, mapper: StreamMap) -> None:
        """All rows have been mapped."""
