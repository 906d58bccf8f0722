"""Events: changes of the landmarks of a stream."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """The effect of an arrival on the landmarks."""

    arrival: int
    """Number of the arrival, from 0."""
    kind: str
    """"added" (there were fewer than ``n_landmarks``), "replaced" (one came, one left), "widened" (the arrival itself
    was the landmark to remove, so the radius grows to cover it instead), or "forgotten" (a landmark left because all
    points in its cell were forgotten)."""
    came: int | None
    """Arrival number of the point that became a landmark, if any."""
    left: int | None
    """Arrival number of the landmark that was dropped, if any."""
    radius_before: float
    radius_after: float
