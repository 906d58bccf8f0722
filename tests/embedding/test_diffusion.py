"""Landmark diffusion maps against the exact map of all points."""

import numpy as np
import pytest
from benchmarks import sheets
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import cdist

import naive
from driftmap import DriftMap
from driftmap.embedding import LandmarkDiffusionMap
from driftmap.landmarks import InitialLandmarks
from streams import few


def between(X, Y):
    return np.linalg.norm(X[:, None] - Y, axis=2)


def r_squared(targets, coordinates):
    """The mean R^2 of targets regressed on coordinates: eigenfunctions of equal eigenvalues rotate freely."""
    A = np.column_stack([coordinates, np.ones(len(coordinates))])
    left = targets - A @ np.linalg.lstsq(A, targets, rcond=None)[0]
    return float(np.mean(1 - left.var(axis=0) / targets.var(axis=0)))


def exact(stream, sigma):
    """The first four eigenfunctions of the walk on all points (alpha=1), at the new ones."""
    K = np.exp(-cdist(X := np.concatenate([stream.points, stream.new]), X, "sqeuclidean") / (2 * sigma**2))
    K /= np.outer(K.sum(axis=1), K.sum(axis=1))
    roots = np.sqrt(K.sum(axis=1))
    vectors = eigsh(K / np.outer(roots, roots), k=5, v0=roots + 1)[1][:, ::-1]
    return (vectors / roots[:, None])[len(stream.points) :, 1:]


def true_to(mapper, stream):
    """R^2 of the exact eigenfunctions 1-2 and 1-4 at the new points."""
    functions, Y = exact(stream, mapper.fitted_embedding_.bandwidth_), mapper.transform(stream.new)
    return r_squared(functions[:, :2], Y[:, :2]), r_squared(functions, Y)


@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0.0, 0.5, 1.0]), time=st.sampled_from([0.0, 1.0, 2.5]))
@few
def test_with_all_points_as_landmarks_it_is_the_exact_map(seed, alpha, time):
    X = np.random.default_rng(seed).standard_normal((40, 3)) * [3, 2, 1]
    D = between(X, X)
    embedding = LandmarkDiffusionMap(3, alpha=alpha, time=time, bandwidth=1.5).fit(D)
    expected, values = naive.diffusion_map(D, 1.5, alpha, time, k=3)
    signs = np.where((expected * embedding.coordinates_).sum(axis=0) < 0, -1.0, 1.0)
    np.testing.assert_allclose(embedding.coordinates_ * signs, expected, atol=1e-8)
    np.testing.assert_allclose(embedding.place(D) * signs, expected, atol=1e-8)
    np.testing.assert_allclose(embedding.eigenvalues_[:4], values, atol=1e-10)


@pytest.mark.parametrize(("stream", "limits"), [(sheets.helix, (0.98, 0.95)), (sheets.torus, (0.99, 0.99))])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_eigenfunctions_of_new_points_are_those_of_the_exact_map(stream, limits, seed):
    stream = stream(seed)
    mapper = DriftMap(4, n_landmarks=100, embedding="diffusion").fit(stream.points)
    first, all_four = true_to(mapper, stream)
    assert first >= limits[0]
    assert all_four >= limits[1]


def test_initial_landmarks_do_worse():
    """Else the test above could not fail."""
    stream = sheets.helix(0)
    initial = InitialLandmarks(100).fit(stream.points)
    embedding = LandmarkDiffusionMap(2).fit(between(initial.landmarks_, initial.landmarks_))
    assert r_squared(exact(stream, 0.3)[:, :2], embedding.place(initial.distances(stream.new))) < 0.6


def test_masses_count_as_so_many_points():
    rng = np.random.default_rng(0)
    X, counts = rng.standard_normal((12, 2)), rng.integers(1, 5, 12)
    repeated, Z = np.repeat(X, counts, axis=0), rng.standard_normal((9, 2))
    heavy = LandmarkDiffusionMap(2, bandwidth=1.0).fit(between(X, X), counts.astype(float))
    all_of_them = LandmarkDiffusionMap(2, bandwidth=1.0).fit(between(repeated, repeated))
    expected = all_of_them.place(between(Z, repeated))
    Y = heavy.place(between(Z, X))
    np.testing.assert_allclose(Y * np.where((Y * expected).sum(axis=0) < 0, -1, 1), expected, atol=1e-9)


def test_parameters_that_are_none():
    for params, message in (
        ({"alpha": -1.0}, "alpha must be finite and not negative"),
        ({"bandwidth": 0.0}, "bandwidth must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            DriftMap(embedding=LandmarkDiffusionMap(**params)).fit(np.zeros((3, 2)))
