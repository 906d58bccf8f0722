"""Events: how the landmarks of a stream changed."""

from __future__ import annotations

from typing import NamedTuple


class Event(NamedTuple):
    """What an arrival did to the landmarks."""

    arrival: int
    """Number of the arrival, from 0."""
    kind: str
    """"added" (there were fewer than ``n_landmarks``), "replaced" (one came, one left), "widened" (the newcomer itself
    was the cheapest to lose: the landmarks stay as they are and the radius grows to cover it), or "forgotten" (a
    landmark left because none of the points in its cell is remembered)."""
    came: int | None
    """Arrival number of the point that became a landmark, if any."""
    left: int | None
    """Arrival number of the landmark that was dropped, if any."""
    radius_before: float
    radius_after: float
