"""Verification of the distances in a checkpoint that Python measured, by measuring them again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.metrics import Space
from driftmap.metrics.callables import Function

ROUNDING = 1e-6
"""By how much distances may differ, relative to the largest: other processors and versions of scipy round otherwise."""
CHECKED_ROWS = 4096


def check_distances(space: Space, state: dict[str, Any]) -> None:
    """Raise an error unless stored points are as far from their two nearest landmarks as the state says.

    Of a named metric all distances to landmarks are measured. A function may be slow: it is called twice for each
    stored point, and that no other landmark is nearer is taken from the state. Then a landmark may be a poor choice,
    but no distance is wrong.
    """
    tolerance = ROUNDING * state["distances"].max(initial=0.0)
    for i in range(0, len(state["order"]), CHECKED_ROWS):
        rows, cells, seconds, stated, stated_seconds = (
            state[name][i : i + CHECKED_ROWS] for name in ("order", "cells", "seconds", "distances", "second_distances")
        )
        known = seconds >= 0  # the others are lower bounds
        if isinstance(space, Function):
            first = _one_by_one(space, rows, state["landmarks"][cells])
            second = np.full(len(rows), np.inf)
            second[known] = _one_by_one(space, rows[known], state["landmarks"][seconds[known]])
            nearest, next_nearest = first, second
        else:
            distances, each = space.pairs(rows, state["landmarks"]), np.arange(len(rows))
            first, second = distances[each, cells], distances[each, seconds]
            nearest = distances.min(axis=1)
            distances[each, cells] = np.inf
            next_nearest = distances.min(axis=1)
        close = np.abs(first - stated) <= tolerance
        close[known] &= np.abs(second[known] - stated_seconds[known]) <= tolerance + ROUNDING * second[known]
        true = (first <= nearest + tolerance) & ~(stated_seconds > next_nearest * (1 + ROUNDING) + tolerance)
        if not (close & true).all():
            raise ValueError("its distances are not those that its metric gives")


def _one_by_one(space: Space, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """The distance of each of some stored points to another."""
    pairs = [space.pairs(rows[j : j + 1], columns[j : j + 1])[0, 0] for j in range(len(rows))]
    return np.array(pairs, dtype=np.float64)
