"""Bounded memory: witnesses against the literal oracle, and what is promised about every point ever seen."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from driftmap.landmarks import OnlineLandmarks
from streams import make, many, streams

KINDS = ("stationary", "walk", "line", "grid", "duplicates", "jumps", "collinear")
METRICS = {
    "euclidean": (naive.squared_euclidean, math.sqrt, naive.squared_radius),
    "manhattan": (naive.manhattan, float, float),
}


def state_of(landmarks):
    """Everything a landmark selector knows, in a form that compares to the bit."""
    state = landmarks._state
    return (
        landmarks.landmark_indices_.tolist(),
        landmarks.landmark_mass_.tolist(),
        landmarks.stored_indices_.tolist(),
        state.witnesses[: state.n].tolist(),
        state.radius,
        state.resolution,
        landmarks.covering_radius_,
        landmarks.resolution_,
        landmarks.coverage_bound_,
        landmarks.n_samples_seen_,
        landmarks.n_replacements_,
        landmarks.events_,
    )


@pytest.mark.parametrize("metric", METRICS)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1), d=st.integers(1, 4), m=st.integers(1, 3))
@many
def test_witnesses_equal_the_oracle_after_every_arrival(metric, kind, seed, d, m):
    distance, root, scale = METRICS[metric]
    X = make(kind, 90, d, seed)
    landmarks = OnlineLandmarks(m, memory=16 * m, metric=metric)
    oracle = naive.Bounded(m, 16 * m, distance, scale(1e-20), root, scale)
    for x in X:
        landmarks.partial_fit(x[None])
        oracle.add(x)
        assert landmarks.landmark_indices_.tolist() == oracle.landmarks()
        assert landmarks._state.radius == oracle.rho
        assert landmarks.stored_indices_.tolist() == sorted(oracle.weight)
        assert landmarks.landmark_mass_.tolist() == oracle.masses()
        assert landmarks.resolution_ == max(oracle.spread.values())
        assert landmarks._state.covering_radius() == oracle.covering_radius()
    assert landmarks.landmark_mass_.sum() == len(X)
    assert oracle.largest_distance() <= landmarks.coverage_bound_ * (1 + 1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("how", ["window", "half_life"])
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 3),
    m=st.integers(1, 3),
    length=st.integers(1, 60),
    bounded=st.booleans(),
    timed=st.booleans(),
)
@many
def test_forgetting_equals_the_oracle_after_every_arrival(how, metric, kind, seed, d, m, length, bounded, timed):
    distance, root, scale = METRICS[metric]
    X = make(kind, 140, d, seed)
    times = np.arange(len(X), dtype=float)
    if timed:
        times = np.cumsum(np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 20.0], len(X), p=[0.2, 0.4, 0.38, 0.02]))
    memory = 16 * m if bounded else None
    landmarks = OnlineLandmarks(m, memory=memory, metric=metric, **{how: length})
    oracle = naive.Forgetful(m, memory or 10**9, distance, scale(1e-20), root, scale, **{how: length})
    for x, time in zip(X, times, strict=True):
        landmarks.partial_fit(x[None], times=[time] if timed else None)
        oracle.add_at(x, time)
        assert landmarks.landmark_indices_.tolist() == oracle.landmarks()
        assert landmarks._state.radius == oracle.rho
        assert landmarks.stored_indices_.tolist() == sorted(oracle.weight)
        assert landmarks.landmark_mass_.tolist() == pytest.approx(oracle.masses(), rel=1e-12)
        assert landmarks.resolution_ == max(oracle.spread.values())
        assert landmarks._state.covering_radius() == oracle.covering_radius()


class Fixed:
    """A detector that signals at given moments."""

    def __init__(self, moments=()):
        self.moments, self.n, self.drift_detected = set(moments), -1, False

    def update(self, x):
        self.n += 1
        self.drift_detected = self.n in self.moments


@pytest.mark.parametrize("metric", METRICS)
@given(stream=streams(kinds=KINDS, longest=60), seed=st.integers(0, 999))
@many
def test_held_points_are_covered_by_the_bound_and_at_the_next_replacement(metric, stream, seed):
    X, m = stream
    distance, root, _ = METRICS[metric]
    signals = np.flatnonzero(np.random.default_rng(seed).random(len(X)) < 0.2)
    landmarks = OnlineLandmarks(m, metric=metric, replace_on=Fixed(signals))
    replacements = []
    for n, x in enumerate(X):
        landmarks.partial_fit(x[None])
        gaps = [min(root(distance(y, z)) for z in landmarks.landmarks_) for y in X[: n + 1]]
        assert max(gaps) == landmarks.covering_radius_ <= landmarks.coverage_bound_
        if landmarks.n_replacements_ > len(replacements):
            replacements.append(n)
            assert landmarks.radius_ == landmarks.covering_radius_
    assert landmarks.landmark_mass_.sum() == len(X)
    at_once = OnlineLandmarks(m, metric=metric, replace_on=Fixed(signals)).fit(X)
    assert state_of(at_once) == state_of(landmarks)
    assert all(event.kind == "added" or event.came is not None for event in landmarks.events_)
