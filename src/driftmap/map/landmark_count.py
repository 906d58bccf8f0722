"""Chooses the number of landmarks: the fewest whose map is nearly as good as that of four times as many.

One pass learns the largest number. Its weighted stored points then arrive at maps with fewer landmarks, and all maps
place the same sample. Maps that keep distances are judged by stress. Maps that keep neighbours are judged by the
trustworthiness of stored points that were left out, since their fit knows the others. While all points are stored and
none are left out, such a map equals that of a separate pass to the bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftmap.embedding.factory import BY_NAME, KEEPING_DISTANCES, KEEPING_NEIGHBOURS
from driftmap.landmarks.core_set import CoreSet
from driftmap.landmarks.merging import coreset, relearnt
from driftmap.map.anchor_count import ANCHOR_COUNTS
from driftmap.map.stream_map import COMPARED, StreamMap
from driftmap.metrics import euclidean
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
TRUST_COUNTS = (*LANDMARK_COUNTS, 2 * LANDMARK_COUNTS[-1])
"""Candidates of maps that keep neighbours, which need more landmarks."""
TRUST_TOLERANCE = 0.005
"""By how much trustworthiness may be less than that of four times as many landmarks."""
LEFT_OUT, MOST_LEFT_OUT = 5, 500
"""One stored point in five is left out, as far as these are not more."""
NEIGHBOURS = 7
FEWEST_LEFT_OUT = 16
"""Fewer points than this are not compared."""


class LandmarkCount(NamedTuple):
    """A sufficient number of landmarks, and the reason; printed as a sentence."""

    n_landmarks: int
    stresses: dict[int, float]
    """The stress of each candidate; empty if neighbours were compared."""
    trusts: dict[int, float] | None = None
    """The trustworthiness of each candidate; None if stress was compared."""

    def __str__(self) -> str:
        m, more = self.n_landmarks, 4 * self.n_landmarks
        scores, what, within = self.stresses, "stress", f"{TOLERANCE:.0%}"
        if self.trusts is not None:
            scores, what, within = self.trusts, "trustworthiness", f"{TRUST_TOLERANCE:g}"
        if not scores:
            return f"{m} landmarks: there are too few points to compare maps of fewer"
        tried = ", ".join(f"{n}: {value:.4f}" for n, value in scores.items())
        if more in scores:
            why = f"their {what} is within {within} of that of {more}"
        else:
            why = f"fewer are not within {within} of the {what} of four times as many"
        return f"{m} landmarks: {why} ({tried})"


def check_countable(mapper: StreamMap) -> None:
    """Raise an error that names the parameter for which the number of landmarks cannot be chosen automatically."""
    problem = '="auto" does not go with '
    if isinstance(mapper.embedding, str) and mapper.embedding not in (known := KEEPING_DISTANCES + KEEPING_NEIGHBOURS):
        problem += f"embedding={mapper.embedding!r}: it compares maps that keep distances or neighbours: "
        problem += ", ".join(known)
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
    return _with_landmarks(mapper, (TRUST_COUNTS if _keeps_neighbours(mapper.embedding) else LANDMARK_COUNTS)[-1])


def count_landmarks(largest: StreamMap) -> LandmarkCount:
    """Return the sufficient number of landmarks for a stream, given the :func:`largest_map` that has learnt it.

    >>> walk = np.cumsum(np.random.default_rng(0).standard_normal((800, 5)), axis=0)
    >>> print(count_landmarks(largest_map(StreamMap()).partial_fit(walk)))
    10 landmarks: their stress is within 2% of that of 40 (10: 0.0..., 20: 0.0..., 40: 0.0..., ..., 320: 0.0...)
    """
    return _by_trust(largest) if _keeps_neighbours(largest.embedding) else _by_stress(largest)


def _by_stress(largest: StreamMap) -> LandmarkCount:
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


def _by_trust(largest: StreamMap) -> LandmarkCount:
    engine, trusts = largest._landmark_engine(), dict[int, float]()
    stored = engine.stored_indices_
    sample = _sample(stored, engine.stored_masses(), min(len(stored) // LEFT_OUT, MOST_LEFT_OUT))
    left_out = np.flatnonzero(np.isin(stored, sample))
    if len(left_out) < FEWEST_LEFT_OUT:  # so few points cost little, and tell little
        return LandmarkCount(LANDMARK_COUNTS[-1], {}, trusts)
    ranks = _ranks(engine.stored_distances(stored[left_out], stored), left_out)
    part, points = _without(coreset(engine), stored[left_out]), engine.stored_points(stored)
    for m in (m for m in TRUST_COUNTS if m > largest.n_components):
        landmarks, frames = _with_landmarks(largest, m)._begin()
        frames.warned = True
        frame = frames.present(relearnt(landmarks, part))
        positions = frame.place_queries(landmarks.store, landmarks.store.check_queries(points))
        trusts[m] = _trust(ranks, positions, left_out)
    limits = {m // 4: value - TRUST_TOLERANCE for m, value in trusts.items()}
    enough = (m for m in trusts if m in limits and trusts[m] >= limits[m])
    return LandmarkCount(next(enough, TRUST_COUNTS[-1]), {}, trusts)


def _ranks(distances: Array, rows: Ids) -> Ids:
    """Ranks of all points by distance from some of them, from 1; 0: the point itself."""
    distances[np.arange(len(rows)), rows] = -1.0
    ranks = np.empty(distances.shape, np.int64)
    np.put_along_axis(ranks, np.argsort(distances, axis=1, kind="stable"), np.arange(distances.shape[1])[None], axis=1)
    return ranks


def _trust(ranks: Ids, positions: Array, rows: Ids) -> float:
    """Trustworthiness of some points of a map among all its points: how near in truth their nearest on it are.

    >>> line = np.arange(40.0)[:, None]
    >>> rows = np.array([3, 20])
    >>> _trust(_ranks(np.abs(line[rows] - line.T), rows), line, rows)
    1.0
    """
    n, k = ranks.shape[1], NEIGHBOURS
    on_map = euclidean(positions[rows], positions)
    on_map[np.arange(len(rows)), rows] = np.inf
    nearest = np.argsort(on_map, axis=1, kind="stable")[:, :k]
    excess = np.maximum(np.take_along_axis(ranks, nearest, axis=1) - k, 0).sum()
    return float(1.0 - 2.0 * excess / (len(rows) * k * (2 * n - 3 * k - 1)))


def _without(part: CoreSet, arrivals: Ids) -> CoreSet:
    kept = np.flatnonzero(~np.isin(part.arrivals, arrivals))
    points = [part.points[i] for i in kept] if isinstance(part.points, list) else part.points[kept]
    return part._replace(
        points=points, arrivals=part.arrivals[kept], weights=part.weights[kept], spreads=part.spreads[kept]
    )


def _keeps_neighbours(embedding: Any) -> bool:
    kind = BY_NAME[embedding][0] if isinstance(embedding, str) else embedding
    return bool(getattr(kind, "keeps_neighbours", False))


def _with_landmarks(mapper: StreamMap, m: int) -> StreamMap:
    memory = None if mapper.memory is None else "auto"  # the map's own memory may be too small
    n_anchors = N_ANCHORS if isinstance(mapper.n_anchors, str) else mapper.n_anchors
    return StreamMap(**mapper.params() | {"n_landmarks": m, "memory": memory, "n_anchors": n_anchors})


def _sample(ids: Ids, masses: Array, n: int) -> Ids:
    """Return n points, spread evenly by mass; points may be repeated."""
    shares = np.cumsum(masses) / masses.sum()
    return ids[np.minimum(np.searchsorted(shares, (np.arange(n) + 0.5) / n), len(ids) - 1)]
