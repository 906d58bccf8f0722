"""The map of a stream, and the frames of its coordinates."""

from driftmap.map.arrivals import Arrivals
from driftmap.map.stream_map import Novelty, StreamMap

__all__ = ["Arrivals", "Novelty", "StreamMap"]
