"""Chooses the number of landmarks: the fewest whose stress is within 2 % of that of four times as many.

One pass learns the largest number. Its weighted stored points then arrive at maps with fewer landmarks, and all maps
place the same sample. While all points are stored, such a map equals that of a separate pass to the bit. Where the
number of anchors is chosen, too, all maps have the same one, so that only their landmarks differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftmap.embedding.factory import KEEPING_DISTANCES
from driftmap.landmarks.merging import coreset, relearnt
from driftmap.map.anchor_count import ANCHOR_COUNTS
from driftmap.map.stream_map import COMPARED, StreamMap
from driftmap.quality import stress
from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError

LANDMARK_COUNTS = (10, 20, 40, 80, 160, 320)
"""Candidate numbers of landmarks, each twice the previous one; the pass over the stream uses the last."""
N_ANCHORS = next(n for n in ANCHOR_COUNTS if n > LANDMARK_COUNTS[-1])
"""Anchors of each map that is compared, unless a number was given."""
TOLERANCE = 0.02
EXACT = 1e-3
"""A stress below this counts as zero, so more landmarks cannot improve it."""


class LandmarkCount(NamedTuple):
    """A sufficient number of landmarks, and the reason; printed as a sentence."""

    n_landmarks: int
    stresses: dict[int, float]
    """The stress of each candidate."""

    def __str__(self) -> str:
        m, more = self.n_landmarks, 4 * self.n_landmarks
        tried = ", ".join(f"{n}: {value:.4f}" for n, value in self.stresses.items())
        if more in self.stresses:
            why = f"their stress is within {TOLERANCE:.0%} of that of {more}"
        else:
            why = f"fewer are not within {TOLERANCE:.0%} of the stress of four times as many"
        return f"{m} landmarks: {why} ({tried})"


def check_countable(mapper: StreamMap) -> None:
    """Raise an error that names the parameter for which the number of landmarks cannot be chosen automatically."""
    problem = '="auto" does not go with '
    if isinstance(mapper.embedding, str) and mapper.embedding not in KEEPING_DISTANCES:
        problem += f"embedding={mapper.embedding!r}: it compares stress, which is for {', '.join(KEEPING_DISTANCES)}"
    elif isinstance(mapper.metric, str) and mapper.metric == "precomputed":
        problem += 'metric="precomputed", whose points cannot arrive again'
    elif mapper.window is not None or mapper.half_life is not None:
        problem += "a window or a half_life, which forget the points it compares"
    elif not isinstance(mapper.replace_on, str):
        problem += "a detector"
    elif mapper.n_components >= LANDMARK_COUNTS[-3]:
        problem += f"n_components={mapper.n_components}: at most {LANDMARK_COUNTS[-3]} landmarks are compared with more"
    else:
        return
    raise InputError(f"{problem}; give a number", parameter="n_landmarks")


def largest_map(mapper: StreamMap) -> StreamMap:
    """Return an empty map with these parameters and the largest number of landmarks, which learns the stream first."""
    check_countable(mapper)
    return _with_landmarks(mapper, LANDMARK_COUNTS[-1])


def count_landmarks(largest: StreamMap) -> LandmarkCount:
    """Return the sufficient number of landmarks for a stream, given the :func:`largest_map` that has learnt it.

    >>> walk = np.cumsum(np.random.default_rng(0).standard_normal((800, 5)), axis=0)
    >>> print(count_landmarks(largest_map(StreamMap()).partial_fit(walk)))
    10 landmarks: their stress is within 2% of that of 40 (10: 0.0..., 20: 0.0..., 40: 0.0..., ..., 320: 0.0...)
    """
    engine = largest._landmark_engine()
    sample = _sample(engine.stored_indices_, engine.stored_masses(), min(COMPARED, engine.n_samples_seen_))
    distances, stored, stresses = engine.stored_distances(sample, sample), coreset(engine), {}
    for m in (m for m in LANDMARK_COUNTS if m > largest.n_components):
        landmarks, frames = _with_landmarks(largest, m)._begin()
        frames.warned = True  # the final map will warn
        positions = frames.present(relearnt(landmarks, stored)).place_stored(landmarks, sample)
        stresses[m] = stress(distances, positions, metric="precomputed")
    limits = {m // 4: max((1 + TOLERANCE) * value, EXACT) for m, value in stresses.items()}
    enough = (m for m in stresses if m in limits and stresses[m] <= limits[m])
    return LandmarkCount(next(enough, LANDMARK_COUNTS[-1]), stresses)


def _with_landmarks(mapper: StreamMap, m: int) -> StreamMap:
    memory = None if mapper.memory is None else "auto"  # the map's own memory may be too small
    n_anchors = N_ANCHORS if isinstance(mapper.n_anchors, str) else mapper.n_anchors
    return StreamMap(**mapper.params() | {"n_landmarks": m, "memory": memory, "n_anchors": n_anchors})


def _sample(ids: Ids, masses: Array, n: int) -> Ids:
    """Return n points, spread evenly by mass; points may be repeated."""
    shares = np.cumsum(masses) / masses.sum()
    return ids[np.minimum(np.searchsorted(shares, (np.arange(n) + 0.5) / n), len(ids) - 1)]
