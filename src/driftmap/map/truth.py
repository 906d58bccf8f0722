"""How true a map is: its stress, from a sample of the stored points, and what that means in words."""

from __future__ import annotations

import numpy as np

from driftmap.embedding.stress_fit import weighted_stress
from driftmap.landmarks.online import LandmarkEngine
from driftmap.map.frame import Frame
from driftmap.map.stream_map import StreamMap
from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError

SAMPLE = 500
"""Stored points between which stress is measured, at most."""
SLOW_SAMPLE = 50
"""The same where a Python function measures each distance."""
COARSE = 0.3
"""Above this stress, distances on a map are a coarse summary of the true ones."""


def sampled_stress(mapper: StreamMap) -> float | None:
    """The normalised stress of the present map, between stored points spread evenly over the mass of all points.

    A look: no frame is given out or changed by it. None where distances on the map do not stand for true distances
    (t-SNE, diffusion maps), and while there are too few points for the embedding.

    >>> square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    >>> sampled_stress(StreamMap(n_landmarks=4).partial_fit(square)) < 1e-6
    True
    """
    with mapper.lock:
        try:
            frame = mapper.unobserved_frame()
        except InputError:  # nothing is wrong with a short stream
            return None
        return stress_on(frame, mapper._landmark_engine())


def stress_on(frame: Frame, engine: LandmarkEngine) -> float | None:
    """The stress of stored points on a frame; None if its embedding does not keep distances."""
    if not getattr(frame.embedding, "keeps_distances", False):
        return None
    stored, masses = engine.stored_indices_, engine.stored_masses()
    ids, weights = evenly(stored, masses, SAMPLE if engine.store.metric.quick else SLOW_SAMPLE)
    return weighted_stress(engine.stored_distances(ids, ids), frame.place_stored(engine, ids), weights)


def evenly(ids: Ids, masses: Array, most: int) -> tuple[Ids, Array]:
    """All points with their masses or, of more than ``most``, those at equal steps of mass in the order of arrival.

    >>> import numpy as np
    >>> evenly(np.array([3, 5, 6, 8]), np.array([1.0, 6.0, 1.0, 2.0]), 3)
    (array([5, 8]), array([2., 1.]))
    """
    if len(ids) <= most:
        return ids, masses
    ends = np.cumsum(masses)
    chosen = np.searchsorted(ends, (np.arange(most) + 0.5) / most * ends[-1])
    places, counts = np.unique(np.minimum(chosen, len(ids) - 1), return_counts=True)
    return ids[places], counts.astype(np.float64)


def in_words(stress: float, option: str = "--embedding tsne") -> str:
    """The stress of a map, and what a reader of its picture has to know; ``option`` is how neighbours are asked for.

    >>> in_words(0.1234)
    'stress 0.12'
    >>> in_words(0.38)
    'stress 0.38: distances are a coarse summary; --embedding tsne shows neighbours'
    """
    words = f"stress {stress:.2f}"
    return f"{words}: distances are a coarse summary; {option} shows neighbours" if stress > COARSE else words
