"""Outward rounding: a stated bound holds for the true distances, not only for those that were computed.

A distance of d coordinates is computed with a relative error of less than d / 4 units in the last place, in any order
of summation that the kernels use, and squares that underflow add less than 1e-155.
"""

from __future__ import annotations

RELATIVE = 1e-10
"""More than the rounding errors of distances in up to a million dimensions."""
ABSOLUTE = 1e-155
"""More than what squares lose that underflow: those of differences below 1e-160 are 0."""


def rounded_up(distance: float) -> float:
    """Return an upper bound on a distance, given as it was computed.

    >>> rounded_up(1.0) > 1.0, rounded_up(0.0)
    (True, 1e-155)
    """
    return distance * (1 + RELATIVE) + ABSOLUTE


def rounded_down(distance: float) -> float:
    """Return a lower bound on a distance, given as it was computed.

    >>> rounded_down(1.0) < 1.0, rounded_down(0.0)
    (True, 0.0)
    """
    return max(distance * (1 - RELATIVE) - ABSOLUTE, 0.0)
