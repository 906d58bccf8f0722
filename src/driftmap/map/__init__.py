"""The map of a stream: its engine, and the frames in which it gives coordinates."""

from driftmap.map.arrivals import Arrivals, RowNovelty
from driftmap.map.engine import Novelty, StreamMap

__all__ = ["Arrivals", "Novelty", "RowNovelty", "StreamMap"]
