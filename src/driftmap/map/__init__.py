"""The map of a stream, and the frames in which it gives coordinates."""

from driftmap.map.arrivals import Arrivals
from driftmap.map.stream_map import Novelty, StreamMap

__all__ = ["Arrivals", "Novelty", "StreamMap"]
