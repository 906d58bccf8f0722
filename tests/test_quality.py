"""Measures of a map against their formulas."""

import numpy as np
import pytest
from hypothesis import given

import naive
from driftmap import DriftMap, quality
from streams import make, many, streams


@given(stream=streams(longest=60))
@many
def test_stress_equals_the_formula(stream):
    X, _ = stream
    Y = X[:, :1] * 0.9
    D = np.sqrt(naive.squared_distance_matrix(X))
    if D.any():
        assert quality.stress(X, Y) == pytest.approx(naive.stress(D, Y), rel=1e-12, abs=1e-15)
        assert quality.stress(D, Y, metric="precomputed") == pytest.approx(naive.stress(D, Y), rel=1e-12, abs=1e-15)
    else:
        assert quality.stress(X, Y) == 0.0


def test_stress_in_blocks_equals_the_formula():
    """Several blocks, the last one not full."""
    X = make("walk", 5000, 3, seed=0)
    Y = X[:, :2]
    above = below = 0.0
    for r in range(len(X)):
        d = np.linalg.norm(X[:r] - X[r], axis=1)
        above += np.sum((d - np.linalg.norm(Y[:r] - Y[r], axis=1)) ** 2)
        below += np.sum(d**2)
    assert quality.stress(X, Y) == pytest.approx(np.sqrt(above / below), rel=1e-10)


def test_the_estimate_is_within_its_error():
    X = make("walk", 2000, 4, seed=1)
    Y = X[:, :2]
    exact = quality.stress(X, Y)
    estimates = [quality.stress_estimate(X, Y, n_pairs=4000, random_state=seed) for seed in range(60)]
    misses = np.array([(e.value - exact) / e.standard_error for e in estimates])
    assert np.abs(misses).max() < 5
    assert 0.6 < np.sqrt(np.mean(misses**2)) < 1.5  # the standard error is neither timid nor bold
    assert quality.stress_estimate(X, X) == (0.0, 0.0)


def test_a_torn_point_has_infinite_stress():
    assert quality.stress([[1.0], [1.0]], [[0.0], [1.0]]) == float("inf")


def test_landmark_stress_is_the_stress_of_the_landmarks():
    X = make("walk", 300, 5, seed=2)
    mapper = DriftMap(n_landmarks=20).fit(X)
    expected = quality.stress(X[mapper.landmark_indices_], mapper.landmark_embedding_)
    assert quality.landmark_stress(mapper) == pytest.approx(expected, rel=1e-12)


@given(stream=streams())
@many
def test_covering_radius_equals_the_definition(stream):
    X, m = stream
    D = np.sqrt(naive.squared_distance_matrix(X)[:, :m])
    assert quality.covering_radius(X, X[:m]) == D.min(axis=1).max()


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="X has 2 points, but coordinates has 1 rows"):
        quality.stress([[1.0], [2.0]], [[0.0]])
    with pytest.raises(ValueError, match="n_pairs must be at least 2"):
        quality.stress_estimate([[1.0], [2.0]], [[0.0], [1.0]], n_pairs=1)
