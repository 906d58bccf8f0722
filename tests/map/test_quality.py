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


@given(stream=streams(longest=40))
@many
def test_scaled_stress_and_residual_variance_equal_their_formulas(stream):
    X, _ = stream
    Y = X[:, :1] * 0.3 + np.sin(X[:, :1])
    D, E = (np.sqrt(naive.squared_distance_matrix(A))[np.triu_indices(len(X), 1)] for A in (X, Y))
    if not (D.any() and E.any()):
        return
    scale = (D @ E) / (E @ E)
    assert quality.scaled_stress(X, Y) == pytest.approx(np.sqrt(np.sum((D - scale * E) ** 2) / np.sum(D**2)), abs=1e-7)
    if D.std() > 1e-9 * D.max() and E.std() > 1e-9 * E.max():
        expected = 1 - np.corrcoef(D, E)[0, 1] ** 2
        assert quality.residual_variance(X, Y) == pytest.approx(expected, abs=1e-6)
    assert quality.scaled_stress(X, Y) <= quality.stress(X, Y) + 1e-9


def test_neighborhood_preservation_is_recall():
    X = make("walk", 700, 3, seed=0)  # more than a block
    Y = X[:, :1]
    true, found = (
        np.argsort(np.linalg.norm(A[:, None] - A, axis=2) + 1e9 * np.eye(700), axis=1)[:, :7] for A in (X, Y)
    )
    expected = np.mean([len({*a} & {*b}) / 7 for a, b in zip(true.tolist(), found.tolist(), strict=True)])
    assert quality.neighborhood_preservation(X, Y, n_neighbors=7) == pytest.approx(expected)
    assert quality.neighborhood_preservation(X, 3 * X) == 1.0
    D = np.abs(X[:, None] - X).sum(axis=2)
    by_name, by_matrix = (
        quality.neighborhood_preservation(A, Y, metric=m) for A, m in ((X, "cityblock"), (D, "precomputed"))
    )
    assert by_name == pytest.approx(by_matrix, abs=1e-3)
    with pytest.raises(ValueError, match="n_neighbors=5 is too many for 5 points: at most 4"):
        quality.neighborhood_preservation(X[:5], Y[:5], n_neighbors=5)


def test_procrustes_error_sees_shapes_only():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((50, 2)) * [3, 1]
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    assert quality.procrustes_error(truth, 7 * truth @ turn + 5) < 1e-7
    noisy = truth + 0.1 * rng.standard_normal(truth.shape)
    best = min(
        np.linalg.norm(
            s * (noisy - noisy.mean(axis=0)) @ [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]
            - truth
            + truth.mean(axis=0)
        )
        for a in np.linspace(-0.1, 0.1, 101)
        for s in np.linspace(0.95, 1.05, 101)
    )
    spread = np.linalg.norm(truth - truth.mean(axis=0))
    assert quality.procrustes_error(truth, noisy) == pytest.approx(best / spread, rel=1e-3)
    assert quality.procrustes_error(truth, rng.standard_normal((50, 2))) > 0.8
    assert quality.procrustes_error(truth, np.zeros((50, 2))) == 1.0
    with pytest.raises(ValueError, match="truth has 50 rows, but coordinates has 49"):
        quality.procrustes_error(truth, truth[1:])
