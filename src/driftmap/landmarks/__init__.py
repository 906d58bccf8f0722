"""Which points of a stream are landmarks; usable without any embedding."""

from driftmap.landmarks.online import OnlineLandmarks
from driftmap.state import Event

__all__ = ["Event", "OnlineLandmarks"]
