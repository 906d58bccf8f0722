"""Outward rounding: a stated bound holds for the true distances, not only for those that were computed.

A distance of d coordinates is computed with a relative error of less than d / 4 units in the last place, in any order
of summation that the kernels use. A metric whose powers underflow measures smaller distances than its ``least`` with
an absolute error of less than that.
"""

from __future__ import annotations

RELATIVE = 1e-10
"""More than the rounding errors of distances in up to a million dimensions."""


def rounded_up(distance: float, least: float = 0.0) -> float:
    """Return an upper bound on a distance, given as it was computed.

    >>> rounded_up(1.0) > 1.0, rounded_up(0.0, least=1e-150)
    (True, 1e-150)
    """
    return distance * (1 + RELATIVE) + least


def rounded_down(distance: float, least: float = 0.0) -> float:
    """Return a lower bound on a distance, given as it was computed.

    >>> rounded_down(1.0) < 1.0, rounded_down(1e-151, least=1e-150)
    (True, 0.0)
    """
    return max(distance * (1 - RELATIVE) - least, 0.0)
