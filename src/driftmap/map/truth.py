"""How true a map is: its stress on stored points, as a look that changes nothing."""

from __future__ import annotations

import numpy as np

from driftmap.map.stream_map import StreamMap
from driftmap.metrics import euclidean
from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError

SAMPLED = 500
"""Stored points that are compared, at most."""


def sampled_stress(mapper: StreamMap, n: int = SAMPLED) -> float | None:
    """Return the normalised stress sigma of the current map on ``n`` stored points, spread evenly over the mass.

    None if the embedding does not keep distances, so that stress does not judge it, or if there are too few points for
    it. Later maps do not depend on this call.
    """
    try:
        frame = mapper.unobserved_frame()
    except InputError:
        return None
    if not frame.embedding.keeps_distances:
        return None
    with mapper.lock:
        engine = mapper._landmark_engine()
        ids, weights = spread(engine.stored_indices_, engine.stored_masses(), n)
        distances, positions = engine.stored_distances(ids, ids), frame.place_stored(engine, ids)
    pairs = np.outer(weights, weights)
    below = float((pairs * distances**2).sum())
    return float((pairs * (distances - euclidean(positions, positions)) ** 2).sum() / below) ** 0.5 if below else 0.0


def spread(ids: Ids, masses: Array, n: int) -> tuple[Ids, Array]:
    """Choose up to ``n`` points evenly over their mass, in the order in which they arrived; returns how often each is.

    >>> spread(np.arange(6), np.array([1.0, 1.0, 1.0, 1.0, 1.0, 5.0]), 4)
    (array([1, 3, 5]), array([1., 1., 2.]))
    """
    if len(ids) <= n:
        return ids, masses
    ends = np.cumsum(masses, dtype=np.float64)
    chosen, counts = np.unique(np.searchsorted(ends, (np.arange(n) + 0.5) * (ends[-1] / n)), return_counts=True)
    return ids[chosen], counts.astype(np.float64)
